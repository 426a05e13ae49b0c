# SPDX-License-Identifier: Apache-2.0
"""Pods behind one bridge, as the bridge plugin makes them: who forges a neighbour's addresses, IP and
MAC, leaves as that one's never, be he the first to speak."""

import ipaddress
import socket

import pytest
from lab import wait_equal
from lab.namespace import Namespace
from lab.traffic import ask, serve
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from test_egress import PORT, address, egress, pod_object, told, write_nodes
from test_egress_abuse import SECRET, counts, listen, wait_serves

pytestmark = pytest.mark.lab(nat=True, nodes=2)
FAMILIES = (4, 6)
BRIDGE_MAC, ROUTER = "02:00:00:00:00:30", 30  # the bridge's address, of the node's block


class Port(Namespace):
    """A pod by a port of the bridge. Its MAC is known to all: it follows from its address."""

    def __init__(self, lab, name, number, index):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.create(forwarding=False)
        self.node, self.link, self.mac = lab.nodes[0], f"veth{number}", f"02:00:00:00:01:{index:02x}"
        self.node.configure(f"link add {self.link} type veth peer name eth0 netns {self.name}",
                            f"link set {self.link} master pods up")
        self.configure(f"link set eth0 address {self.mac} up")
        self.take(index)

    def take(self, index):
        """An address of the node's block."""
        networks = [ipaddress.ip_network(block) for block in (self.node.block4, self.node.block6)]
        self.address4, self.address6 = (str(network[index]) for network in networks)
        for network in networks:
            self.configure(f"addr add {network[index]}/{network.prefixlen} dev eth0 nodad",
                           f"route replace default via {network[ROUTER]}")

    def call(self, mac):
        self.mac = mac
        self.configure(f"link set eth0 address {mac}")

    def leave(self):
        self.configure("addr flush dev eth0 scope global")

    def forge(self, victim, target, times=3):
        """Datagrams to SECRET, as the victim would send them."""
        source = address(victim, 6 if ":" in target else 4)
        head = IPv6(src=source, dst=target) if ":" in target else IP(src=source, dst=target)
        frame = bytes(Ether(src=victim.mac, dst=BRIDGE_MAC) / head / UDP(sport=1000, dport=SECRET) / b"forged")
        with self.entered():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with sock:
            sock.bind(("eth0", 0))
            for _ in range(times):
                sock.send(frame)


@pytest.fixture(name="world")
def world_fixture(lab):
    first, lab.gateway = lab.nodes
    networks = [ipaddress.ip_network(block) for block in (first.block4, first.block6)]
    first.configure(f"link add pods address {BRIDGE_MAC} type bridge", "link set pods up",
                    *(f"addr add {network[ROUTER]}/{network.prefixlen} dev pods nodad" for network in networks))
    write_nodes(lab, lab.gateway)
    lab.write("egress.yaml", egress())
    lab.guest, lab.other, lab.first = (Port(lab, name, number, number)
                                       for number, name in enumerate(("guest", "other", "first"), 1))
    lab.write("pods.yaml", pod_object(lab.guest), pod_object(lab.other, annotation=None), pod_object(lab.first))
    lab.agent(first, egress={"enabled": True}, services={"enabled": False})
    lab.agent(lab.gateway, services={"enabled": False}, egress={"gateway": {}})
    lab.wait_sessions()
    for block in (first.block4, first.block6):
        wait_equal(lambda: lab.tor.via(block), {first.role}, "the pods' block on the ToR")
    serve(lab.client, PORT)
    for family in FAMILIES:  # what is planned of one is planned of the guest, who does not speak yet
        wait_serves(lab, lab.first, family)
    return lab


def refused(world):
    return counts(world.nodes[0]).get("source", 0)


def silent(world, forger, victim, family):
    """What the forger sends does not leave, also where nobody else can show that the way is open."""
    before, outside = refused(world), address(world.client, family)
    with listen(world.client, family, SECRET) as heard:
        forger.forge(victim, outside)
        assert refused(world) == before + 3
        heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            heard.recv(100)


def check(world, forger, victim, family):
    """What the forger sends does not leave; what the pod itself sends does, after that."""
    before, outside = refused(world), address(world.client, family)
    with listen(world.client, family, SECRET) as heard:
        forger.forge(victim, outside)
        assert refused(world) == before + 3
        victim.forge(victim, outside, times=1)
        _, (sender, *_) = heard.recvfrom(100)
        assert sender.removeprefix("::ffff:") == address(world.gateway, family)
        heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            heard.recv(100)
    assert ask(victim, outside, PORT, "UDP").peer == address(world.gateway, family)


def check_both(world, forger, victim):
    for family in FAMILIES:
        check(world, forger, victim, family)


def test_the_forger_speaks_first(world):
    """Nobody has to speak for a pod to be known; and an agent that is away is not needed."""
    check_both(world, world.other, world.guest)
    agent = world.nodes[0].agents[0]
    agent.kill()
    for family in FAMILIES:
        outside = address(world.client, family)
        with listen(world.client, family, SECRET) as heard:
            world.other.forge(world.guest, outside)
            world.guest.forge(world.guest, outside, times=1)
            heard.recv(100)
            heard.setblocking(False)
            with pytest.raises(BlockingIOError):
                heard.recv(100)
    agent.start()
    check_both(world, world.other, world.guest)


def test_a_pod_that_is_made_anew(world):
    """Its address is nobody's meanwhile. The new pod is found, though nothing tells of its addresses."""
    node = world.nodes[0]
    node.configure(f"link del {world.guest.link}")
    node.agents[0].settled()
    for family in FAMILIES:
        silent(world, world.other, world.guest, family)
    again = Port(world, "again", 4, 9)
    again.leave()
    node.agents[0].settled()
    again.call(world.guest.mac)
    again.take(1)
    for family in FAMILIES:
        wait_serves(world, again, family)
    check_both(world, world.other, again)


def test_an_address_that_moves_to_another_port(world):
    """Of a Pod that goes, to one that comes; both ports stay."""
    check_both(world, world.other, world.guest)
    first = pod_object(world.first)
    world.write("pods.yaml", first, pod_object(world.other, annotation=None))
    world.nodes[0].agents[0].settled()
    world.guest.leave()
    world.other.leave()
    mac = world.guest.mac
    world.guest.call("02:00:00:00:01:0a")  # what its kernel says by itself teaches the bridge nothing
    world.other.call(mac)
    world.other.take(1)
    world.write("pods.yaml", first, pod_object(world.guest))
    for family in FAMILIES:
        wait_serves(world, world.other, family)
    check_both(world, world.guest, world.other)


def test_who_takes_an_address(world):
    """With CAP_NET_ADMIN a pod may set any. Who has it already keeps it, and the fault names both."""
    agent, taken = world.nodes[0].agents[0], [(world.guest.address4, "/32"), (world.guest.address6, "/128 nodad")]

    def told_of():
        return [item for item in agent.faults() if "several interfaces" in item["message"]]

    def take(verb):
        for ip, length in taken:
            world.other.configure(f"addr {verb} {ip}{length.split()[0]} dev eth0 {' '.join(length.split()[1:])}")
        agent.reload()  # it looks at all of them, as each round over everything does

    take("add")
    wait_equal(lambda: {item["place"] for item in told_of()}, {"Pod default/pod-guest"}, "the faults")
    wait_equal(lambda: len(told_of()), 2, "one of each family")
    for ip, _ in taken:
        [message] = [item["message"] for item in told_of() if f": {ip}:" in item["message"]]
        assert world.guest.link in message and world.other.link in message
    for family in FAMILIES:
        silent(world, world.other, world.guest, family)
    take("del")
    wait_equal(told_of, [], "the faults")
