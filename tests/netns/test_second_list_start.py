# SPDX-License-Identifier: Apache-2.0
"""The second list of the fault table, starts: each row was written down before it was tried."""

from pathlib import Path

import pytest
from faults import Table, check
from test_fault_table_start import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows(239, cause="Cannot assign requested address", remedy="name an address of this machine")
def the_health_port_is_on_an_address_of_another_machine(world):
    """Expected: as a port that is taken, with the kernel's own word."""
    world.restart(healthz="192.0.2.55:10256")
    yield
    world.restart()


@rows(240, cause=("standing.json", "is left aside, and this node serves"), remedy="agentctl drain or undrain writes it anew")
def the_state_is_garbage_after_a_power_failure(world):
    """Expected to be left aside in silence; but whether the node was drained is lost by it, which is told."""
    world.agent.stop()
    for file in Path(world.agent.settings["paths"]["state"]).rglob("*"):
        if file.is_file() and not file.is_socket():
            file.write_bytes(b"\0" * 512)
    world.restart()
    yield
    world.served()
    world.agent.ctl("undrain")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
