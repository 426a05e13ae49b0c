# SPDX-License-Identifier: Apache-2.0
"""Faults of networks by each other: pools, blocks of pods, Nodes, ClusterIPs."""

import pytest
from faults import Table, check
from lab import objects
from pools_world import SECOND, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
COIL = "coil.cybozu.com/v2"


def written(world, *items):
    world.lab.write("probe.yaml", *items)
    yield
    (world.lab.manifests / "probe.yaml").unlink()


def second(world, network):
    return written(world, {**SECOND, "spec": {"addresses": [network]}})


def block(world, network, node="node1", pool="default"):
    return written(world, objects.address_block("default-7", node, network, pool=pool, index=7))


def address_pool(name, network):
    return {"apiVersion": COIL, "kind": "AddressPool", "metadata": {"name": name}, "spec": {"subnets": [{"ipv4": network}]}}


@rows("pool-in-cluster-ips", cause=("IPAddressPool lb/second", "services.serviceCIDRs"), remedy="take it out of the pool")
def a_pool_has_cluster_ips(world):
    return second(world, "10.96.9.0/24")


@rows("pool-in-pod-networks", cause=("IPAddressPool lb/second", "services.clusterCIDRs"), remedy="take it out of the pool")
def a_pool_has_the_pods_network(world):
    return second(world, "10.224.9.0/24")


@rows("pool-has-node-address", cause=("IPAddressPool lb/second", "10.0.1.2", "Node node1"), remedy="take it out of the pool")
def a_pool_has_a_nodes_address(world):
    return second(world, "10.0.1.0/24")


@rows("block-outside-setting", cause=("AddressBlock default-7", "services.clusterCIDRs"), remedy="services.clusterCIDRs")
def a_block_is_outside_of_the_pods_networks(world):
    return block(world, "10.230.0.0/27")


@rows("block-overlaps-own", cause=("AddressBlock default-7", "AddressBlock default-0"), remedy="delete one of the two")
def two_blocks_of_a_node_overlap(world):
    return block(world, "10.224.0.16/28")


@rows("block-node-missing", cause=("AddressBlock default-7", "node vm is not there"), remedy="coil.cybozu.com/node")
def a_block_is_no_nodes(world):
    return block(world, "10.224.9.0/27", node="vm")


@rows("block-pool-unknown", cause=("AddressBlock default-7", "pool gold"), remedy="coil.cybozu.com/pool")
def a_blocks_pool_is_not_there(world):
    return written(world, address_pool("default", "10.224.0.0/16"),
                   objects.address_block("default-7", "node1", "10.224.9.0/27", pool="gold", index=7))


@rows("block-outside-pool", cause=("AddressBlock default-0", "in no subnet of its pool default"), remedy="subnets")
def a_pool_does_not_have_its_block(world):
    return written(world, address_pool("default", "10.224.128.0/20"))


@rows("namespace-pool-unknown", cause=("Namespace shop", "gold"), remedy="correct the annotation")
def a_namespaces_pool_is_not_there(world):
    return written(world, address_pool("default", "10.224.0.0/16"),
                   {"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": "shop", "annotations": {"coil.cybozu.com/pool": "gold"}}})


@rows("egress-destination-in-cluster-ips", cause=("Egress internet/nat", "10.96.0.0/16", "services.serviceCIDRs"),
      remedy="outside of the cluster")
def a_destination_is_in_the_cluster(world):
    egress = objects.egress()
    egress["spec"]["destinations"] = ["198.51.100.0/24", "10.96.0.0/16"]
    return written(world, egress)


@rows()
def a_pool_and_blocks_that_fit(world):
    return written(world, address_pool("default", "10.224.0.0/16"), {**SECOND, "spec": {"addresses": ["203.0.113.80/30"]}},
                   objects.address_block("default-7", "node1", "10.224.9.0/27", index=7))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
