# SPDX-License-Identifier: Apache-2.0
"""Pools, requests and blocks on a real API server: the rules of Coil's that are the controller's, and
what a controller that is killed, cut off or refused leaves to the next one."""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import schema
from bench import process
from lab import wait, wait_equal
from lab.asking import Nodes, ask_all, assert_disjoint, blocks, controller, create, node, pool, remove_all
from lab.kube_api import MERGE, path_of

LAB = {"nodes": 1}
# How many nodes ask a pool of ten blocks at once; the soak has more of them.
ASKERS = int(os.environ.get("BLOCK_ASKERS", 100))
COIL = "coil.cybozu.com"


@pytest.fixture(name="clean")
def clean_fixture(plane):
    """Nothing of Coil's, and no Node, is there before and after."""
    sweep(plane)
    yield plane
    sweep(plane)


def sweep(plane):
    remove_all(plane, "BlockRequest", "AddressBlock", "AddressPool", "Node")


@pytest.fixture(name="make")
def make_fixture(cluster, clean):
    """Makes controllers, which end with the test."""
    made = []

    def make(name="a"):
        folder = cluster.nodes[0].folder / f"controller-{name}"
        if folder.exists():
            folder.rename(folder.with_name(f"{folder.name}-{os.urandom(3).hex()}"))
        made.append(controller(cluster.nodes[0], clean, name))
        return made[-1]

    yield make
    for each in made:
        if each.running():
            end(each)


def end(each):
    """A clean end, with nothing to say for the sanitizers."""
    each.signal(signal.SIGCONT)
    code, text = each.stop(), each.log_text()
    assert code == 0 and "Sanitizer" not in text and "runtime error" not in text, text[-3000:]


def begin(each):
    each.start()
    wait(each.leads, f"{each.name} to lead", 60)
    return each


def named(plane, kind, name):
    return plane.api.get(path_of(kind, name=name))


def asked(each, path):
    """A document of the controller's."""
    document = json.loads(each.ask(path)[1])
    schema.check(document)
    return document


def writes(plane, user, since=0):
    """What a controller wrote: (verb, resource, subresource, name, status)."""
    return [(entry["verb"], entry["objectRef"]["resource"], entry["objectRef"].get("subresource"),
             entry["objectRef"].get("name"), entry["responseStatus"]["code"])
            for entry in plane.audited(user)[since:]
            if entry["verb"] not in ("get", "list", "watch")
            and entry["objectRef"]["resource"] != "leases"]


def test_a_request_is_served_as_coil_serves_it(clean, make):
    leader = begin(make())
    nodes = Nodes(clean, "node1")
    clean.put(pool("default", "10.2.0.0/16", bits=5))
    wait(lambda: named(clean, "AddressPool", "default")["metadata"].get("finalizers"), "the finalizer")
    since = len(clean.audited(leader.user))
    assert nodes.get("node1") == ("default-0", None)

    block = named(clean, "AddressBlock", "default-0")
    request = named(clean, "BlockRequest", "req-default-node1")
    owner = named(clean, "AddressPool", "default")
    meta = block["metadata"]
    assert (block["index"], block["ipv4"], block.get("ipv6")) == (0, "10.2.0.0/27", None)
    assert {key: value for key, value in meta["labels"].items() if key.startswith(COIL)} == {
        f"{COIL}/pool": "default", f"{COIL}/node": "node1",
        f"{COIL}/request": request["metadata"]["uid"]}
    assert meta["finalizers"] == [COIL] and owner["metadata"]["finalizers"] == [COIL]
    assert meta["ownerReferences"] == [
        {"apiVersion": f"{COIL}/v2", "kind": "AddressPool", "name": "default",
         "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}]
    (condition,) = request["status"]["conditions"]
    assert condition.pop("lastProbeTime") == condition.pop("lastTransitionTime")
    assert condition == {"type": "Complete", "status": "True", "reason": "allocated",
                         "message": "allocated a block default-0"}
    # One write for the block, one for the request.
    assert [entry[:4] for entry in writes(clean, leader.user, since)] == [
        ("create", "addressblocks", None, "default-0"),
        ("patch", "blockrequests", "status", "req-default-node1")]

    assert nodes.get("node1") == ("default-1", None)  # another request is another block
    assert_disjoint(clean)

    listed = asked(leader, "/v1/address-blocks")
    assert [(item["name"], item["node"], item["ipv4"], item["state"]) for item in listed["items"]] == [
        ("default-0", "node1", "10.2.0.0/27", "used"), ("default-1", "node1", "10.2.0.32/27", "used")]
    assert listed["pools"] == [
        {"name": "default", "deleting": False, "size": 2048, "used": 2, "free": 2046}]
    (item,) = asked(leader, "/v1/block-requests")["items"]
    assert (item["state"], item["block"], item["waitsFor"]) == ("given", "default-1", None)


def test_pools_that_overlap_each_other_or_a_node_are_faults(clean, make):
    leader = begin(make())
    clean.put(pool("first", "10.2.0.0/16"))
    clean.put(pool("second", "10.2.8.0/24"))
    clean.put({**node("node1"), "status": {"addresses": [
        {"type": "InternalIP", "address": "10.2.8.7"}]}})
    found = {"has 10.2.8.7, the address of Node node1", "10.2.8.0/24 is also of AddressPool first"}
    wait_equal(lambda: {fault["message"] for fault in leader.status()["faults"]}, found, "the faults")
    clean.api.delete("AddressPool", "second")
    wait_equal(lambda: {fault["message"] for fault in leader.status()["faults"]},
               {"has 10.2.8.7, the address of Node node1"}, "the end of one")


def test_dual_stack_blocks_advance_in_step(clean, make):
    begin(make())
    nodes = Nodes(clean, "node1")
    item = pool("both", "10.3.0.0/24", bits=4)
    item["spec"]["subnets"][0]["ipv6"] = "fd03::/120"
    clean.put(item)
    nodes.get("node1", "both")
    assert nodes.get("node1", "both") == ("both-1", None)
    block = named(clean, "AddressBlock", "both-1")
    assert (block["ipv4"], block["ipv6"]) == ("10.3.0.16/28", "fd03::10/124")


def test_a_pool_that_comes_later_serves_who_has_waited(clean, make):
    leader = begin(make())
    nodes = Nodes(clean, "node1")
    key = nodes.ask("node1", "late")
    wait(lambda: "gets no block: its pool does not exist" in leader.log_text(),
         "the fault of the request")
    assert nodes.answer(key) is None
    (item,) = asked(leader, "/v1/block-requests")["items"]
    assert (item["state"], item["waitsFor"]["reason"]) == ("waiting", "no-pool")
    clean.put(pool("late", "10.4.0.0/24"))
    assert wait(lambda: nodes.answer(key), "the answer") == ("late-0", None)


def test_the_same_request_gets_the_same_block_after_a_kill(clean, make):
    """Killed between block and status: the status is refused until then."""
    rule = {"rules": json.loads(clean.kubectl("get", "clusterrole", "fingerpost-controller", "-o",
                                              "json"))["rules"]}
    less = {"rules": [r for r in rule["rules"] if "blockrequests/status" not in r["resources"]] +
            [{"apiGroups": [COIL], "resources": ["addresspools"], "verbs": ["patch"]}]}
    change = ("patch", "clusterrole", "fingerpost-controller", "--type=merge", "-p")
    leader = begin(make())
    nodes = Nodes(clean, "node1")
    clean.put(pool("default", "10.2.0.0/24"))
    clean.kubectl(*change, json.dumps(less))
    try:
        key = nodes.ask("node1")
        wait(lambda: any(entry[4] == 403 for entry in writes(clean, leader.user)),
             "a status that is refused")
        wait(lambda: "cannot be written" in leader.log_text(), "the fault")
        assert nodes.answer(key) is None and blocks(clean) == {"default-0": "node1"}
        leader.kill()
    finally:
        clean.kubectl(*change, json.dumps(rule))
    begin(make("b"))
    assert wait(lambda: nodes.answer(key), "the answer of the next") == ("default-0", None)
    assert blocks(clean) == {"default-0": "node1"}


def test_taken_names_are_passed_over(clean, make):
    """Blocks that nobody's rules count: without labels, and of another pool. Then one that is made
    behind the controller's back."""
    begin(make())
    nodes = Nodes(clean, "node1")
    foreign = {"apiVersion": f"{COIL}/v2", "kind": "AddressBlock", "index": 7,
               "metadata": {"name": "default-0"}, "ipv4": "10.77.0.0/27"}
    clean.put(foreign, {**foreign, "metadata": {"name": "default-1", "labels": {
        f"{COIL}/pool": "other", f"{COIL}/node": "node1"}}})
    clean.put(pool("default", "10.2.0.0/24"))
    assert nodes.get("node1", timeout=60) == ("default-2", None)


def test_a_deleted_node_loses_its_blocks_at_once(clean, make):
    begin(make())
    nodes = Nodes(clean, "node1", "node2")
    clean.put(pool("default", "10.2.0.0/24"))
    for name in ("node1", "node2", "node1"):
        nodes.get(name)
    assert sorted(blocks(clean).values()) == ["node1", "node1", "node2"]
    clean.api.delete("Node", "node1")
    wait_equal(lambda: set(blocks(clean).values()), {"node2"}, "the end of node1's blocks")
    nodes.add("node1")
    assert nodes.get("node1") == ("default-0", None)


def test_a_node_of_the_same_name_is_another_node(clean, make):
    """Deleted and made anew while no controller was there."""
    leader = begin(make())
    nodes = Nodes(clean, "node1", "node2")
    clean.put(pool("default", "10.2.0.0/24"))
    nodes.get("node1")
    nodes.get("node2")
    end(leader)
    clean.api.delete("Node", "node1")
    nodes.add("node1")
    begin(make("b"))
    # Nobody saw the Node go: the block waits for the Node that it may be of.
    wait_equal(lambda: blocks(clean), {"default-1": "node2"}, "the end of the old block", 90)


def backed_up(plane, name):
    """A backup of this name; nodes, of which node1 has default-0 in the backup and default-1 since then, and that block."""
    nodes = Nodes(plane, "node1", "node2")
    plane.put(pool("default", "10.2.0.0/24"))
    assert nodes.get("node1") == ("default-0", None)
    plane.backup(name)
    assert nodes.get("node1", timeout=60) == ("default-1", None)
    block = named(plane, "AddressBlock", "default-1")
    for field in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
        del block["metadata"][field]
    return nodes, block


def test_a_block_that_a_restore_took_is_kept_for_its_node(clean, make):
    """etcd is restored to before a block was made, in which its node has pods: nobody else gets it meanwhile."""
    begin(make())
    nodes, lost = backed_up(clean, "seen")
    clean.restore("seen")
    assert nodes.get("node2", timeout=60) == ("default-2", None)
    create(clean.api, lost)
    assert nodes.get("node2", timeout=60) == ("default-3", None)
    assert blocks(clean) == {"default-0": "node1", "default-1": "node1", "default-2": "node2", "default-3": "node2"}


def test_after_a_restore_that_no_controller_saw_nodes_come_first(clean, make):
    """The Lease says so, as it was in the backup: somebody holds it, and nobody has renewed it for long."""
    leader = begin(make())
    nodes, lost = backed_up(clean, "unseen")
    leader.kill()
    clean.restore("unseen")
    clean.api.request("PATCH", path_of("Lease", "kube-system", "fingerpost-controller"),
                      {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}, MERGE)
    second = begin(make("b"))
    key = nodes.ask("node2")

    def state():
        (item,) = [item for item in asked(second, "/v1/block-requests")["items"] if item["name"] == key]
        return item["state"], (item["waitsFor"] or {}).get("reason")
    wait_equal(state, ("waiting", "held"), "the request to wait")
    create(clean.api, lost)
    assert nodes.answer(key) is None
    end(second)  # in order, and so the next one has nothing to wait for
    begin(make("c"))
    assert wait(lambda: nodes.answer(key), "the answer", 60) == ("default-2", None)


def test_reserved_blocks_stay(clean, make):
    begin(make())
    nodes = Nodes(clean, "node1")
    clean.put({"apiVersion": f"{COIL}/v2", "kind": "AddressBlock", "index": 0,
               "ipv4": "10.2.0.0/27", "metadata": {"name": "default-0-v1", "labels": {
                   f"{COIL}/pool": "default", f"{COIL}/node": "node1",
                   f"{COIL}/reserved": "true"}}})
    clean.put(pool("default", "10.2.0.0/24"))
    assert nodes.get("node1") == ("default-1", None)
    clean.api.delete("Node", "node1")
    wait_equal(lambda: set(blocks(clean)), {"default-0-v1"}, "the end of the other block")


def test_what_is_edited_by_hand_comes_back(clean, make):
    """A pool's finalizer and a request's answer; and a second block for a request there is none."""
    leader = begin(make())
    nodes = Nodes(clean, "node1")
    clean.put(pool("default", "10.2.0.0/24"))
    assert nodes.get("node1") == ("default-0", None)
    clean.api.request("PATCH", path_of("AddressPool", name="default"), {"metadata": {"finalizers": None}}, MERGE)
    wait_equal(lambda: named(clean, "AddressPool", "default")["metadata"].get("finalizers"), [COIL], "the finalizer")
    since, path = len(clean.audited(leader.user)), path_of("BlockRequest", name="req-default-node1")
    clean.api.request("PATCH", f"{path}/status", {"status": None}, MERGE)
    assert wait(lambda: nodes.answer("req-default-node1"), "the answer") == ("default-0", None)
    assert blocks(clean) == {"default-0": "node1"}
    assert [entry[:2] for entry in writes(clean, leader.user, since)] == [("patch", "blockrequests")]


def test_a_deleted_pool_gives_nothing_and_stays_until_it_is_empty(clean, make):
    begin(make())
    nodes = Nodes(clean, "node1", "node2")
    clean.put(pool("default", "10.2.0.0/24"))
    nodes.get("node1")
    clean.api.delete("AddressPool", "default")
    assert nodes.get("node2") == (None, "out of blocks")
    assert named(clean, "AddressPool", "default")["metadata"]["deletionTimestamp"]
    # The node lets go of its block, as Coil's does.
    clean.api.request("PATCH", path_of("AddressBlock", name="default-0"),
                      {"metadata": {"finalizers": None}}, MERGE)
    clean.kubectl("delete", "addressblock", "default-0", "--ignore-not-found")
    wait_equal(lambda: clean.items("AddressPool"), [], "the end of the pool")


def test_ten_blocks_and_many_askers(clean, make):
    """Ten get a block, the others a condition that says why not."""
    leader = begin(make())
    names = [f"asker{number}" for number in range(ASKERS)]
    nodes = Nodes(clean, *names)
    item = pool("default", "10.2.0.0/29", bits=0)
    item["spec"]["subnets"].append({"ipv4": "10.2.0.8/31"})
    clean.put(item)
    since, begun = len(clean.audited(leader.user)), time.monotonic()
    answers = ask_all(nodes, names)
    took = time.monotonic() - begun
    served = sorted(block for block, _ in answers.values() if block)
    assert served == sorted(f"default-{index}" for index in range(10))
    assert [why for block, why in answers.values() if not block] == \
        ["out of blocks"] * (ASKERS - 10)
    refused = next(name for name, (block, _) in answers.items() if not block)
    conditions = named(clean, "BlockRequest", f"req-default-{refused}")["status"]["conditions"]
    assert [(item["type"], item["reason"], item["message"]) for item in conditions] == [
        ("Complete", "completed with failure", "completed with failure"),
        ("Failed", "out of blocks", "pool default does not have free blocks")]
    assert_disjoint(clean)
    done = [entry[1] for entry in writes(clean, leader.user, since) if entry[4] < 300]
    assert (done.count("addressblocks"), done.count("blockrequests")) == (10, ASKERS), "one write each"
    print(json.dumps({"askers": ASKERS, "seconds": round(took, 2), "MiB": process.peak(leader.process.pid)}))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_two_controllers_and_a_leader_that_goes(clean, make, how):
    """While nodes ask, the leader is killed, or stopped beyond its lease and woken again: each
    request has one block, and no block two holders."""
    first = begin(make("a"))
    second = make("b").start()
    names = [f"asker{number}" for number in range(40)]
    nodes = Nodes(clean, *names)
    clean.put(pool("default", "10.2.0.0/20", bits=4))
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(ask_all, nodes, names)
        wait(lambda: len(blocks(clean)) >= 3, "the first blocks")
        first.signal(how)
        answers = asking.result()
    wait(second.leads, "the other one to lead", 60)  # the first may have given all before it went
    if how == signal.SIGSTOP:
        first.signal(signal.SIGCONT)
        wait(lambda: not first.leads(), "the first one to follow")
    given = [block for block, _ in answers.values()]
    assert None not in given and len(set(given)) == len(names)
    assert sorted(given) == sorted(blocks(clean))
    assert_disjoint(clean)
    assert {block: node for node, (block, _) in answers.items()} == blocks(clean)


def test_nothing_is_written_where_all_is_so(clean, make):
    """A second controller that starts over the same objects leaves every resourceVersion alone."""
    first = begin(make())
    nodes = Nodes(clean, "node1", "node2")
    clean.put(pool("default", "10.2.0.0/24"))
    nodes.get("node1")
    nodes.get("node2")
    end(first)
    second = make("b")
    since = len(clean.audited(second.user))
    begin(second)
    assert nodes.get("node1") == ("default-2", None)
    assert [entry[:4] for entry in writes(clean, second.user, since)] == [
        ("create", "addressblocks", None, "default-2"),
        ("patch", "blockrequests", "status", "req-default-node1")]
