# SPDX-License-Identifier: Apache-2.0
"""From Coil and back, one node after the other, as docs/migration.md has it: pods stay, and their
traffic goes on."""

import pytest
from lab import objects, wait, wait_equal
from lab.coil_pods import PODS_TABLE, CoilPod, export, prepare, rebuilt, table_of
from lab.pod_wiring import WiredPod, call
from lab.traffic import Load, serve

FAMILIES = (4, 6)
PORT = 8080
BLOCK4, BLOCK6 = "10.224.1.0/28", "fd00:224::100/124"
PODS = {"enabled": True, "table": PODS_TABLE}


@pytest.fixture(name="world")
def world_fixture(lab):
    """Two nodes as coild has left them, a pod on each, and BIRD announcing what stands in table 119."""
    first, second = lab.nodes
    items = []
    for number, node in enumerate((first, second)):
        blocks = (f"10.224.{number + 1}.0/28", f"fd00:224::{number + 1}00/124")
        items += [objects.node(node.role, [node.address4, node.address6]),
                  objects.address_block(f"default-{number}", node.role, *blocks)]
        prepare(node, *blocks)
        pod = CoilPod(lab, node, f"old{number}", f"10.224.{number + 1}.1", f"fd00:224::{number + 1}01")
        setattr(lab, f"old{number}", pod)
        serve(pod, PORT)
    lab.write("nodes.yaml", *items)
    lab.wait_sessions()
    for family in FAMILIES:
        for pod in (lab.old0, lab.old1):
            wait(lambda: lab.client.ping(pod.address(family)), "the client to reach Coil's pod")
    return lab


def loads(lab, pod):
    return [Load(host, "long", pod.address(family), PORT)
            for family in FAMILIES for host in (lab.client, lab.old1)]


def routes_of(node, family, table):
    return {(route["dst"], route["dev"]) for route in node.ip_json(
        f"-{family}", "route", "show", "table", table, "proto", "30")}


def expect_known(agent, pod):
    wait(lambda: call(agent, "GET", pod.path)[0] == 200, "the pod to be known")
    _, plan = call(agent, "GET", pod.path)
    assert plan["alias"] == pod.alias
    assert sorted(plan["addresses"]) == sorted([f"{pod.address4}/32", f"{pod.address6}/128"])


def test_there_and_back(world):
    """Coil, then the agent with table 116, a pod of its own; and Coil again, which finds them both."""
    first, _ = world.nodes
    running = loads(world, world.old0)
    agent = world.agent(first, pods=PODS)
    expect_known(agent, world.old0)
    new = WiredPod(world, first, agent, "new").add()
    assert new.address(4) not in (world.old0.address4, world.old1.address4)
    for family in FAMILIES:
        assert new.ping(world.old0.address(family)) and new.ping(world.old1.address(family))
        assert len([rule for rule in first.ip_json(f"-{family}", "rule") if rule["table"] == "116"]) == 1
    assert agent.faults() == []
    for load in running:
        load.more()
    agent.stop()
    assert rebuilt(first) == {world.old0.alias: (world.old0.address4, world.old0.address6),
                              new.plan["alias"]: (new.address(4), new.address(6))}
    export(first, BLOCK4, BLOCK6)
    for family in FAMILIES:
        first.run("ip", f"-{family}", "route", "flush", "table", "main", "proto", "33")
    for load in running:
        load.more()
        load.unbroken()
    for family in FAMILIES:
        assert [(route["dst"], route["dev"]) for route in table_of(first, 119, family)] == [
            (BLOCK4 if family == 4 else BLOCK6, "lo")]
        assert first.ping(new.address(family)) and world.client.ping(new.address(family))


def test_a_node_that_stays_uses_main(world):
    """Once no node goes back any more: main has the routes too, and a pod of Coil's is deleted by its name."""
    first, _ = world.nodes
    running = loads(world, world.old0)
    agent = world.agent(first, pods=PODS)
    expect_known(agent, world.old0)
    agent.stop()
    agent.settings["pods"]["table"] = "main"
    agent.write_config()
    agent.start()
    for family in FAMILIES:
        wait_equal(lambda: routes_of(first, family, "main"), {(world.old0.address(family), world.old0.link)},
                   "the route in main")
        first.run("ip", f"-{family}", "rule", "del", "pref", "2000", "lookup", str(PODS_TABLE))
        first.run("ip", f"-{family}", "route", "flush", "table", str(PODS_TABLE))
    for load in running:
        load.more()
        load.unbroken()
    expect_known(agent, world.old0)
    assert call(agent, "DELETE", world.old0.path)[0] == 200
    assert world.old0.link not in {link["ifname"] for link in first.ip_json("link")}
    for family in FAMILIES:
        wait_equal(lambda: routes_of(first, family, "main"), set(), "no route")


def test_half_of_the_cluster(world):
    """Nodes of both kinds: their pods reach each other, and what one announces the other does."""
    first, _ = world.nodes
    agent = world.agent(first, pods=PODS)
    new = WiredPod(world, first, agent, "new").add()
    for family in FAMILIES:
        wait(lambda: world.old1.ping(new.address(family)), "the pod on the other node")
        assert new.ping(world.old1.address(family)) and world.client.ping(world.old1.address(family))
    assert agent.faults() == []
