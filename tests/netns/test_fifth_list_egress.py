# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, egress: each row was written down before it was tried (tests/fifth_list.txt)."""

import os
import socket
import time
from pathlib import Path

import pytest
from faults import Table, check
from lab import objects, wait, wait_equal
from lab.traffic import open_socket, serve
from moments import Stopwatch
from test_fault_table_data import pinned
from test_egress import PORT, address, egress, pod_object, seen

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
clients, gateways = Table("fifth_list"), Table("fifth_list")
DROPS = """
table inet wall {
    chain forward { type filter hook forward priority filter; udp dport 5555 drop; }
}
"""


class World:
    """A pod on the first node leaves by the other two; `agent` is that whose word counts."""

    def __init__(self, lab):
        self.lab = lab
        self.node, *self.gates = lab.nodes
        self.gate = self.gates[0]
        self.write_nodes(*self.gates)
        self.pod = lab.pod(self.node, "guest")
        lab.write("egress.yaml", egress())
        lab.write("pods.yaml", pod_object(self.pod))
        off = {"enabled": False}
        lab.agent(self.node, egress={"enabled": True}, services=off)
        for node in self.gates:
            lab.agent(node, egress={"gateway": {"ports": "2000-2127", "blocksPerClient": 2}}, services=off)
        lab.wait_sessions()
        serve(lab.client, PORT)
        self.client = lab.client
        self.leaves()

    def of(self, host):
        self.agent = host.agents[0]
        return self

    def write_nodes(self, *gates, addresses=None):
        self.lab.write("nodes.yaml", *(
            item for node in self.lab.nodes for item in [
                objects.node(node.role, (addresses or {}).get(node.role, [node.address4, node.address6]),
                             {"gateway": "yes"} if node in gates else {}),
                *node.objects()[1:]]))

    def leaves(self):
        wanted = {4: {gate.address4 for gate in self.gates}, 6: {gate.address6 for gate in self.gates}}
        self.guest = self.pod
        for family in (4, 6):
            wait(lambda family=family: seen(self, family) in wanted[family], "the pod leaves by a gateway")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@gateways(616)
def somebody_deletes_the_qdisc_of_the_uplink(world):
    world.gate.run("tc", "qdisc", "add", "dev", "eth0", "clsact", check=False)
    world.gate.run("tc", "qdisc", "del", "dev", "eth0", "clsact")
    yield
    world.leaves()


@gateways(617, cause=("routes", "no route leads to another router"), remedy="ip route add default", beside="route")
def the_gateways_default_routes_are_gone(world):
    for family in ("-4", "-6"):
        world.gate.ip(family, "route", "del", "default")
    yield
    for gateway in (world.gate.gateway4, world.gate.gateway6):
        world.gate.ip("route", "replace", "default", "via", gateway)
    yield
    world.leaves()


@clients(618, code="egress-unknown", cause=("guest", "Egress internet/nowhere", "does not exist"), remedy="create it",
         says={"explain default/pod-guest": "fault     Egress internet/nowhere: does not exist"})
def an_annotation_names_nothing(world):
    world.lab.write("pods.yaml", pod_object(world.pod, "nowhere"))
    yield
    world.lab.write("pods.yaml", pod_object(world.pod))
    yield
    world.leaves()


@clients(619, code="egress-gateways-one-address",
         cause=("Egress internet/nat", "Node node2 and Node node3 have one address"), remedy="give each Node an InternalIP of its own")
def two_gateways_have_one_address(world):
    one, two = world.gates
    world.write_nodes(*world.gates, addresses={two.role: [one.address4, two.address6]})
    yield
    world.write_nodes(*world.gates)
    yield
    world.leaves()


@gateways(620, code="egress-gateway-ports-exhausted", cause="source ports", remedy="egress.gateway.ports", lingers=10)
def the_ports_are_used_up(world):
    world.write_nodes(world.gate)
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by this gateway alone")
    flows = [open_socket(world.pod, address(world.client, 4), socket.SOCK_STREAM, 0, "", 1) for _ in range(160)]
    for flow in flows:
        flow.setblocking(False)
        flow.connect_ex((address(world.client, 4), PORT))
    yield
    for flow in flows:
        flow.close()
    world.write_nodes(*world.gates)


@clients(621, cause=("gateway", "10.0."), remedy="UDP port 5555", beside="gateway")
def a_firewall_on_the_way_drops_fou(world):
    world.lab.tor.run("nft", "-f", "-", text=DROPS)
    yield
    world.lab.tor.run("nft", "delete", "table", "inet", "wall")
    yield
    world.leaves()


@clients(622, cause="Egress internet/nat", remedy="label", beside="gateway")
def the_label_is_taken_from_all_nodes(world):
    world.write_nodes()
    yield
    world.write_nodes(*world.gates)
    yield
    world.leaves()


@clients.each
def test_on_the_clients_node(world, row):
    check(row, world.of(world.node))


@gateways.each
def test_on_the_gateway(world, row):
    check(row, world.of(world.gate))


@pytest.mark.parametrize("role", ("client", "gateway"))
def test_pins_that_somebody_removes_come_back(world, role):
    """Maps and links: a program goes with the pin of its link, and service NAT is off here."""
    node = world.node if role == "client" else world.gate
    world.write_nodes(world.gate)
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by this gateway alone")
    folder = Path(node.agents[0].settings["paths"]["bpf"])
    found = pinned(folder)
    watch = Stopwatch(node.agents[0].process.pid, os.getpid())
    for name in found:
        (folder / name).unlink()
    wait_equal(lambda: pinned(folder), found, "the pins")
    assert watch.seconds(time.monotonic()) < 2
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by it again")
    assert watch.seconds(time.monotonic()) < 4
    world.write_nodes(*world.gates)
    world.leaves()
