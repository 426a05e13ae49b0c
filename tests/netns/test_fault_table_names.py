# SPDX-License-Identifier: Apache-2.0
"""The fault table, names in objects: fields, labels and annotations that nobody reads, since they are written otherwise."""

import pytest
from faults import Table, check
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401
from test_fourth_list_objects import other

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows(131, cause=("other.yaml:", "externalTrafficpolicy", 'did you mean "externalTrafficPolicy"?'), remedy=ITSELF)
def a_field_is_misspelt(world):
    return other(world, lambda service, part: service["spec"].update(externalTrafficpolicy="Local"))


@rows(132, cause=("other.yaml:", "externalIPs", "is a field of spec"), remedy=ITSELF)
def a_field_is_not_indented(world):
    return other(world, lambda service, part: service.update(externalIPs=[OTHER]))


@rows(133, cause=("other.yaml:", "servicename", 'did you mean "kubernetes.io/service-name"?'), remedy=ITSELF,
      beside="label kubernetes.io/service-name is missing")
def a_slices_label_is_misspelt(world):
    return other(world, lambda service, part: part["metadata"].update(labels={"kubernetes.io/servicename": "other"}))


@rows(134, cause=("other.yaml:", "fingerpost.io/announce", "is an annotation, not a label"), remedy=ITSELF)
def an_annotation_stands_among_the_labels(world):
    return other(world, lambda service, part: service["metadata"].update(labels={"fingerpost.io/announce": "false"}))


@rows(135, cause=("other.yaml:", "sessionAffinityConfig", "needs sessionAffinity: ClientIP"), remedy=ITSELF)
def an_affinity_is_configured_and_not_wanted(world):
    return other(world, lambda service, part: service["spec"].update(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}}))


@rows(136, cause=("other.yaml:", "endpoints[0]", "has no addresses"), remedy=ITSELF)
def an_endpoint_has_no_address(world):
    return other(world, lambda service, part: part["endpoints"][0].update(addresses=[]))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
