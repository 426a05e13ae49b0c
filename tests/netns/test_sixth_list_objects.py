# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, objects and configuration: each row was written down before it was tried
(tests/sixth_list.txt)."""

import json

import pytest
from faults import Table, check
from lab import objects
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401
from test_fourth_list_objects import other

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("sixth_list")


def wrong(world, item):
    world.lab.write("wrong.yaml", item)
    yield
    world.remove("wrong.yaml")


@rows(715, cause=("other.yaml:", "10.0.0.0/33"), remedy=ITSELF, beside="open to all sources")
def a_source_range_is_too_long(world):
    return other(world, lambda service, part: service["spec"].update(loadBalancerSourceRanges=["10.0.0.0/33"]))


@rows(716)
def a_manifest_is_json(world):
    world.write(json.dumps(objects.service("other", [OTHER]), indent=4), "other.json")
    yield
    world.remove("other.json")


@rows(717, cause=("wrong.yaml:", "10.224.1.0/27x"), remedy=ITSELF)
def a_blocks_network_is_none(world):
    return wrong(world, objects.address_block("wrong", world.node.role, "10.224.1.0/27x", None))


@rows(718, cause=("other.yaml:", "endpointslice", "did you mean EndpointSlice"), remedy=ITSELF)
def a_kind_has_no_capitals(world):
    return other(world, lambda service, part: part.update(kind="endpointslice"))


@rows(719, cause=("agentd.yaml:", "10.96.0.0/33"), remedy=ITSELF)
def a_network_of_cluster_ips_is_too_long(world):
    world.reload("  enabled: false", "  enabled: false\n  serviceCIDRs: [10.96.0.0/33]")
    yield
    world.reload()


@rows(720, cause=("agentd.yaml:", "drain"), remedy=ITSELF)
def a_drain_is_one_time(world):
    world.reload("services:", "routes: {drain: 10s}\nservices:")
    yield
    world.reload()


@rows(721, cause=("agentd.yaml:", "source"), remedy=ITSELF)
def both_sources_are_named(world):
    world.reload("source:", "source:\n  kubernetes: {}")
    yield
    world.reload()


@rows(722, cause=("other.yaml:", "70000"), remedy=ITSELF)
def an_endpoints_port_is_out_of_range(world):
    return other(world, lambda service, part: part["ports"][0].update(port=70000))


@rows(723, cause=("wrong.yaml:", "node7.lab"), remedy=ITSELF)
def a_nodes_address_is_a_name(world):
    return wrong(world, objects.node("node7", ["node7.lab"], {}))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
