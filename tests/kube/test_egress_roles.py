# SPDX-License-Identifier: Apache-2.0
"""The roles by which the controller makes gateways of Egresses: each verb is used, and where one lacks, a fault
names what can't be read or written for want of it. What else the roles have: test_controller_roles.py."""

import json

import pytest
from giving import end
from lab import wait, wait_equal
from lab.asking import ELECTION
from lab.controller import Controller
from lab.kube_api import MERGE, ApiError, path_of
from roles import RBAC, manifest, role_without, verbs
from test_controller_roles import is_of_egress

LAB = {"nodes": 1}
COIL, NET, ACCOUNT = "coil.cybozu.com", "net", "fingerpost-egress"
SETTINGS = {"election": ELECTION, "blocks": {"enabled": False}, "addresses": {"enabled": False},
            "egress": {"enabled": True, "image": "example.com/fingerpost:1"}}
EGRESS = {"apiVersion": f"{COIL}/v2", "kind": "Egress", "metadata": {"name": "nat", "namespace": NET},
          "spec": {"destinations": ["0.0.0.0/0"], "podDisruptionBudget": {"minAvailable": 1}}}
# What is made, and how a fault calls it.
MADE = {("apps", "deployments"): "Deployment net/nat", ("", "services"): "Service net/nat",
        ("policy", "poddisruptionbudgets"): "PodDisruptionBudget net/nat",
        ("", "serviceaccounts"): f"ServiceAccount net/{ACCOUNT}",
        (RBAC, "clusterrolebindings"): f"ClusterRoleBinding {ACCOUNT}"}
ACCESS = (("", "serviceaccounts"), (RBAC, "clusterrolebindings"))
READ = [*MADE, (COIL, "egresses")]
LACKING = {
    "list": {(*where, "list"): where[1] for where in READ},
    "watch": {(*where, "watch"): where[1] for where in READ},
    "create": {(*where, "create"): place for where, place in MADE.items()},
    "patch": {(*where, "patch"): place for where, place in MADE.items()},
    "delete": {(*where, "delete"): place for where, place in MADE.items() if where not in ACCESS},
    "delete-access": {(*where, "delete"): MADE[where] for where in ACCESS},  # they outlast what needs them
    "bind": {(RBAC, "clusterroles", "bind"): MADE[RBAC, "clusterrolebindings"]},
    "status": {(COIL, "egresses/status", "patch"): "Egress net/nat"},
}
# Asked only when the answer to a write was lost, as of the other jobs; and what an apply is checked for besides.
UNSEEN = {(*where, verb) for where in READ for verb in ("get", "create")} | {(RBAC, "clusterroles", "bind")}


def given():
    """Of egress; services are read for other jobs as well."""
    return {entry for rules in manifest().values() for entry in verbs(rules)
            if is_of_egress(*entry) or entry in {("", "services", "list"), ("", "services", "watch"),
                                                 ("", "services", "get")}}


def test_every_verb_has_its_sign():
    """What only finds out what became of a lost write has none: tests/unit/client/test_kube_writer.c."""
    signs = {entry for each in LACKING.values() for entry in each}
    assert given() == signs | {(*where, "get") for where in READ}


@pytest.fixture(name="net")
def net_fixture(plane):
    plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NET}})
    yield plane
    remove(plane)


def kinds(plane):
    """What there is of the Egress's."""
    found = [(kind, item["metadata"]["name"]) for kind in
             ("Deployment", "Service", "PodDisruptionBudget", "ServiceAccount", "ClusterRoleBinding", "Egress")
             for item in plane.items(kind)
             if item["metadata"].get("namespace") == NET or item["metadata"]["name"] == ACCOUNT]
    return [kind for kind, name in found if name != "default"]


def remove(plane):
    """By hand: who was to do it may lack the verb."""
    for kind, namespace, name in (("Egress", NET, "nat"), ("Deployment", NET, "nat"), ("Service", NET, "nat"),
                                  ("PodDisruptionBudget", NET, "nat"), ("ServiceAccount", NET, ACCOUNT),
                                  ("ClusterRoleBinding", None, ACCOUNT)):
        try:
            plane.api.request("DELETE", path_of(kind, namespace, name), {})
        except ApiError as error:
            assert error.status == 404, error
    wait_equal(lambda: kinds(plane), [], "the end of all that was made", 60)


def to_nodes(plane):
    """Its gateways are Nodes from now on: nothing that was made is wanted any more."""
    plane.api.request("PATCH", path_of("Egress", NET, "nat"),
                      {"metadata": {"annotations": {"fingerpost.io/gateway-nodes": "gateway=yes"}}}, MERGE)


def test_nothing_is_forbidden_and_every_verb_is_used(cluster, net):
    each = Controller(cluster.nodes[0], "roles", net.controller_kubeconfig("roles"), SETTINGS).start()
    try:
        net.put(EGRESS)
        wait(lambda: len(kinds(net)) == 6 and net.api.get(path_of("Egress", NET, "nat")).get("status"), "all", 60)
        to_nodes(net)
        wait_equal(lambda: kinds(net), ["Egress"], "the end of what was made", 60)
    finally:
        end(each)
    entries = [entry for entry in net.audited(each.user) if "objectRef" in entry]
    assert [entry for entry in entries if entry["responseStatus"]["code"] in (401, 403)] == []
    used = {(where.get("apiGroup", ""), "/".join(filter(None, (where["resource"], where.get("subresource")))),
             entry["verb"]) for entry in entries for where in [entry["objectRef"]]}
    assert given() - UNSEEN <= used


def told(controller):
    """(place, message) of all that is wrong."""
    status = controller.status()
    return [(fault["place"], fault["message"]) for fault in status["faults"]] + [
        (kind["kind"], json.dumps(kind)) for kind in status["sources"][0]["kinds"]]


def missed(controller, lacking, word):
    """What is not named though its verb lacks."""
    said = told(controller)
    if word in ("list", "watch"):
        return [name for name in lacking.values() if not any(
            f"cannot {word} resource" in text and name in text for _, text in said)]
    return [name for name in lacking.values() if not any(
        place == name and "can't be written" in text for place, text in said)]


@pytest.mark.parametrize("word", LACKING)
def test_verbs_that_lack_are_told_of(cluster, net, word):
    """One word of every resource: each has a fault of its own."""
    name, lacking = f"no-{word}", LACKING[word]
    role_without(net, name, *lacking)
    each = Controller(cluster.nodes[0], name, net.kubeconfig(name, name), SETTINGS).start()
    try:
        net.put(EGRESS)
        if word.startswith("delete"):
            wait(lambda: len(kinds(net)) == 6, "all that is made", 60)
            to_nodes(net)
        wait_equal(lambda: missed(each, lacking, word), [], "a fault for each", 60)
    finally:
        end(each)
