# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, addresses of pods: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from lab import objects, wait
from test_fault_table_pods import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("tenth_list")


@rows(1134)
def a_second_block_comes(world):
    world.lab.write("more.yaml", objects.address_block("pods-1", world.node.role, "10.224.1.4/30", "fd00:224::104/126", index=1))
    wait(lambda: "blackhole 10.224.1.4/30 proto 30" in world.node.table(119), "the second block")
    yield
    (world.lab.manifests / "more.yaml").unlink()


def restore(pod):
    """What a pod loses with its interface."""
    plan = pod.plan
    [link] = pod.node.ip_json("link", "show", plan["hostInterface"])
    pod.configure("link set eth0 up", *(f"addr replace {address} dev eth0 nodad" for address in plan["addresses"]))
    for gateway in plan["gateways"]:
        pod.configure(f"neigh replace {gateway} lladdr {link['address']} nud permanent dev eth0")
        if ":" not in gateway:
            pod.configure(f"route replace {gateway} dev eth0 scope link")
    pod.configure(*(f"route replace {route['to']} via {route['via']} dev eth0" for route in plan["routes"]))


@rows(1135, cause="default/one", remedy="ip link set")
def a_pods_own_end_is_set_down(world):
    pod = world.pods[0]
    pod.ip("link", "set", "eth0", "down")
    yield
    restore(pod)
    yield
    world.reaches()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
