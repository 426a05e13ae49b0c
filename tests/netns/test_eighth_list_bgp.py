# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, BGP: each row was written down before it was tried
(tests/eighth_list.txt)."""

import re
import signal

import pytest
from faults import Table, check
from test_fault_table_bgp import world_fixture  # noqa: F401
from test_third_list_bgp import edit_router

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("eighth_list")


@rows(916, cause=("tor_v4", "AS"), remedy="AS", beside="tor_v")
def the_router_expects_another_as(world):
    """The first of the two lines is that of IPv4."""
    text = world.lab.tor.bird.folder.joinpath("nodes.conf").read_text(encoding="ascii")
    line = re.search(r"neighbor [^:;]*as \d+;", text)[0]
    back = edit_router(world, "nodes.conf", line, re.sub(r"as \d+", "as 64999", line))
    yield
    back()
    yield
    world.up()


@rows(917, cause="BIRD", remedy="bird")
def bird_hangs(world):
    world.bird.process.send_signal(signal.SIGSTOP)
    yield
    world.bird.process.send_signal(signal.SIGCONT)
    yield
    world.up()


@rows(918, cause="119", remedy="delete that rule")
def a_rule_looks_our_table_up(world):
    world.node.ip("rule", "add", "pref", "500", "lookup", "119")
    yield
    world.node.ip("rule", "del", "pref", "500", "lookup", "119")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
