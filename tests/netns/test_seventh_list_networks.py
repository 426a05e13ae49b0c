# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, networks in the configuration: each row was written down before it was tried
(tests/seventh_list.txt)."""

import pytest
from faults import Table, check
from test_fault_table_data import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("seventh_list")


@rows(805, cause=("services.nodePortAddresses", "192.168.77.0/24"), remedy="network")
def node_ports_are_to_answer_on_a_network_of_others(world):
    world.reload(nodePortAddresses=["192.168.77.0/24"])
    yield
    world.reload()


@rows(806, cause=("services.clusterCIDRs", "10.224.0.0/16", "10.224.200.0/24"), remedy="another network")
def a_bridge_has_a_network_of_pods(world):
    node = world.node
    world.reload(clusterCIDRs=["10.224.0.0/16", "fd00:224::/64"])
    node.ip("link", "add", "docker0", "type", "bridge")
    node.ip("addr", "add", "10.224.200.1/24", "dev", "docker0")
    node.ip("link", "set", "docker0", "up")
    yield
    node.ip("link", "del", "docker0")
    yield
    world.reload()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
