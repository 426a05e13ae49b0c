# SPDX-License-Identifier: Apache-2.0
"""The rules of AddressPools and Egresses that Coil's webhook holds, held by the definition itself; and those that
Coil lacks. An API server judges them, so that no webhook has to be there."""

import json

import pytest
from lab.namespace import CommandFailed


def pool(name, *subnets, bits=5):
    return {"apiVersion": "coil.cybozu.com/v2", "kind": "AddressPool", "metadata": {"name": name},
            "spec": {"blockSizeBits": bits, "subnets": list(subnets)}}


def apply(plane, item):
    return plane.kubectl("apply", "-f", "-", text=json.dumps(item))


V4, V6 = {"ipv4": "10.2.0.0/16"}, {"ipv6": "fd02::/112"}
BOTH = {**V4, **V6}


@pytest.mark.parametrize("subnets, bits, complaint", [
    ([{}], 5, "ipv4"),
    ([{"ipv4": "10.2.0.0"}], 5, "invalid IPv4 subnet"),
    ([{"ipv4": "fd02::/112"}], 5, "invalid IPv4 subnet"),
    ([{"ipv6": "10.2.0.0/16"}], 5, "invalid IPv6 subnet"),
    ([{"ipv4": "10.2.0.0/28"}], 5, "too narrow subnet"),
    ([{"ipv6": "fd02::/124"}], 5, "too narrow subnet"),
    ([{"ipv4": "10.2.0.0/16", "ipv6": "fd02::/64"}], 5, "must be the same size"),
    # What Coil lets pass.
    ([V4, V6], 5, "of the same families"),
    ([V4, BOTH], 5, "of the same families"),
    ([V4, {"ipv4": "10.2.8.0/24"}], 5, "IPv4 subnets overlap"),
    ([{"ipv4": "10.2.8.0/24"}, V4], 5, "IPv4 subnets overlap"),
    ([V4, V4], 5, "IPv4 subnets overlap"),
    ([V6, {"ipv6": "fd02::8000/113"}], 5, "IPv6 subnets overlap"),
])
def test_a_new_pool_is_refused(plane, subnets, bits, complaint):
    with pytest.raises(CommandFailed, match=complaint):
        apply(plane, pool("odd", *subnets, bits=bits))


@pytest.mark.parametrize("name, subnets, bits", [
    ("v4", [V4], 5), ("v6", [V6], 5), ("both", [BOTH], 5), ("single", [{"ipv4": "10.9.0.1/32"}], 0),
    ("several", [V4, {"ipv4": "10.3.0.0/24"}], 8),
    ("many", [{"ipv4": f"10.{number}.0.0/16", "ipv6": f"fd02:{number}::/112"}
              for number in range(64)], 4),
])
def test_a_good_pool_is_taken(plane, name, subnets, bits):
    apply(plane, pool(name, *subnets, bits=bits))


def test_a_pool_may_only_grow(plane):
    first, second, third = ({"ipv4": f"10.{number}.0.0/24"} for number in (11, 12, 13))
    apply(plane, pool("growing", first, second))
    with pytest.raises(CommandFailed, match="unshrinkable"):
        apply(plane, pool("growing", first))
    with pytest.raises(CommandFailed, match="unchangeable"):
        apply(plane, pool("growing", second, first))
    with pytest.raises(CommandFailed, match="unchangeable"):
        apply(plane, pool("growing", first, third, second))
    with pytest.raises(CommandFailed, match="unchangeable"):
        apply(plane, pool("growing", first, second, bits=6))
    apply(plane, pool("growing", first, second, third))


def test_a_request_is_of_a_node_and_a_pool(plane):
    item = {"apiVersion": "coil.cybozu.com/v2", "kind": "BlockRequest",
            "metadata": {"name": "req-default-node1"}, "spec": {"nodeName": "node1"}}
    with pytest.raises(CommandFailed, match="poolName"):
        apply(plane, item)
    item["spec"]["poolName"] = "default"
    apply(plane, item)


def egress(**spec):
    return {"apiVersion": "coil.cybozu.com/v2", "kind": "Egress", "metadata": {"name": "ruled", "namespace": "default"},
            "spec": {"destinations": ["0.0.0.0/0", "2001:db8::/32"], **spec}}


@pytest.mark.parametrize("spec, complaint", [
    ({"destinations": []}, "at least 1"),
    ({"destinations": ["192.0.2.1"]}, "invalid CIDR"),
    ({"destinations": ["192.0.2.0/33"]}, "invalid CIDR"),
    ({"replicas": 0}, "greater than or equal to 1"),
    ({"strategy": {"type": "Sometimes"}}, "Recreate"),
    ({"sessionAffinity": "ClusterIP"}, "ClientIP"),
    ({"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}}, "only one of"),
    ({"podDisruptionBudget": {"minAvailable": -1}}, "minAvailable"),
    ({"podDisruptionBudget": {"maxUnavailable": "101%"}}, "maxUnavailable"),
    ({"podDisruptionBudget": {"maxUnavailable": "many"}}, "maxUnavailable"),
])
def test_an_egress_is_refused(plane, spec, complaint):
    with pytest.raises(CommandFailed, match=complaint):
        apply(plane, egress(**spec))


def test_a_good_egress_is_taken_and_changed(plane):
    item = egress(podDisruptionBudget={"maxUnavailable": "100%"}, strategy={"type": "Recreate"})
    try:
        for spec in ({}, {"podDisruptionBudget": {"minAvailable": 0}}, {"strategy": {}, "replicas": 7},
                     {"destinations": ["192.0.2.1/32"], "sessionAffinity": "None", "fouSourcePortAuto": True}):
            apply(plane, {**item, "spec": {**item["spec"], **spec}})
        found = json.loads(plane.kubectl("get", "egress", "ruled", "-o", "json"))
        assert (found["spec"]["replicas"], found["spec"]["sessionAffinity"]) == (1, "None")
    finally:
        plane.kubectl("delete", "egress", "ruled")
