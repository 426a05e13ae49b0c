# SPDX-License-Identifier: Apache-2.0
"""routes.direct: blocks of other nodes on one segment, routed to their Nodes."""

import pytest
import schema
from lab import objects, wait_equal

NETS = {4: "192.168.7.{}", 6: "fd00:7::{}"}
BLOCKS = {4: "10.224.9.0/27", 6: "fd00:224:9::/123"}
PODS = {4: "10.224.9.1", 6: "fd00:224:9::1"}
FAMILIES = (4, 6)


def on_segment(node, number):
    return [NETS[family].format(number) for family in FAMILIES]


def connect(one, two):
    """A cable between two nodes beside the lab's routers."""
    one.configure(f"link add seg type veth peer name seg netns {two.name}")
    for number, node in enumerate((one, two), 1):
        v4, v6 = on_segment(node, number)
        node.configure(f"addr add {v4}/24 dev seg", f"addr add {v6}/64 dev seg nodad", "link set seg up")


def write(lab, number=2, blocks=BLOCKS):
    one, two = lab.nodes
    lab.write("nodes.yaml", objects.node(one.role, on_segment(one, 1)),
              objects.node(two.role, on_segment(two, number)),
              objects.address_block("far-0", two.role, blocks[4], blocks[6]))


def main_routes(node, family, protocol="30"):
    return {(route["dst"], route.get("gateway"), route["dev"]) for route in node.ip_json(
        f"-{family}", "route", "show", "table", "main", "proto", protocol)}


def wanted(family, number=2):
    return {(BLOCKS[family], NETS[family].format(number), "seg")}


def expect(node, number=2):
    for family in FAMILIES:
        wait_equal(lambda: main_routes(node, family), wanted(family, number), "the direct route")


def expect_none(node):
    for family in FAMILIES:
        wait_equal(lambda: main_routes(node, family), set(), "routes of protocol 30 in main")


@pytest.fixture(name="pair")
def pair_fixture(lab):
    """The agent of the first node, and the second with a pod's address on its loopback."""
    one, two = lab.nodes
    connect(one, two)
    two.configure(f"addr add {PODS[4]}/32 dev lo", f"addr add {PODS[6]}/128 dev lo nodad")
    write(lab)
    return one, two, lab.agent(one, routes={"direct": True})


def test_a_block_is_reached_by_its_node(lab, pair):
    one, _, agent = pair
    expect(one)
    for family in FAMILIES:
        assert one.ping(PODS[family])
    document = agent.json("routes")
    schema.check(document)
    assert [(item["prefix"], item["via"], item["interface"], item["installed"], item["reason"])
            for item in document["direct"]] == [
        (BLOCKS[family], NETS[family].format(2), "seg", True, "routed") for family in FAMILIES]
    assert "via 192.168.7.2 dev seg" in agent.ctl("routes").out
    told = agent.ctl("explain", PODS[4]).out
    assert "10.224.9.0/27 far-0 of node node2: routed straight to its Node, via 192.168.7.2 dev seg" in told
    schema.check(agent.json("explain", PODS[6]))
    assert agent.json("diff")["differences"] == 0
    assert agent.faults() == []


def test_it_follows_the_nodes_address_and_leaves_with_it(lab, pair):
    one, two, _ = pair
    expect(one)
    two.configure("addr add 192.168.7.3/24 dev seg", "addr add fd00:7::3/64 dev seg nodad")
    write(lab, number=3)
    expect(one, number=3)
    assert one.ping(PODS[4]) and one.ping(PODS[6])
    lab.write("nodes.yaml", *one.objects())
    expect_none(one)


def test_a_node_elsewhere_is_left_to_others(lab, pair):
    one, two, agent = pair
    expect(one)
    lab.write("nodes.yaml", objects.node(one.role, [one.address4, one.address6]), *two.objects())
    expect_none(one)
    assert {item["reason"] for item in agent.json("routes")["direct"]} == {"elsewhere"}
    assert agent.faults() == []


def test_what_others_do_to_it_is_mended(lab, pair):
    one, _, _ = pair
    expect(one)
    for family in FAMILIES:
        one.ip(f"-{family}", "route", "del", BLOCKS[family], "proto", "30")
    expect(one)
    one.configure("link set seg down")
    expect_none(one)
    one.configure("link set seg up", "addr replace fd00:7::1/64 dev seg nodad")
    expect(one)


def test_a_foreign_route_in_the_way_is_a_fault_and_stays(lab):
    one, two = lab.nodes
    connect(one, two)
    one.configure("route add 10.224.9.0/27 via 192.168.7.2 proto 31",
                  "route add fd00:224:9::/123 via fd00:7::2 proto 31")
    write(lab)
    agent = lab.agent(one, ready=False, routes={"direct": True})
    wait_equal(lambda: sorted(fault["place"] for fault in agent.faults()),
               sorted(f"{BLOCKS[family]} table 254" for family in FAMILIES), "the faults")
    for family in FAMILIES:
        assert main_routes(one, family, "31") == wanted(family)
        one.ip(f"-{family}", "route", "del", BLOCKS[family], "proto", "31")
    expect(one)
    wait_equal(agent.faults, [], "faults")


def test_turned_off_and_cleaned_up_nothing_is_left(lab, pair):
    one, _, agent = pair
    expect(one)
    for direct in (False, True):
        agent.settings["routes"]["direct"] = direct
        agent.write_config()
        agent.reload()
        (expect if direct else expect_none)(one)
    agent.kill()
    expect(one)
    assert agent.ctl("cleanup", "--config", str(agent.config_file)).code == 0
    expect_none(one)


def test_pods_routes_beside_are_nobodys_business(lab, pair):
    """A pod's route, as Coil makes it in main, has the same number."""
    one, _, agent = pair
    expect(one)
    one.configure("link add stray type veth peer name stray1", "link set stray up", "link set stray1 up",
                  "route add 10.224.1.9 dev stray proto 30")
    for step in (agent.kill, agent.start, agent.settled, agent.kill):
        step()
        assert ("10.224.1.9", None, "stray") in main_routes(one, 4)
    agent.ctl("cleanup", "--config", str(agent.config_file))
    assert main_routes(one, 4) == {("10.224.1.9", None, "stray")}
