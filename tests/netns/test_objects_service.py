# SPDX-License-Identifier: Apache-2.0
"""Objects gone through field by field, Services: each mistake is one that a manifest's owner makes and nobody refuses."""

import pytest
from faults import Table, check
from test_fault_table_objects import ITSELF, world_fixture  # noqa: F401
from test_fourth_list_objects import other

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()
SIX = "fd00:96::77"


def spec(world, **fields):
    return other(world, lambda service, part: service["spec"].update(fields))


def ports(world, *node_ports, **fields):
    return spec(world, ports=[{"name": f"p{number}", "port": number, "nodePort": node_port}
                              for number, node_port in enumerate(node_ports, 80)], **fields)


@rows(1301, cause=("other.yaml:", "clusterIP", "headless"), remedy=ITSELF)
def a_load_balancer_is_headless(world):
    return spec(world, clusterIP="None", clusterIPs=["None"], ipFamilies=["IPv4"])


@rows(1302, cause=("other.yaml:", "spec.ipFamilies[0]", "IPv4"), remedy=ITSELF)
def families_deny_the_cluster_ips(world):
    return spec(world, ipFamilies=["IPv6"])


@rows(1303, cause=("other.yaml:", "spec.clusterIPs[1]", "second one of IPv4"), remedy=ITSELF)
def two_cluster_ips_are_of_one_family(world):
    return spec(world, clusterIP="10.96.7.7", clusterIPs=["10.96.7.7", "10.96.7.8"])


@rows(1304, cause=("other.yaml:", "spec.ipFamilyPolicy", "two families"), remedy=ITSELF)
def a_single_stack_has_two_families(world):
    return spec(world, ipFamilyPolicy="SingleStack", clusterIP=SIX, clusterIPs=[SIX, "10.96.7.7"], ipFamilies=["IPv6", "IPv4"])


@rows(1305, cause=("other.yaml:", "spec.trafficDistribution", "PreferNear"), remedy=ITSELF)
def a_distribution_is_no_word(world):
    return spec(world, trafficDistribution="PreferNear")


@rows(1306, cause=("other.yaml:", "spec.healthCheckNodePort", "externalTrafficPolicy: Local"), remedy=ITSELF)
def a_health_port_goes_with_another_policy(world):
    return spec(world, healthCheckNodePort=31000)


@rows(1307, cause=("other.yaml:", "spec.ports[1]", "30100/TCP"), remedy=ITSELF)
def two_ports_have_one_node_port(world):
    return ports(world, 30100, 30100)


@rows(1308, cause=("other.yaml:", "spec.ports[0]", "healthCheckNodePort"), remedy=ITSELF, beside="31000")
def a_node_port_is_the_health_port(world):
    return ports(world, 31000, externalTrafficPolicy="Local", healthCheckNodePort=31000)


@rows(1309, cause=("other.yaml:", "externalName"), remedy=ITSELF)
def an_external_name_has_no_name(world):
    def change(service, part):
        service["spec"] = {"type": "ExternalName"}
    return other(world, change)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
