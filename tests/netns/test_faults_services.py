# SPDX-License-Identifier: Apache-2.0
"""Faults of Services that are served by NAT: ports, endpoints, addresses."""

import pytest
from faults import ITSELF, Table, check
from lab import objects, wait, wait_equal
from nat_world import served, world_fixture  # noqa: F401
from served import Service

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows("nat-node-port-shadows-socket",
      cause=("Service default/web", "its nodePort", "/TCP has a socket of this host behind it"),
      remedy="give the Service another nodePort")
def a_daemon_listens_on_a_node_port(world):
    """Expected before it was tried: told with port and user, gone when the daemon is."""
    port = str(world.web.node_port)
    daemon = world.node.start("python3", "-m", "http.server", port, log="daemon.log")
    yield
    daemon.kill()
    daemon.wait()


@rows()
def a_daemon_listens_on_the_loopback_alone(world):
    """Expected: nobody from outside was to reach it."""
    port = str(world.web.node_port)
    daemon = world.node.start("python3", "-m", "http.server", port, "--bind", "127.0.0.1",
                              log="daemon.log")
    wait(lambda: port in world.node.run("ss", "-Hltn").stdout, "the daemon")
    yield
    daemon.kill()
    daemon.wait()


@rows(says={"explain 203.0.113.20": "no usable endpoint"})
def all_endpoints_are_unready(world):
    world.single.write((world.one, {"ready": False}))
    yield
    world.single.write(world.one)
    world.announced(world.single)


@rows("nat-ranges-familyless", cause="its IPv6 addresses are open to all", remedy="give a range of each family")
def source_ranges_have_one_family(world):
    world.single.write(world.one, loadBalancerSourceRanges=["198.51.100.0/24"])
    yield
    world.single.spec.pop("loadBalancerSourceRanges")
    world.single.write(world.one)


@rows("address-in-connected-network", cause=("Service default/near", "10.0.1.200 is not announced: this node is connected"),
      remedy="give the Service an address of its own")
def an_address_is_in_the_nodes_own_network(world):
    world.lab.write("near.yaml", objects.service("near", ["10.0.1.200"]),
                    objects.slice_of("near", [objects.endpoint(world.one.address4,
                                                               world.node.role)]))
    yield
    (world.lab.manifests / "near.yaml").unlink()


@rows("health-port-unserved", cause=("Service default/single", "port 32100", "Address already in use"), remedy="free the port")
def a_daemon_listens_on_the_health_port(world):
    """Expected: the Service and its port, and who has it."""
    daemon = world.node.start("python3", "-m", "http.server", "32100", log="daemon.log")
    wait(lambda: ":32100" in world.node.run("ss", "-Hltn").stdout, "the daemon")
    world.single.write(world.one, externalTrafficPolicy="Local", healthCheckNodePort=32100)
    yield
    for word in ("externalTrafficPolicy", "healthCheckNodePort"):
        world.single.spec.pop(word)
    world.single.write(world.one)
    daemon.kill()
    daemon.wait()


def near(world, **spec):
    """Another Service with an endpoint here, in a file of its own."""
    world.lab.write("near.yaml", objects.service("near", spec.pop("addresses", ["203.0.113.99"]), **spec),
                    objects.slice_of("near", [objects.endpoint(world.one.address4, world.node.role)]))


def not_near(world):
    (world.lab.manifests / "near.yaml").unlink()


@rows("nat-node-port-taken", cause=("Service default/web", "30010/TCP", "belongs to Service default/near"),
      remedy="give one of the two another port",
      beside="has no endpoints")
def a_node_port_is_given_twice(world):
    """Expected: the older Service keeps it, and the other is told; of the same age, the first by name."""
    near(world, ports=[{"name": "a", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30010}])
    yield
    not_near(world)


@rows("address-port-taken", cause=("Service default/web", "10.96.0.10", "belongs to the older Service default/near"),
      remedy="give one of the two another")
def a_cluster_ip_is_given_twice(world):
    """Expected: as one address and port of two Services."""
    near(world, clusterIP="10.96.0.10", clusterIPs=["10.96.0.10"])
    yield
    not_near(world)


@rows("nat-node-port-taken", within=1,
      cause=("Service default/web", f"node port {Service(None).node_port}/TCP", "belongs to Service default/other"),
      remedy="another port", beside="node port")
def two_services_have_one_node_port(world):
    """One without a time counts as made just now."""
    other = objects.service("other", ["203.0.113.77"])
    other["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    other["spec"]["ports"][0]["nodePort"] = world.web.node_port
    world.lab.write("other.yaml", other)
    yield
    (world.lab.manifests / "other.yaml").unlink()


@rows("address-external-refused", within=1, cause=("Service default/other", "externalIP", "is refused"),
      remedy="outside services.serviceCIDRs")
def an_external_ip_is_a_cluster_ip(world):
    address, _ = world.web.address("clusterIP", 4)
    world.lab.write("other.yaml", objects.service("other", ["203.0.113.77"], externalIPs=[address]))
    yield
    (world.lab.manifests / "other.yaml").unlink()


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


@rows("health-port-unserved", within=1, cause=("Service default/beta", "32100", "that of Service default/alpha"),
      remedy="another healthCheckNodePort")
def two_have_one_health_check_node_port(world):
    for name in ("alpha", "beta"):
        item = objects.service(name, ["203.0.113.80"], policy="Local", healthCheckNodePort=32100, ports=[80 if name == "alpha" else 81])
        world.lab.write(f"{name}.yaml", item, behind(world, name))
        wait(lambda: world.node.run("ss", "-Hltn", "sport = :32100").stdout, "the health port of the first")
    yield
    for name in ("alpha", "beta"):
        (world.lab.manifests / f"{name}.yaml").unlink()


@rows("address-port-taken", within=1, cause=("10.96.0.77", "default/alpha"), remedy="another", beside="10.96.0.77")
def two_have_one_cluster_ip(world):
    return written(world, inside("alpha", **SHARED), behind(world, "alpha"), inside("beta", **SHARED), behind(world, "beta"))


@rows(within=1)
def all_endpoints_terminate_and_still_serve(world):
    end = objects.endpoint(world.one.address4, world.node.role)
    end["conditions"] = {"ready": False, "serving": True, "terminating": True}
    return written(world, inside("alpha"), behind(world, "alpha", end))


@rows(within=1)
def none_is_here_of_a_service_of_this_node_only(world):
    return written(world, inside("alpha", internalTrafficPolicy="Local"), objects.node("node9", ["10.0.9.2"]),
                   behind(world, "alpha", objects.endpoint("10.224.9.9", "node9")))


@rows("slice-of-no-service", within=1, cause=("alpha.yaml:", "kubernetes.io/service-name is missing"), remedy=ITSELF)
def a_slice_has_lost_its_label(world):
    part = behind(world, "alpha")
    del part["metadata"]["labels"]["kubernetes.io/service-name"]
    return written(world, inside("alpha"), part)


@rows("address-in-connected-network", within=1, cause=("10.0.1.1", "connected to its network"), remedy="an address of its own")
def an_external_ip_is_the_routers(world):
    assert world.node.gateway4 == "10.0.1.1"
    world.reload(externalIPs=["10.0.0.0/8"])
    yield from written(world, inside("alpha", externalIPs=["10.0.1.1"]), behind(world, "alpha"))
    yield
    world.reload()


@rows("object-address-special", within=1, cause=("alpha.yaml:", "127.0.0.1"), remedy=ITSELF)
def an_endpoint_is_the_loopback(world):
    return written(world, inside("alpha"), behind(world, "alpha", objects.endpoint("127.0.0.1", world.node.role)))


def with_ports(world, ports):
    item = inside("alpha")
    item["spec"]["ports"] = ports
    return written(world, item, behind(world, "alpha"))


@rows("object-field-missing", within=1, cause=("alpha.yaml:", "port"), remedy=ITSELF)
def a_port_has_no_number(world):
    return with_ports(world, [{"name": "p80", "protocol": "TCP", "targetPort": 80}])


@rows("document-value-unexpected", within=1, cause=("alpha.yaml:", "port"), remedy=ITSELF)
def a_port_is_a_text(world):
    return with_ports(world, [{"name": "p80", "protocol": "TCP", "port": "80", "targetPort": 80}])


@rows("document-value-unexpected", within=1, cause=("alpha.yaml:", "ports"), remedy=ITSELF)
def ports_are_a_map(world):
    return with_ports(world, {"name": "p80", "protocol": "TCP", "port": 80, "targetPort": 80})


@rows("object-kind-unread", within=1, cause=("alpha.yaml:", "v1"), remedy=ITSELF)
def a_service_is_of_another_group(world):
    return written(world, {**inside("alpha"), "apiVersion": "apps/v1"}, behind(world, "alpha"))


@rows("document-number-out-of-range", within=1, cause=("alpha.yaml:", "timeoutSeconds"), remedy=ITSELF)
def an_affinity_lasts_for_more_than_a_day(world):
    return written(world, inside("alpha", sessionAffinity="ClientIP",
                                 sessionAffinityConfig={"clientIP": {"timeoutSeconds": 100000}}), behind(world, "alpha"))


@rows(within=1)
def a_slice_was_left_of_a_service_that_is_gone(world):
    return written(world, behind(world, "gone"))


@rows(within=1)
def an_endpoint_moves_from_slice_to_slice(world):
    parts = [objects.slice_of("alpha", [objects.endpoint(world.one.address4, world.node.role)], suffix=suffix)
             for suffix in ("abcde", "fghij")]
    return written(world, inside("alpha"), *parts)


@rows(within=1)
def an_endpoints_node_has_a_letter_too_much(world):
    """It was expected to be told; but by policy Cluster nothing is lost by it. By policy Local it is told."""
    return written(world, inside("alpha"), behind(world, "alpha", objects.endpoint(world.one.address4, "node11")))


@rows(within=1)
def a_web_server_listens_at_port_80(world):
    daemon = world.node.start("python3", "-m", "http.server", "80", "--bind", "::", log="daemon.log")
    wait(lambda: world.node.run("ss", "-Hltn", "sport = :80").stdout, "the web server")
    yield
    served(world)
    daemon.kill()
    daemon.wait()


ADDRESS = "203.0.113.80"


def balanced(**spec):
    return objects.service("alpha", [ADDRESS], **spec)


@rows("nat-endpoints-left-out", within=1, cause=("alpha", "10.96.0.10"), remedy=ITSELF)
def an_endpoint_is_another_services_cluster_ip(world):
    assert world.web.of["clusterIP"][0] == "10.96.0.10"
    return written(world, inside("alpha"), behind(world, "alpha", objects.endpoint("10.96.0.10", world.node.role)))


@rows("service-cluster-ip-differs", within=1, cause=("alpha", "clusterIP"), remedy=ITSELF)
def cluster_ip_and_cluster_ips_differ(world):
    return written(world, inside("alpha", clusterIP="10.96.0.77", clusterIPs=["10.96.0.78"]), behind(world, "alpha"))


@rows("object-cidr-unreadable", within=1, cause=("alpha.yaml:", "198.51.100.7"), remedy=ITSELF, beside="open to all")
def a_source_range_has_no_length(world):
    return written(world, balanced(loadBalancerSourceRanges=["198.51.100.7"]), behind(world, "alpha"))


@rows(within=1)
def a_source_range_has_blanks_around_it(world):
    world.lab.write("alpha.yaml", balanced(loadBalancerSourceRanges=[" 192.0.2.0/24 ", "198.51.100.7/32"]), behind(world, "alpha"))
    wait_equal(lambda: world.lab.tor.via(ADDRESS), {world.node.role}, "the address on the ToR")
    yield
    (world.lab.manifests / "alpha.yaml").unlink()


@rows(within=1)
def a_deployment_was_scaled_to_none(world):
    return written(world, balanced(), {**behind(world, "alpha"), "endpoints": None, "ports": None})


@rows("document-number-out-of-range", within=1, cause=("alpha.yaml:", "nodePort"), remedy=ITSELF)
def a_node_port_has_a_digit_too_much(world):
    port = {"name": "p80", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 300080}
    return written(world, balanced(ports=[port]), behind(world, "alpha"))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
