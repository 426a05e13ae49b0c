# SPDX-License-Identifier: Apache-2.0
"""An address of several ports: a route leads to all of them, so nodes announce it that serve them all."""

import pytest
from lab import objects, wait, wait_equal
from lab.traffic import outcome
from served import NO_HOLD, pods, settle, start

pytestmark = pytest.mark.lab(nodes=2, nat=True)
SHARED = ("203.0.113.77", "fd00:203::4d")
TRIES = 30  # of each port and family; by ECMP of two nodes half of them would be lost
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
SERVED, LOST = {"forward"}, {"forward", "drop"}


def write(lab, name, number, ports, policy="Local", external=False):
    """A Service of these ports; `ports`: where the pods of each are."""
    addresses = list(SHARED)
    plain = objects.service(
        name, () if external else addresses, policy=policy, ports=tuple(ports),
        clusterIP=f"10.96.0.{number}", clusterIPs=[f"10.96.0.{number}", f"fd00:96::{number:x}"],
        ipFamilies=["IPv4", "IPv6"], **({"externalIPs": addresses} if external else {}))
    slices = [
        objects.slice_of(
            name, [objects.endpoint(getattr(pod, f"address{family}"), pod.node.role)
                   for pod in hosts],
            family=f"IPv{family}", suffix=f"v{family}-{port}",
            ports=[{"name": f"p{port}", "port": 8080, "protocol": "TCP"}])
        for family in (4, 6) for port, hosts in ports.items()
    ]
    lab.write(f"{name}.yaml", plain, *slices)


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.pods = pods(lab, "one")
    return lab


def via(world, *nodes):
    """Waits until the ToR sends the address to these nodes and no others."""
    settle(world)
    for address in SHARED:
        wait_equal(lambda: world.tor.via(address), {node.role for node in nodes},
                   f"{address} via {[node.role for node in nodes]}")


def outcomes(world, *ports):
    """What becomes of many connections from outside, each from a port of its own."""
    return {port: {outcome(world.client, address, port, timeout=1.5)
                   for address in SHARED for _ in range(TRIES)} for port in ports}


def faults(world, node):
    return [f"{f['place']}: {f['message']}" for f in node.agents[0].json("faults")["items"]]


@pytest.mark.parametrize("kind", ["local", "cluster", "external", "rollout"])
def test_no_client_of_any_port_is_lost(world, kind):
    """60 connections of each port, none lost, whoever shares the address with whom."""
    first, second = world.nodes
    one, two = world.pods["one1"], world.pods["one2"]
    if kind == "rollout":
        write(world, "live", 11, {80: [one, two], 443: [two]})
    else:
        policy = "Cluster" if kind == "cluster" else "Local"
        external = kind == "external"
        write(world, "left", 11, {80: [one, two]}, policy, external)
        write(world, "right", 12, {443: [two]}, external=external)
    start(world, services={"externalIPs": ["203.0.113.0/24", "fd00:203::/32"]})
    via(world, second)
    assert outcomes(world, 80, 443) == {80: SERVED, 443: SERVED}
    assert not faults(world, first) and not faults(world, second)
    text = first.agents[0].ctl("explain", SHARED[0]).out
    name = "live" if kind == "rollout" else "right"
    assert f"443/TCP of default/{name}" in text and "on other nodes" in text, text


def test_where_no_node_has_all_ports_each_serves_what_it_has(world):
    """And says whose clients are lost; the control, which shows that such tries can be lost."""
    first, second = world.nodes
    write(world, "left", 11, {80: [world.pods["one1"]]})
    write(world, "right", 12, {443: [world.pods["one2"]]})
    start(world)
    via(world, first, second)
    assert outcomes(world, 80, 443) == {80: LOST, 443: LOST}
    for node, lost, port in ((first, "right", 443), (second, "left", 80)):
        told = faults(world, node)
        assert len(told) == 2 and all(f"Service default/{lost}: " in line for line in told), told
        assert all(f"port {port}/TCP: clients who come to this node are lost" in t for t in told)
    write(world, "right", 12, {443: [world.pods["one1"]]})
    via(world, first)
    assert outcomes(world, 80, 443) == {80: SERVED, 443: SERVED}
    wait(lambda: not faults(world, first) + faults(world, second), "no fault")


def test_the_node_that_has_all_ports_leaves_load_balancing(world):
    """By its Node's label: the others take over what they can."""
    first, second = world.nodes
    write(world, "left", 11, {80: list(world.pods.values())})
    write(world, "right", 12, {443: [world.pods["one2"]]})
    start(world)
    via(world, second)
    [leaving] = [item for item in second.objects() if item["kind"] == "Node"]
    leaving["metadata"]["labels"] = {EXCLUDED: ""}
    rest = [item for node in world.nodes for item in node.objects()
            if item["metadata"]["name"] != leaving["metadata"]["name"] or item["kind"] != "Node"]
    world.write("nodes.yaml", leaving, *rest)
    via(world, first)
    assert outcomes(world, 80)[80] == SERVED
    assert any("port 443/TCP" in line for line in faults(world, first))
    world.write_nodes()
    via(world, second)
    wait(lambda: not faults(world, first), "no fault")
