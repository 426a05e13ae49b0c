# SPDX-License-Identifier: Apache-2.0
"""Faults of pools, and of Services that want addresses of them."""

import pytest
from faults import ITSELF, Table, check
from pools_world import SECOND, world_fixture  # noqa: F401
from test_pools_given import FIRST, FIRST6, announced, pool, service, withdrawn

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows("service-pending-exhausted", within=1, cause=("Service default/last", "lb"), remedy="pool", beside=("address",))
def the_pool_is_used_up(world):
    names = ("two", "three", "four", "last")
    for number, name in enumerate(names, 2):
        service(world.lab, name, number, world.pod)
        if name != "last":
            announced(world.lab, FIRST.replace("64", str(62 + number + 1)))
    yield
    for name in names:
        (world.lab.manifests / f"{name}.yaml").unlink()


@rows("pool-overlaps-older", within=1, cause=("lb/second", "older IPAddressPool lb/lb"),
      remedy="take the range out of one of the two")
def a_second_pool_overlaps_the_first(world):
    world.lab.write("second.yaml", SECOND)
    yield
    (world.lab.manifests / "second.yaml").unlink()


def wishes(world, **annotations):
    service(world.lab, "wish", 9, world.pod, annotations={f"fingerpost.io/{key}": value for key, value in annotations.items()})
    yield
    (world.lab.manifests / "wish.yaml").unlink()


@rows("object-range-unreadable", within=1, cause=("second.yaml:", "203.0.113.90-203.0.113.80"), remedy=("",))
def a_range_has_its_ends_the_wrong_way_around(world):
    world.lab.write("second.yaml", {**SECOND, "spec": {"addresses": ["203.0.113.90-203.0.113.80"]}})
    yield
    (world.lab.manifests / "second.yaml").unlink()


@rows("service-pending-outside-pools", within=1, cause=("Service default/wish", "192.0.2.7"), remedy="pool", beside="Service")
def a_service_asks_for_an_address_of_no_pool(world):
    return wishes(world, loadBalancerIPs="192.0.2.7")


@rows("service-pending-unknown-pool", within=1, cause=("Service default/wish", "gold"), remedy="pool", beside="Service")
def a_service_asks_for_a_pool_that_is_not_there(world):
    return wishes(world, **{"address-pool": "gold"})


@rows("pool-edit-refused", within=1, cause=("IPAddressPool lb/lb", "its removal is refused"), remedy="in a pool")
def the_pool_is_deleted_in_use(world):
    (world.lab.manifests / "pools.yaml").unlink()
    yield
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")


THIRD = "203.0.113.66"


def second(world, *addresses, **spec):
    """Another pool, and a Service that asks for it."""
    world.lab.write("second.yaml", {**SECOND, "spec": {"addresses": list(addresses), **spec}})
    service(world.lab, "wish", 9, world.pod, annotations={"fingerpost.io/address-pool": "second"})
    yield
    for name in ("wish.yaml", "second.yaml"):
        (world.lab.manifests / name).unlink()


@rows("service-pending-no-pool", within=1, cause=("Service default/wish", "IPv6"), remedy="pool", beside="has no IPv4")
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


@rows("service-pending-pool-forbidden", within=1, cause=("Service default/wish", "second"), remedy="serviceAllocation",
      beside="pending, has no")
def a_pool_is_for_other_namespaces(world):
    return second(world, "203.0.113.80/30", serviceAllocation={"namespaces": ["shop"]})


@rows("object-field-overruled", within=1, cause=("wish.yaml:", "203.0.113.67"), remedy=("",))
def field_and_annotation_differ(world):
    service(world.lab, "wish", 9, world.pod, annotations={"fingerpost.io/loadBalancerIPs": THIRD},
            loadBalancerIP="203.0.113.67", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"], clusterIPs=["10.96.0.9"])
    yield
    (world.lab.manifests / "wish.yaml").unlink()


@rows("service-pending-taken", within=1, cause=("Service default/young", "80"), remedy="another port",
      beside="pending, has no")
def two_that_share_an_address_have_one_port(world):
    asks = {"fingerpost.io/loadBalancerIPs": THIRD, "fingerpost.io/allow-shared-ip": "one"}
    single = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}
    service(world.lab, "old", 8, world.pod, annotations=asks, clusterIPs=["10.96.0.8"], **single)
    announced(world.lab, THIRD)
    service(world.lab, "young", 9, world.pod, annotations=asks, clusterIPs=["10.96.0.9"], **single)
    yield
    for name in ("young.yaml", "old.yaml"):
        (world.lab.manifests / name).unlink()


@rows("service-pending-avoided", within=1, cause=("Service default/wish", "avoidBuggyIPs"), remedy="avoidBuggyIPs",
      beside="pending, has no")
def the_only_address_is_avoided(world):
    return second(world, "203.0.113.255/32", avoidBuggyIPs=True)


@rows("object-field-empty", within=1, cause=("second.yaml:", "addresses"), remedy=ITSELF, beside="second")
def a_pool_is_empty(world):
    return second(world)


@rows("document-value-unexpected", within=1, cause=("second.yaml:", "avoidBuggyIPs"), remedy=ITSELF, beside="second")
def a_switch_is_a_text(world):
    return second(world, "203.0.113.80/30", avoidBuggyIPs="yes")


@rows("service-pending-taken", within=1, cause=("Service default/young", "default/old"), remedy="address",
      beside="pending, has no")
def two_share_an_address_by_different_words(world):
    single = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}
    asks = {"fingerpost.io/loadBalancerIPs": THIRD}
    service(world.lab, "old", 8, world.pod, annotations={**asks, "fingerpost.io/allow-shared-ip": "one"}, clusterIPs=["10.96.0.8"],
            **single)
    announced(world.lab, THIRD)
    service(world.lab, "young", 9, world.pod, annotations={**asks, "fingerpost.io/allow-shared-ip": "two"}, clusterIPs=["10.96.0.9"],
            ports=[{"name": "p", "port": 81, "protocol": "TCP"}], **single)
    yield
    for name in ("young.yaml", "old.yaml"):
        (world.lab.manifests / name).unlink()


SINGLE = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}


@rows("object-range-unreadable", within=1, cause=("second.yaml:", "203.0.113.80-fd00:203::90"), remedy=ITSELF, beside="second")
def a_range_has_ends_of_two_families(world):
    return second(world, "203.0.113.80-fd00:203::90")


@rows("service-address-unusable", within=1, cause=("wish", "203.0.113.300"), remedy=("",), beside="pending, has no")
def a_service_asks_for_no_address(world):
    service(world.lab, "wish", 9, world.pod, annotations={"fingerpost.io/loadBalancerIPs": "203.0.113.300"},
            clusterIPs=["10.96.0.9"], **SINGLE)
    yield
    (world.lab.manifests / "wish.yaml").unlink()


@rows("service-pending-taken", within=1, cause=("Service default/young", "default/old"), remedy="address",
      beside="pending, has no")
def two_ask_for_one_address(world):
    asks = {"fingerpost.io/loadBalancerIPs": THIRD}
    service(world.lab, "old", 8, world.pod, annotations=asks, clusterIPs=["10.96.0.8"], **SINGLE)
    announced(world.lab, THIRD)
    service(world.lab, "young", 9, world.pod, annotations=asks, clusterIPs=["10.96.0.9"],
            ports=[{"name": "p", "port": 81, "protocol": "TCP"}], **SINGLE)
    yield
    for name in ("young.yaml", "old.yaml"):
        (world.lab.manifests / name).unlink()


@rows("service-pending-no-pool", within=1, cause=("Service default/wish", "no pool of this family is for it"),
      remedy="look at autoAssign", beside="has no")
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


def second_alone(world, **fields):
    world.lab.write("second.yaml", {**SECOND, **fields})
    yield
    (world.lab.manifests / "second.yaml").unlink()


@rows("document-value-unexpected", within=1, cause=("second.yaml:", "addresses"), remedy=ITSELF, beside="second")
def the_addresses_are_a_text(world):
    return second_alone(world, spec={"addresses": "203.0.113.80/30"})


@rows("object-kind-unread", within=1, cause=("second.yaml:", "AddressPool"), remedy=ITSELF)
def a_pool_is_of_the_older_kind(world):
    return second_alone(world, kind="AddressPool", spec={"protocol": "layer2", "addresses": ["203.0.113.80/30"]})


@rows("pool-edit-refused", within=1, cause=("IPAddressPool lb/lb", "default/web"), remedy="leave these addresses in a pool")
def the_pool_is_made_smaller(world):
    pool(world.lab, "203.0.113.65-203.0.113.67", f"{FIRST6}/126")
    yield
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")
    yield
    announced(world.lab, FIRST, FIRST6)


@rows(within=1)
def the_pool_is_made_larger(world):
    pool(world.lab, f"{FIRST}/29", f"{FIRST6}/125")
    yield
    announced(world.lab, FIRST, FIRST6)
    pool(world.lab, f"{FIRST}/30", f"{FIRST6}/126")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
