# SPDX-License-Identifier: Apache-2.0
"""A pod that sends under others' addresses (CAP_NET_RAW): nobody hears it by a Service. Whoever has the
address sends the same frame first, so that it is seen to do harm where it is let through."""

import socket

import pytest
import siege
from lab.traffic import open_socket
from served import FAMILIES, TARGET, address_of
from siege_forged import Wire, datagram, heard, listener, pieces, wire

pytestmark = pytest.mark.lab(nodes=1, nat=True)


def asked(client, where):
    """A client's socket that has asked, and from which address and port the endpoint was."""
    asks = open_socket(client, where[0], socket.SOCK_DGRAM, timeout=2)
    asks.connect(where)
    asks.send(b"who\n")
    _, address, port = asks.recv(200).decode().split()[:3]
    return asks, address, int(port)


def refused(agent):
    items = agent.json("status")["nat"]["refusals"]
    return sum(item["count"] for item in items if item["reason"] == "reverse-path")


def test_answers_of_who_is_no_endpoint(lab):
    """Into flows that are masqueraded, and into those that are not."""
    world = siege.build(lab)
    one, evil = world.pods["one1"], wire(world.pod(world.node, "evil"))
    world.web.write(one)
    world.agent_here.settled()
    lawful = wire(one)
    for family in FAMILIES:
        for service in (world.web, world.one):
            asks, address, port = asked(world.client, service.address("loadBalancer", family))
            forged = datagram(address_of(one, family), TARGET, address, port, b"forged")
            lawful.send(forged)
            assert heard(asks) == [b"forged"], "the control"
            evil.send(forged)
            assert heard(asks, 0.3) == [], (service, family)
            asks.close()


def hears(world, pod, family):
    """A Service of one endpoint that hears UDP, and its listener. Only the client's network may use it."""
    client = address_of(world.client, family)
    net = f"{client}/32" if family == 4 else f"{client}/128"
    service = siege.Neighbour(world, f"sink{family}", 40 + family, loadBalancerSourceRanges=[net])
    service.write(pod)
    world.agent_here.settled()
    return service.address("loadBalancer", family), listener(pod, TARGET, family)


def test_sources_that_are_admitted(lab):
    """By loadBalancerSourceRanges: a client's own are heard, and his address alone is no ticket."""
    world = siege.build(lab)
    pod, sink = world.pod(world.node, "evil"), world.pod(world.node, "sink")
    evil = wire(pod)
    for family in FAMILIES:
        where, listening = hears(world, sink, family)
        client = address_of(world.client, family)
        send_to(world.client, where, b"lawful", 5001)
        assert heard(listening) == [b"lawful"], "the control"
        evil.send(datagram(client, 5001, *where, b"in its flow"))
        evil.send(datagram(client, 5002, *where, b"a new one"))
        assert heard(listening, 0.3) == [], family
        assert ("drop", "reverse-path") == traced(world.agent_here, client, where, pod)
        listening.close()
    assert refused(world.agent_here) == 4


def send_to(client, where, data, port):
    with open_socket(client, where[0], socket.SOCK_DGRAM, source_port=port) as sends:
        sends.sendto(data, where)


def traced(agent, source, where, pod):
    place = f"[{where[0]}]:{where[1]}" if ":" in where[0] else f"{where[0]}:{where[1]}"
    said = agent.json("trace", source, f"{place}/UDP", "--in", pod.host_end)
    return said["verdict"], said["reason"]


def test_datagrams_that_another_completes(lab):
    """The first piece is a client's, the second one a pod's: nobody hears the two as one."""
    world = siege.build(lab)
    evil, sink = wire(world.pod(world.node, "evil")), world.pod(world.node, "sink")
    outside = Wire(world.client, world.tor, "client")
    for family in FAMILIES:
        where, listening = hears(world, sink, family)
        client = address_of(world.client, family)
        ours, swapped = b"ours" * 100, b"half" * 100
        for piece in pieces(client, 5003, *where, ours, 7):
            outside.send(piece)
        assert heard(listening) == [ours], "the control"
        first, second = pieces(client, 5003, *where, swapped, 8)
        outside.send(first)
        evil.send(second)
        assert heard(listening, 0.3) == [], family
        listening.close()
