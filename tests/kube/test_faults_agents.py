# SPDX-License-Identifier: Apache-2.0
"""Faults of an agent at a real Kubernetes API: kubeconfigs and rights."""

import base64
import json
from pathlib import Path

import pytest
import yaml
from cluster import exported, pod_address, tables
from faults import Table, check
from giving import service
from lab import objects, wait_equal
from leading import RBAC

LAB = {"nodes": 1}
rows = Table()


class World:
    """One agent that announces a Service of a real API."""

    def __init__(self, cluster, plane):
        self.plane, [self.node] = plane, cluster.nodes
        item = service("plain")
        del item["spec"]["selector"]
        item["spec"]["type"] = "ClusterIP"
        item["spec"].pop("externalTrafficPolicy", None)
        self.plane.put(*self.node.objects(), item,
                       objects.slice_of("plain", [objects.endpoint(pod_address(self.node), self.node.role)]))
        self.agent = cluster.agent(self.node, kubeconfig=plane.agent_kubeconfig(self.node.role))
        wait_equal(lambda: tables(self.node), exported(self.node), "table 119", 60)


@rows("api-kind-out-of-sync", within=15, cause=("endpointslices", "watch"), remedy="allow get, list and watch",
      beside="endpointslices")
def the_right_to_watch_slices_is_taken(world):
    """Watches that run are not ended by it: those of an agent that starts are refused."""
    path = f"{RBAC}/clusterroles/fingerpost-agent"
    role = world.plane.api.get(path)
    rules = [{**rule, "verbs": ["get", "list"]} if "endpointslices" in rule["resources"] else rule for rule in role["rules"]]
    world.plane.api.request("PUT", path, {**role, "rules": rules})
    world.agent.stop()
    world.agent.start()
    yield
    role["metadata"].pop("resourceVersion")
    world.plane.api.request("PUT", path, role)


AWAY = ("has not been read since the start", "the copy of the last known objects")  # what follows


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


@rows("api-without-tls", within=15, health="failed", cause=("http://", "without TLS"), remedy="use https",
      beside=(*AWAY, "the API does not answer as asked"))
def the_address_is_without_tls(world):
    return with_kubeconfig(world, lambda text: text.replace("https://", "http://"))


def with_another_token(text):
    document = yaml.safe_load(text)
    document["users"][0]["user"] = {"token": "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"}
    return json.dumps(document)


@rows("api-kind-out-of-sync", within=15, cause="Unauthorized", remedy="renew the token", beside=(*AWAY, "Unauthorized"))
def the_token_is_known_no_more(world):
    return with_kubeconfig(world, with_another_token)


TEXT = "the certificate of the authority, please ask the platform team\n"


def changed(world, change, restart=False):
    """Another kubeconfig, for an agent that is reloaded, or started."""
    agent = world.agent
    file = Path(agent.settings["source"]["kubernetes"]["kubeconfig"])
    kept = file.read_text(encoding="utf-8")

    def take(text):
        file.write_text(text, encoding="utf-8")
        if restart:
            agent.stop()
            agent.start()
        else:
            agent.reload()
    document = yaml.safe_load(kept)
    change(document["clusters"][0]["cluster"], document["users"][0]["user"])
    take(yaml.safe_dump(document))
    yield
    take(kept)
    yield


@rows(within=15)
def the_address_ends_in_a_slash(world):
    def change(cluster, _user):
        cluster["server"] += "/"
    return changed(world, change, restart=True)


@rows("kubeconfig-data-malformed", within=15, cause=("kubeconfig", "certificate-authority-data"), remedy=("",),
      beside="kubeconfig")
def the_authority_is_no_certificate(world):
    def change(cluster, _user):
        del cluster["certificate-authority"]
        cluster["certificate-authority-data"] = base64.b64encode(TEXT.encode()).decode()
    return changed(world, change)


@rows("api-unreachable", within=15, cause=("client certificate", "someone.key"), remedy="the key that belongs to it")
def the_key_is_of_another_certificate(world):
    def change(_cluster, user):
        other = Path(world.plane.kubeconfig("someone"))
        user["client-key"] = yaml.safe_load(other.read_text(encoding="utf-8"))["users"][0]["user"]["client-key"]
    return changed(world, change)


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


@rows("kubeconfig-entry-missing", within=15, cause=("production", "current-context"), remedy=("",))
def the_current_context_is_not_there(world):
    return edited(world, lambda document: document.update({"current-context": "production"}))


@rows("kubeconfig-credential-unsupported", within=15, cause="exec", remedy=("",))
def the_user_logs_in_by_a_program(world):
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubelogin", "args": ["get-token"], "interactiveMode": "Never"}
    return edited(world, lambda document: document["users"][0].update(user={"exec": login}))


@rows("api-kind-out-of-sync", within=15, cause=("addressblocks", "forbidden"), remedy="rbac.yaml",
      beside=("addressblocks", "has not been read since the start"))
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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
