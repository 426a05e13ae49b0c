# SPDX-License-Identifier: Apache-2.0
"""The controller's roles, whole or without some verbs of them. A verb is (group, resource, verb)."""

import json
from pathlib import Path

import yaml
from lab import wait

ROLES = Path(__file__).parents[2] / "deploy/kubernetes/controller.yaml"
RBAC = "rbac.authorization.k8s.io"


def manifest():
    """The controller's rules of deploy/kubernetes/controller.yaml by kind of role: {"Role": [...],
    "ClusterRole": [...]}."""
    documents = list(yaml.safe_load_all(ROLES.read_text(encoding="utf-8")))
    return {kind: [rule for item in documents
                   if (item["kind"], item["metadata"]["name"]) == (kind, "fingerpost-controller")
                   for rule in item["rules"]]
            for kind in ("Role", "ClusterRole")}


def verbs(rules):
    """Those that rules give."""
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]}


def without(rules, lacking):
    """The rules, each of one verb, without some of them."""
    return [{**rule, "apiGroups": [group], "resources": [resource], "verbs": [verb]}
            for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"] if (group, resource, verb) not in lacking]


def role_without(plane, name, *lacking):
    """A user with the controller's roles but for some verbs, known to the API."""
    items = []
    for kind, rules in manifest().items():
        where = {"namespace": "kube-system"} if kind == "Role" else {}
        items += [
            {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name, **where},
             "rules": without(rules, lacking)},
            {"apiVersion": f"{RBAC}/v1", "kind": f"{kind}Binding", "metadata": {"name": name, **where},
             "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
             "subjects": [{"kind": "User", "name": name, "apiGroup": RBAC}]}]
    plane.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    asked = [("", "namespaces", "list", ""), ("coordination.k8s.io", "leases", "create", "kube-system")]
    for group, resource, verb, namespace in asked:
        if (group, resource, verb) in lacking:
            resource = "nodes"
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": name, "resourceAttributes": {"group": group, "resource": resource, "verb": verb,
                                                 "namespace": namespace}}}
        wait(lambda review=review: plane.api.request(
            "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"],
            f"the roles of {name}", 60)
