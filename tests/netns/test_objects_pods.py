# SPDX-License-Identifier: Apache-2.0
"""Objects gone through one by one: pods whose address somebody else has."""

import pytest
from faults import Table, check
from test_fault_table_pods import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows(1351, code="pod-address-local",
      cause=("Pod default/one", "is cut off: lo has its address 10.224.1."), remedy="ip addr del 10.224.1.")
def the_node_has_a_pods_address(world):
    address = f"{world.pods[0].address(4)}/32"
    world.node.ip("addr", "add", address, "dev", "lo")
    yield
    world.node.ip("addr", "del", address, "dev", "lo")
    yield
    world.reaches()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
