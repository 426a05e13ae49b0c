# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, pools of addresses: each row was written down before it was tried
(tests/sixth_list.txt)."""

import pytest
from faults import Table, check
from test_fifth_list_pools import SECOND, world_fixture  # noqa: F401
from test_pools_given import FIRST, FIRST6, pool, service

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("sixth_list")


def wishes(world, **annotations):
    service(world.lab, "wish", 9, world.pod, annotations={f"fingerpost.io/{key}": value for key, value in annotations.items()})
    yield
    (world.lab.manifests / "wish.yaml").unlink()


@rows(728, cause=("second.yaml:", "203.0.113.90-203.0.113.80"), remedy=("",))
def a_range_has_its_ends_the_wrong_way_around(world):
    world.lab.write("second.yaml", {**SECOND, "spec": {"addresses": ["203.0.113.90-203.0.113.80"]}})
    yield
    (world.lab.manifests / "second.yaml").unlink()


@rows(729, cause=("Service default/wish", "192.0.2.7"), remedy="pool", beside="Service")
def a_service_asks_for_an_address_of_no_pool(world):
    return wishes(world, loadBalancerIPs="192.0.2.7")


@rows(730, cause=("Service default/wish", "gold"), remedy="pool", beside="Service")
def a_service_asks_for_a_pool_that_is_not_there(world):
    return wishes(world, **{"address-pool": "gold"})


@rows(731, cause=("IPAddressPool lb/lb", "its removal is refused"), remedy="in a pool")
def the_pool_is_deleted_in_use(world):
    (world.lab.manifests / "pools.yaml").unlink()
    yield
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
