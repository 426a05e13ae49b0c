# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, addresses of pods: each row was written down before it was tried
(tests/sixth_list.txt)."""

import pytest
from faults import Table, check
from lab import wait
from test_fault_table_pods import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("sixth_list")
BLOCK = "10.224.1.0/30"


def shown(world, *words):
    return world.node.ip("route", "show", *words)


@rows(724, heals=True)
def a_blackhole_replaces_the_route_to_a_pod(world):
    address = world.pods[0].address(4)
    world.node.ip("route", "replace", "blackhole", address)
    yield
    wait(lambda: f"dev {world.end}" in shown(world, f"{address}/32"), "the route")
    yield
    world.reaches()


@rows(725, code="pod-address-stray",
      cause=(".", "eth0", "is not given to pods: a route leads to it"), remedy="delete the route")
def a_route_to_a_free_address_leads_elsewhere(world):
    taken = {pod.address(4) for pod in world.pods}
    [free, *_] = [f"10.224.1.{last}" for last in range(4) if f"10.224.1.{last}" not in taken]
    world.node.ip("route", "add", f"{free}/32", "dev", "eth0")
    yield
    world.node.ip("route", "del", f"{free}/32", "dev", "eth0")


@rows(726, heals=True)
def somebody_removes_the_guard_of_the_block(world):
    before = shown(world, BLOCK)
    assert "unreachable" in before
    world.node.ip("route", "flush", BLOCK)
    yield
    wait(lambda: shown(world, BLOCK) == before, "the guard")
    yield


@rows(727, code="pod-end-down", cause=("Pod default/one", "is down"), remedy="ip link set veth")
def a_pods_interface_is_set_down(world):
    world.node.ip("link", "set", world.end, "down")
    yield
    world.node.ip("link", "set", world.end, "up")
    yield
    world.node.ip("addr", "replace", "fe80::1/64", "dev", world.end, "nodad")
    world.reaches()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
