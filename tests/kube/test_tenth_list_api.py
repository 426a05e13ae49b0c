# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, the API and the controller: each row was written down before it was tried
(tests/tenth_list.txt)."""

import json
from pathlib import Path

import pytest
import yaml
from faults import Table, check
from test_fifth_list_api import leading_fixture  # noqa: F401
from test_seventh_list_api import RBAC, World

LAB = {"nodes": 1}
controllers, agents = Table("tenth_list"), Table("tenth_list")
METALLB = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [],
           "metadata": {"name": "metallb-webhook-service-x", "namespace": "default",
                        "labels": {"kubernetes.io/service-name": "metallb-webhook-service"}},
           "endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": True}}]}


@controllers(1131, cause="MetalLB", remedy=("",))
def metallb_runs_beside(world):
    world.plane.put(METALLB)
    yield
    world.plane.api.delete("EndpointSlice", "metallb-webhook-service-x")


@controllers.each
def test_controllers(leading, row):
    check(row, leading)


@pytest.fixture(name="world", scope="module")
def world_fixture(cluster):
    world = World(cluster, cluster.plane)
    yield world
    world.agent.stop()


def edited(world, change):
    """Another kubeconfig, and a reload; then its own."""
    file = Path(world.agent.settings["source"]["kubernetes"]["kubeconfig"])
    text = file.read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    world.agent.reload()
    yield
    file.write_text(text, encoding="utf-8")
    world.agent.reload()


@agents(1128, cause=("production", "current-context"), remedy=("",))
def the_current_context_is_not_there(world):
    return edited(world, lambda document: document.update({"current-context": "production"}))


@agents(1129, cause="exec", remedy=("",))
def the_user_logs_in_by_a_program(world):
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubelogin", "args": ["get-token"], "interactiveMode": "Never"}
    return edited(world, lambda document: document["users"][0].update(user={"exec": login}))


@agents(1130, cause=("addressblocks", "forbidden"), remedy="rbac.yaml", beside=("addressblocks", "has not been read since the start"))
def the_role_has_no_rule_for_blocks(world):
    path = f"{RBAC}/clusterroles/fingerpost-agent"
    role = world.plane.api.get(path)
    rules = [{**rule, "resources": [name for name in rule["resources"] if name != "addressblocks"]} for rule in role["rules"]]
    world.plane.api.request("PUT", path, {**role, "rules": [rule for rule in rules if rule["resources"]]})
    world.agent.stop()
    world.agent.start()
    yield
    role["metadata"].pop("resourceVersion")
    world.plane.api.request("PUT", path, role)


@agents.each
def test_agents(world, row):
    check(row, world)
