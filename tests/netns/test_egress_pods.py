# SPDX-License-Identifier: Apache-2.0
"""Gateways that are near: pods behind the Egress's Service, which forward nothing, and nodes that
are gateways of their own pods."""

import pytest
from lab import objects, wait
from lab.traffic import Connection, Datagrams, serve
from test_egress import BOTH, PORT, PROTOCOLS, address, egress, pod_object, seen, told, wait_seen

pytestmark = pytest.mark.lab(nat=True, nodes=2)
BULK = 1 << 22
FOU = {"name": "", "port": 5555, "protocol": "UDP"}


def slices(*pods, **endpoint):
    """The endpoints of the Egress's Service."""
    items = [objects.slice_of("nat", [objects.endpoint(address(pod, family), pod.node.role, **endpoint)
                                      for pod in pods],
                              family=f"IPv{family}", ports=[FOU], suffix=f"v{family}") for family in (4, 6)]
    for item in items:
        item["metadata"]["namespace"] = "internet"
    return items


def service():
    internal = objects.cluster_ips("nat", ["192.0.2.1", "2001:db8::1"])
    made = objects.service("nat", [], ports=[FOU], type="ClusterIP", clusterIP=internal[0], clusterIPs=internal,
                           ipFamilies=["IPv4", "IPv6"])
    made["metadata"]["namespace"] = "internet"
    return made


def build(lab, *guests):
    lab.write_nodes()
    lab.guests = guests
    lab.write("pods.yaml", *map(pod_object, guests))


def up(lab, *clients, **gateway):
    services = {"enabled": False}
    for node in clients:
        lab.agent(node, egress={"enabled": True, **gateway}, services=services)
    lab.wait_sessions()
    for node in clients:
        wait(lambda node=node: lab.tor.via(node.block4) and lab.tor.via(node.block6), "pods' blocks on the ToR")
    serve(lab.client, PORT)


@pytest.fixture(name="pods")
def pods_fixture(lab):
    first, second = lab.nodes
    build(lab, lab.pod(first, "guest"))
    lab.near, lab.far = lab.pod(first, "near"), lab.pod(second, "far")
    lab.write("egress.yaml", egress(**{"fingerpost.io/gateway-nodes": None}), service())
    lab.write("slices.yaml", *slices(lab.near, lab.far))
    up(lab, *lab.nodes)
    for pod in (lab.near, lab.far):
        lab.agent(pod, egress={"gateway": {"serves": ["internet/nat"]}}, services={"enabled": False},
                  routes={"enabled": False})
    lab.guest = lab.guests[0]
    return lab


@BOTH
@PROTOCOLS
def test_a_pod_of_this_node_or_of_another(pods, family, protocol):
    for pod in (pods.near, pods.far):
        pods.write("slices.yaml", *slices(pod))
        wait_seen(pods, family, [pod], protocol)
        kind = Connection if protocol == "TCP" else Datagrams
        with kind(pods.guest, address(pods.client, family), PORT, timeout=20) as flow:
            for _ in range(3):
                assert flow.put(b"0123456789abcdef" * (BULK // 16 if protocol == "TCP" else 64))
                assert flow.get(BULK if protocol == "TCP" else 1024)
            if protocol == "UDP" and pod is pods.near:
                assert flow.put_many(b"x" * 1200, 20) == 20


def test_a_gateway_pod_is_no_node(pods):
    """It writes no route, and asks for no right to forward."""
    agent = pods.far.agents[0]
    assert agent.json("routes")["items"] == [] and pods.far.table(119) == []
    assert agent.ctl("status").code == 0 and not agent.json("faults")["items"]


@BOTH
def test_a_pod_that_ends_keeps_its_flows(pods, family):
    pods.write("slices.yaml", *slices(pods.near))
    wait_seen(pods, family, [pods.near])
    with Connection(pods.guest, address(pods.client, family), PORT, timeout=20) as connection:
        pods.write("slices.yaml", *slices(pods.far), *(
            {**item, "metadata": {**item["metadata"], "name": item["metadata"]["name"] + "-old"}}
            for item in slices(pods.near, ready=False, serving=True, terminating=True)))
        wait_seen(pods, family, [pods.far])
        assert connection.who().peer == address(pods.near, family) and connection.put(b"x" * BULK)
        for _ in range(3):
            pods.near.agents[0].kill()
            assert connection.put(b"x" * 10000)
            pods.near.agents[0].start()
            assert connection.put(b"x" * 10000)


@pytest.fixture(name="node")
def node_fixture(lab):
    first = lab.nodes[0]
    build(lab, lab.pod(first, "guest"))
    [lab.guest] = lab.guests
    lab.write("nodes.yaml", objects.node(first.role, [first.address4, first.address6],
                                         {"gateway": "yes"}), *first.objects()[1:])
    lab.write("egress.yaml", egress())
    up(lab, first, gateway={})
    return lab


@BOTH
@PROTOCOLS
def test_a_node_is_the_gateway_of_its_pods(node, family, protocol):
    host = node.nodes[0]
    wait_seen(node, family, [host], protocol)
    kind = Connection if protocol == "TCP" else Datagrams
    with kind(node.guest, address(node.client, family), PORT, timeout=20) as flow:
        assert flow.who().peer == address(host, family)
        assert flow.put(b"0123456789abcdef" * (BULK // 16 if protocol == "TCP" else 64))
        assert flow.get(BULK if protocol == "TCP" else 1024)
        assert protocol == "TCP" or flow.put_many(b"x" * 1200, 20) == 20
    [client] = [client for client in told(host.agents[0])["gateway"]["clients"]
                if client["address"] == address(node.guest, family)]
    assert client["flows"] and not told(host.agents[0])["refusals"]
    assert not host.agents[0].json("faults")["items"] and seen(node, family)
