# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, egress: each row was written down before it was tried
(tests/eighth_list.txt)."""

from pathlib import Path

import pytest
from faults import Table, check
from lab import objects, wait
from test_egress import seen
from test_fault_table_data import pinned
from test_fifth_list_egress import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
clients, gateways = Table("eighth_list"), Table("eighth_list")


@gateways(930)
def the_gateway_does_not_forward(world):
    """The list expects a fault; but packets go past the stack, and leave as before."""
    world.write_nodes(world.gate)
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by this gateway alone")
    world.gate.run("sysctl", "-qw", "net.ipv4.ip_forward=0")
    yield
    assert seen(world, 4) == world.gate.address4
    world.gate.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    world.write_nodes(*world.gates)
    yield
    world.leaves()


@clients(931, code="egress-gateway-unreachable",
         cause=("Egress internet/nat", "no route leads there"), remedy="ip route get", beside="gateway")
def there_is_no_route_to_a_gateway(world):
    world.node.ip("route", "add", "unreachable", world.gate.address4)
    yield
    world.node.ip("route", "del", "unreachable", world.gate.address4)
    yield
    world.leaves()


@clients(932)
def a_gateways_node_is_cordoned(world):
    def write(**spec):
        world.lab.write("nodes.yaml", *(
            item for node in world.lab.nodes for item in [
                {**objects.node(node.role, [node.address4, node.address6], {"gateway": "yes"} if node in world.gates else {}),
                 "spec": spec if node is world.gate else {}}, *node.objects()[1:]]))
    write(unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    yield
    world.leaves()
    write()
    yield


@clients(933, heals=True)
def somebody_removes_the_pins_of_egress(world):
    folder = Path(world.agent.settings["paths"]["bpf"])
    before = pinned(folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_dir() and not path.name.endswith(".debug"):
            path.unlink()
    yield
    wait(lambda: pinned(folder) >= before, "the pins to be back")
    world.leaves()
    yield


@clients.each
def test_on_the_clients_node(world, row):
    check(row, world.of(world.node))


@gateways.each
def test_on_the_gateway(world, row):
    check(row, world.of(world.gate))
