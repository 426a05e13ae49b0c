# SPDX-License-Identifier: Apache-2.0
"""Translating the ICMP errors of others: agent/bpf/packet/icmp_error.h by itself."""

import ipaddress
import random

import abi
import pytest
from abi import Address, Tuple
from bpf import OK, SHOT
from cases import draws
from packets import ETHER, ether, judge, network, ones_complement
from scapy.layers.inet import ICMP, IP, IPOption, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.packet import Raw

# A node masqueraded for a client; a router on the way to the endpoint complains to the node.
CLIENT = {4: "198.51.100.7", 6: "2001:db8:51::7"}
SERVICE = {4: "10.96.0.10", 6: "fd00:96::10"}
NODE = {4: "192.0.2.10", 6: "2001:db8:2::10"}
ENDPOINT = {4: "10.244.1.5", 6: "fd00:244:1::5"}
ROUTER = {4: "203.0.113.1", 6: "2001:db8:3::1"}
NUMBER = {TCP: abi.TCP, UDP: abi.UDP}
TYPES = {
    4: ((3, 0), (3, 1), (3, 3), (3, 4), (11, 0), (12, 0)), 6: ((1, 0), (2, 0), (3, 0), (4, 0)),
}
CASES = [(family, *kind) for family in (4, 6) for kind in TYPES[family]]
transports = pytest.mark.parametrize("transport", (TCP, UDP), ids=("tcp", "udp"))
families = pytest.mark.parametrize("family", (4, 6))


def quoted(family, transport, translated=False, parts=(), payload=b"some data", ip=None, **fields):
    """The packet that the error is about: on its way to the endpoint, or as the client sent it."""
    addresses = (CLIENT, SERVICE) if translated else (NODE, ENDPOINT)
    ports = (40000, 80) if translated else (61234, 8080)
    packet = network(*(of[family] for of in addresses), **(ip or {}))
    for part in parts:
        packet /= part
    return bytes(packet / transport(sport=ports[0], dport=ports[1], **fields) / payload)


def error(family, kind, quote, translated=False, code=0, word=0, parts=(), **fields):
    source, destination = (SERVICE, CLIENT) if translated else (ROUTER, NODE)
    packet = ether() / network(source[family], destination[family], **fields)
    for part in parts:
        packet /= part
    if family == 4:
        body = bytes([kind, code, 0, 0]) + word.to_bytes(4, "big") + quote
        value = ~ones_complement(body) & 0xFFFF
        packet[IP].proto = 1
        return bytes(packet / Raw(body[:2] + value.to_bytes(2, "big") + body[4:]))
    body = word.to_bytes(4, "big") + quote
    return bytes(packet / ICMPv6Unknown(type=kind, code=code, msgbody=body))


def translate(icmp, family, transport, data, device="eth0"):
    number = NUMBER[transport]
    icmp.arguments[0] = icmp.Arguments(
        Tuple.of(NODE[family], 61234, ENDPOINT[family], 8080, number),
        Tuple.of(CLIENT[family], 40000, SERVICE[family], 80, number),
        Address.of(SERVICE[family]), Address.of(CLIENT[family]),
    )
    return icmp.translate.run(data, icmp.index[device])


def parse(icmp, data):
    ran = icmp.parse.run(data, icmp.index["eth0"])
    assert ran.packet == data
    return icmp.arguments[0].source if ran.verdict == 1 else None


@transports
@pytest.mark.parametrize("family, kind, code", CASES)
def test_whole_quote(icmp, family, kind, code, transport):
    word = 1400 if (family, kind, code) in ((4, 3, 4), (6, 2, 0)) else 0
    given = error(family, kind, quoted(family, transport), code=code, word=word)
    expected = error(family, kind, quoted(family, transport, True), True, code, word)
    assert judge(given) == [] and judge(expected) == []
    assert parse(icmp, given) == Tuple.of(
        NODE[family], 61234, ENDPOINT[family], 8080, NUMBER[transport]
    )
    ran = translate(icmp, family, transport, given)
    assert ran.verdict == OK and judge(ran.packet) == []
    assert ran.packet == expected


@transports
@families
@pytest.mark.parametrize("length", (8, 9, 16, 18, 19, 20))
def test_short_quotes(icmp, family, transport, length):
    """Checksums are followed if they are there, and not missed if not."""
    end = {4: 20, 6: 40}[family] + length
    kind = {4: 3, 6: 1}[family]
    given = error(family, kind, quoted(family, transport)[:end])
    expected = error(family, kind, quoted(family, transport, True)[:end], True)
    ran = translate(icmp, family, transport, given)
    assert ran.verdict == OK and judge(ran.packet) == []
    assert ran.packet == expected


@transports
@families
def test_too_short_quotes(icmp, family, transport):
    end = {4: 20, 6: 40}[family] + 7
    given = error(family, {4: 3, 6: 1}[family], quoted(family, transport)[:end])
    assert parse(icmp, given) is None
    assert translate(icmp, family, transport, given).verdict == SHOT


def test_udp_without_a_checksum(icmp):
    given = error(4, 3, quoted(4, UDP, chksum=0))
    expected = error(4, 3, quoted(4, UDP, True, chksum=0), True)
    assert translate(icmp, 4, UDP, given).packet == expected


@families
def test_udp_checksum_is_never_zero(icmp, family):
    """A payload whose checksum comes out as zero after translation is sent as 0xffff."""
    offset = {4: 20, 6: 40}[family] + 6
    payload = quoted(family, UDP, True, payload=b"\0\0")[offset : offset + 2]
    kind = {4: 3, 6: 1}[family]
    ran = translate(icmp, family, UDP, error(family, kind, quoted(family, UDP, payload=payload)))
    quote = ran.packet[ETHER + {4: 28, 6: 48}[family] :]
    assert quote[offset : offset + 2] == b"\xff\xff" and judge(ran.packet) == []


@transports
def test_ipv4_options(icmp, transport):
    options = [IPOption(b"\x94\x04\x00\x00")] * 2
    given = error(4, 3, quoted(4, transport, ip={"options": options}), options=options)
    expected = error(
        4, 3, quoted(4, transport, True, ip={"options": options}), True, options=options
    )
    assert parse(icmp, given).dport == 8080
    ran = translate(icmp, 4, transport, given)
    assert judge(ran.packet) == [] and ran.packet == expected


EXTENSIONS = {
    "hop-by-hop": (IPv6ExtHdrHopByHop(),),
    "destination": (IPv6ExtHdrDestOpt(),),
    "first fragment": (IPv6ExtHdrFragment(offset=0, m=1, id=7),),
    "routing": (IPv6ExtHdrRouting(addresses=["2001:db8::99"], segleft=0),),
    "four": (
        IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(), IPv6ExtHdrFragment(offset=0, m=0),
        IPv6ExtHdrDestOpt(),
    ),
}


@transports
@pytest.mark.parametrize("extensions", EXTENSIONS.values(), ids=EXTENSIONS)
def test_quoted_extensions(icmp, transport, extensions):
    given = error(6, 1, quoted(6, transport, parts=extensions))
    expected = error(6, 1, quoted(6, transport, True, parts=extensions), True)
    assert parse(icmp, given).dport == 8080
    ran = translate(icmp, 6, transport, given)
    assert judge(ran.packet) == [] and ran.packet == expected


def test_more_extensions_than_are_walked(icmp):
    given = error(6, 1, quoted(6, TCP, parts=[IPv6ExtHdrDestOpt()] * 5))
    assert parse(icmp, given) is None


def test_outer_extensions(icmp):
    parts = (IPv6ExtHdrDestOpt(),)
    given = error(6, 1, quoted(6, TCP), parts=parts)
    expected = error(6, 1, quoted(6, TCP, True), True, parts=parts)
    ran = translate(icmp, 6, TCP, given)
    assert judge(ran.packet) == [] and ran.packet == expected


def test_wrong_checksums_stay_wrong(icmp):
    """What was damaged on the way mustn't be made to look whole."""
    given = bytearray(error(4, 3, quoted(4, TCP)))
    given[ETHER + 22] ^= 0x55
    ran = translate(icmp, 4, TCP, bytes(given))
    assert ran.verdict == OK and judge(ran.packet) == ["ICMP"]


def test_first_fragment_is_quoted(icmp):
    given = error(4, 11, quoted(4, UDP, ip={"flags": "MF"}))
    expected = error(4, 11, quoted(4, UDP, True, ip={"flags": "MF"}), True)
    assert translate(icmp, 4, UDP, given).packet == expected


REFUSED = {
    "echo": error(4, 8, quoted(4, TCP)),
    "echo reply": error(4, 0, quoted(4, TCP)),
    "redirect": error(4, 5, quoted(4, TCP)),
    "source quench": error(4, 4, quoted(4, TCP)),
    "later fragment quoted": error(4, 11, quoted(4, UDP, ip={"frag": 5})),
    "later fragment quoted, v6": error(
        6, 3, quoted(6, UDP, parts=(IPv6ExtHdrFragment(offset=5, nh=17),))
    ),
    "fragment": error(4, 11, quoted(4, UDP), flags="MF", proto=1),
    "fragment, v6": error(6, 3, quoted(6, UDP), parts=(IPv6ExtHdrFragment(m=1),)),
    "ICMP quoted": error(4, 11, bytes(IP(src=NODE[4], dst=ENDPOINT[4]) / ICMP() / (b"x" * 32))),
    "other family quoted": error(4, 3, quoted(6, TCP)),
    "other family quoted, v6": error(6, 1, quoted(4, TCP)),
    "ping, v6": error(6, 128, quoted(6, TCP)),
    "redirect, v6": error(6, 137, quoted(6, TCP)),
    "no quote": error(4, 3, b""),
    "no quote, v6": error(6, 1, b""),
    "TCP": bytes(ether() / IP(src=ROUTER[4], dst=NODE[4]) / TCP()),
    "UDP, v6": bytes(ether() / IPv6(src=ROUTER[6], dst=NODE[6]) / UDP()),
    "ICMP of the other family": bytes(
        ether() / IPv6(src=ROUTER[6], dst=NODE[6], nh=1) / (b"\3\3" + b"\0" * 6 + quoted(6, TCP))
    ),
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_what_is_no_error_of_a_flow(icmp, given):
    assert parse(icmp, given) is None
    assert icmp.translate.run(given, icmp.index["eth0"]).verdict == SHOT


@families
def test_sums_of_any_addresses(icmp, family):
    """Carries of one's complement sums go wrong for some values only."""
    draw = random.Random(family)
    for _ in range(draws(300)):
        size = {4: 4, 6: 16}[family]
        odd = (0, 0xFFFF, 1, 0xFFFE)
        words = [draw.choice((*odd, draw.randrange(65536))) for _ in range(size * 2)]
        data = b"".join(word.to_bytes(2, "big") for word in words)
        make = {4: ipaddress.IPv4Address, 6: ipaddress.IPv6Address}[family]
        a, b, c, d = (str(make(data[i * size : (i + 1) * size])) for i in range(4))
        ports = [draw.choice((0, 1, 65535, draw.randrange(65536))) for _ in range(4)]
        transport, payload = draw.choice((TCP, UDP)), draw.randbytes(draw.randrange(40))

        before = bytes(network(a, b) / transport(sport=ports[0], dport=ports[1]) / payload)
        after = bytes(network(c, d) / transport(sport=ports[2], dport=ports[3]) / payload)
        kind = {4: 3, 6: 1}[family]
        given = error(family, kind, before)
        icmp.arguments[0] = icmp.Arguments(
            Tuple.of(a, ports[0], b, ports[1], NUMBER[transport]),
            Tuple.of(c, ports[2], d, ports[3], NUMBER[transport]),
            Address.of(d), Address.of(c),
        )
        ran = icmp.translate.run(given, icmp.index["eth0"])
        assert ran.verdict == OK and judge(ran.packet) == []
        quote = ran.packet[ETHER + {4: 28, 6: 48}[family] :]
        assert quote[-len(payload) - 2 :] == after[-len(payload) - 2 :]
