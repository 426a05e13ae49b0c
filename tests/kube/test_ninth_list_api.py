# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, the API and the controller: each row was written down before it was tried
(tests/ninth_list.txt)."""

import base64
from pathlib import Path

import pytest
import yaml
from faults import Table, check
from giving import gets
from lab.kube_api import MERGE, path_of
from test_fifth_list_api import leading_fixture  # noqa: F401
from test_seventh_list_api import World

LAB = {"nodes": 1}
controllers, agents = Table("ninth_list"), Table("ninth_list")
TEXT = "the certificate of the authority, please ask the platform team\n"


@controllers(1027, heals=True)
def somebody_empties_a_status(world):
    world.plane.api.request("PATCH", f"{path_of('Service', name='web')}/status", {"status": {"loadBalancer": None}}, MERGE)
    yield
    gets(world.plane, web=["203.0.113.0"])
    yield


@controllers.each
def test_controllers(leading, row):
    check(row, leading)


@pytest.fixture(name="world", scope="module")
def world_fixture(cluster):
    world = World(cluster, cluster.plane)
    yield world
    world.agent.stop()


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


@agents(1028)
def the_address_ends_in_a_slash(world):
    def change(cluster, _user):
        cluster["server"] += "/"
    return changed(world, change, restart=True)


@agents(1029, cause=("kubeconfig", "certificate-authority-data"), remedy=("",), beside="kubeconfig")
def the_authority_is_no_certificate(world):
    def change(cluster, _user):
        del cluster["certificate-authority"]
        cluster["certificate-authority-data"] = base64.b64encode(TEXT.encode()).decode()
    return changed(world, change)


@agents(1030, cause=("client certificate", "someone.key"), remedy="the key that belongs to it")
def the_key_is_of_another_certificate(world):
    def change(_cluster, user):
        other = Path(world.plane.kubeconfig("someone"))
        user["client-key"] = yaml.safe_load(other.read_text(encoding="utf-8"))["users"][0]["user"]["client-key"]
    return changed(world, change)


@agents.each
def test_agents(world, row):
    check(row, world)
