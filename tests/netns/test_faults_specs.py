# SPDX-License-Identifier: Apache-2.0
"""Faults of a Service's spec and status, and of an EndpointSlice, field by field."""

import pytest
from cluster import VIP
from faults import ITSELF, Table, check
from objects_world import OTHER, other, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows("address-port-taken", cause=("Service default/other", f"{VIP} port 80/TCP belongs to the older Service"),
      remedy="give one of the two another port or address")
def two_services_want_one_port(world):
    world.other(VIP)
    yield
    world.remove("other.yaml")


@rows("object-address-unreadable", cause=("web.yaml:", "is not an IP address"), remedy=ITSELF, beside="is not an IP address")
def an_endpoint_is_no_address(world):
    """Expected: told by file and line; the other endpoints count."""
    world.write(world.web.replace("10.224.0.1", "10.224.0.l", 1))
    yield
    world.write(world.web)


@rows("object-cidr-unreadable", cause=("other.yaml:", "loadBalancerSourceRanges"), remedy=ITSELF,
      beside=("is open to all", "loadBalancerSourceRanges"))
def a_source_range_is_no_network(world):
    """Expected: told by file and line, as what it is: nobody is let in by it."""
    world.other(OTHER, loadBalancerSourceRanges=["10.0.0.0/33"])
    yield
    world.remove("other.yaml")


@rows("object-word-unknown", cause=("other.yaml:", "externalTrafficPolicy"), remedy=ITSELF)
def a_policy_is_misspelt(world):
    """Expected: told by file and line."""
    world.other(OTHER, externalTrafficPolicy="local")
    yield
    world.remove("other.yaml")


@rows("object-word-unknown", cause=("other.yaml:", "protocol"), remedy=ITSELF)
def a_protocol_is_misspelt(world):
    """Expected: told by file and line."""
    world.other(OTHER, ports=[{"name": "p80", "port": 80, "protocol": "TPC"}])
    yield
    world.remove("other.yaml")


@rows("service-port-unserved", cause=("Service default/other", "port http (80/TCP)", "no EndpointSlice"),
      remedy="EndpointSlice", says={f"explain {OTHER}": "no usable endpoint"})
def a_port_is_named_otherwise_in_the_slice(world):
    """Expected: no fault, and explain says that no endpoint has the port. It is told since: the endpoints are ready."""
    world.other(OTHER, ports=[{"name": "http", "port": 80, "protocol": "TCP"}])
    yield
    world.remove("other.yaml")


@rows("slice-address-of-other-family", cause=("web.yaml:", "addressType"), remedy=ITSELF, beside="addressType")
def a_slice_has_addresses_of_the_other_family(world):
    """Expected: told by file and line."""
    world.write(world.web.replace("addressType: IPv4", "addressType: IPv6", 1))
    yield
    world.write(world.web)


@rows("object-word-unknown", cause=("other.yaml:", "sessionAffinity"), remedy=ITSELF)
def an_affinity_is_misspelt(world):
    world.other(OTHER, sessionAffinity="clientIP")
    yield
    world.remove("other.yaml")


def ingress(service):
    return service["status"]["loadBalancer"]["ingress"][0]


@rows("service-port-twice", cause=("other.yaml:", "port"), remedy=ITSELF)
def a_port_is_there_twice(world):
    return other(world, lambda service, part: service["spec"]["ports"].extend(list(service["spec"]["ports"])))


@rows("service-ports-missing", cause=("other.yaml:", "ports"), remedy=ITSELF)
def a_service_has_no_ports(world):
    return other(world, lambda service, part: service["spec"].update(ports=[]))


@rows("object-word-unknown", cause=("other.yaml:", "Loadbalancer"), remedy=ITSELF)
def a_type_is_misspelt(world):
    return other(world, lambda service, part: service["spec"].update(type="Loadbalancer"))


@rows("object-word-replaced", cause=("other.yaml:", "ipMode"), remedy=ITSELF)
def an_ip_mode_is_misspelt(world):
    return other(world, lambda service, part: ingress(service).update(ipMode="vip"))


@rows("document-value-unexpected", cause=("other.yaml:", "endpoints"), remedy=ITSELF)
def endpoints_are_a_map(world):
    return other(world, lambda service, part: part.update(endpoints={"addresses": ["10.224.0.1"]}))


@rows("document-value-unexpected", cause=("other.yaml:", "ingress"), remedy=ITSELF)
def an_ingress_is_a_text(world):
    return other(world, lambda service, part: service["status"]["loadBalancer"].update(ingress=OTHER))


@rows("object-address-unreadable", cause=("other.yaml:", "is not an IP address"), remedy=ITSELF, beside="waits for an address")
def an_ingress_has_a_length(world):
    return other(world, lambda service, part: ingress(service).update(ip=f"{OTHER}/32"))


@rows("object-address-unreadable", cause=("other.yaml:", "externalIPs"), remedy=ITSELF)
def an_external_ip_is_a_name(world):
    return other(world, lambda service, part: service["spec"].update(externalIPs=["www.example.org"]))


@rows("object-cidr-unreadable", within=1, cause=("other.yaml:", "10.0.0.0/33"), remedy=ITSELF, beside="open to all sources")
def a_source_range_is_too_long(world):
    return other(world, lambda service, part: service["spec"].update(loadBalancerSourceRanges=["10.0.0.0/33"]))


@rows("document-number-out-of-range", within=1, cause=("other.yaml:", "70000"), remedy=ITSELF)
def an_endpoints_port_is_out_of_range(world):
    return other(world, lambda service, part: part["ports"][0].update(port=70000))


@rows(within=1, says={f"explain {OTHER}": "headless"})
def a_headless_service_has_an_external_ip(world):
    world.other(externalIPs=[OTHER], type="ClusterIP", clusterIP="None", clusterIPs=["None"])
    yield
    world.remove("other.yaml")


@rows("document-number-out-of-range", within=1, cause=("other.yaml:", "timeoutSeconds"), remedy=ITSELF)
def an_affinity_lasts_for_no_time(world):
    return other(world, lambda service, part: service["spec"].update(
        sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}))


@rows("object-address-unreadable", within=1, cause=("other.yaml:", "203.0.113.30/32"), remedy=ITSELF)
def an_external_ip_has_a_length(world):
    return other(world, lambda service, part: service["spec"].update(externalIPs=["203.0.113.30/32"]))


@rows("service-port-name-twice", within=1, cause=("other.yaml:", "http"), remedy=ITSELF)
def two_ports_have_one_name(world):
    return other(world, lambda service, part: service["spec"].update(
        ports=[{"name": "http", "port": 80}, {"name": "http", "port": 81}]))


@rows("document-value-unexpected", within=1, cause=("other.yaml:", "externalIPs"), remedy=ITSELF)
def external_ips_are_a_text(world):
    return other(world, lambda service, part: service["spec"].update(externalIPs="203.0.113.31"))


@rows("object-word-unknown", within=1, cause=("other.yaml:", "internalTrafficPolicy"), remedy=ITSELF)
def an_internal_policy_is_misspelt(world):
    return other(world, lambda service, part: service["spec"].update(internalTrafficPolicy="local"))


@rows("object-word-unknown", within=1, cause=("other.yaml:", "sessionAffinity"), remedy=ITSELF)
def an_affinity_is_a_boolean(world):
    return other(world, lambda service, part: service["spec"].update(sessionAffinity=True))


SIX = "fd00:96::77"


def spec(world, **fields):
    return other(world, lambda service, part: service["spec"].update(fields))


def ports(world, *node_ports, **fields):
    return spec(world, ports=[{"name": f"p{number}", "port": number, "nodePort": node_port}
                              for number, node_port in enumerate(node_ports, 80)], **fields)


@rows("service-headless-unserved", cause=("other.yaml:", "clusterIP", "headless"), remedy=ITSELF)
def a_load_balancer_is_headless(world):
    return spec(world, clusterIP="None", clusterIPs=["None"], ipFamilies=["IPv4"])


@rows("service-families-disordered", cause=("other.yaml:", "spec.ipFamilies[0]", "IPv4"), remedy=ITSELF)
def families_deny_the_cluster_ips(world):
    return spec(world, ipFamilies=["IPv6"])


@rows("service-cluster-ip-second", cause=("other.yaml:", "spec.clusterIPs[1]", "second one of IPv4"), remedy=ITSELF)
def two_cluster_ips_are_of_one_family(world):
    return spec(world, clusterIP="10.96.7.7", clusterIPs=["10.96.7.7", "10.96.7.8"])


@rows("service-family-policy-single", cause=("other.yaml:", "spec.ipFamilyPolicy", "two families"), remedy=ITSELF)
def a_single_stack_has_two_families(world):
    return spec(world, ipFamilyPolicy="SingleStack", clusterIP=SIX, clusterIPs=[SIX, "10.96.7.7"], ipFamilies=["IPv6", "IPv4"])


@rows("object-word-ignored", cause=("other.yaml:", "spec.trafficDistribution", "PreferNear"), remedy=ITSELF)
def a_distribution_is_no_word(world):
    return spec(world, trafficDistribution="PreferNear")


@rows("object-field-idle", cause=("other.yaml:", "spec.healthCheckNodePort", "externalTrafficPolicy: Local"), remedy=ITSELF)
def a_health_port_goes_with_another_policy(world):
    return spec(world, healthCheckNodePort=31000)


@rows("service-node-port-twice", cause=("other.yaml:", "spec.ports[1]", "30100/TCP"), remedy=ITSELF, beside="has no endpoints")
def two_ports_have_one_node_port(world):
    return ports(world, 30100, 30100)


@rows("service-node-port-is-health-port", cause=("other.yaml:", "spec.ports[0]", "healthCheckNodePort"), remedy=ITSELF,
      beside="31000")
def a_node_port_is_the_health_port(world):
    return ports(world, 31000, externalTrafficPolicy="Local", healthCheckNodePort=31000)


@rows("service-external-name-missing", cause=("other.yaml:", "externalName"), remedy=ITSELF)
def an_external_name_has_no_name(world):
    def change(service, part):
        service["spec"] = {"type": "ExternalName"}
    return other(world, change)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
