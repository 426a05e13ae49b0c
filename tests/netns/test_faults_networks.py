# SPDX-License-Identifier: Apache-2.0
"""Faults of the configuration of service NAT: networks, uplinks, maps."""

import signal

import pytest
from faults import ITSELF, Table, check
from nat_world import FOLLOWS, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows("nat-uplink-unmatched", cause=("services.uplinks", 'no interface matches "eno1"'),
      remedy="name one that is there (ip link), or let them be found: auto")
def an_uplink_is_misnamed(world):
    world.reload(uplinks=["eth0", "eno1"])
    yield
    world.reload()


@rows("nat-pod-interface-unmatched", cause=("services.podInterfaces", "routes lead to pods by", "which no pattern matches"),
      remedy="name it, or let them be found: auto", beside="is reached by")
def pod_interfaces_match_nothing(world):
    world.reload(podInterfaces=["cali*"])
    yield
    world.reload()
    world.announced(world.web, world.single)


@rows("nat-service-network-overlaps", within=1, cause=("services.serviceCIDRs", "10.96.0.0/", "10.96.200.0/24"),
      remedy="networks of ClusterIPs only")
def a_bridge_has_a_network_of_cluster_ips(world):
    node = world.node
    node.ip("link", "add", "docker0", "type", "bridge")
    node.ip("addr", "add", "10.96.200.1/24", "dev", "docker0")
    node.ip("link", "set", "docker0", "up")
    yield
    node.ip("link", "del", "docker0")


@rows("nat-node-ports-addressless", within=1, cause=("services.nodePortAddresses", "192.168.77.0/24"), remedy="network")
def node_ports_are_to_answer_on_a_network_of_others(world):
    world.reload(nodePortAddresses=["192.168.77.0/24"])
    yield
    world.reload()


@rows("nat-pod-network-elsewhere", within=1, cause=("services.clusterCIDRs", "10.224.0.0/16", "10.224.200.0/24"),
      remedy="another network")
def a_bridge_has_a_network_of_pods(world):
    node = world.node
    world.reload(clusterCIDRs=["10.224.0.0/16", "fd00:224::/64"])
    node.ip("link", "add", "docker0", "type", "bridge")
    node.ip("addr", "add", "10.224.200.1/24", "dev", "docker0")
    node.ip("link", "set", "docker0", "up")
    yield
    node.ip("link", "del", "docker0")
    yield
    world.reload()


@rows(within=1)
def cluster_ips_lie_in_the_networks_of_pods(world):
    """It was expected to be refused; but nothing is lost by it, and many clusters say so: pods' networks are asked
    for sources alone, which a ClusterIP never is."""
    world.reload(clusterCIDRs=["10.0.0.0/8"], serviceCIDRs=["10.96.0.0/16"])
    yield
    world.reload()
    yield


@rows("document-number-out-of-range", within=1, cause=("agentd.yaml:", "flows"), remedy=ITSELF)
def more_flows_than_memory(world):
    world.reload(maps={"flows": 1000000000})
    yield
    world.reload()


@rows("network-load-balancers-in-pods", within=1, cause=("loadBalancerIPs", "clusterCIDRs"), remedy=("",))
def addresses_are_of_the_pods_network(world):
    world.reload(clusterCIDRs=["10.224.0.0/16"], loadBalancerIPs=["203.0.113.0/24", "fd00:203::/64", "10.224.240.0/24"])
    yield
    world.reload()


PODS = ["10.224.0.0/16", "fd00:224::/64"]
SERVICES = ["10.96.0.0/16", "fd00:96::/112"]


def reloaded(world, **services):
    world.reload(**services)
    yield
    world.reload()


@rows("network-pods-outside", cause=("services.clusterCIDRs", "10.224.0.0/27", "clients from outside"),
      remedy="take the key out")
def pods_are_in_no_cluster_network(world):
    return reloaded(world, clusterCIDRs=["10.99.0.0/16"])


@rows()
def only_one_family_has_cluster_networks(world):
    return reloaded(world, clusterCIDRs=["10.224.0.0/16"])


@rows()
def a_wide_network_of_pods_has_clusterips(world):
    return reloaded(world, clusterCIDRs=["10.0.0.0/8"], serviceCIDRs=SERVICES)


@rows("network-all-are-pods", cause=("services.clusterCIDRs", "0.0.0.0/0 makes a pod of every client"), remedy="pods only")
def everybody_is_a_pod(world):
    return reloaded(world, clusterCIDRs=["0.0.0.0/0"])


@rows("network-pods-in-services",
      cause=("services.clusterCIDRs", "10.96.0.0/24 lies in 10.96.0.0/16 of services.serviceCIDRs"),
      remedy="networks of their own")
def pods_have_a_network_of_clusterips(world):
    return reloaded(world, clusterCIDRs=[*PODS, "10.96.0.0/24"], serviceCIDRs=SERVICES)


@rows("network-cluster-ips-outside", cause=("services.serviceCIDRs", "10.96.0.", "of Service default/", "lies in none"),
      remedy="--service-cluster-ip-range")
def clusterips_are_of_another_cluster(world):
    return reloaded(world, serviceCIDRs=["10.43.0.0/16"])


@rows()
def only_one_family_has_service_networks(world):
    return reloaded(world, serviceCIDRs=["fd00:96::/112"])


@rows("network-special", cause=("services.serviceCIDRs", "127.0.0.0/8 is no network of ClusterIPs"),
      remedy="networks of the cluster", beside="lies in none")
def clusterips_are_loopback(world):
    return reloaded(world, serviceCIDRs=["127.0.0.0/8"])


@rows("network-load-balancers-in-services", cause=("services.loadBalancerIPs", "10.96.1.0/24 lies in 10.96.0.0/16"),
      remedy="networks of their own")
def balanced_addresses_are_clusterips(world):
    return reloaded(world, serviceCIDRs=SERVICES, loadBalancerIPs=["10.96.1.0/24", "203.0.113.0/24", "fd00:203::/64"])


@rows()
def all_addresses_are_balanced(world):
    return reloaded(world, serviceCIDRs=SERVICES, clusterCIDRs=PODS, loadBalancerIPs=["0.0.0.0/0", "::/0"])


@rows("network-external-in-services", cause=("services.externalIPs", "10.96.1.0/24 lies in 10.96.0.0/16"),
      remedy="networks of their own")
def external_addresses_are_clusterips(world):
    return reloaded(world, serviceCIDRs=SERVICES, externalIPs=["10.96.1.0/24", "203.0.113.0/24", "fd00:203::/64"])


@rows("nat-uplinks-empty", cause=("services.uplinks", "empty list"), remedy="auto", beside=(*FOLLOWS, "answers to clients"))
def there_are_no_uplinks(world):
    return reloaded(world, uplinks=[])


@rows("claim-watch-lost", cause=("etcd", "127.0.0.1:1"), remedy="addresses.etcd.endpoints")
def claims_are_kept_by_an_etcd_that_is_not_there(world):
    """And told no more once nothing is claimed."""
    agent = world.agent
    agent.settings["addresses"] = {"etcd": {"endpoints": ["http://127.0.0.1:1"]}}
    world.reload()
    yield
    del agent.settings["addresses"]
    agent.write_config()
    agent.process.send_signal(signal.SIGHUP)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
