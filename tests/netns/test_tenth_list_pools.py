# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, pools of addresses: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from test_fault_table_objects import ITSELF
from test_fifth_list_pools import SECOND, world_fixture  # noqa: F401
from test_pools_given import FIRST, FIRST6, announced, pool

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("tenth_list")


def second(world, **fields):
    world.lab.write("second.yaml", {**SECOND, **fields})
    yield
    (world.lab.manifests / "second.yaml").unlink()


@rows(1124, cause=("second.yaml:", "addresses"), remedy=ITSELF, beside="second")
def the_addresses_are_a_text(world):
    return second(world, spec={"addresses": "203.0.113.80/30"})


@rows(1125, cause=("second.yaml:", "AddressPool"), remedy=ITSELF)
def a_pool_is_of_the_older_kind(world):
    return second(world, kind="AddressPool", spec={"protocol": "layer2", "addresses": ["203.0.113.80/30"]})


@rows(1126, cause=("IPAddressPool lb/lb", "default/web"), remedy="leave these addresses in a pool")
def the_pool_is_made_smaller(world):
    pool(world.lab, "203.0.113.65-203.0.113.67", f"{FIRST6}/126")
    yield
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")
    yield
    announced(world.lab, FIRST, FIRST6)


@rows(1127)
def the_pool_is_made_larger(world):
    pool(world.lab, f"{FIRST}/29", f"{FIRST6}/125")
    yield
    announced(world.lab, FIRST, FIRST6)
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
