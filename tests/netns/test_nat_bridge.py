# SPDX-License-Identifier: Apache-2.0
"""Pods on a Linux bridge: what one answers another is switched and never routed, with netfilter on
the bridge and without."""

import hashlib
import ipaddress

import pytest
from lab import wait, wait_equal
from lab.namespace import Namespace
from lab.traffic import ask, serve
from served import FAMILIES, KINDS, PROTOCOLS, TARGET, Service, address_of, pods, start, steer

pytestmark = pytest.mark.lab(nodes=2, nat=True)
GATEWAY = 30  # the bridge's own address, of the node's block
RULES = """
table inet guard {
    chain routed { type filter hook forward priority 0; ct state invalid drop; }
    chain sent { type nat hook postrouting priority 100; }
}
"""


class BridgedPod(Namespace):
    """A pod as the bridge plugin makes it: a port of cni0, which is its gateway."""

    def __init__(self, lab, node, name, index):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.node = node
        self.host_end = f"port{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        networks = [ipaddress.ip_network(block) for block in (node.block4, node.block6)]
        self.address4, self.address6 = (str(network[index]) for network in networks)
        self.create(forwarding=False)
        node.configure(
            f"link add {self.host_end} type veth peer name eth0 netns {self.name}",
            f"link set {self.host_end} master cni0 up",
        )
        self.configure("link set eth0 up")
        for network in networks:
            self.configure(
                f"addr add {network[index]}/{network.prefixlen} dev eth0"
                + (" nodad" if network.version == 6 else ""),
                f"route add default via {network[GATEWAY]}",
            )
        serve(self, TARGET)


def make_bridge(node):
    """With a MAC of its own, as the bridge plugin gives it: else it has the lowest of its ports'.

    A port that comes later would change it, and until the pods ask again, what they send to the old
    one is no longer for the node.
    """
    node.configure(
        "link add cni0 address 02:00:00:00:00:30 type bridge",
        f"addr add {ipaddress.ip_network(node.block4)[GATEWAY]}/27 dev cni0",
        f"addr add {ipaddress.ip_network(node.block6)[GATEWAY]}/123 dev cni0 nodad",
        "link set cni0 up",
    )


def filter_bridged(node):
    node.set_sysctls({f"net/bridge/bridge-nf-call-{what}": 1 for what in ("iptables", "ip6tables")})
    node.run("nft", "-f", "-", text=RULES)


@pytest.fixture(name="world", params=("switched", "netfilter"))
def world_fixture(lab, request):
    node = lab.nodes[0]
    make_bridge(node)
    if request.param == "netfilter":
        filter_bridged(node)
    lab.a, lab.b = (BridgedPod(lab, node, name, index) for index, name in ((1, "a"), (2, "b")))
    lab.far = pods(lab, "far", nodes=lab.nodes[1:])["far2"]
    lab.there, lab.here, lab.away = (
        Service(lab, name, number) for number, name in ((10, "there"), (11, "here"), (12, "away"))
    )
    lab.there.write(lab.b)
    lab.here.write(lab.a)
    lab.away.write(lab.far)
    start(lab, services={"podInterfaces": ["cni0", "veth*"]})
    steer(lab, node, *lab.there.announced(), *lab.here.announced(), *lab.away.announced())
    return lab


def check(world, clients, service, endpoint, kinds=KINDS):
    node = world.nodes[0]
    for client in clients:
        for kind in kinds:
            for family in FAMILIES:
                for protocol in PROTOCOLS:
                    got = ask(client, *service.address(kind, family, node), protocol)
                    assert got.name == endpoint.role, (client, service, kind, family, protocol)


def test_pods_on_a_bridge(world):
    """The neighbour, the pod itself, a pod of another node; asked by pods, nodes and from outside."""
    node, other = world.nodes
    check(world, [world.a, world.b, node, world.far], world.there, world.b)
    check(world, [world.a, world.b, node, world.far], world.here, world.a)
    check(world, [world.a, world.b, node], world.away, world.far)
    check(world, [world.client, other], world.there, world.b, KINDS[1:])
    world.there.write(world.b, externalTrafficPolicy="Local", internalTrafficPolicy="Local")
    agent = node.agents[0]
    agent.settled()
    check(world, [world.a, node], world.there, world.b)
    check(world, [world.client], world.there, world.b, KINDS[1:])
    # Straight to an endpoint, from the port that a flow to it may have.
    for family in FAMILIES:
        assert ask(world.a, address_of(world.b, family), TARGET).name == world.b.role
    assert agent.json("verify")["differences"] == 0


def test_a_gateway_in_a_vlan_of_the_bridge(lab):
    """The bridge has no address: the pods' gateway is a veth whose other end is a port, as the plugin makes one
    where its configuration has a `vlan`."""
    node = lab.nodes[0]
    node.configure("link add cni0 type bridge", "link set cni0 up",
                   "link add cni0.100 type veth peer name gate",
                   "link set gate master cni0 up", "link set cni0.100 up",
                   f"addr add {ipaddress.ip_network(node.block4)[GATEWAY]}/27 dev cni0.100",
                   f"addr add {ipaddress.ip_network(node.block6)[GATEWAY]}/123 dev cni0.100 nodad")
    lab.a = BridgedPod(lab, node, "a", 1)
    lab.far = pods(lab, "far", nodes=lab.nodes[1:])["far2"]
    lab.here, lab.away = Service(lab, "here", 11), Service(lab, "away", 12)
    lab.here.write(lab.a)
    lab.away.write(lab.far)
    start(lab, services={"podInterfaces": ["cni0*", "veth*"]})
    steer(lab, node, *lab.here.announced(), *lab.away.announced())
    check(lab, [lab.a, node, lab.far], lab.here, lab.a)
    check(lab, [lab.a, node], lab.away, lab.far)
    check(lab, [lab.client], lab.here, lab.a, KINDS[1:])
    assert node.agents[0].faults() == []


def test_a_port_that_comes_later(world):
    late = BridgedPod(world, world.nodes[0], "late", 3)
    agent = world.nodes[0].agents[0]

    def hooks():
        return [interface["hooks"] for interface in agent.json("status")["nat"]["interfaces"]
                if interface["name"] == late.host_end]

    wait_equal(hooks, [["pod-in", "pod-out"]], "the programs at the new port")
    check(world, [late], world.there, world.b)
    world.here.write(late)
    agent.settled()
    wait(lambda: agent.json("verify")["differences"] == 0, "nothing to differ")
    check(world, [world.a, world.b, late, world.nodes[0]], world.here, late)
    check(world, [world.client], world.here, late, KINDS[1:])
