# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, the controller: each row was written down before it was tried
(tests/sixth_list.txt)."""

import json

from faults import Table, check
from giving import gets, service
from lab import wait
from test_fifth_list_api import leading_fixture  # noqa: F401

LAB = {"nodes": 1}
rows = Table("sixth_list")
RECORD = "/api/v1/namespaces/kube-system/configmaps/fingerpost-addresses"
ROLE = "fingerpost-controller"


def rules_without_status(role):
    return [{**rule, "resources": [name for name in rule.get("resources", ()) if name != "services/status"]}
            for rule in role["rules"] if rule.get("resources") != ["services/status"]]


@rows(739, cause=("Service default/late", "its status can't be written"), remedy="controller.yaml")
def the_right_to_write_a_status_is_taken(world):
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{ROLE}"
    role = world.plane.api.get(path)
    world.plane.api.request("PUT", path, {**role, "rules": rules_without_status(role)})
    world.plane.put(service("late"))
    yield
    role["metadata"].pop("resourceVersion")
    world.plane.api.request("PUT", path, role)
    yield
    gets(world.plane, late=["203.0.113.1"])


def there(world):
    try:
        return json.dumps(world.plane.api.get(RECORD))
    except ValueError:
        return None


@rows(740, heals=True)
def somebody_deletes_the_record(world):
    wait(lambda: there(world), "the record")
    world.plane.api.request("DELETE", RECORD, {})
    yield
    wait(lambda: there(world), "the record to be back")
    yield


@rows.each
def test_controllers(leading, row):
    check(row, leading)
