# SPDX-License-Identifier: Apache-2.0
"""Interfaces that nobody names are found by what they are; where names leave one out that a packet
needs, the proof fails, and not the traffic."""

import pytest
from lab import wait, wait_equal
from lab.traffic import ask
from served import FAMILIES, KINDS, PROTOCOLS, Service, address_of, announced, pods, start, steer

pytestmark = pytest.mark.lab(nodes=2, nat=True)
AUTO = {"uplinks": "auto", "podInterfaces": "auto"}
UPLINK, POD = ["uplink-in", "uplink-out"], ["pod-in", "pod-out"]


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.ones = pods(lab, "one")
    lab.web = Service(lab)
    lab.web.write(lab.ones["one1"], lab.ones["one2"])
    return lab


def hooks(agent):
    """The hooks with our program, by interface."""
    return {item["name"]: item["hooks"] for item in agent.json("status")["nat"]["interfaces"]}


def tunnel(world):
    """VXLAN between the nodes, by which they reach each other's pods."""
    for node, other in zip(world.nodes, reversed(world.nodes)):
        number = node.role[-1]
        node.configure(
            f"link add over.1 mtu 1400 type vxlan id 1 dstport 8472 local {node.address4}",
            f"addr add 172.31.0.{number}/24 dev over.1",
            f"addr add fd31::{number}/64 dev over.1 nodad",
            "link set over.1 up",
        )
        node.run("bridge", "fdb", "append", "00:00:00:00:00:00", "dev", "over.1", "dst",
                 other.address4)
    for node, other in zip(world.nodes, reversed(world.nodes)):
        number = other.role[-1]
        node.configure(
            f"route add {other.block4} via 172.31.0.{number}",
            f"route add {other.block6} via fd31::{number}",
        )


def served(world, clients, patience=5):
    """What all clients see, of both endpoints."""
    names = set()
    for client in clients:
        for kind in KINDS[1:] if client is world.client else KINDS:
            for family in FAMILIES:
                for protocol in PROTOCOLS:
                    where = world.web.address(kind, family, world.nodes[0])
                    names |= {ask(client, *where, protocol, timeout=patience).name
                              for _ in range(4)}
    return names


def test_all_is_found(world):
    node = world.nodes[0]
    node.configure("link add br7 type bridge", "link set br7 up")
    agent = start(world, world.web, services=AUTO)[0]
    steer(world, node, *world.web.announced())
    one = world.ones["one1"]
    assert hooks(agent) == {"eth0": UPLINK, one.host_end: POD, "lo": ["lo-out"],
                            "svc0": ["svc-out"]}
    assert agent.faults() == []
    assert served(world, [world.client, node, one]) == {host.role for host in world.ones.values()}
    guest = world.pod(node, "guest")
    wait_equal(lambda: hooks(agent).get(guest.host_end), POD, "the new pod's hooks")
    assert served(world, [guest]) == {host.role for host in world.ones.values()}
    tunnel(world)
    wait_equal(lambda: hooks(agent).get("over.1"), UPLINK, "the tunnel's hooks")
    assert served(world, [world.client, node, guest]) == {host.role for host in world.ones.values()}


def faults_of(agent, word):
    return [fault["message"] for fault in agent.faults() if word in fault["message"]]


def test_a_tunnel_that_is_not_named(world):
    """Without the endpoint behind it all is served; with it, nothing is announced."""
    node = world.nodes[0]
    tunnel(world)
    agents = start(world, services={"uplinks": ["eth0"]})
    for agent in agents:
        wait(lambda: faults_of(agent, "is reached by over.1, where our program is not"),
             "the fault")
    for address in world.web.announced():
        assert world.tor.via(address) == set(), address
    # It is the proof that is right: answers to masqueraded packets are lost.
    explained = agents[0].json("explain", world.web.announced()[0])
    assert "over.1" in str(explained), explained
    world.web.write(world.ones["one1"])
    announced(world, world.web, node)
    for family in FAMILIES:
        where = world.web.address("loadBalancer", family)
        assert ask(world.client, *where).name == world.ones["one1"].role


def test_pods_that_no_pattern_matches(world):
    world.web.write(world.ones["one1"])
    agent = start(world, services={"podInterfaces": ["cali*"]})[0]
    wait(lambda: faults_of(agent, "which no pattern matches"), "the fault")
    for address in world.web.announced():  # by node2 alone, to which the pod is one of another node
        wait_equal(lambda: world.tor.via(address), {"node2"}, address)
    story = agent.json("trace", address_of(world.nodes[0], 4), "10.96.0.10:80/TCP", "--in", "host")
    assert f"comes in by {world.ones['one1'].host_end}, where our program is not" in str(story)
