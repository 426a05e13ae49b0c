# SPDX-License-Identifier: Apache-2.0
"""The fourth list of the fault table, objects and configuration: each row was written down before it was tried
(tests/fourth_list.txt)."""

import pytest
from faults import Table, check
from lab import objects
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


def other(world, change):
    """Another Service with its slice, changed before they are written; mends by taking both away."""
    service = objects.service("other", [OTHER])
    part = objects.slice_of("other", [objects.endpoint("10.224.0.1", world.node.role)])
    change(service, part)
    world.lab.write("other.yaml", service, part)
    yield
    world.remove("other.yaml")


def ingress(service):
    return service["status"]["loadBalancer"]["ingress"][0]


@rows(523, cause=("other.yaml:", "port"), remedy=ITSELF)
def a_port_is_there_twice(world):
    return other(world, lambda service, part: service["spec"]["ports"].extend(list(service["spec"]["ports"])))


@rows(524, cause=("other.yaml:", "ports"), remedy=ITSELF)
def a_service_has_no_ports(world):
    return other(world, lambda service, part: service["spec"].update(ports=[]))


@rows(525, cause=("other.yaml:", "Loadbalancer"), remedy=ITSELF)
def a_type_is_misspelt(world):
    return other(world, lambda service, part: service["spec"].update(type="Loadbalancer"))


@rows(526, cause=("other.yaml:", "ipMode"), remedy=ITSELF)
def an_ip_mode_is_misspelt(world):
    return other(world, lambda service, part: ingress(service).update(ipMode="vip"))


@rows(527, cause=("other.yaml:", "addressType"), remedy=ITSELF)
def an_address_type_is_misspelt(world):
    return other(world, lambda service, part: part.update(addressType="ipv4"))


@rows(528, cause=("other.yaml:", "endpoints"), remedy=ITSELF)
def endpoints_are_a_map(world):
    return other(world, lambda service, part: part.update(endpoints={"addresses": ["10.224.0.1"]}))


@rows(529, cause=("other.yaml:", "namespace"), remedy=ITSELF)
def a_namespace_has_a_capital(world):
    return other(world, lambda service, part: service["metadata"].update(namespace="Shop"))


@rows(530, cause=("other.yaml:", "creationTimestamp"), remedy=ITSELF)
def a_time_is_none(world):
    return other(world, lambda service, part: service["metadata"].update(creationTimestamp="yesterday"))


@rows(531, cause=("other.yaml:", "ingress"), remedy=ITSELF)
def an_ingress_is_a_text(world):
    return other(world, lambda service, part: service["status"]["loadBalancer"].update(ingress=OTHER))


@rows(532, cause=("other.yaml:", "is not an IP address"), remedy=ITSELF, beside="waits for an address")
def an_ingress_has_a_length(world):
    return other(world, lambda service, part: ingress(service).update(ip=f"{OTHER}/32"))


@rows(533)
def a_file_has_comments_alone(world):
    world.write("# Nothing is here yet.\n---\n# Nor here.\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows(534, cause=("other.yaml:", "Service default/other stands in this file already"), remedy="remove one of them")
def a_service_stands_twice_in_one_file(world):
    service = objects.service("other", [OTHER])
    world.lab.write("other.yaml", service, service)
    yield
    world.remove("other.yaml")


def reload(world, old, new):
    world.reload(old, new)
    yield
    world.reload()


@rows(535, cause=("agentd.yaml:", "routes.table"), remedy=ITSELF)
def the_export_table_is_main(world):
    return reload(world, "services:", "routes: {table: 254}\nservices:")


@rows(536, cause=("agentd.yaml:", "advertise"), remedy=ITSELF)
def advertise_is_no_list(world):
    return reload(world, "services:\n", "services:\n  advertise: loadBalancer\n")


@rows(537, cause="agentd.yaml:", remedy=ITSELF)
def a_tab_indents_the_configuration(world):
    return reload(world, "services:\n", "services:\n\tadvertise: [loadBalancer]\n")


@rows(538, cause=("other.yaml:", "externalIPs"), remedy=ITSELF)
def an_external_ip_is_a_name(world):
    return other(world, lambda service, part: service["spec"].update(externalIPs=["www.example.org"]))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
