# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, the API and the controller: each row was written down before it was tried
(tests/eighth_list.txt)."""

import json
from pathlib import Path

import pytest
import yaml
from faults import Table, check
from giving import gets, service
from lab.kube_api import MERGE, path_of
from test_fifth_list_api import leading_fixture  # noqa: F401
from test_seventh_list_api import World

LAB = {"nodes": 1}
controllers, agents = Table("eighth_list"), Table("eighth_list")
AWAY = ("has not been read since the start", "the copy of the last known objects")  # what follows


@controllers(926, heals=True)
def a_balancer_becomes_a_cluster_ip(world):
    world.plane.api.request("PATCH", path_of("Service", name="web"), {"spec": {"type": "ClusterIP"}}, MERGE)
    yield
    gets(world.plane, web=[])
    yield


@controllers(927, cause=("Service default/late", "finalizer example.com/balancer-cleanup"), remedy="finalizers")
def a_finalizer_keeps_a_deleted_service(world):
    item = service("late")
    item["metadata"]["finalizers"] = ["example.com/balancer-cleanup"]
    world.plane.put(item)
    gets(world.plane, late=["203.0.113.1"])
    world.plane.api.delete("Service", "late", "default")
    yield
    world.plane.api.request("PATCH", path_of("Service", name="late"), {"metadata": {"finalizers": []}}, MERGE)


@controllers.each
def test_controllers(leading, row):
    check(row, leading)


@pytest.fixture(name="world", scope="module")
def world_fixture(cluster):
    world = World(cluster, cluster.plane)
    yield world
    world.agent.stop()


def with_kubeconfig(world, change):
    """An agent that starts with another kubeconfig, and then with its own."""
    file = Path(world.agent.settings["source"]["kubernetes"]["kubeconfig"])
    text = file.read_text(encoding="utf-8")

    def start(now):
        world.agent.stop()
        file.write_text(now, encoding="utf-8")
        world.agent.start()
    start(change(text))
    yield
    start(text)
    yield


@agents(928, cause=("http://", "without TLS"), remedy="use https", health="failed", beside=(*AWAY, "the API does not answer as asked"))
def the_address_is_without_tls(world):
    return with_kubeconfig(world, lambda text: text.replace("https://", "http://"))


def with_another_token(text):
    document = yaml.safe_load(text)
    document["users"][0]["user"] = {"token": "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"}
    return json.dumps(document)


@agents(929, cause="Unauthorized", remedy="renew the token", beside=(*AWAY, "Unauthorized"))
def the_token_is_known_no_more(world):
    return with_kubeconfig(world, with_another_token)


@agents.each
def test_agents(world, row):
    check(row, world)
