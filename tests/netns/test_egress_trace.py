# SPDX-License-Identifier: Apache-2.0
"""`trace` through egress: on the pod's node to the packet on the wire, on the gateway out of the tunnel
to its new source and back. What it says is what a capture and the host outside see."""

import json
import urllib.parse

import pytest
import schema
from lab import objects, wait
from lab.traffic import Connection, Datagrams
from test_egress import (  # noqa: F401
    BOTH, PORT, address, wait_seen, world_fixture, write_nodes,
)

pytestmark = pytest.mark.lab(nat=True, nodes=3)
OUTER = {4: 28, 6: 48}
ALL = {4: "0.0.0.0/0", 6: "::/0"}
SERVICE = {4: "10.96.7.7", 6: "fd00:96::707"}


def place(ip, port):
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def trace(host, source, destination, protocol="TCP", **more):
    """What the agent of a host says: the document, and its steps by title."""
    query = urllib.parse.urlencode(
        {"source": source, "destination": destination, "protocol": protocol, **more})
    document = json.loads(host.agents[0].get(f"/v1/trace?{query}"))
    schema.check(document)
    return document, {step["step"]: step["text"] for step in document["steps"]}


def gateway_of(world, told, family):
    return next(host for host in world.gateways if address(host, family) == told["gateway"])


@pytest.mark.shared
@BOTH
@pytest.mark.parametrize("world", ["nat", "beside another proxy"], indirect=True)
@pytest.mark.parametrize("protocol", ("TCP", "UDP", "ICMP"))
def test_to_the_wire_and_out(world, family, protocol):
    wait_seen(world, family, world.gateways)
    pod, outside = address(world.guest, family), address(world.client, family)
    to = outside if protocol == "ICMP" else place(outside, PORT)
    document, steps = trace(world.first, pod, to, protocol)
    told = document["egress"]
    assert (told["side"], told["verdict"], told["reason"]) == ("client", "forward", "none")
    assert (told["egress"], told["destination"]) == ("internet/nat", ALL[family])
    gateway = gateway_of(world, told, family)
    assert told["outerSource"] == place(pod, 5555)
    assert told["outerDestination"] == place(told["gateway"], 5555)
    assert (told["outerBytes"], told["fits"], told["out"]) == (
        OUTER[family], 1500 - OUTER[family], "eth0")
    assert f"{told['gateway']} on {gateway.role}" in steps["gateway"]
    assert f"Pod default/{world.guest.role} asks for internet/nat" in steps["egress"]
    assert "routes it on" not in steps.get("then", "")

    document, steps = trace(gateway, pod, to, protocol)
    told = document["egress"]
    assert (told["side"], told["verdict"], told["out"]) == ("gateway", "forward", "eth0")
    assert told["source"].startswith(place(address(gateway, family), ""))
    assert told["to"] in (to, place(outside, 0))
    assert f"it is a client, Pod default/{world.guest.role}" in steps["tunnel"]
    assert steps["answer"].endswith("out of eth0")
    [other] = set(world.gateways) - {gateway}
    document, _ = trace(other, pod, to, protocol)  # a client of it, too: nodes choose, not gateways
    assert document["egress"]["verdict"] == "forward"


@pytest.mark.shared
@BOTH
def test_a_flow_that_exists(world, family):
    """Trace names the gateway and the source that the host outside sees, and follows the answer."""
    wait_seen(world, family, world.gateways)
    pod, outside = address(world.guest, family), address(world.client, family)
    with Connection(world.guest, outside, PORT) as connection:
        known = connection.who()
        mine = place(*connection.name())
        told, steps = trace(world.first, mine, place(outside, PORT))
        assert told["egress"]["begun"] and told["egress"]["gateway"] == known.peer
        assert "the flow began with it" in steps["gateway"]
        gateway = gateway_of(world, told["egress"], family)
        told, steps = trace(gateway, mine, place(outside, PORT))
        assert told["egress"]["begun"]
        assert told["egress"]["source"] == place(known.peer, known.port)
        assert "as its flow has it" in steps["source"]
        told, steps = trace(gateway, place(outside, PORT), place(known.peer, known.port))
        assert told["egress"]["to"] == mine
        assert told["egress"]["outerDestination"] == place(pod, 5555)


def test_what_stays_and_what_is_dropped(world):
    wait_seen(world, 4, world.gateways)
    pod = world.guest.address4
    document, steps = trace(world.first, pod, place(world.gateways[0].address4, 22))
    told = document["egress"]
    assert (told["verdict"], told["egress"], told["gateway"]) == ("pass", None, None)
    assert "stays in the cluster: longer than the destination 0.0.0.0/0" in steps["route"]
    assert "routes it on" in steps["then"]
    assert trace(world.first, world.first.address4, "198.51.100.7:80")[0]["egress"] is None

    document, steps = trace(world.gateways[0], world.client.address4, "198.51.100.7:80")
    assert document["egress"] is None and "no client of this gateway" in steps["egress"]

    write_nodes(world)  # no gateway at all
    def reason():
        return trace(world.first, pod, place(world.client.address4, PORT))[0]["egress"]["reason"]
    wait(lambda: reason() == "no-gateway", "the trace says that there is no gateway")
    answer = world.first.agents[0].ctl("trace", pod, f"{world.client.address4}:{PORT}/TCP")
    assert "/TCP: drop, no gateway of the Egress is usable\n" in answer.out
    world.write("egress.yaml")
    wait(lambda: reason() == "held", "the trace says that the pod is held")


def write_service(world, family, protocol):
    port = {"name": "p80", "port": 80, "protocol": protocol}
    endpoint = {key: value for key, value in objects.endpoint(address(world.client, family), "").items()
                if key != "nodeName"}
    world.write("service.yaml", objects.service(
        "far", ports=[port], type="ClusterIP", clusterIP=SERVICE[family], clusterIPs=[SERVICE[family]],
        ipFamilies=[f"IPv{family}"]),
        objects.slice_of("far", [endpoint], family=f"IPv{family}", ports=({**port, "port": PORT},)))


@pytest.mark.shared
@BOTH
@pytest.mark.parametrize("protocol", ("TCP", "UDP"))
def test_a_service_whose_endpoint_is_outside(world, family, protocol):
    """Service NAT comes first; the endpoint outside the cluster is reached by a gateway, whose answers
    come from the Service."""
    wait_seen(world, family, world.gateways)
    write_service(world, family, protocol)
    pod, service = address(world.guest, family), SERVICE[family]

    def told():
        return trace(world.first, pod, place(service, 80), protocol)[0]

    wait(lambda: told()["verdict"] == "forward", "the Service is served")
    document = told()
    where = place(address(world.client, family), PORT)
    assert (document["picked"], document["egress"]["to"]) == (where, where)
    assert (document["egress"]["side"], document["egress"]["verdict"]) == ("client", "forward")
    kind = Connection if protocol == "TCP" else Datagrams
    with kind(world.guest, service, 80, timeout=2) as flow:
        assert flow.who().peer in {address(host, family) for host in world.gateways}
        for size in (100, 1400, 4000):
            # Nobody cuts an IPv6 datagram for its sender, who learns from the first what fits.
            wait(lambda size=size: flow.put(b"x" * size), f"{size} bytes arrive")
            wait(lambda size=size: flow.get(size), f"{size} bytes come back")
