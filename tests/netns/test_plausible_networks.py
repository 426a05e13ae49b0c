# SPDX-License-Identifier: Apache-2.0
"""The fault table, values of agentd.yaml that are right by themselves and wrong for this cluster: found by a matrix of two
hundred plausible values, put on a living agent by reloads. What was silent then is here."""

import signal

import pytest
from faults import Table, check
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
PODS = ["10.224.0.0/16", "fd00:224::/64"]
SERVICES = ["10.96.0.0/16", "fd00:96::/112"]
REFUSED = ("externalIP", "not announced", "no way to")


def reloaded(world, **services):
    world.reload(**services)
    yield
    world.reload()


@rows(901, cause=("services.clusterCIDRs", "10.224.0.0/27", "clients from outside"), remedy="take the key out")
def pods_are_in_no_cluster_network(world):
    return reloaded(world, clusterCIDRs=["10.99.0.0/16"])


@rows(902)
def only_one_family_has_cluster_networks(world):
    return reloaded(world, clusterCIDRs=["10.224.0.0/16"])


@rows(903)
def a_wide_network_of_pods_has_clusterips(world):
    return reloaded(world, clusterCIDRs=["10.0.0.0/8"], serviceCIDRs=SERVICES)


@rows(904, cause=("services.clusterCIDRs", "0.0.0.0/0 makes a pod of every client"), remedy="pods only")
def everybody_is_a_pod(world):
    return reloaded(world, clusterCIDRs=["0.0.0.0/0"])


@rows(905, cause=("services.clusterCIDRs", "10.96.0.0/24 lies in 10.96.0.0/16 of services.serviceCIDRs"),
      remedy="networks of their own")
def pods_have_a_network_of_clusterips(world):
    return reloaded(world, clusterCIDRs=[*PODS, "10.96.0.0/24"], serviceCIDRs=SERVICES)


@rows(906, cause=("services.serviceCIDRs", "10.96.0.", "of Service default/", "lies in none"),
      remedy="--service-cluster-ip-range")
def clusterips_are_of_another_cluster(world):
    return reloaded(world, serviceCIDRs=["10.43.0.0/16"])


@rows(907)
def only_one_family_has_service_networks(world):
    return reloaded(world, serviceCIDRs=["fd00:96::/112"])


@rows(908, cause=("services.serviceCIDRs", "127.0.0.0/8 is no network of ClusterIPs"), remedy="networks of the cluster",
      beside="lies in none")
def clusterips_are_loopback(world):
    return reloaded(world, serviceCIDRs=["127.0.0.0/8"])


@rows(909, cause=("services.loadBalancerIPs", "10.96.1.0/24 lies in 10.96.0.0/16"), remedy="networks of their own")
def balanced_addresses_are_clusterips(world):
    return reloaded(world, serviceCIDRs=SERVICES, loadBalancerIPs=["10.96.1.0/24", "203.0.113.0/24", "fd00:203::/64"])


@rows(910)
def all_addresses_are_balanced(world):
    return reloaded(world, serviceCIDRs=SERVICES, clusterCIDRs=PODS, loadBalancerIPs=["0.0.0.0/0", "::/0"])


@rows(911, cause=("services.externalIPs", "10.96.1.0/24 lies in 10.96.0.0/16"), remedy="networks of their own")
def external_addresses_are_clusterips(world):
    return reloaded(world, serviceCIDRs=SERVICES, externalIPs=["10.96.1.0/24", "203.0.113.0/24", "fd00:203::/64"])


@rows(912, cause=("services.uplinks", "empty list"), remedy="auto", beside=(*FOLLOWS, "answers to clients"))
def there_are_no_uplinks(world):
    return reloaded(world, uplinks=[])


@rows(913, cause=("etcd", "127.0.0.1:1"), remedy="addresses.etcd.endpoints")
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
