# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, BGP: each row was written down before it was tried (tests/seventh_list.txt). The
numbers before are of test_seventh_list_objects.py and _pools.py, of tests/kube and of tests/consul; those behind of
test_seventh_list_data.py, _pods.py and _egress.py, and of tests/kube."""

import pytest
from faults import Table, check
from lab import wait_equal
from test_fault_table_bgp import UP, world_fixture  # noqa: F401
from test_fifth_list_bgp import up_in_bird

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("seventh_list")
TAKEN = "protocol static taken { ipv4 { table fingerpost4; }; route 198.51.100.0/24 via TOR_ADDRESS4; }\n\n"


def renamed(world):
    return {name.replace("tor", "leaf"): state for name, state in UP.items()}


@rows(821)
def the_sessions_have_other_names(world):
    world.edit("node.conf", "protocol bgp tor_", "protocol bgp leaf_")
    up_in_bird(world)
    yield
    wait_equal(lambda: world.peers("state"), renamed(world), "the sessions by their new names")
    world.restore()
    up_in_bird(world)
    yield
    world.up()


@rows(822, cause=("198.51.100.0/24", "foreign"), remedy="kernel protocol", beside="foreign")
def a_kernel_protocol_exports_into_our_table(world):
    """BIRD has one kernel protocol for each table: it is that of fingerpost.conf."""
    world.write("node.conf", world.texts["node.conf"].replace("protocol device", TAKEN + "protocol device"))
    world.edit("fingerpost.conf", "import all; export none;", "import all; export all;")
    yield
    world.restore()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
