# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, Services: each row was written down before it was tried
(tests/ninth_list.txt)."""

import pytest
from faults import Table, check
from lab import objects
from test_eighth_list_services import behind, inside, written
from test_fault_table_data import world_fixture  # noqa: F401
from test_fault_table_objects import ITSELF

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("ninth_list")


def with_ports(world, ports):
    item = inside("alpha")
    item["spec"]["ports"] = ports
    return written(world, item, behind(world, "alpha"))


@rows(1001, cause=("alpha.yaml:", "port"), remedy=ITSELF)
def a_port_has_no_number(world):
    return with_ports(world, [{"name": "p80", "protocol": "TCP", "targetPort": 80}])


@rows(1002, cause=("alpha.yaml:", "port"), remedy=ITSELF)
def a_port_is_a_text(world):
    return with_ports(world, [{"name": "p80", "protocol": "TCP", "port": "80", "targetPort": 80}])


@rows(1003, cause=("alpha.yaml:", "ports"), remedy=ITSELF)
def ports_are_a_map(world):
    return with_ports(world, {"name": "p80", "protocol": "TCP", "port": 80, "targetPort": 80})


@rows(1004, cause=("alpha.yaml:", "v1"), remedy=ITSELF)
def a_service_is_of_another_group(world):
    return written(world, {**inside("alpha"), "apiVersion": "apps/v1"}, behind(world, "alpha"))


@rows(1005, cause=("alpha.yaml:", "timeoutSeconds"), remedy=ITSELF)
def an_affinity_lasts_for_more_than_a_day(world):
    return written(world, inside("alpha", sessionAffinity="ClientIP",
                                 sessionAffinityConfig={"clientIP": {"timeoutSeconds": 100000}}), behind(world, "alpha"))


@rows(1006)
def a_slice_was_left_of_a_service_that_is_gone(world):
    return written(world, behind(world, "gone"))


@rows(1007)
def an_endpoint_moves_from_slice_to_slice(world):
    parts = [objects.slice_of("alpha", [objects.endpoint(world.one.address4, world.node.role)], suffix=suffix)
             for suffix in ("abcde", "fghij")]
    return written(world, inside("alpha"), *parts)


@rows(1008)
def an_endpoints_node_has_a_letter_too_much(world):
    """The list expects that this is told; but by policy Cluster nothing is lost by it. By policy Local it is told."""
    return written(world, inside("alpha"), behind(world, "alpha", objects.endpoint(world.one.address4, "node11")))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
