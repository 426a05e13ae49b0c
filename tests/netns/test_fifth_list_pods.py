# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, addresses of pods: each row was written down before it was tried
(tests/fifth_list.txt)."""

import pytest
from faults import Table, check
from lab import objects, wait, wait_equal
from lab.pod_wiring import WiredPod
from test_fault_table_pods import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("fifth_list")


def write_nodes(world, *blocks):
    world.lab.write("node.yaml", *[item for item in world.node.objects() if item["kind"] != "AddressBlock"], *blocks)


@rows(623, cause=("Pod default/three", "interface"), remedy="pod")
def somebody_deletes_a_pods_interface(world):
    pod = WiredPod(world.lab, world.node, world.agent, "three").add()
    world.node.ip("link", "del", pod.plan["hostInterface"])
    yield
    pod.delete()
    yield


@rows(624, heals=True)
def somebody_removes_routes_and_alias(world):
    pod = world.pods[0]
    for family in (4, 6):
        world.node.ip(f"-{family}", "route", "del", pod.address(family), "dev", world.end)
    world.node.configure(f'link set {world.end} alias ""')
    yield
    wait_equal(lambda: world.node.ip_json("link", "show", world.end)[0].get("ifalias"), pod.plan["alias"], "the alias")
    yield
    world.reaches()


@rows(625, cause=("Pod default/one", "block"), remedy="AddressBlock", beside="block")
def the_block_is_deleted(world):
    write_nodes(world)
    yield
    write_nodes(world, objects.address_block("pods-0", world.node.role, "10.224.1.0/30", "fd00:224::100/126"))
    yield
    world.reaches()


@rows(626)
def rp_filter_is_strict_on_a_pods_interface(world):
    key = f"net.ipv4.conf.{world.end}.rp_filter"
    before = world.node.run("sysctl", "-n", key).stdout.strip()
    world.sysctl(key, 1)
    yield
    wait(lambda: world.pods[0].ping(world.pods[1].address(4)), "pod one to reach pod two")
    world.sysctl(key, before)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
