# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, pools of addresses: each row was written down before it was tried
(tests/seventh_list.txt)."""

import pytest
from faults import Table, check
from test_fifth_list_pools import SECOND, world_fixture  # noqa: F401
from test_pools_given import FIRST, FIRST6, announced, pool, service, withdrawn

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("seventh_list")
THIRD = "203.0.113.66"


def second(world, *addresses, **spec):
    """Another pool, and a Service that asks for it."""
    world.lab.write("second.yaml", {**SECOND, "spec": {"addresses": list(addresses), **spec}})
    service(world.lab, "wish", 9, world.pod, annotations={"fingerpost.io/address-pool": "second"})
    yield
    for name in ("wish.yaml", "second.yaml"):
        (world.lab.manifests / name).unlink()


@rows(810, cause=("Service default/wish", "IPv6"), remedy="pool", beside="has no IPv4")
def a_service_requires_a_family_that_no_pool_has(world):
    service(world.lab, "web", 1, world.pod, ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"], clusterIPs=["10.96.0.1"])
    withdrawn(world.lab, FIRST6)
    pool(world.lab, f"{FIRST}/30")
    service(world.lab, "wish", 9, world.pod, ipFamilyPolicy="RequireDualStack")
    yield
    (world.lab.manifests / "wish.yaml").unlink()
    yield
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")
    service(world.lab, "web", 1, world.pod)
    announced(world.lab, FIRST, FIRST6)


@rows(811, cause=("Service default/wish", "second"), remedy="serviceAllocation", beside="pending, has no")
def a_pool_is_for_other_namespaces(world):
    return second(world, "203.0.113.80/30", serviceAllocation={"namespaces": ["shop"]})


@rows(812, cause=("wish.yaml:", "203.0.113.67"), remedy=("",))
def field_and_annotation_differ(world):
    service(world.lab, "wish", 9, world.pod, annotations={"fingerpost.io/loadBalancerIPs": THIRD},
            loadBalancerIP="203.0.113.67", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"], clusterIPs=["10.96.0.9"])
    yield
    (world.lab.manifests / "wish.yaml").unlink()


@rows(813, cause=("Service default/young", "80"), remedy="another port", beside="pending, has no")
def two_that_share_an_address_have_one_port(world):
    asks = {"fingerpost.io/loadBalancerIPs": THIRD, "fingerpost.io/allow-shared-ip": "one"}
    single = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}
    service(world.lab, "old", 8, world.pod, annotations=asks, clusterIPs=["10.96.0.8"], **single)
    announced(world.lab, THIRD)
    service(world.lab, "young", 9, world.pod, annotations=asks, clusterIPs=["10.96.0.9"], **single)
    yield
    for name in ("young.yaml", "old.yaml"):
        (world.lab.manifests / name).unlink()


@rows(814, cause=("Service default/wish", "avoidBuggyIPs"), remedy="avoidBuggyIPs", beside="pending, has no")
def the_only_address_is_avoided(world):
    return second(world, "203.0.113.255/32", avoidBuggyIPs=True)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
