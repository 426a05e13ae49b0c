# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, egress: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from test_egress import egress
from test_fault_table_objects import ITSELF
from test_fifth_list_egress import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
rows = Table("tenth_list")


@rows(1132, cause=("egress.yaml:", "198.18.0.7"), remedy=ITSELF)
def a_destination_has_no_length(world):
    world.lab.write("egress.yaml", egress(destinations=("0.0.0.0/0", "::/0", "198.18.0.7")))
    yield
    world.lab.write("egress.yaml", egress())
    yield
    world.leaves()


@rows(1133)
def the_agent_of_a_gateway_is_killed(world):
    agent = world.gate.agents[0]
    agent.kill()
    world.leaves()
    agent.start()
    yield
    world.leaves()


@rows.each
def test_on_the_clients_node(world, row):
    check(row, world.of(world.node))
