# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, Services and networks: each row was written down before it was tried
(tests/eighth_list.txt)."""

import pytest
from faults import Table, check
from lab import objects, wait
from test_fault_table_data import world_fixture  # noqa: F401
from test_fault_table_objects import ITSELF

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("eighth_list")
SHARED = {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77"]}


def inside(name, **spec):
    return objects.service(name, [], type="ClusterIP", **spec)


def behind(world, name, *ends):
    """The slice of a Service: the first pod, or other endpoints."""
    return objects.slice_of(name, list(ends) or [objects.endpoint(world.one.address4, world.node.role)])


def written(world, *items):
    """Yields while there is a file of these."""
    world.lab.write("alpha.yaml", *items)
    yield
    (world.lab.manifests / "alpha.yaml").unlink()


@rows(901, cause=("Service default/beta", "32100", "that of Service default/alpha"), remedy="another healthCheckNodePort")
def two_have_one_health_check_node_port(world):
    for name in ("alpha", "beta"):
        item = objects.service(name, ["203.0.113.80"], policy="Local", healthCheckNodePort=32100, ports=[80 if name == "alpha" else 81])
        world.lab.write(f"{name}.yaml", item, behind(world, name))
        wait(lambda: world.node.run("ss", "-Hltn", "sport = :32100").stdout, "the health port of the first")
    yield
    for name in ("alpha", "beta"):
        (world.lab.manifests / f"{name}.yaml").unlink()


@rows(903, cause=("10.96.0.77", "default/alpha"), remedy="another", beside="10.96.0.77")
def two_have_one_cluster_ip(world):
    return written(world, inside("alpha", **SHARED), behind(world, "alpha"), inside("beta", **SHARED), behind(world, "beta"))


@rows(904)
def all_endpoints_terminate_and_still_serve(world):
    end = objects.endpoint(world.one.address4, world.node.role)
    end["conditions"] = {"ready": False, "serving": True, "terminating": True}
    return written(world, inside("alpha"), behind(world, "alpha", end))


@rows(905)
def none_is_here_of_a_service_of_this_node_only(world):
    return written(world, inside("alpha", internalTrafficPolicy="Local"), objects.node("node9", ["10.0.9.2"]),
                   behind(world, "alpha", objects.endpoint("10.224.9.9", "node9")))


@rows(906, cause=("alpha.yaml:", "kubernetes.io/service-name is missing"), remedy=ITSELF)
def a_slice_has_lost_its_label(world):
    part = behind(world, "alpha")
    del part["metadata"]["labels"]["kubernetes.io/service-name"]
    return written(world, inside("alpha"), part)


@rows(907, cause=("10.0.1.1", "connected to its network"), remedy="an address of its own")
def an_external_ip_is_the_routers(world):
    assert world.node.gateway4 == "10.0.1.1"
    world.reload(externalIPs=["10.0.0.0/8"])
    yield from written(world, inside("alpha", externalIPs=["10.0.1.1"]), behind(world, "alpha"))
    yield
    world.reload()


@rows(908, cause=("alpha.yaml:", "127.0.0.1"), remedy=ITSELF)
def an_endpoint_is_the_loopback(world):
    return written(world, inside("alpha"), behind(world, "alpha", objects.endpoint("127.0.0.1", world.node.role)))


@rows(910)
def cluster_ips_lie_in_the_networks_of_pods(world):
    """The list expects that this is refused; but nothing is lost by it, and many clusters say so: pods' networks are asked
    for sources alone, which a ClusterIP never is."""
    world.reload(clusterCIDRs=["10.0.0.0/8"], serviceCIDRs=["10.96.0.0/16"])
    yield
    world.reload()
    yield


@rows(913, cause=("agentd.yaml:", "flows"), remedy=ITSELF)
def more_flows_than_memory(world):
    world.reload(maps={"flows": 1000000000})
    yield
    world.reload()


@rows(914, cause=("loadBalancerIPs", "clusterCIDRs"), remedy=("",))
def addresses_are_of_the_pods_network(world):
    world.reload(clusterCIDRs=["10.224.0.0/16"], loadBalancerIPs=["203.0.113.0/24", "fd00:203::/64", "10.224.240.0/24"])
    yield
    world.reload()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
