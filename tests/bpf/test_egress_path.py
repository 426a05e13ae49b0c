# SPDX-License-Identifier: Apache-2.0
"""Egress over a link between node and gateway that is narrower than theirs: what the router there has
said of a tunnel's packet holds for all later ones, on either side."""

import time

import pytest
from abi import TCP, UDP, Address
from bpf import NEXT, REDIRECT, SHOT
from egress import GATEWAY, OTHER_GATEWAY, OUTER, unwrap
from packets import ETHER, ether, judge, network
from scapy.layers.inet import ICMP, IP, Ether
from scapy.layers.inet import TCP as Tcp
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6
from scapy.packet import Raw
from test_egress_answers import uncuttable
from test_egress_client import ROUTER, check_tunnel, go_out, packet
from test_egress_gateway import POD, answered, inside, leaves, reply
from world import MACS, NODE, POD1

MTU, LEAST = 1400, {4: 1280, 6: 1328}
HEAD = {4: 28, 6: 48}  # of a datagram


def too_big(family, dst, outer, mtu=MTU, source=None):
    """A router's error about a tunnel's packet."""
    error = ICMP(type=3, code=4, nexthopmtu=mtu) if family == 4 else ICMPv6PacketTooBig(mtu=mtu)
    return network(source or ROUTER[family], dst) / error / Raw(bytes(outer)[:500])


def said(result, family):
    """How large a packet may be, by the error that came out."""
    assert not judge(result.packet)
    return (result.packet[ICMP].nexthopmtu if family == 4 else result.packet[ICMPv6PacketTooBig].mtu)


def datagram(family, over=0, mtu=MTU, **fields):
    """One that is as large as the path, and some bytes more."""
    return packet(family, payload=b"x" * (mtu - OUTER[family] - HEAD[family] + over), **fields)


def at_client(client, family, mtu=MTU, **fields):
    """The pod's packet meets the narrow link; what becomes of the router's error."""
    sent = packet(family, TCP, payload=b"x" * 1200, **fields)
    outer, _, _ = unwrap(client.send("client_in", sent).packet)
    frame = Ether(src=MACS["pod1"], dst=MACS["pod1p"])
    return client.send("client_out", frame / too_big(family, POD1[family], outer, mtu))


def test_client_keeps_it(client, family):
    go_out(client, family)
    assert at_client(client, family, **uncuttable(family)).verdict == NEXT
    fits = datagram(family, **uncuttable(family))
    check_tunnel(client.send("client_in", fits), fits, family)
    result = client.send("client_in", datagram(family, 1, **uncuttable(family)))
    assert result.verdict == REDIRECT and said(result, family) == MTU - OUTER[family]
    syn = packet(family, TCP, sport=1001, flags="S", transport={"options": [("MSS", 1460)]})
    inner = unwrap(client.send("client_in", syn).packet)[2]
    assert dict(inner[Tcp].options)["MSS"] == MTU - OUTER[family] - (40 if family == 4 else 60)


def test_client_cuts(client):
    """Who lets routers cut is not told; and what is too large is cut."""
    go_out(client, 4)
    assert at_client(client, 4).verdict == SHOT
    outer, _, inner = unwrap(client.send("client_in", datagram(4, 1)).packet)
    assert outer.flags == "DF" and inner.flags == "MF" and len(inner) <= MTU - OUTER[4]
    assert client.drops() == {}


def test_never_below_the_least(client, family):
    go_out(client, family)
    at_client(client, family, 600, **uncuttable(family))
    sent = datagram(family, 0, LEAST[family], **uncuttable(family))
    check_tunnel(client.send("client_in", sent), sent, family)
    result = client.send("client_in", datagram(family, 1, LEAST[family], **uncuttable(family)))
    assert said(result, family) == LEAST[family] - OUTER[family]


def test_whom_a_client_believes(client, family):
    """Errors about flows that are none, and about the way to another gateway, say nothing."""
    go_out(client, family)
    sent = packet(family, TCP, payload=b"x" * 1200, **uncuttable(family))
    outer, _, _ = unwrap(client.send("client_in", sent).packet)
    frame = Ether(src=MACS["pod1"], dst=MACS["pod1p"])
    outer.dst = OTHER_GATEWAY[family]
    client.send("client_out", frame / too_big(family, POD1[family], outer))
    client.forget()
    outer.dst = GATEWAY[family]
    client.send("client_out", frame / too_big(family, POD1[family], outer))
    assert not dict(client.maps["egress_paths"].items())


def test_forgotten(client, family):
    """As hosts forget it: after ten minutes; until then no error makes a path wider."""
    go_out(client, family)
    paths, key = client.maps["egress_paths"], Address.of(GATEWAY[family])
    for mtu, kept in ((1400, 1400), (1450, 1400), (1350, 1350)):
        at_client(client, family, mtu, **uncuttable(family))
        assert paths[key].mtu == kept
    value = paths[key]
    value.seen_s = int(time.monotonic()) - 602  # the program's coarse clock may be a second behind
    paths[key] = value
    sent = datagram(family, 1, 1400, **uncuttable(family))
    check_tunnel(client.send("client_in", sent), sent, family)
    at_client(client, family, 1450, **uncuttable(family))
    assert paths[key].mtu == 1450


def at_gateway(gateway, family, left, **fields):
    back = reply(family, left, TCP, payload=b"x" * 1200, **fields)
    outer, _, _ = unwrap(gateway.send(ether() / back).packet)
    between = {4: "192.0.2.1", 6: "2001:db8:2::1"}[family]
    return gateway.send(ether() / too_big(family, NODE[family], outer, source=between))


def test_gateway_keeps_it(gateway, family):
    gateway.client(POD[family])
    left, asked = leaves(gateway, family, inside(family, TCP)), leaves(gateway, family, inside(family))
    assert at_gateway(gateway, family, left, **uncuttable(family)).verdict == REDIRECT
    room = MTU - OUTER[family] - HEAD[family]
    answered(gateway, family, reply(family, asked, UDP, payload=b"x" * room, **uncuttable(family)))
    back = reply(family, asked, UDP, payload=b"x" * (room + 1), **uncuttable(family))
    result = gateway.send(ether() / back)
    assert result.verdict == REDIRECT and said(result, family) == MTU - OUTER[family]
    syn = inside(family, TCP, sport=1001, transport={"options": [("MSS", 1460)]})
    most = MTU - OUTER[family] - (40 if family == 4 else 60)
    assert dict(leaves(gateway, family, syn)[Tcp].options)["MSS"] == most


def test_gateway_cuts(gateway):
    gateway.client(POD[4])
    left, asked = leaves(gateway, 4, inside(4, TCP)), leaves(gateway, 4, inside(4))
    assert at_gateway(gateway, 4, left).verdict == SHOT
    back = ether() / reply(4, asked, UDP, payload=b"x" * (MTU - OUTER[4] - HEAD[4] + 1))
    outer, _, inner = unwrap(gateway.send(back).packet)
    assert outer.flags == "DF" and inner.flags == "MF" and len(inner) <= MTU - OUTER[4]
    assert gateway.drops() == {}


def test_whom_a_gateway_believes(gateway, family):
    """An error about a flow that is none says nothing, and is dropped by name."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family, TCP))
    back = reply(family, left, TCP, payload=b"x" * 1000, **uncuttable(family))
    outer, _, _ = unwrap(gateway.send(ether() / back).packet)
    wrong = bytearray(bytes(outer))
    wrong[OUTER[family] + (20 if family == 4 else 40) + 2] ^= 1  # the client's port
    between = {4: "192.0.2.1", 6: "2001:db8:2::1"}[family]
    result = gateway.send(ether() / too_big(family, NODE[family], bytes(wrong), source=between))
    assert result.verdict == SHOT
    assert gateway.drops() == {"unknown": 1}
    assert not dict(gateway.maps["egress_paths"].items())
