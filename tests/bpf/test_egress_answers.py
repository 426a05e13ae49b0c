# SPDX-License-Identifier: Apache-2.0
"""The client's side of egress: what comes back by the tunnel, and what came in without one."""

import pytest
from abi import TCP, UDP
from bpf import NEXT, REDIRECT, SHOT
from cases import draws
from egress import OTHER_GATEWAY, GATEWAY, OUTER, PORT, SET_FLOWS, fou, unwrap
from packets import ETHER, frame, judge, network
from scapy.layers.inet import ICMP, IP, Ether
from scapy.layers.inet import UDP as Udp
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrFragment,
)
from scapy.packet import Raw
from test_egress_client import OUTSIDE, check_tunnel, go_out, packet, ping
from world import MACS, POD1, POD2, REMOTE

ROUTER = {4: "192.0.2.1", 6: "2001:db8:2::1"}


def answer(client, family, inner, src=None, **fields):
    """FoU from the gateway at the egress of the pod's interface."""
    ether = Ether(src=MACS["pod1"], dst=MACS["pod1p"])
    sent = fou((src or GATEWAY)[family], POD1[family], inner, frame=ether, **fields)
    return client.send("client_out", sent), sent


def reply(family, protocol=UDP, sport=1000, dport=53, **fields):
    sent = frame("pod_out", OUTSIDE[family], dport, POD1[family], sport, protocol, **fields)
    return bytes(sent)[ETHER:]


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_answers(client, family, protocol):
    """They lose their outer headers, whatever the outer source port is."""
    go_out(client, family)
    client.send("client_in", packet(family, protocol))
    inner = reply(family, protocol, payload=b"y" * 50, flags="SA")
    for sport in (PORT, 40000):
        result, _ = answer(client, family, inner, sport=sport)
        assert result.verdict == NEXT and bytes(result.packet)[ETHER:] == inner


def test_echo_answers(client, family):
    go_out(client, family)
    client.send("client_in", ping(family, POD1[family], OUTSIDE[family]))
    inner = bytes(ping(family, OUTSIDE[family], POD1[family], reply=True))[ETHER:]
    result, _ = answer(client, family, inner)
    assert result.verdict == NEXT and bytes(result.packet)[ETHER:] == inner


def test_errors_come_back(client, family):
    """An error about the pod's own packet is an answer, too."""
    go_out(client, family)
    sent = packet(family, UDP)
    client.send("client_in", sent)
    error = ICMP(type=3, code=3) if family == 4 else ICMPv6DestUnreach(code=4)
    inner = bytes(network(ROUTER[family], POD1[family]) / error / Raw(bytes(sent)[ETHER:]))
    result, _ = answer(client, family, inner)
    assert result.verdict == NEXT and bytes(result.packet)[ETHER:] == inner


def test_foreign_tunnels(client, family):
    """FoU of who is none of the pod's gateways may be for a tunnel that the pod itself has."""
    go_out(client, family)
    client.send("client_in", packet(family))
    inner = reply(family)
    for result, sent in (
        answer(client, family, inner, OTHER_GATEWAY),
        answer(client, family, bytes(frame("pod_out", OUTSIDE[family], 53, POD2[family], 1000,
                                           UDP))[ETHER:]),  # for another pod
        answer(client, family, b"\0" * 60),
        answer(client, family, b"\x45"),
    ):
        assert result.verdict == NEXT and bytes(result.packet) == bytes(sent)


def test_congestion_that_nobody_learns_of(client, family):
    """Who does not understand the tunnel's mark can be told by a loss only (RFC 6040)."""
    go_out(client, family)
    client.send("client_in", packet(family))
    result, _ = answer(client, family, reply(family), **{"tos" if family == 4 else "tc": 3})
    assert result.verdict == SHOT


@pytest.mark.parametrize("inner,after", ((1, 3), (2, 3), (3, 3)))
def test_congestion_of_answers(client, family, inner, after):
    """The tunnel's mark is the inner packet's, if its sender understands it."""
    go_out(client, family)
    client.send("client_in", packet(family))
    name = "tos" if family == 4 else "tc"
    result, _ = answer(client, family, reply(family, ip={name: inner}), **{name: 3})
    assert result.verdict == NEXT and not judge(result.packet)
    head = result.packet[IP] if family == 4 else result.packet[IPv6]
    assert getattr(head, name) == after


def test_what_came_from_outside(client, family):
    """Answers of connections that came into the pod go the way they came."""
    go_out(client, family)
    syn = frame("pod_out", OUTSIDE[family], 4000, POD1[family], 80, TCP)
    assert client.send("client_out", syn).verdict == NEXT
    back = packet(family, TCP, sport=80, dport=4000, flags="SA")
    assert client.send("client_in", back).verdict == NEXT
    ask = ping(family, OUTSIDE[family], POD1[family], macs=("pod1", "pod1p"))
    client.send("client_out", ask)
    assert client.send("client_in", ping(family, POD1[family], OUTSIDE[family],
                                         reply=True)).verdict == NEXT
    own = packet(family, TCP, sport=80, dport=4001)
    check_tunnel(client.send("client_in", own), own, family)


def test_own_flows_stay_own(client, family):
    """A packet that comes in plainly under a flow's tuple does not take the flow from its way."""
    go_out(client, family)
    sent = packet(family)
    client.send("client_in", sent)
    client.send("client_out", frame("pod_out", OUTSIDE[family], 53, POD1[family], 1000, UDP))
    check_tunnel(client.send("client_in", sent), sent, family)


def pieces(family, src, dst, protocol=UDP, number=77, sport=1000, dport=53, macs=("pod1p", "pod1")):
    """A datagram in three fragments."""
    head = Udp(sport=sport, dport=dport, len=8 + 2400, chksum=0x1234)
    data = bytes(head) + b"z" * 2400
    ether = Ether(src=MACS[macs[0]], dst=MACS[macs[1]])
    for at in range(0, len(data), 1000):
        more = at + 1000 < len(data)
        if family == 4:
            ip = IP(src=src, dst=dst, id=number, flags="MF" if more else "", frag=at // 8, proto=17)
        else:
            part = IPv6ExtHdrFragment(id=number, m=more, offset=at // 8, nh=17)
            ip = IPv6(src=src, dst=dst) / part
        yield ether / ip / Raw(data[at:at + 1000])


def test_fragments(client, family):
    """All pieces of a datagram go to the same gateway, and those of an answer come back."""
    gateways = [f"192.0.2.{n}" if family == 4 else f"2001:db8:2::{n}" for n in range(20, 28)]
    go_out(client, family, gateways, SET_FLOWS)
    used = set()
    for number in range(8):
        way = {unwrap(result.packet)[0].dst for piece in pieces(
            family, POD1[family], OUTSIDE[family], number=number, sport=4000 + number)
            if (result := client.send("client_in", piece)).verdict == REDIRECT}
        assert len(way) == 1
        used |= way
    assert len(used) > 1
    gateway = {family: way.pop()}
    for piece in pieces(family, OUTSIDE[family], POD1[family], sport=53, dport=4007):
        inner = bytes(piece)[ETHER:]
        result, _ = answer(client, family, inner, gateway)
        assert result.verdict == NEXT and bytes(result.packet)[ETHER:] == inner
    lone = list(pieces(family, POD1[family], OUTSIDE[family], number=99))[1]
    assert client.send("client_in", lone).verdict == SHOT
    assert client.drops() == {"fragment": 1}


def test_fragments_of_another_pod(client, family):
    """A pod that begins packets in pieces without end takes away no other pod's, neither way."""
    gateway = go_out(client, family) and GATEWAY
    client.pod(POD2[family])
    out = [bytes(piece) for piece in pieces(family, POD1[family], OUTSIDE[family], sport=4007)]
    back = [bytes(piece)[ETHER:] for piece in pieces(family, OUTSIDE[family], POD1[family], sport=53, dport=4007)]
    assert client.send("client_in", out[0]).verdict == REDIRECT
    assert answer(client, family, back[0], gateway)[0].verdict == NEXT
    (first, *_) = pieces(family, POD2[family], OUTSIDE[family], macs=("pod2p", "pod2"))
    raw, ifindex = bytearray(bytes(first)[:ETHER + 60]), client.world.index["pod2"]
    at = ETHER + (4 if family == 4 else 46)
    for number in range(draws(20000)):
        raw[at:at + 2] = number.to_bytes(2, "big")
        client.hooks["client_in"].run(bytes(raw), ifindex=ifindex, ingress_ifindex=ifindex)
    assert client.drops() == {}
    for piece in out[1:]:
        assert client.send("client_in", piece).verdict == REDIRECT
    for inner in back[1:]:
        result, _ = answer(client, family, inner, gateway)
        assert bytes(result.packet)[ETHER:] == inner


def uncuttable(family):
    return {"ip": {"flags": "DF"}} if family == 4 else {}


@pytest.mark.parametrize("quoted", (80, 500))
def test_path_mtu(client, family, quoted):
    """A router on the way to the gateway says that the tunnel's packet is too big: the pod is told
    about its own packet, and of what fits without the outer headers."""
    go_out(client, family)
    sent = packet(family, TCP, payload=b"x" * 1000, **uncuttable(family))
    inside = unwrap(client.send("client_in", sent).packet)
    tunnel = bytes(inside[0])[:quoted]
    error = ICMP(type=3, code=4, nexthopmtu=1400) if family == 4 else ICMPv6PacketTooBig(mtu=1400)
    ether = Ether(src=MACS["pod1"], dst=MACS["pod1p"])
    told = ether / network(ROUTER[family], POD1[family]) / error / Raw(tunnel)
    result = client.send("client_out", told)
    assert result.verdict == NEXT and not judge(result.packet)
    head = result.packet[IP] if family == 4 else result.packet[IPv6]
    assert (head.src, head.dst) == (ROUTER[family], POD1[family])
    body = bytes(head)[20 if family == 4 else 40:]
    assert int.from_bytes(body[4:8], "big") == 1400 - OUTER[family]
    assert body[8:] == bytes(sent)[ETHER:][:quoted - OUTER[family]]


def test_errors_about_others(client, family):
    """An error about another packet of the pod is none of egress' business."""
    go_out(client, family)
    plain = bytes(packet(family, dst=REMOTE[family]))[ETHER:]
    error = ICMP(type=3, code=3) if family == 4 else ICMPv6DestUnreach(code=4)
    ether = Ether(src=MACS["pod1"], dst=MACS["pod1p"])
    told = ether / network(ROUTER[family], POD1[family]) / error / Raw(plain)
    result = client.send("client_out", told)
    assert result.verdict == NEXT and bytes(result.packet) == bytes(told)
