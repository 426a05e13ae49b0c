# SPDX-License-Identifier: Apache-2.0
"""Pings of any size by a gateway: as fragments, and cut for the tunnel."""

import pytest
from bpf import NEXT, REDIRECT, SHOT
from egress import SET_FLOWS, unwrap
from packets import ETHER, MACS, ether, judge, judge_ip, network
from scapy.layers.inet import ICMP, IP, Ether
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, IPv6ExtHdrFragment
from scapy.packet import Raw
from test_egress_answers import answer
from test_egress_client import go_out
from test_egress_cut import first
from test_egress_gateway import FIRST, POD, SERVER, SIZE, head_of, send
from world import CLIENT as OUTSIDE
from world import NODE, POD1

DATA = bytes(range(256)) * 10  # of a ping of three fragments


def echo(family, src, dst, number, answers=False, size=len(DATA)):
    """A whole ping, as an IP packet."""
    if family == 4:
        kind = ICMP(type=0 if answers else 8, id=number, seq=1)
    else:
        kind = (ICMPv6EchoReply if answers else ICMPv6EchoRequest)(id=number, seq=1)
    return head_of(Ether(bytes(ether() / network(src, dst) / kind / DATA[:size])), family)


def pieces(whole, number=77):
    """Its fragments, as IP packets."""
    data, family = bytes(whole.payload), whole.version
    for at in range(0, len(data), 1000):
        more = at + 1000 < len(data)
        if family == 4:
            ip = IP(src=whole.src, dst=whole.dst, id=number, flags="MF" if more else "", frag=at // 8,
                    proto=1)
        else:
            ip = IPv6(src=whole.src, dst=whole.dst) / IPv6ExtHdrFragment(
                id=number, m=more, offset=at // 8, nh=58)
        yield ip / Raw(data[at:at + 1000])


def whole_of(parts):
    """What the fragments make, judged as a whole."""
    family = parts[0].version
    data = b"".join(bytes(part.payload if family == 4 else part[IPv6ExtHdrFragment].payload)
                    for part in parts)
    if family == 4:
        made = IP(src=parts[0].src, dst=parts[0].dst, proto=1) / data
    else:
        made = IPv6(src=parts[0].src, dst=parts[0].dst, nh=58) / data
    assert not judge_ip(bytes(made), "", True)
    return head_of(Ether(bytes(ether() / made)), family)


def number_of(whole):
    return whole.payload.id


def test_from_a_pod(client, family):
    """All pieces of a ping go to the same gateway, and those of its answer come back."""
    gateways = [f"192.0.2.{n}" if family == 4 else f"2001:db8:2::{n}" for n in range(20, 28)]
    go_out(client, family, gateways, SET_FLOWS)
    used = set()
    for number in range(1, 9):
        ways = set()
        for piece in pieces(echo(family, POD1[family], OUTSIDE[family], number), number):
            result = client.send("client_in", Ether(src=MACS["pod1p"], dst=MACS["pod1"]) / piece)
            assert result.verdict == REDIRECT
            ways.add(unwrap(result.packet)[0].dst)
        [way] = ways
        used.add(way)
    assert len(used) > 1
    for piece in pieces(echo(family, OUTSIDE[family], POD1[family], 8, answers=True)):
        result, _ = answer(client, family, bytes(piece), {family: way})
        assert result.verdict == NEXT and bytes(result.packet)[ETHER:] == bytes(piece)
    assert client.drops() == {}


def test_by_a_gateway(gateway, family):
    """A ping in pieces leaves under the gateway's address with a number of the client's, and its answer
    goes back."""
    gateway.client(POD[family])
    left = []
    for piece in pieces(echo(family, POD[family], SERVER[family], 7)):
        result = send(gateway, family, bytes(piece))
        assert result.verdict == REDIRECT
        left.append(head_of(result.packet, family))
    sent = whole_of(left)
    assert (sent.src, sent.dst) == (NODE[family], SERVER[family])
    assert FIRST <= number_of(sent) < FIRST + SIZE
    back = []
    for piece in pieces(echo(family, SERVER[family], NODE[family], number_of(sent), answers=True), 78):
        result = gateway.send(ether() / piece)
        assert result.verdict == REDIRECT
        back.append(unwrap(result.packet)[2])
    got = whole_of(back)
    assert (got.src, got.dst, number_of(got)) == (SERVER[family], POD[family], 7)
    assert bytes(got)[-len(DATA):] == DATA and gateway.drops() == {}


def test_a_lone_fragment(gateway, family):
    gateway.client(POD[family])
    [_, later, *_] = pieces(echo(family, POD[family], SERVER[family], 7))
    assert send(gateway, family, bytes(later)).verdict == SHOT
    assert gateway.drops() == {"fragment": 1}


def test_a_client_cuts(client):
    go_out(client, 4)
    sent = Ether(src=MACS["pod1p"], dst=MACS["pod1"]) / echo(4, POD1[4], OUTSIDE[4], 7, size=1472)
    found, before = first(client.send("client_in", sent), sent)
    assert found == before and client.drops() == {}


def test_a_gateway_cuts(gateway):
    gateway.client(POD[4])
    left = head_of(send(gateway, 4, bytes(echo(4, POD[4], SERVER[4], 7, size=8))).packet, 4)
    sent = ether() / echo(4, SERVER[4], NODE[4], number_of(left), answers=True, size=1472)
    found, before = first(gateway.send(sent), sent)
    assert found[8:] == before[8:] and not judge(sent)
    assert gateway.drops() == {}


@pytest.mark.parametrize("answers", (False, True))
def test_nobody_asked(gateway, family, answers):
    """An answer that belongs to no ping of a client's is not the gateway's."""
    gateway.client(POD[family])
    for piece in pieces(echo(family, SERVER[family], NODE[family], FIRST, answers)):
        assert gateway.send(ether() / piece).verdict == NEXT
