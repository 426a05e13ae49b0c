# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, pools of addresses: each row was written down before it was tried
(tests/ninth_list.txt)."""

import pytest
from faults import Table, check
from test_fault_table_objects import ITSELF
from test_fifth_list_pools import world_fixture  # noqa: F401
from test_pools_given import FIRST, FIRST6, announced, pool, service, withdrawn
from test_seventh_list_pools import THIRD, second

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("ninth_list")
SINGLE = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}


@rows(1023, cause=("second.yaml:", "203.0.113.80-fd00:203::90"), remedy=ITSELF, beside="second")
def a_range_has_ends_of_two_families(world):
    return second(world, "203.0.113.80-fd00:203::90")


@rows(1024, cause=("wish", "203.0.113.300"), remedy=("",), beside="pending, has no")
def a_service_asks_for_no_address(world):
    service(world.lab, "wish", 9, world.pod, annotations={"fingerpost.io/loadBalancerIPs": "203.0.113.300"},
            clusterIPs=["10.96.0.9"], **SINGLE)
    yield
    (world.lab.manifests / "wish.yaml").unlink()


@rows(1025, cause=("Service default/young", "default/old"), remedy="address", beside="pending, has no")
def two_ask_for_one_address(world):
    asks = {"fingerpost.io/loadBalancerIPs": THIRD}
    service(world.lab, "old", 8, world.pod, annotations=asks, clusterIPs=["10.96.0.8"], **SINGLE)
    announced(world.lab, THIRD)
    service(world.lab, "young", 9, world.pod, annotations=asks, clusterIPs=["10.96.0.9"],
            ports=[{"name": "p", "port": 81, "protocol": "TCP"}], **SINGLE)
    yield
    for name in ("young.yaml", "old.yaml"):
        (world.lab.manifests / name).unlink()


@rows(1026, cause=("Service default/wish", "no pool of this family is for it"), remedy="look at autoAssign", beside="has no")
def the_only_pool_gives_nothing_by_itself(world):
    lab = world.lab
    (lab.manifests / "web.yaml").unlink()
    withdrawn(lab, FIRST, FIRST6)
    lab.write("pools.yaml", {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
                             "metadata": {"name": "lb", "namespace": "lb"},
                             "spec": {"addresses": [f"{FIRST}/30", f"{FIRST6}/126"], "autoAssign": False}})
    service(lab, "wish", 9, world.pod)
    yield
    (lab.manifests / "wish.yaml").unlink()
    pool(lab, f"{FIRST}/30", f"{FIRST6}/126")
    yield
    service(lab, "web", 1, world.pod)
    announced(lab, FIRST, FIRST6)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
