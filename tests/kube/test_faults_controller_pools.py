# SPDX-License-Identifier: Apache-2.0
"""Faults of pools and blocks that agent-controller tells: those that nobody could use, or that are kept though somebody
has deleted them."""

import contextlib

import pytest
from faults import ITSELF, Table, check
from giving import Controllers, begin, pool, sweep
from lab import objects, wait
from lab.asking import COIL, node, pool as address_pool, remove_all, request
from lab.kube_api import MERGE, ApiError, path_of
from leading import ELECTION, Leader
from roles import without

LAB = {"nodes": 1}
rows = Table()
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/fingerpost-controller"


class World:
    """A controller that gives blocks and addresses; the block "two-0" may be made for a Node."""

    def __init__(self, cluster, plane):
        self.plane, self.controllers = plane, Controllers(cluster, plane)
        self.agent = Leader(begin(self.controllers(blocks={"enabled": True})))
        plane.put(node("holder"), address_pool("two", "10.225.0.0/24"), pool("203.0.113.0/29"))

    def end(self):
        self.controllers.end()
        remove_all(self.plane, "AddressBlock", "AddressPool", "Node")
        sweep(self.plane)


@pytest.fixture(name="world", scope="module")
def world_fixture(cluster):
    sweep(cluster.plane)
    world = World(cluster, cluster.plane)
    yield world
    world.end()


@contextlib.contextmanager
def made(world, *items):
    world.plane.put(*items)
    yield
    world.plane.delete(*items)


def is_gone(world, kind, name):
    try:
        world.plane.api.get(path_of(kind, name=name))
    except ApiError as error:
        return error.status == 404
    return False


@rows("pool-namespace-unknown", cause=("IPAddressPool default/shop", "names nowhere, and no Namespace"),
      remedy="correct the name")
def a_pool_is_for_a_namespace_that_is_not_there(world):
    with made(world, pool("203.0.113.64/29", name="shop", serviceAllocation={"namespaces": ["nowhere"]})):
        yield


@rows("pool-overlaps-address-pool", cause=("IPAddressPool default/shop", "10.225.0.0/24 of AddressPool two"),
      remedy="one of the two")
def a_pool_has_addresses_of_pods(world):
    with made(world, pool("10.225.0.64/29", name="shop")):
        yield


@rows("pool-reserves-nothing", cause=("IPAddressPool default/shop", "reserves 203.0.113.80"), remedy=ITSELF)
def a_pool_reserves_what_it_has_not(world):
    item = pool("203.0.113.64/29", name="shop")
    item["metadata"]["annotations"] = {"fingerpost.io/reserved": "203.0.113.80"}
    with made(world, item):
        yield


@rows("block-without-node", cause=("AddressBlock two-3", "has no node"), remedy="coil.cybozu.com/node")
def a_block_is_nobodys(world):
    block = objects.address_block("two-3", "x", "10.225.0.96/27", pool="two", index=3)
    del block["metadata"]["labels"]["coil.cybozu.com/node"]
    with made(world, block):
        yield


@rows("deleted-pool-in-use", cause=("AddressPool two", "is deleted", "1 block of it is there, as two-0 of node holder"),
      remedy="delete the pods")
def a_pool_that_has_blocks_is_deleted(world):
    block = objects.address_block("two-0", "holder", "10.225.0.0/27", pool="two", index=0)
    wait(lambda: world.plane.api.get(path_of("AddressPool", name="two"))["metadata"].get("finalizers"), "the finalizer")
    with made(world, block):
        world.plane.api.delete("AddressPool", "two")
        yield
    wait(lambda: is_gone(world, "AddressPool", "two"), "the end of the pool")
    world.plane.put(address_pool("two", "10.225.0.0/24"))


@rows("deleted-pool-kept", cause=("AddressPool three", "is deleted", "finalizer example.com/hold"),
      remedy="kubectl edit AddressPool three")
def a_finalizer_keeps_a_pool(world):
    item = address_pool("three", "10.226.0.0/24")
    item["metadata"]["finalizers"] = ["example.com/hold"]
    world.plane.put(item)
    world.plane.api.delete("AddressPool", "three")
    yield
    world.plane.api.request("PATCH", path_of("AddressPool", name="three"), {"metadata": {"finalizers": None}}, MERGE)


@rows("controller-blocks-unwritten", cause=("AddressBlocks", "cannot create"), remedy="deploy/kubernetes/controller.yaml")
def a_request_that_was_refused_is_gone(world):
    """The right lacks still, but nobody wants anything by it any more."""
    role = world.plane.api.get(ROLE)
    world.plane.api.request("PUT", ROLE, {**role, "rules": without(role["rules"], {(COIL, "addressblocks", "create")})})
    with made(world, request("req", world.plane.api.get(path_of("Node", name="holder")), "two")):
        yield
    yield
    role["metadata"].pop("resourceVersion")
    world.plane.api.request("PUT", ROLE, role)


@rows("election-failed",
      cause=("Lease kube-system/fingerpost-controller", "is held by coil-controller-0, which is no agent-controller"),
      remedy="kubectl delete lease")
def another_program_has_the_lease(world):
    world.plane.api.request("PATCH", ELECTION, {"spec": {
        "holderIdentity": "coil-controller-0", "leaseDurationSeconds": 3600}}, MERGE)
    yield
    world.plane.api.request("DELETE", ELECTION, {})
    wait(world.agent.controller.leads, "it to lead", 60)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
