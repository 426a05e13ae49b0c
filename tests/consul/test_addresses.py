# SPDX-License-Identifier: Apache-2.0
"""What kube-service-exporter does not have: pods' and LoadBalancer addresses in place of NodePorts, of
both families, and health by endpoints; and keys that change under a Service. Against a real Consul."""

import json

from controller import PREFIX, key_of, node, service
from lab import wait, wait_equal
from test_export import NODES, documents, wait_for


def endpoints(name, family, *addresses, port=8080, ready=True):
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-{family.lower()}", "namespace": "default",
                     "labels": {"kubernetes.io/service-name": name}},
        "addressType": family, "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "nodeName": "n1", "conditions": {"ready": ready}}
                      for address in addresses],
    }


DUAL = {"clusterIPs": ["10.96.0.7", "fd00::7"], "ipFamilies": ["IPv4", "IPv6"]}


def document(consul, name="a"):
    return json.loads(documents(consul).get(key_of(name), "null"))


def addresses(consul):
    return (document(consul) or {}).get("addresses")


def test_pods_of_both_families_come_and_go(consul, kube, start):
    """Also of a Service that has no NodePort at all."""
    kube.put(service("a", kind="ClusterIP", spec=DUAL), endpoints("a", "IPv4", "10.224.0.5"),
             endpoints("a", "IPv6", "fd00:224::5"))
    start(addresses="pods")
    wait_equal(lambda: addresses(consul), [{"Address": "10.224.0.5", "Port": 8080},
                                           {"Address": "fd00:224::5", "Port": 8080}], "both")
    kube.put(endpoints("a", "IPv4", "10.224.0.5", ready=False))
    wait_equal(lambda: addresses(consul), [{"Address": "fd00:224::5", "Port": 8080}], "what is ready")
    kube.put(endpoints("a", "IPv6", "fd00:224::5", "fd00:224::6", port=9090))
    wait_equal(lambda: addresses(consul), [{"Address": "fd00:224::5", "Port": 9090},
                                           {"Address": "fd00:224::6", "Port": 9090}], "as many, elsewhere")


def test_addresses_of_load_balancers(consul, kube, start):
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}, {"ip": "2001:db8::1"}]}}
    kube.put(service("a", kind="LoadBalancer", spec=DUAL, status=status))
    start(addresses="loadBalancer")
    wait_equal(lambda: addresses(consul), [{"Address": "203.0.113.1", "Port": 80},
                                           {"Address": "2001:db8::1", "Port": 80}], "both")
    kube.put(service("a", kind="LoadBalancer", spec=DUAL))
    wait(lambda: not addresses(consul), "none is given")


def test_one_service_otherwise_than_the_others(consul, kube, start):
    other = service("b")
    other["metadata"]["annotations"]["fingerpost.io/export-addresses"] = "pods"
    kube.put(service("a"), other, endpoints("b", "IPv4", "10.224.0.6"))
    start()
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    wait_equal(lambda: (document(consul, "b") or {}).get("addresses"),
               [{"Address": "10.224.0.6", "Port": 8080}], "that one's pods")
    assert addresses(consul) is None


def test_health_is_by_endpoints_where_details_are_asked_for(consul, kube, start):
    """Under policy Local, the port that says whether a node has some."""
    local = {"externalTrafficPolicy": "Local", "healthCheckNodePort": 31999}
    kube.put(service("a", kind="LoadBalancer", spec=local), endpoints("a", "IPv4", "10.224.0.5", "10.224.0.6"))
    start(details=True)
    wait_equal(lambda: (document(consul) or {}).get("ready_endpoints"), 2, "ready endpoints")
    assert document(consul)["health_check_port"] == 31999 and document(consul)["protocol"] == "TCP"
    kube.put(endpoints("a", "IPv4", "10.224.0.5", "10.224.0.6", ready=False))
    wait_equal(lambda: document(consul)["ready_endpoints"], 0, "ready endpoints")


def test_nodes_of_both_families_are_listed_by_address(consul, kube, start):
    dual = node("n1", "192.0.2.1")
    dual["status"]["addresses"].append({"type": "InternalIP", "address": "2001:db8::1"})
    dual["status"]["addresses"].append({"type": "ExternalIP", "address": "198.51.100.1"})
    kube.put(dual, node("n0", "192.0.2.2"))
    start()
    wait_equal(lambda: json.loads(documents(consul).get(NODES, "[]")), [
        {"Name": "n0", "Address": "192.0.2.2"}, {"Name": "n1", "Address": "192.0.2.1"},
        {"Name": "n1", "Address": "2001:db8::1"}], "the list")


def test_a_key_that_changes_with_the_class_leaves_nothing_behind(consul, kube, start):
    """By the template the class is part of the key; the id is the same before and after."""
    key = PREFIX + "/services/{}/transformers-default-a-http/clusters/transformers"
    kube.put(service("a", load_balancer_class="internal"))
    start(keyTemplate="{{ .LoadBalancerClass }}/{{ id }}")
    wait_for(consul, {NODES, key.format("internal")})
    kube.put(service("a", load_balancer_class="public"))
    wait_for(consul, {NODES, key.format("public")})
