# SPDX-License-Identifier: Apache-2.0
"""Uplinks without Ethernet header (tun, as OpenVPN and flannel's UDP mode have them; WireGuard and
IPIP are alike): a gateway behind one, and a client's node behind one."""

import os

import pytest
from lab import wait, wait_equal
from lab.traffic import Connection, Datagrams, serve
from lab.tunnels import Tun, open_tun
from test_egress import BOTH, PORT, address, egress, pod_object, seen, told, write_nodes

pytestmark = pytest.mark.lab(nat=True, nodes=2)
UP, MTU = "up.1", 1400
HOPS = {4: ("10.9.1.1", "10.9.1.2"), 6: ("fd09:1::1", "fd09:1::2")}
AUTO = {"enabled": False, "uplinks": "auto", "podInterfaces": "auto"}
BULK = bytes(range(256)) * 1024


def move(lab, node):
    """All that goes to a node and comes from it takes the tun device."""
    for host, end in ((lab.tor, 0), (node, 1)):
        host.configure(f"link set {UP} mtu {MTU} up", f"addr add {HOPS[4][end]}/24 dev {UP}",
                       f"addr add {HOPS[6][end]}/64 dev {UP} nodad")
    for family in (4, 6):
        here, there = HOPS[family]
        node.ip(f"-{family}", "route", "replace", "default", "via", here, "dev", UP)
        for target in (address(node, family), getattr(node, f"block{family}")):
            lab.tor.ip(f"-{family}", "route", "replace", target, "via", there, "metric", "1")
    lab.tor.set_sysctls({f"net/ipv4/conf/{what}/rp_filter": 0 for what in ("all", "default", node.role)})
    node.set_sysctls({f"net/ipv4/conf/{what}/rp_filter": 0 for what in ("all", "default", "eth0")})


@pytest.fixture(name="world", params=("client", "gateway"))
def world_fixture(lab, request):
    lab.first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    lab.guest = lab.pod(lab.first, "guest")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.agent(lab.first, egress={"enabled": True, "unknownPods": "hold"}, services=AUTO)
    lab.agent(lab.gateway, egress={"gateway": {}}, services=AUTO)
    lab.wait_sessions()
    serve(lab.client, PORT)
    lab.behind = lab.first if request.param == "client" else lab.gateway
    wire = Tun(UP, lab.tor, lab.behind)
    try:
        move(lab, lab.behind)
        yield lab
    finally:
        wire.close()


@BOTH
def test_traffic(world, family):
    """All kinds of packets, whole, from a pod by the gateway and back."""
    target = address(world.client, family)
    wait(lambda: seen(world, family) == address(world.gateway, family), "the pod leaves by the gateway")
    with Connection(world.guest, target, PORT, timeout=20) as connection:
        assert connection.put(BULK) and connection.get(len(BULK))
    for length in (100, MTU, 4000):
        with Datagrams(world.guest, target, PORT, timeout=1) as datagrams:
            data = (b"0123456789abcdef" * 256)[:length]
            wait(lambda data=data: datagrams.put(data), f"a datagram of {length} bytes arrives")
            wait(lambda length=length: datagrams.get(length), f"a datagram of {length} bytes comes back")
        wait(lambda length=length: world.guest.ping(target, length, timeout=1), f"a ping of {length} bytes")
    wait_equal(lambda: {fault["place"] for host in world.nodes
                        for fault in host.agents[0].json("faults")["items"]}, set(), "no faults")


@BOTH
def test_errors_and_resets(world, family):
    """What a gateway makes itself finds its way, too: a reset for a connection that it does not know."""
    wait(lambda: seen(world, family) == address(world.gateway, family), "the pod leaves by the gateway")
    agent = world.gateway.agents[0]
    with Connection(world.guest, address(world.client, family), PORT, timeout=10) as connection:
        connection.who()
        world.write("pods.yaml")
        wait_equal(lambda: told(agent)["gateway"]["clients"], [], "no client is left")
        world.write("pods.yaml", pod_object(world.guest))
        wait(lambda: seen(world, family) == address(world.gateway, family), "it leaves again")
        with pytest.raises(ConnectionResetError):
            connection.who()


def test_new_pods_are_held(world):
    """A pod that the agent has not seen to leaves by no uplink."""
    world.first.agents[0].kill()
    stranger = world.pod(world.first, "stranger")
    assert not any(seen(world, family, pod=stranger) for family in (4, 6))


def faults(host):
    return {fault["place"]: f"{fault['code']}: {fault['message']}" for fault in host.agents[0].json("faults")["items"]}


@pytest.mark.parametrize("services", (False, True))
def test_what_can_carry_nothing_is_told(lab, services):
    """A gateway without an uplink, and a pod's interface that can have no program: faults by name, each
    once, whether or not Services are served."""
    first, gateway = lab.nodes
    write_nodes(lab, gateway)
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.pod(first, "guest")))
    device = os.fdopen(open_tun(first, "veth-tun"), "rb")
    with device:
        first.configure("link set veth-tun up", "route add 10.224.0.99 dev veth-tun")
        lab.agent(first, egress={"enabled": True}, services={"enabled": services})
        lab.agent(gateway, egress={"gateway": {}}, services={"enabled": services, "uplinks": ["wan"]})
        wait(lambda: "egress-pod-not-ethernet: " in faults(first).get("interface veth-tun", ""), "the pod's")
        wait(lambda: "no interface matches" in faults(gateway).get("services.uplinks", ""), "the uplink's")
        told_once = [fault["place"] for host in lab.nodes for fault in host.agents[0].json("faults")["items"]]
        assert len(told_once) == len(set(told_once)), told_once
