# SPDX-License-Identifier: Apache-2.0
"""Faults of objects: fields, labels and annotations."""

import pytest
from cluster import VIP
from faults import ITSELF, Table, check
from lab import objects
from objects_world import OTHER, configured, other, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows("document-number-out-of-range", cause="is out of range 1..65535", remedy=ITSELF)
def a_port_is_out_of_range(world):
    world.write(world.web.replace("port: 80", "port: 80000", 1))
    yield
    world.write(world.web)


@rows("object-kind-unread", cause=("web.yaml:", 'kind "Servce" of apiVersion "v1" is not read; did you mean Service'),
      remedy=ITSELF)
def a_kind_is_misspelt(world):
    world.write(world.web.replace("kind: Service\n", "kind: Servce\n", 1))
    yield
    world.write(world.web)


@rows("object-number-replaced", cause=("other.yaml:", "not a number from 0 to 29; read as no class"), remedy=ITSELF)
def a_route_class_is_none(world):
    world.other(OTHER, annotations={"fingerpost.io/route-class": "77"})
    yield
    world.remove("other.yaml")


@rows("object-annotation-misspelt", cause=("other.yaml:", 'did you mean "fingerpost.io/route-class"?'), remedy=ITSELF)
def an_annotation_is_misspelt(world):
    world.other(OTHER, annotations={"fingerpost.io/route_class": "7"})
    yield
    world.remove("other.yaml")


@rows("object-kind-unread", cause=("web.yaml:", "is not read; did you mean EndpointSlice"),
      remedy="write apiVersion: discovery.k8s.io/v1 and kind: EndpointSlice")
def slices_have_the_old_version(world):
    """Expected before it was tried: as a misspelt kind, since nothing else would tell."""
    world.write(world.web.replace("discovery.k8s.io/v1", "discovery.k8s.io/v1beta1"))
    yield
    world.write(world.web)


@rows("endpoints-ignored", cause=("other.yaml:", "Endpoints default/web are ignored: the Service has EndpointSlice"),
      remedy="take one of the two out")
def endpoints_stand_beside_slices(world):
    """Expected: told by name, since who edits them sees nothing change."""
    world.write("apiVersion: v1\nkind: Endpoints\nmetadata: {name: web}\n"
                "subsets: [{addresses: [{ip: 10.224.0.1}], ports: [{port: 80}]}]\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows(says={f"explain {VIP}": "no usable endpoint"})
def a_slice_names_another_service(world):
    """Expected before it was tried: no fault, since slices come and go; explain says what is missing."""
    world.write(world.web.replace("kubernetes.io/service-name: web", "kubernetes.io/service-name: wbe"))
    yield
    world.write(world.web)


@rows("object-field-unknown", cause=("other.yaml:", "externalTrafficpolicy", 'did you mean "externalTrafficPolicy"?'),
      remedy=ITSELF)
def a_field_is_misspelt(world):
    return other(world, lambda service, part: service["spec"].update(externalTrafficpolicy="Local"))


@rows("object-field-misplaced", cause=("other.yaml:", "externalIPs", "is a field of spec"), remedy=ITSELF)
def a_field_is_not_indented(world):
    return other(world, lambda service, part: service.update(externalIPs=[OTHER]))


@rows("object-label-misspelt", cause=("other.yaml:", "servicename", 'did you mean "kubernetes.io/service-name"?'),
      remedy=ITSELF, beside="label kubernetes.io/service-name is missing")
def a_slices_label_is_misspelt(world):
    return other(world, lambda service, part: part["metadata"].update(labels={"kubernetes.io/servicename": "other"}))


@rows("object-label-is-annotation", within=1, cause=("other.yaml:", "fingerpost.io/announce", "is an annotation, not a label"),
      remedy=ITSELF)
def an_annotation_stands_among_the_labels(world):
    return other(world, lambda service, part: service["metadata"].update(labels={"fingerpost.io/announce": "false"}))


@rows("object-field-idle", cause=("other.yaml:", "sessionAffinityConfig", "needs sessionAffinity: ClientIP"), remedy=ITSELF)
def an_affinity_is_configured_and_not_wanted(world):
    return other(world, lambda service, part: service["spec"].update(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}}))


@rows("slice-endpoint-without-address", cause=("other.yaml:", "endpoints[0]", "has no addresses"), remedy=ITSELF)
def an_endpoint_has_no_address(world):
    return other(world, lambda service, part: part["endpoints"][0].update(addresses=[]))


@rows("object-flag-replaced", cause=("other.yaml:", "fingerpost.io/announce"), remedy=ITSELF)
def announce_is_neither_true_nor_false(world):
    world.other(OTHER, annotations={"fingerpost.io/announce": "flase"})
    yield
    world.remove("other.yaml")


@rows("object-field-missing", cause=("other.yaml:", "name"), remedy=ITSELF)
def an_object_has_no_name(world):
    world.write("apiVersion: v1\nkind: Service\nmetadata: {generateName: other-}\nspec: {type: ClusterIP}\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows("object-word-unknown", cause=("other.yaml:", "addressType"), remedy=ITSELF)
def an_address_type_is_misspelt(world):
    return other(world, lambda service, part: part.update(addressType="ipv4"))


@rows("object-namespace-wrong", cause=("other.yaml:", "namespace"), remedy=ITSELF)
def a_namespace_has_a_capital(world):
    return other(world, lambda service, part: service["metadata"].update(namespace="Shop"))


@rows("object-time-unreadable", cause=("other.yaml:", "creationTimestamp"), remedy=ITSELF)
def a_time_is_none(world):
    return other(world, lambda service, part: service["metadata"].update(creationTimestamp="yesterday"))


def wrong(world, item):
    world.lab.write("wrong.yaml", item)
    yield
    world.remove("wrong.yaml")


@rows("object-prefix-unreadable", within=1, cause=("wrong.yaml:", "10.224.1.0/27x"), remedy=ITSELF)
def a_blocks_network_is_none(world):
    return wrong(world, objects.address_block("wrong", world.node.role, "10.224.1.0/27x", None))


@rows("object-kind-unread", within=1, cause=("other.yaml:", "endpointslice", "did you mean EndpointSlice"), remedy=ITSELF)
def a_kind_has_no_capitals(world):
    return other(world, lambda service, part: part.update(kind="endpointslice"))


@rows("object-address-unreadable", within=1, cause=("wrong.yaml:", "node7.lab"), remedy=ITSELF)
def a_nodes_address_is_a_name(world):
    return wrong(world, objects.node("node7", ["node7.lab"], {}))


@rows("config-network-host-bits", within=1, cause=("agentd.yaml:", "203.0.113.10/24"), remedy=ITSELF)
def a_range_has_bits_behind_its_length(world):
    return configured(world, services={"loadBalancerIPs": ["203.0.113.10/24", "fd00:203::/64"]})


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
