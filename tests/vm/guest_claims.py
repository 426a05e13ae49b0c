# SPDX-License-Identifier: Apache-2.0
"""Claimed addresses on devices that only stock kernels have: a VLAN, and a bond of two ports. Runs inside the guest;
the soak's part claim_devices boots it."""

import socket
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("", "kube")]

from lab import Lab, wait, wait_equal  # noqa: E402
from lab.capture import ETH_P_ALL  # noqa: E402
from lab.segment import NET4, NET6, Segment, claim_of, mac_of  # noqa: E402
from test_etcd import Member  # noqa: E402

STORE = "192.0.3.9"
V4, V6 = "198.51.100.50", "2001:db8:5::50"


def vlan(segment, host, index):
    """All talk is of VLAN 7, hosts included that are not ours: what has no tag reaches nobody."""
    del index, segment
    host.run("modprobe", "8021q")
    host.configure("link add link lan name lan.7 type vlan id 7")
    return "lan.7"


def bond(segment, host, index):
    host.run("modprobe", "bonding", "max_bonds=0")
    segment.switch.configure(f"link add q{index} type veth peer name lan2 netns {host.name}",
                             f"link set q{index} master br0", f"link set q{index} up")
    host.configure("link add bond0 type bond mode active-backup miimon 100",
                   *[line for port in ("lan", "lan2")
                     for line in (f"link set {port} down", f"link set {port} master bond0", f"link set {port} up")])
    return "bond0"


class World:
    """Two nodes and a client on a segment, each by such a device; and an etcd behind the nodes' router."""

    def __init__(self, lab, kind):
        self.lab = lab
        lab.write("nodes.yaml", *[item for node in lab.nodes for item in node.objects()])
        lab.tor.ip("address", "add", f"{STORE}/32", "dev", "lo")
        self.etcd = Member(lab.tor, STORE, (STORE,))
        self.segment = Segment(lab)
        for host in (*lab.nodes, self.segment.client):
            index = self.segment.places[host.role]
            host.configure("addr flush dev lan")
            self.device = kind(self.segment, host, index)
            host.configure(f"link set {self.device} up", f"addr add {NET4.format(index)} dev {self.device}",
                           f"addr add {NET6.format(index)} dev {self.device} nodad")
        with self.segment.client.entered():
            self.ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.ear.bind((self.device, ETH_P_ALL))
        self.ear.setblocking(False)
        self.claims = set()
        claims = {"own": [V4, V6], "interfaces": [self.device], "duration": "20s", "failback": "never", "group": "all",
                  "etcd": {"endpoints": [self.etcd.url]}}
        self.agents = {node.role: lab.agent(node, addresses=claims) for node in lab.nodes}

    def heard(self):
        """(MAC, address) of each claim to all that the client has heard by the device."""
        try:
            while True:
                claim = claim_of(self.ear.recv(2048), 0)
                self.claims |= {(claim.mac, claim.address)} if claim and claim.wide else set()
        except BlockingIOError:
            return self.claims

    def at(self, address):
        return [node for node in self.lab.nodes if address in [
            info["local"] for link in node.ip_json("addr", "show", "dev", self.device) for info in link["addr_info"]]]

    def check(self, *others):
        """One node has both, all are told of it with its own MAC, and the client reaches them there."""
        [node] = wait(lambda: [node for node in self.at(V4) if node not in others], "a holder", 60)
        mac = mac_of(self.segment.places[node.role])
        for address in (V4, V6):
            wait_equal(lambda address=address: self.at(address), [node], "one holder")
            wait(lambda address=address: (mac, address) in self.heard(), f"{mac} to be told of {address}")
            wait(lambda address=address: self.segment.client.ping(address), f"an answer of {address}")
            rows = self.segment.client.ip_json("-6" if ":" in address else "-4", "neigh", "show", "to", address)
            assert rows[0]["lladdr"] == mac, rows
        for agent in self.agents.values():
            wait_equal(agent.faults, [], "no fault")
        return node


@pytest.mark.parametrize("kind", (vlan, bond), ids=lambda kind: kind.__name__)
def test_an_address_on_a(kind):
    with Lab(f"vm-claims-{kind.__name__}", nodes=2) as lab:
        world = World(lab, kind)
        first = world.check()
        if kind is bond:  # the other port takes over, and nothing moves
            world.segment.cable(first, "down")
            assert world.check() == first
        assert world.agents[first.role].ctl("drain").code == 0
        assert world.check(first) != first
