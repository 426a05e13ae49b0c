# SPDX-License-Identifier: Apache-2.0
"""Blocks for pods from end to end: a node's agent asks, agent-controller gives, pods get addresses, and
what is not used is given back."""

import ipaddress
import json
import os
import time
from string import ascii_lowercase

import pytest
from bench import process
from lab import wait, wait_equal
from lab.asking import COIL, Nodes, ask_all, assert_disjoint, blocks, controller, node, pool, remove_all
from lab.kube_api import MERGE, path_of
from lab.pod_wiring import WiredPod, call

LAB = {"nodes": 1}
EMPTY = "3s"
BLOCK_SIZE = 8  # of three bits
NODES = int(os.environ.get("BLOCK_NODES", 10))  # that come and go beside the agent's own


class Setting:
    """A node, its agent, and a controller that can be away."""

    def __init__(self, cluster):
        self.lab, self.plane, self.node = cluster, cluster.plane, cluster.nodes[0]
        self.controllers, self.agent, self.pods, self.made = [], None, {}, []
        self.judged_from = len(self.audited())  # of what the API has answered the agent

    def begin(self, settings=None, **pods):
        self.plane.put(node(self.node.role))
        folder = self.node.folder / "agentd"
        if folder.exists():
            folder.rename(folder.with_name(f"agentd-{len(self.node.agents)}"))
        self.agent = self.lab.agent(self.node, kubeconfig=self.plane.agent_kubeconfig(self.node.role), pods={
            "enabled": True, "rest": "0s", "emptyBlocks": EMPTY, **pods}, **(settings or {}))

    def controller(self):
        name = ascii_lowercase[len(list(self.node.folder.glob("controller-*")))]
        self.controllers.append(controller(self.node, self.plane, name))
        self.controllers[-1].start()
        wait(self.controllers[-1].leads, "the controller to lead", 60)

    def pod(self, key, **more):
        """`more`: of what the plugin asks with, such as another name than one made of the key."""
        if key not in self.pods:
            self.made.append(WiredPod(self.lab, self.node, self.agent, f"{key}-{len(self.made)}"))
            self.pods[key] = self.made[-1]
        status, answer = self.pods[key].want(**more)
        return status, answer

    def add(self, *names, **more):
        for name in names:
            status, answer = wait(lambda name=name: accepted(self.pod(name, **more)), f"{name}'s addresses", 60)
            self.pods[name].plan = answer
            self.pods[name].make()
            assert self.pods[name].wired()[0] == 200
        return [self.pods[name].address(4) for name in names]

    def delete(self, *names):
        for name in names or list(self.pods):
            assert self.pods.pop(name).delete()[0] == 200

    def items(self, kind):
        return {item["metadata"]["name"]: item for item in self.plane.items(kind)}

    def faults(self):
        return {fault["place"]: fault["message"] for fault in self.agent.faults()
                if fault["subsystem"] == "pods"}

    def audited(self):
        return self.plane.audited(f"fingerpost:agent:{self.node.role}")

    def writes(self):
        """What the agent wrote about blocks: (verb, resource, name, code)."""
        return [(entry["verb"], entry["objectRef"]["resource"], entry["objectRef"].get("name"),
                 entry["responseStatus"]["code"])
                for entry in self.audited()
                if entry["verb"] in ("create", "delete", "patch", "update")
                and entry["objectRef"]["resource"] in ("addressblocks", "blockrequests")]

    def end(self):
        self.delete()
        self.agent.stop()
        for pod in self.made:
            pod.remove()
        for each in self.controllers:
            if each.running():
                assert each.stop() == 0
        remove_all(self.plane, "BlockRequest", "AddressBlock", "AddressPool")


def accepted(answer):
    status, document = answer
    assert status in (200, 503), document
    return answer if status == 200 else None


@pytest.fixture(name="setting")
def setting_fixture(cluster):
    setting = Setting(cluster)
    yield setting
    refused = [entry["requestURI"] for entry in setting.audited()[setting.judged_from:]
               if entry["responseStatus"]["code"] == 403]
    setting.end()
    assert refused == []


def test_a_node_without_a_block_gets_one_for_its_first_pod(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin()
    assert setting.items("AddressBlock") == {} and setting.items("BlockRequest") == {}
    [first] = setting.add("one")
    assert first.startswith("10.224.8.")
    wait_equal(lambda: setting.items("BlockRequest"), {}, "an end of the request", 30)
    [block] = setting.items("AddressBlock").values()
    labels = block["metadata"]["labels"]
    assert labels[f"{COIL}/node"] == setting.node.role
    assert setting.faults() == {}
    # One create, one deletion: nothing else was written.
    assert setting.writes() == [("create", "blockrequests", "req-default-node1", 201),
                                ("delete", "blockrequests", "req-default-node1", 200)]


def test_the_next_block_is_there_before_the_last_is_full(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin()
    setting.add(*[f"p{number}" for number in range(BLOCK_SIZE - 2)])
    assert len(setting.items("AddressBlock")) == 1
    setting.add("next")  # one is free: less than a quarter of a block
    wait_equal(lambda: len(setting.items("AddressBlock")), 2, "the next block", 30)
    wait_equal(lambda: setting.items("BlockRequest"), {}, "an end of the request", 30)


def test_empty_blocks_are_given_back_but_the_last(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin()
    names = [f"p{number}" for number in range(2 * BLOCK_SIZE + 2)]
    addresses = setting.add(*names)
    assert len(set(addresses)) == len(addresses)
    wait_equal(lambda: len(setting.items("AddressBlock")), 3, "three blocks", 30)
    setting.delete(*names[1:])
    wait_equal(lambda: len(setting.items("AddressBlock")), 1, "two blocks to be given back", 60)
    [left] = setting.items("AddressBlock")
    setting.delete(names[0])
    setting.add("again")
    assert list(setting.items("AddressBlock")) == [left], "the last one stayed"
    assert setting.faults() == {}


def test_a_reserved_block_is_neither_used_nor_given_back(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin()
    setting.plane.put({"apiVersion": f"{COIL}/v2", "kind": "AddressBlock", "index": 31, "ipv4": "10.224.8.248/29",
                       "metadata": {"name": "default-31", "labels": {
                           f"{COIL}/pool": "default", f"{COIL}/node": setting.node.role,
                           f"{COIL}/reserved": "true"}}})
    setting.add("one")
    setting.delete("one")
    setting.plane.put(pool("other", "10.224.9.0/24", bits=0))
    wait(lambda: "default-31" in setting.items("AddressBlock") and len(setting.items("AddressBlock")) == 2, "both")
    assert not [write for write in setting.writes() if write[2] == "default-31"]


def test_while_the_controller_is_away_pods_live_on_what_there_is(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin()
    setting.add("one")
    assert setting.controllers.pop().stop() == 0
    setting.add(*[f"p{number}" for number in range(BLOCK_SIZE - 1)])
    status, answer = setting.pod("late")
    assert (status, bool(answer["remedy"])) == (503, True)
    wait(lambda: "is not answered" in setting.faults().get("BlockRequest req-default-node1", ""), "the fault", 60)
    [request] = setting.items("BlockRequest").values()
    setting.agent.kill()
    setting.agent.start()
    wait_equal(lambda: setting.items("BlockRequest"), {"req-default-node1": request}, "the same request", 30)
    setting.controller()
    setting.add("late")
    wait_equal(lambda: setting.items("BlockRequest"), {}, "an end of the request", 30)
    blocks = setting.items("AddressBlock").values()
    assert len(blocks) == 2, "one request is one block"
    assert request["metadata"]["uid"] in [block["metadata"]["labels"][f"{COIL}/request"] for block in blocks]


def test_while_the_api_is_away_pods_come_and_go(setting):
    """On the blocks that the node has, over a kill of its agent; then the API is back, and gives the next one."""
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin({"source": {"startWait": "1s"}})
    [kept, _] = setting.add("kept", "gone")
    [block] = setting.items("AddressBlock")
    copy = setting.agent.folder / "state" / "objects.json"
    wait(lambda: f'"{block}"' in copy.read_text(encoding="utf-8"), "the copy to have the block", 60)
    setting.plane.api_server.kill()
    try:
        setting.delete("gone")
        setting.agent.kill()
        setting.agent.start()
        given = setting.add(*[f"p{number}" for number in range(BLOCK_SIZE - 1)])
        assert len({kept, *given}) == BLOCK_SIZE, "each address has one pod"
        for answer in (setting.pod("late"), call(setting.agent, "GET", "/v1/pods/ready")):
            assert answer[0] == 503 and "no address" in answer[1]["error"] and answer[1]["remedy"]
        assert setting.node.ping(kept)
    finally:
        setting.plane.start_api_server()
    [late] = setting.add("late")
    assert late not in (kept, *given)
    wait_equal(lambda: (len(setting.items("AddressBlock")), setting.items("BlockRequest")), (2, {}),
               "two blocks, and nothing asked", 60)
    wait_equal(setting.faults, {}, "no fault", 60)
    setting.judged_from = len(setting.audited())  # an API that begins knows no roles yet


def test_a_thousand_nodes_come_and_go(setting):
    """BLOCK_NODES of them (the soak has a thousand) ask at once; half give their blocks back, the others' Nodes
    are deleted. An agent beside them has nothing to do with it: it asks the API for nothing at all."""
    plane = setting.plane
    setting.controller()
    plane.put(pool("default", "10.224.0.0/16", bits=3))
    setting.begin()
    setting.add("one")
    wait_equal(lambda: setting.items("BlockRequest"), {}, "an end of the request", 30)
    [own] = setting.items("AddressBlock")
    names = [f"other{number}" for number in range(NODES)]
    nodes, since = Nodes(plane, *names), len(setting.audited())
    begin = time.monotonic()
    answers = ask_all(nodes, names)
    asked = time.monotonic()
    assert_disjoint(plane)
    assert blocks(plane) == {own: setting.node.role, **{block: name for name, (block, _) in answers.items()}}
    nodes.give_back(*[answers[name][0] for name in names[::2]])
    nodes.leave(*names[1::2])
    wait_equal(lambda: list(blocks(plane)), [own], "an end of all other blocks", 120)
    gone = time.monotonic()
    pulse = f"/api/v1/nodes?fieldSelector=metadata.name%3D{setting.node.role}&limit=1&resourceVersion=0"
    requests = [entry["requestURI"] for entry in setting.audited()[since:] if entry["verb"] != "watch"]
    pulses = requests.count(pulse)  # once in ten seconds in which nothing else is heard
    print(json.dumps({"nodes": NODES, "seconds": round(asked - begin, 2), "gone after": round(gone - asked, 2),
                      "MiB": process.peak(setting.controllers[-1].process.pid), "pulses of the agent": pulses}))
    assert requests == pulses * [pulse] and pulses <= 1 + (gone - begin) / 10
    setting.add("two")


def test_a_pool_without_room_says_so_and_pods_come_up_when_there_is(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/29", bits=3))
    setting.begin()
    setting.add(*[f"p{number}" for number in range(BLOCK_SIZE)])
    wait(lambda: "no block left" in setting.faults().get("AddressPool default", ""), "the fault", 30)
    status, answer = setting.pod("late")
    assert status == 503 and "no block left" in answer["error"] and "add a subnet" in answer["remedy"]
    status, answer = call(setting.agent, "GET", "/v1/pods/ready")
    assert status == 503 and "no block left" in answer["error"]
    setting.plane.api.request("PATCH", path_of("AddressPool", name="default"), {"spec": {"subnets": [
        {"ipv4": "10.224.8.0/29"}, {"ipv4": "10.224.9.0/29"}]}}, MERGE)
    [address] = setting.add("late")
    assert address.startswith("10.224.9.")
    wait_equal(setting.faults, {}, "no fault", 30)
    assert call(setting.agent, "GET", "/v1/pods/ready")[0] == 200


def test_a_pool_that_does_not_exist_is_named(setting):
    setting.controller()
    setting.begin()
    status, answer = setting.pod("one")
    assert status == 503 and "no AddressPool" in answer["error"]
    wait(lambda: "does not exist" in setting.faults().get("AddressPool default", ""), "the fault", 30)
    setting.plane.put(pool("default", "10.224.8.0/29", bits=3))
    setting.add("one")
    assert setting.items("BlockRequest") == {} or wait(lambda: not setting.items("BlockRequest"), "its end", 30)


def test_what_somebody_else_deletes_is_let_go_of_when_it_is_empty(setting):
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin()
    setting.add("one")
    [name] = setting.items("AddressBlock")
    setting.plane.kubectl("delete", "addressblock", name, "--wait=false")
    [other] = setting.add("two")
    assert len(setting.items("AddressBlock")) == 2 and other != setting.pods["one"].address(4)
    setting.delete("one")
    wait(lambda: name not in setting.items("AddressBlock"), "the end of the block", 30)
    assert setting.node.ping(other)


def test_a_block_that_the_api_has_lost_is_put_back(setting):
    """As by etcd's restore from a backup: past the API server and its finalizers, while no controller is there. Another
    node that has got it meanwhile keeps it: that is a fault, and no other pod gets an address of it here."""
    plane = setting.plane
    setting.controller()
    plane.put(pool("default", "10.224.8.0/24", bits=3), node("other"))
    setting.begin()
    setting.add("one")
    [(name, lost)] = setting.items("AddressBlock").items()
    wait_equal(lambda: setting.items("BlockRequest"), {}, "an end of the request", 30)
    assert setting.controllers[-1].stop() == 0
    plane.unstore(lost)
    back = wait(lambda: [item for item in setting.items("AddressBlock").values()
                         if item["metadata"]["uid"] != lost["metadata"]["uid"]], "the block", 60)[0]
    for key in ("finalizers", "ownerReferences", "name"):
        assert back["metadata"][key] == lost["metadata"][key]
    labels = {key: value for key, value in lost["metadata"]["labels"].items() if key != f"{COIL}/request"}
    assert back["metadata"]["labels"] == labels
    assert (back["index"], back["ipv4"]) == (lost["index"], lost["ipv4"])
    [second] = setting.add("two")
    assert ipaddress.ip_address(second) in ipaddress.ip_network(lost["ipv4"])
    assert [entry for entry in setting.writes() if entry[0] == "create" and entry[1] == "addressblocks"] == [
        ("create", "addressblocks", name, 201)]
    setting.controller()
    wait_equal(setting.faults, {}, "no fault", 60)

    back["metadata"]["labels"][f"{COIL}/node"] = "other"
    back["metadata"]["labels"].pop("fingerpost.io/node-uid", None)
    plane.store(back)
    wait(lambda: "is of node other" in setting.faults().get(f"AddressBlock {name}", ""), "the fault", 30)
    [third] = setting.add("three")
    assert ipaddress.ip_address(third) not in ipaddress.ip_network(lost["ipv4"])
    setting.delete("one", "two")
    wait_equal(setting.faults, {}, "no fault", 30)
    assert setting.items("AddressBlock")[name]["metadata"]["labels"][f"{COIL}/node"] == "other"
