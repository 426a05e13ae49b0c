# SPDX-License-Identifier: Apache-2.0
"""Pods on a Linux bridge whose gateway is in a VLAN of the bridge leave by their Egress, and nobody else on that
bridge leaves as one of them."""

import ipaddress
import json

import pytest
from lab import objects, wait
from lab.traffic import Connection, Datagrams, ask, serve
from served import FAMILIES, PROTOCOLS, TARGET, Service, address_of, announced, steer
from test_egress import PORT, egress, pod_object, told
from test_nat_bridge import GATEWAY, BridgedPod

pytestmark = pytest.mark.lab(nodes=2, nat=True)
ALONE, NAT = {"enabled": False, "podInterfaces": "auto"}, {"podInterfaces": ["cni0*", "veth*"]}


@pytest.fixture(name="world", params=[ALONE, NAT], ids=("alone", "nat"))
def world_fixture(lab, request):
    node, gateway = lab.node, lab.gateway = lab.nodes
    node.configure("link add cni0 type bridge", "link set cni0 up",
                   "link add cni0.100 address 02:00:00:00:01:00 type veth peer name gate",
                   "link set gate master cni0 up")
    node.configure(f"addr add {ipaddress.ip_network(node.block4)[GATEWAY]}/27 dev cni0.100",
                   f"addr add {ipaddress.ip_network(node.block6)[GATEWAY]}/123 dev cni0.100 nodad",
                   "link set cni0.100 up")
    lab.guest, lab.other = (BridgedPod(lab, node, name, index) for index, name in ((1, "guest"), (2, "other")))
    lab.far = lab.pod(gateway, "far")
    serve(lab.far, TARGET)
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.web = Service(lab)
    lab.web.write(lab.far)
    lab.services = request.param is NAT
    lab.agent(node, egress={"enabled": True}, services=request.param)
    lab.agent(gateway, egress={"gateway": {}}, services={"enabled": lab.services})
    lab.write("nodes.yaml", objects.node(node.role, [node.address4, node.address6]), *node.objects()[1:],
              objects.node(gateway.role, [gateway.address4, gateway.address6], {"gateway": "yes"}),
              *gateway.objects()[1:])
    lab.wait_sessions()
    for block in (node.block4, node.block6, gateway.block4, gateway.block6):
        wait(lambda block=block: lab.tor.via(block), f"{block} on the ToR")
    serve(lab.client, PORT)
    return lab


def outside(world, family, pod, protocol="TCP", **more):
    """The address under which the host outside sees a pod; None: it can't be asked."""
    try:
        return ask(pod, address_of(world.client, family), PORT, protocol, timeout=1, **more).peer
    except OSError:
        return None


def test_leaves_by_its_gateway(world):
    """It asks and is answered; it answers who asks it; and Services are as for other pods."""
    for family in FAMILIES:
        for protocol in PROTOCOLS:
            wait(lambda: outside(world, family, world.guest, protocol) == address_of(world.gateway, family),
                 f"IPv{family} and {protocol} by the gateway")
        with Connection(world.guest, address_of(world.client, family), PORT, timeout=20) as connection:
            assert connection.put(b"0123456789abcdef" * 16384) and connection.get(1 << 18)
        with Datagrams(world.guest, address_of(world.client, family), PORT) as datagrams:
            assert datagrams.put(b"x" * 1400) and datagrams.get(1400)
        for protocol in PROTOCOLS:
            assert ask(world.client, address_of(world.guest, family), TARGET, protocol).name == world.guest.role
            assert ask(world.far, address_of(world.guest, family), TARGET, protocol).name == world.guest.role
            assert outside(world, family, world.other, protocol) == address_of(world.other, family)
    if world.services:
        check_services(world)
    assert told(world.node.agents[0])["refusals"] == []
    assert world.node.agents[0].faults() == []


def check_services(world):
    announced(world, world.web, *world.nodes)
    steer(world, world.node, *world.web.announced())
    for family in FAMILIES:
        for protocol in PROTOCOLS:
            for client in (world.guest, world.other, world.node):
                got = ask(client, *world.web.address("clusterIP", family), protocol)
                assert got.name == world.far.role, (client, family, protocol)
            for kind in ("loadBalancer", "nodePort"):
                got = ask(world.client, *world.web.address(kind, family, world.node), protocol)
                assert got.name == world.far.role, (kind, family, protocol)


def test_a_forger_on_the_same_bridge(world):
    """Another pod of the bridge takes the address: it leaves as nobody, and the owner goes on."""
    for family in FAMILIES:
        taken = address_of(world.guest, family)
        wait(lambda: outside(world, family, world.guest) == address_of(world.gateway, family), "the owner leaves")
        [router] = [line["gateway"] for line in
                    json.loads(world.other.ip("-j", f"-{family}", "route", "show", "default"))]
        world.other.configure(f"addr add {taken}/{32 if family == 4 else '128'} dev eth0" + " nodad" * (family == 6),
                              f"neigh replace {router} lladdr 02:00:00:00:01:00 dev eth0 nud permanent")
        before = forged(world)
        assert outside(world, family, world.other, "UDP", source=taken) is None
        assert forged(world) > before
        world.other.configure(f"addr del {taken}/{32 if family == 4 else '128'} dev eth0")
        wait(lambda: outside(world, family, world.guest) == address_of(world.gateway, family), "the owner goes on")
    assert outside(world, 4, world.other) == world.other.address4


def forged(world):
    return sum(item["count"] for item in told(world.node.agents[0])["refusals"]
               if (item["side"], item["reason"]) == ("client", "source"))
