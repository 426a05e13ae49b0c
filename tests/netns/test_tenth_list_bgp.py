# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, BGP: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from lab import wait
from test_fault_table_bgp import UP, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("tenth_list")
BOTH = '"tor_*"'


@rows(1117, heals=True)
def somebody_restarts_the_sessions(world):
    before = world.peers("since")
    world.bird.birdc("restart", BOTH)
    yield
    wait(lambda: not before.items() & world.peers("since").items() and world.peers("state") == UP, "other sessions")
    yield


@rows(1118, cause="disabled", remedy="birdc enable", beside=("session", "announced"))
def all_sessions_are_disabled(world):
    world.bird.birdc("disable", BOTH)
    yield
    world.bird.birdc("enable", BOTH)
    yield
    world.up()


@rows(1119, cause="tor_v4", remedy=("",), beside=("10.0.1", "route", "session"))
def the_nodes_address_has_the_length_of_a_host(world):
    node = world.node
    node.ip("addr", "del", f"{node.address4}/24", "dev", "eth0")
    node.ip("addr", "add", f"{node.address4}/32", "dev", "eth0")
    yield
    node.ip("addr", "del", f"{node.address4}/32", "dev", "eth0")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    yield
    world.up()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
