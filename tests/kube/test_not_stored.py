# SPDX-License-Identifier: Apache-2.0
"""Writes of the controller that the API answers as done and does not store: they are told, no decision is built on
them, and what was wanted comes to be when the API stores again."""

import json

import pytest
from dry_api import DryApi
from giving import Controllers, addresses, begin, gets, pool, service, sweep
from lab import wait, wait_equal
from lab.asking import Nodes, assert_disjoint, blocks, remove_all
from lab.asking import pool as block_pool

LAB = {"nodes": 1}
WORDS = "the API answers that it was written, and it is not so"
COIL = ("BlockRequest", "AddressBlock", "AddressPool", "Node")


@pytest.fixture(name="api")
def api_fixture(plane):
    sweep(plane)
    remove_all(plane, *COIL)
    api = DryApi(plane, "dry").start()
    yield api
    api.stop()
    sweep(plane)
    remove_all(plane, *COIL)


@pytest.fixture(name="leader")
def leader_fixture(cluster, plane, api):
    controllers = Controllers(cluster, plane)
    yield begin(controllers("dry", blocks={"enabled": True}, source={"kubernetes": {"kubeconfig": str(api.kubeconfig)}}))
    controllers.end()


def told(leader):
    """What is not so, by the object that it is said of."""
    return [fault for fault in leader.status()["faults"] if WORDS in json.dumps(fault)]


def test_a_block(plane, api, leader):
    """Its request has no answer before the block is there; a node would wait for it, and ask for another one."""
    plane.put(block_pool("default", "10.100.0.0/26"))
    nodes = Nodes(plane, "n1", "n2")
    assert nodes.get("n1") == ("default-0", None)
    api.dry = "^POST .*/addressblocks"
    key = nodes.ask("n2")
    wait(lambda: told(leader), "the fault", 10)
    assert nodes.answer(key) is None and list(blocks(plane)) == ["default-0"]
    assert len(api.lies) == 2, api.lies
    api.dry = None
    assert wait(lambda: nodes.answer(key), "the answer", 20) == ("default-1", None)
    assert blocks(plane) == {"default-0": "n1", "default-1": "n2"}
    assert_disjoint(plane)
    wait_equal(lambda: told(leader), [], "no fault")


def test_the_record_of_claims(plane, api, leader):
    """No Service is told of an address that no successor would know to be given."""
    api.dry = "^(POST|PATCH) .*/configmaps"
    plane.put(pool("203.0.113.0/29"), service("web"))
    [fault, *_] = wait(lambda: told(leader), "the fault", 10)
    assert "ConfigMap fingerpost-addresses" in json.dumps(fault) and "webhook" in fault["remedy"]
    wait(lambda: len(api.lies) >= 3, "further tries", 20)
    assert addresses(plane, "web") == []
    api.dry = None
    gets(plane, web=["203.0.113.0"])
    wait_equal(lambda: told(leader), [], "no fault")
    api.dry, before = "^PATCH .*/configmaps", len(api.lies)
    plane.put(service("api"))
    wait(lambda: told(leader), "the fault of a change", 10)
    assert addresses(plane, "api") == [] and len(api.lies) > before
    api.dry = None
    gets(plane, api=["203.0.113.1"])
