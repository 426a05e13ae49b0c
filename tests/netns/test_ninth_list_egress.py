# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, egress: each row was written down before it was tried
(tests/ninth_list.txt)."""

import pytest
from faults import Table, check
from test_egress import egress, pod_object
from test_fifth_list_egress import world_fixture  # noqa: F401
from test_fault_table_objects import ITSELF

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
clients, gateways = Table("ninth_list"), Table("ninth_list")


@clients(1031)
def two_egresses_have_the_same_destinations(world):
    lab = world.lab
    pod = lab.pod(world.node, "other")
    lab.write("second.yaml", egress("second"), pod_object(pod, "second"))
    yield
    world.leaves()
    (lab.manifests / "second.yaml").unlink()
    yield


@clients(1032, cause=("second.yaml:", "destinations"), remedy=ITSELF)
def an_egress_has_no_destinations(world):
    world.lab.write("second.yaml", egress("second", ()))
    yield
    (world.lab.manifests / "second.yaml").unlink()


@gateways(1033, cause="eth0", remedy="ip link set eth0 up", beside=("route", "no way", "answer"))
def the_uplink_of_a_gateway_is_down(world):
    gate = world.gate
    gate.ip("link", "set", "eth0", "down")
    yield
    gate.ip("link", "set", "eth0", "up")
    gate.ip("addr", "replace", f"{gate.address6}/64", "dev", "eth0", "nodad")
    for gateway in (gate.gateway4, gate.gateway6):
        gate.ip("route", "replace", "default", "via", gateway)
    yield
    world.leaves()


@clients.each
def test_on_the_clients_node(world, row):
    check(row, world.of(world.node))


@gateways.each
def test_on_the_gateway(world, row):
    check(row, world.of(world.gate))
