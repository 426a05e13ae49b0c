# SPDX-License-Identifier: Apache-2.0
"""Faults of a Service by the objects that it goes with."""

import pytest
from cluster import announced_by
from faults import Table, check
from lab import objects
from objects_world import OTHER
from served import pods

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


class World:
    """A node that serves `web`; another Service is for mistakes."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        lab.write_nodes()
        [self.pod] = pods(lab, "one").values()
        self.write("web", "203.0.113.10")
        self.agent = lab.agent(self.node, services={"enabled": True})
        announced_by(lab, self.node, addresses=["203.0.113.10"])

    def write(self, name, address, change=lambda service, part: None):
        service = objects.service(name, [address])
        part = objects.slice_of(name, [objects.endpoint(self.pod.address4, self.node.role)])
        change(service, part)
        self.lab.write(f"{name}.yaml", service, part)


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


def other(world, change):
    world.write("other", OTHER, change)
    yield
    (world.lab.manifests / "other.yaml").unlink()


@rows("service-port-unserved", cause=("Service default/other", "port p80 (80/TCP)", "other-abcde has one http"),
      remedy="EndpointSlice")
def a_slices_port_has_another_name(world):
    return other(world, lambda service, part: part["ports"][0].update(name="http"))


@rows("service-port-unserved", cause=("Service default/other", "port p80 (80/TCP)"), remedy="protocols")
def a_slices_port_has_another_protocol(world):
    return other(world, lambda service, part: part["ports"][0].update(protocol="UDP"))


@rows("service-endpoint-node-unknown", cause=("Service default/other", "on node Node1", "no such Node"), remedy="nodeName")
def an_endpoint_is_on_no_node(world):
    def change(service, part):
        service["spec"]["externalTrafficPolicy"] = "Local"
        part["endpoints"][0]["nodeName"] = "Node1"
    return other(world, change)


@rows("service-endpoints-without-node", cause=("Service default/other", "none of its endpoints has a nodeName"),
      remedy="policy Cluster")
def no_endpoint_names_its_node(world):
    def change(service, part):
        service["spec"]["externalTrafficPolicy"] = "Local"
        del part["endpoints"][0]["nodeName"]
    return other(world, change)


@rows("service-without-cluster-ip", cause=("Service default/other", "has no clusterIP"), remedy="spec.clusterIP")
def a_service_has_no_cluster_ip(world):
    def change(service, part):
        for key in ("clusterIP", "clusterIPs", "ipFamilies"):
            del service["spec"][key]
    return other(world, change)


@rows()
def no_endpoint_is_ready(world):
    return other(world, lambda service, part: part["endpoints"][0].update(conditions={"ready": False, "serving": False}))


@rows()
def a_headless_service_has_other_ports(world):
    def change(service, part):
        service["spec"].update(type="ClusterIP", clusterIP="None", clusterIPs=["None"])
        part["ports"][0].update(name="http")
    return other(world, change)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
