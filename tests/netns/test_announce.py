# SPDX-License-Identifier: Apache-2.0
"""Manifests in, routes on the ToR."""

import os
import random

import pytest
from cluster import (
    GUARD_METRIC,
    GUARD_RULES,
    VIP,
    VIP6,
    announced_by,
    exported,
    guard_rules,
    guards,
    start,
    tables,
    write_service,
    write_web,
)
from lab import BLOCK_COMMUNITY, SERVICE_COMMUNITY, objects, wait, wait_equal

ONE = pytest.mark.lab(nodes=1)


def test_blocks_and_addresses_reach_the_tor(lab):
    start(lab)
    for node in lab.nodes:
        wait_equal(lambda: tables(node), exported(node, VIP, VIP6), f"table 119 of {node}")
        assert tables(node, 120) == guards(VIP, VIP6)
        assert guard_rules(node) == GUARD_RULES
        for family in (4, 6):
            block = getattr(node, f"block{family}")
            guard = f"unreachable {block} proto 33 metric {GUARD_METRIC}"
            assert guard in node.table("main", family)
            assert lab.tor.paths(block)[node.role].communities == {BLOCK_COMMUNITY}
        for address in (f"{VIP}/32", f"{VIP6}/128"):
            assert lab.tor.paths(address)[node.role].communities == {SERVICE_COMMUNITY}


def test_unready_endpoints_take_the_address_away(lab):
    start(lab)
    node1, node2 = lab.nodes
    monitor = lab.monitor()
    write_web(lab, False, True)
    announced_by(lab, node2)
    write_web(lab, False, False)
    announced_by(lab)
    write_web(lab, True, False)
    announced_by(lab, node1)
    assert tables(node2) == exported(node2)
    assert tables(node2, 120) == guards(VIP, VIP6), "guarded as long as it may be announced"
    # Nothing but what was asked for, in this order.
    for address in (VIP, VIP6):
        losses = [nodes for _, _, nodes in monitor.losses(address)]
        assert losses == [{"node1"}, {"node2"}]
    assert {prefix for _, prefix, _ in monitor.losses()} == {VIP, VIP6}


def test_policy_cluster_announces_from_every_node(lab):
    start(lab)
    write_web(lab, False, True, policy="Cluster")
    announced_by(lab, *lab.nodes)
    write_web(lab, False, False, policy="Cluster")
    announced_by(lab)


def test_a_service_that_is_deleted_leaves(lab):
    start(lab)
    (lab.manifests / "web.yaml").unlink()
    announced_by(lab)
    for node in lab.nodes:
        wait_equal(lambda: tables(node), exported(node), f"table 119 of {node}")
        wait_equal(lambda: tables(node, 120), guards(), f"table 120 of {node}")
        assert guard_rules(node) in ([], GUARD_RULES)


@ONE
def test_excluded_node_announces_blocks_only(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    label = "node.kubernetes.io/exclude-from-external-load-balancers"
    addresses = [node.address4, node.address6]
    items = [item for item in node.objects() if item["kind"] != "Node"]
    lab.write("nodes.yaml", objects.node(node.role, addresses, {label: ""}), *items)
    announced_by(lab)
    wait_equal(lambda: tables(node), exported(node), "table 119")
    rows = {row["prefix"]: row for row in agent.json("routes")["items"]}
    assert rows[f"{VIP}/32"]["state"] == "withheld"
    assert rows[f"{VIP}/32"]["reason"] == "node-excluded"


@ONE
def test_route_class_arrives_as_med_and_changes_in_place(lab):
    start(lab)
    [node] = lab.nodes
    monitor = lab.monitor()
    write_web(lab, annotations={"fingerpost.io/route-class": "1"})
    wait_equal(lambda: tables(node), {
        family: sorted(
            line.replace("proto 31", "proto 35") for line in exported(node, VIP, VIP6)[family]
        )
        for family in (4, 6)
    }, "class 1 in table 119")
    wait(lambda: lab.tor.paths(f"{VIP}/32")["node1"].med == 100, "MED on the ToR")
    assert monitor.losses() == []


@ONE
def test_hold_down_delays_the_return(lab):
    [agent] = start(lab, routes={"holdDown": {"initial": "5s", "max": "60s"}})
    [node] = lab.nodes

    def row():
        return {r["prefix"]: r for r in agent.json("routes")["items"]}[f"{VIP}/32"]

    def held_row():
        found = row()
        return found if found["reason"] == "held-down" else None

    write_web(lab, False)
    announced_by(lab)
    write_web(lab, True)
    held = wait(held_row, "hold-down in agentctl routes")
    assert held["state"] == "withheld" and 0 < held["heldForMs"] <= 5000
    assert tables(node) == exported(node)
    announced_by(lab, node)
    assert row()["state"] == "announced" and row()["installed"]


@ONE
def test_a_configmap_is_replaced_as_a_whole(lab):
    """Kubelets mount a ConfigMap as links into ..data, itself a link that they rename over."""
    [node] = lab.nodes
    folder = lab.folder / "configmap"

    def publish(version, vip):
        content = folder / f"..{version}"
        content.mkdir(parents=True)
        lab.write("node.yaml", *node.objects(), folder=content)
        lab.write("web.yaml", objects.service("web", [vip]),
                  objects.slice_of("web", [objects.endpoint("10.224.0.1", node.role)]),
                  folder=content)
        draft = folder / "..data_tmp"
        draft.symlink_to(content.name)
        os.replace(draft, folder / "..data")

    publish("2026_11_20_09_00_00", "203.0.113.21")
    for name in ("node.yaml", "web.yaml"):
        (folder / name).symlink_to(f"..data/{name}")
    lab.agent(node, source={"manifests": str(folder)})
    announced_by(lab, node, addresses=["203.0.113.21"])
    monitor = lab.monitor()
    publish("2026_11_20_09_05_00", "203.0.113.22")
    announced_by(lab, node, addresses=["203.0.113.22"])
    announced_by(lab, addresses=["203.0.113.21"])
    assert tables(node) == exported(node, "203.0.113.22")
    assert {prefix for _, prefix, _ in monitor.losses()} == {"203.0.113.21"}


@ONE
def test_any_order_of_events_gives_the_same_tables(lab):
    """The same objects, spread over other files and written in other orders each time."""
    [node] = lab.nodes
    agent = lab.agent(node, routes={"holdDown": {"initial": "0s", "max": "0s"}})
    states = {"a": True, "b": False, "c": True, "d": True}
    lab.write_nodes()
    items = list(node.objects())
    for number, (name, ready) in enumerate(states.items()):
        # c and d share an address: c takes port 80, d comes second.
        vip = f"203.0.113.{30 + min(number, 2)}"
        items.append(objects.service(name, [vip]))
        items.append(objects.slice_of(name, [objects.endpoint("10.224.0.1", node.role, ready)]))
    shuffle = random.Random("any order")
    seen = []
    for _ in range(4):
        shuffle.shuffle(items)
        files = shuffle.sample(range(len(items)), 3)
        for old in lab.manifests.iterdir():
            old.unlink()
        wait_equal(lambda: tables(node), {4: [], 6: []}, "nothing to be announced")
        for number in files:
            lab.write(f"{number}.yaml", *items[number::3])
        for number in range(3):
            lab.write(f"{number}.yaml", *items[number::3])
        for number in files:
            if number > 2:
                (lab.manifests / f"{number}.yaml").unlink()
        wanted = exported(node, "203.0.113.30", "203.0.113.32")
        wait_equal(lambda: tables(node), wanted, "table 119")
        agent.settled()
        rows = agent.json("routes")["items"]
        seen.append((tables(node, 120), [(r["prefix"], r["state"], r["reason"]) for r in rows]))
    assert seen == [seen[0]] * 4


@ONE
def test_addresses_are_announced_by_the_thousand(lab):
    """More than fits into a socket buffer or a batch of messages."""
    [node] = lab.nodes
    lab.write_nodes()
    names = [f"s{number}" for number in range(1000)]
    items = []
    for number, name in enumerate(names):
        items.append(objects.service(name, [f"fd00:203::{number + 1:x}"]))
        items.append(objects.slice_of(
            name, [objects.endpoint("fd00:224::1", node.role)], family="IPv6"))
    lab.write("many.json", *items)
    agent = lab.agent(node)
    wait(lambda: len(lab.tor.ip("-6", "route").split("fd00:203::")) == 1001, "all on the ToR")
    (lab.manifests / "many.json").unlink()
    wait(lambda: "fd00:203::" not in lab.tor.ip("-6", "route"), "none on the ToR")
    assert agent.settled()["health"] == "healthy"
    assert "dropped some netlink messages" not in (node.folder / "bird.log").read_text()


def test_an_address_of_two_services_stays_while_one_serves(lab):
    node1, node2 = lab.nodes
    lab.write_nodes()
    both = dict.fromkeys(lab.nodes, True)
    write_service(lab, "http", [VIP], both, ports=(80,))
    write_service(lab, "https", [VIP], both, ports=(443,))
    for node in lab.nodes:
        lab.agent(node)
    announced_by(lab, node1, node2, addresses=[VIP])
    monitor = lab.monitor()
    write_service(lab, "http", [VIP], {node1: False, node2: False}, ports=(80,))
    for node in lab.nodes:
        node.agents[0].settled()
    assert monitor.losses() == []
    write_service(lab, "https", [VIP], {node1: False, node2: True}, ports=(443,))
    announced_by(lab, node2, addresses=[VIP])
