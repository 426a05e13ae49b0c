# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, Services: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from lab import objects, wait_equal
from test_eighth_list_services import behind, inside, written
from test_fault_table_data import world_fixture  # noqa: F401
from test_fault_table_objects import ITSELF

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("tenth_list")
ADDRESS = "203.0.113.80"


def balanced(**spec):
    return objects.service("alpha", [ADDRESS], **spec)


@rows(1101, cause=("alpha", "10.96.0.10"), remedy=ITSELF)
def an_endpoint_is_another_services_cluster_ip(world):
    assert world.web.of["clusterIP"][0] == "10.96.0.10"
    return written(world, inside("alpha"), behind(world, "alpha", objects.endpoint("10.96.0.10", world.node.role)))


@rows(1102, cause=("alpha", "clusterIP"), remedy=ITSELF)
def cluster_ip_and_cluster_ips_differ(world):
    return written(world, inside("alpha", clusterIP="10.96.0.77", clusterIPs=["10.96.0.78"]), behind(world, "alpha"))


@rows(1103, cause=("alpha.yaml:", "198.51.100.7"), remedy=ITSELF, beside="open to all")
def a_source_range_has_no_length(world):
    return written(world, balanced(loadBalancerSourceRanges=["198.51.100.7"]), behind(world, "alpha"))


@rows(1104)
def a_source_range_has_blanks_around_it(world):
    world.lab.write("alpha.yaml", balanced(loadBalancerSourceRanges=[" 192.0.2.0/24 ", "198.51.100.7/32"]), behind(world, "alpha"))
    wait_equal(lambda: world.lab.tor.via(ADDRESS), {world.node.role}, "the address on the ToR")
    yield
    (world.lab.manifests / "alpha.yaml").unlink()


@rows(1105)
def a_deployment_was_scaled_to_none(world):
    return written(world, balanced(), {**behind(world, "alpha"), "endpoints": None, "ports": None})


@rows(1106, cause=("alpha.yaml:", "nodePort"), remedy=ITSELF)
def a_node_port_has_a_digit_too_much(world):
    port = {"name": "p80", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 300080}
    return written(world, balanced(ports=[port]), behind(world, "alpha"))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
