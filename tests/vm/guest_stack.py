# SPDX-License-Identifier: Apache-2.0
"""Service NAT with what few kernels for containers have, and stock ones do: sockets of SCTP,
policies of nftables and of legacy iptables, IPsec. Runs inside the guest; test_nat.py boots it. One lab serves
all tests, in their order."""

import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import legacy  # noqa: E402
from esp import seal, unseal  # noqa: E402
from lab import Lab, wait_equal  # noqa: E402
from lab.capture import ESP, Capture, is_of_the_link  # noqa: E402
from lab.traffic import STREAMS, Connection, outcome, serve  # noqa: E402
from policies import POLICY, allow, answered, path  # noqa: E402
from served import (  # noqa: E402
    FAMILIES,
    PROTOCOLS,
    TARGET,
    Expected,
    Plan,
    Service,
    address_of,
    check,
    pods,
    start,
    steer,
)

PATIENCE = 20
KINDS = ("clusterIP", "loadBalancer", "nodePort")
DIRECT = {"inForce": "direct", "listener": None}
SHORT = 20  # seconds for which a flow of SCTP is kept: longer than any pause here


@pytest.fixture(name="world", scope="module")
def world_fixture():
    with Lab("vm-stack", nat=True) as lab:
        lab.ones = pods(lab, "one")
        for pod in lab.ones.values():
            serve(pod, f"sctp:{TARGET}")
        lab.guest = lab.pod(lab.nodes[0], "guest")
        lab.near, lab.far, lab.none = (
            Service(lab, name, number) for name, number in (("near", 10), ("far", 11), ("none", 12)))
        for service in (lab.near, lab.far, lab.none):
            service.protocols = (*PROTOCOLS, "SCTP")
        lab.host = Service(lab, "host", 13)  # in the second node's own network
        serve(lab.nodes[1], TARGET)
        lab.host.write(lab.nodes[1])
        lab.near.write(lab.ones["one1"])
        lab.far.write(lab.ones["one2"])
        lab.none.write()
        node = lab.nodes[0]
        node.run("nft", "add table ip n; add chain ip n c { type nat hook postrouting priority 100; }; "
                 "add rule ip n c ip daddr 192.0.2.77 masquerade")
        node.run("modprobe", "br_netfilter")
        node.configure("link add br0 type bridge")
        agents = start(lab, services={"timeouts": {"udp": f"{SHORT}s", "udpStream": f"{SHORT}s"}})
        lab.agent1 = agents[0]
        lab.plans = {agent.node.role: Plan(agent) for agent in agents}
        for service in (lab.near, lab.far, lab.none, lab.host):
            steer(lab, lab.nodes[0], *service.announced(), *service.of["clusterIP"])
        yield lab
        lab.show_logs()


def clients(world):
    return world.client, world.nodes[0], world.guest


def follows(world, expected):
    wait_equal(lambda: path(world.agent1), expected, "the path", 60)


def all_answered(world, client, services, timeout=PATIENCE):
    return answered(world, client, services, KINDS[:2], timeout)


def test_nobody_listens(world):
    """Connection tracking and a bridge whose packets netfilter sees judge nobody."""
    assert path(world.agent1) == DIRECT


def test_sctp(world):
    """Every client and kind of address, as whom the plan says; then several messages each way."""
    ways = [(service, kind, client, family) for service in (world.near, world.far) for kind in KINDS
            for client in clients(world) for family in FAMILIES]
    cells = [Expected(world.plans, client, service, kind, family, "SCTP", world.nodes[0])
             for service, kind, client, family in ways]
    for cell in cells:
        cell.patience = PATIENCE
    check([cell for cell in cells if cell.comes_back()], workers=6)
    for service in (world.near, world.far):
        for family in FAMILIES:
            where = service.address("loadBalancer", family)
            with Connection(world.client, *where, timeout=PATIENCE, protocol=STREAMS["SCTP"]) as one:
                for size in (10, 5000):
                    assert one.put(bytes(size)) and one.get(5 * size), (where, size)
    # Closed by both sides, and its flows end.
    for host in (world.client, *world.ones.values()):
        wait_equal(lambda: len(host.run("cat", "/proc/net/sctp/assocs").stdout.splitlines()), 1,
                   f"the end of all associations on {host}")
    wait_equal(lambda: [flow for flow in world.agent1.json("flows", "--limit", "100000")["items"]
                        if flow["protocol"] == "SCTP"], [], "the end of all flows", 120)
    for family in FAMILIES:
        where = world.none.address("loadBalancer", family)
        assert outcome(world.client, *where, "SCTP", timeout=PATIENCE) == "reject", where


def test_policy_of_nftables(world):
    node, client, both = world.nodes[0], world.client, (world.near, world.far)
    follows(world, DIRECT)
    node.run("nft", "-f", "-", text=POLICY)
    follows(world, {"inForce": "stack", "listener": "nftables chain inet guard forward"})
    assert all_answered(world, client, both, timeout=5) == (0, 16)
    allow(node, client, *world.ones.values())
    assert all_answered(world, client, both) == (16, 0)
    assert all_answered(world, world.guest, (world.far,), timeout=5) == (0, 8)
    node.run("nft", "delete", "table", "inet", "guard")
    follows(world, DIRECT)


def between(wire, *nodes):
    """What passed between the nodes: how many packets of ESP, and what else, in clear."""
    ends = {address_of(node, family) for node in nodes for family in FAMILIES}
    packets = [packet for packet in wire.packets() if not is_of_the_link(packet)]
    clear = [packet for packet in packets
             if packet.protocol != ESP or not {packet.source, packet.target} <= ends]
    return len(packets) - len(clear), clear


@contextlib.contextmanager
def ipsec(world, mode):
    """Between the nodes, for a while; gives what passes the second one's link."""
    with Capture(world.tor, world.nodes[1].role) as wire:
        assert answered(world, world.client, (world.far, world.host), KINDS[1:2], PATIENCE) == (8, 0)
        sealed, clear = between(wire, *world.nodes)
        assert clear and not sealed
        seal(*world.nodes, mode)
        follows(world, {"inForce": "stack", "listener": "policies of XFRM"})
        wire.packets()
        yield wire
    unseal(*world.nodes)
    follows(world, DIRECT)


def test_esp_in_tunnels(world):
    """What concerns the second node's pods, and itself, is served, and sealed on its link: also what
    ICMP quotes of it."""
    one, two = world.nodes
    with ipsec(world, "tunnel") as wire:
        for client, kinds in ((world.client, KINDS), (one, KINDS[:1]), (world.guest, KINDS[:1])):
            ways = 8 * len(kinds)
            assert answered(world, client, (world.far, world.host), kinds, PATIENCE) == (ways, 0), client
            sealed, clear = between(wire, one, two)
            assert sealed >= 2 * ways and not clear, client
        # Segments that ESP makes too long; then some that are so for the client only.
        for client, mtu in ((world.guest, 1500), (world.client, 1500), (world.client, 1280)):
            world.tor.configure(f"link set client mtu {mtu}")
            for family in FAMILIES:
                where = world.far.address("loadBalancer", family)
                with Connection(client, *where, timeout=PATIENCE) as stream:
                    assert stream.put(bytes(5000)) and stream.get(5000), (client, mtu, family)
        world.tor.configure("link set client mtu 1500")
        for family in FAMILIES:
            where = world.none.address("nodePort", family, one)
            for protocol in PROTOCOLS:
                assert outcome(world.ones["one2"], *where, protocol, timeout=PATIENCE) == "reject"
        sealed, clear = between(wire, one, two)
        assert sealed > 40 and not clear


def test_esp_in_transport_mode(world):
    """Between the nodes themselves: what a Service's endpoint there is asked in this node's name leaves
    sealed. The answers pass none of our hooks once they are open, and are lost."""
    one, two = world.nodes
    with ipsec(world, "transport") as wire:
        for client in (world.client, one):
            assert answered(world, client, (world.host,), KINDS[:1], timeout=2) == (0, 4), client
            sealed, clear = between(wire, one, two)
            assert sealed >= 4 and not clear, client


def test_policy_of_legacy_iptables(world):
    """At the end: the table stays for as long as the namespace."""
    node, client = world.nodes[0], world.client
    legacy.forward_policy(node, legacy.DROP)
    follows(world, {"inForce": "stack", "listener": "legacy iptables, table filter (/proc/net/ip_tables_names)"})
    four = Expected(world.plans, client, world.far, "loadBalancer", 4, "TCP", node)
    assert outcome(client, four.address, four.port, timeout=5) == "drop"
    legacy.forward_policy(node, legacy.ACCEPT)
    four.patience = PATIENCE
    assert four.wrong() is None
