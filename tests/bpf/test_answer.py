# SPDX-License-Identifier: Apache-2.0
"""Refusals: agent/bpf/packet/reject.h by itself."""

import pytest
from packets import ETHER, MAC_NODE, MAC_PEER, ether, judge, network
from bpf import OK, SHOT
from scapy.layers.inet import ICMP, IP, IPOption, TCP, UDP, Ether
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.sctp import SCTP

PORT_UNREACHABLE, TIME_EXCEEDED, TOO_BIG = range(3)
ADDRESSES = {4: ("198.51.100.7", "10.96.0.10"), 6: ("2001:db8:51::7", "fd00:96::10")}
TYPES = {
    4: {PORT_UNREACHABLE: (3, 3), TIME_EXCEEDED: (11, 0), TOO_BIG: (3, 4)},
    6: {PORT_UNREACHABLE: (1, 4), TIME_EXCEEDED: (3, 0), TOO_BIG: (2, 0)},
}
QUOTED = {4: 548, 6: 1232}
HEADER = {4: 20, 6: 40}
families = pytest.mark.parametrize("family", (4, 6))


def frame(family, upper, ip=(), **fields):
    packet = ether() / network(*ADDRESSES[family], **fields)
    for part in ip:
        packet /= part
    return bytes(packet / upper)


def answer(icmp, data, kind=PORT_UNREACHABLE, mtu=0, device="eth0", **context):
    return icmp.answer.run(data, icmp.index[device], cb=(kind, mtu), **context)


def check_error(ran, given, family, kind=PORT_UNREACHABLE, mtu=0, quoted=None):
    """The whole error: addresses, type, quote, every checksum outside of the quote."""
    assert ran.verdict == OK
    error = Ether(ran.packet)
    assert (error.src, error.dst) == (MAC_NODE, MAC_PEER)
    ip = error[IP] if family == 4 else error[IPv6]
    assert (ip.src, ip.dst) == tuple(reversed(ADDRESSES[family]))
    assert (ip.ttl if family == 4 else ip.hlim) == 64
    body = ran.packet[ETHER + HEADER[family] :]
    assert (body[0], body[1]) == TYPES[family][kind]
    assert int.from_bytes(body[4:8], "big") == mtu
    expected = given[ETHER:][: QUOTED[family]] if quoted is None else quoted
    assert body[8:] == expected
    assert len(ran.packet) == ETHER + HEADER[family] + 8 + len(expected)
    assert judge(ran.packet, quoted=False) == []
    if family == 4:
        assert ip.len == len(ran.packet) - ETHER and ip.ihl == 5 and ip.flags == 0
    else:
        assert ip.plen == len(ran.packet) - ETHER - 40 and ip.nh == 58 and ip.tc == 0


@families
@pytest.mark.parametrize("kind", (PORT_UNREACHABLE, TIME_EXCEEDED, TOO_BIG))
@pytest.mark.parametrize("upper", (TCP, UDP), ids=("tcp", "udp"))
def test_kinds(icmp, family, kind, upper):
    given = frame(family, upper(sport=40000, dport=80))
    mtu = 1400 if kind == TOO_BIG else 0
    check_error(answer(icmp, given, kind, mtu), given, family, kind, mtu)


@families
@pytest.mark.parametrize("size", (0, 1, 2, 3, 27, 36, 63, 64, 65, 300, 519, 520, 521, 1400, 2000))
def test_sizes(icmp, family, size):
    given = frame(family, UDP(sport=40000, dport=53) / bytes(i * 7 % 251 for i in range(size)))
    check_error(answer(icmp, given), given, family)


@families
def test_any_protocol_is_answered(icmp, family):
    given = frame(family, SCTP(sport=40000, dport=80) / b"chunk")
    check_error(answer(icmp, given), given, family)


def test_echo_is_answered(icmp):
    given = frame(4, ICMP(type=8) / b"hello")
    check_error(answer(icmp, given), given, 4)
    given = frame(6, ICMPv6EchoRequest(data=b"hello"))
    check_error(answer(icmp, given), given, 6)


def test_padding_is_not_quoted(icmp):
    given = frame(4, TCP(sport=1, dport=2))
    assert len(given) == 54
    check_error(answer(icmp, given + b"padded"), given, 4)


@families
def test_gso_is_answered(icmp, family):
    given = frame(family, TCP(sport=1, dport=2, flags="A") / (b"x" * 3000))
    ran = answer(icmp, given, gso_segs=3, gso_size=1200)
    check_error(ran, given, family)
    assert ran.context.gso_segs == 0


def test_ipv4_options_are_quoted(icmp):
    given = frame(4, UDP(sport=1, dport=2) / b"data", options=[IPOption(b"\x94\x04\x00\x00")] * 10)
    assert given[ETHER] & 15 == 15
    check_error(answer(icmp, given), given, 4)


def test_ipv6_extensions_are_quoted(icmp):
    extensions = (IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(), IPv6ExtHdrFragment(offset=0, m=1))
    given = frame(6, UDP(sport=1, dport=2) / b"data", ip=extensions)
    check_error(answer(icmp, given), given, 6)


def test_type_of_service(icmp):
    given = frame(4, UDP(), tos=0xFF)
    assert Ether(answer(icmp, given).packet)[IP].tos == 0xDE  # as icmp_send() has it


@pytest.mark.parametrize(
    "source", ("0.0.0.0", "0.1.2.3", "224.0.0.5", "255.255.255.255", "127.0.0.1")
)
def test_ipv4_sources_without_answer(icmp, source):
    given = bytes(ether() / IP(src=source, dst="10.96.0.10") / UDP())
    assert answer(icmp, given).verdict == SHOT


@pytest.mark.parametrize("destination", ("224.0.0.1", "255.255.255.255"))
def test_ipv4_groups_without_answer(icmp, destination):
    given = bytes(ether() / IP(src="198.51.100.7", dst=destination) / UDP())
    assert answer(icmp, given).verdict == SHOT


@pytest.mark.parametrize("source", ("::", "::1", "ff02::1"))
def test_ipv6_sources_without_answer(icmp, source):
    given = bytes(ether() / IPv6(src=source, dst="fd00:96::10") / UDP())
    assert answer(icmp, given).verdict == SHOT


def test_ipv6_group_without_answer(icmp):
    given = bytes(ether() / IPv6(src="2001:db8::1", dst="ff02::1") / UDP())
    assert answer(icmp, given).verdict == SHOT


@pytest.mark.parametrize("family, address", ((4, "127.0.0.1"), (6, "::1")))
def test_loopback_is_answered_on_lo(icmp, family, address):
    given = bytes(
        Ether(src="00:00:00:00:00:00", dst="00:00:00:00:00:00")
        / network(address, ADDRESSES[family][1]) / TCP()
    )
    assert answer(icmp, given, device="lo").verdict == OK


@families
@pytest.mark.parametrize("mac", ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "02:00:00:00:99:99"))
def test_frames_to_others_without_answer(icmp, family, mac):
    given = bytes(ether(dst=mac) / network(*ADDRESSES[family]) / UDP())
    assert answer(icmp, given).verdict == SHOT


@pytest.mark.parametrize("kind, verdict", (
    (0, OK), (3, SHOT), (4, SHOT), (5, SHOT), (8, OK), (11, SHOT), (12, SHOT), (13, OK), (18, OK),
    (19, SHOT), (200, SHOT),
))
def test_icmp_types(icmp, kind, verdict):
    assert answer(icmp, frame(4, ICMP(type=kind) / (b"x" * 28))).verdict == verdict


@pytest.mark.parametrize("kind, verdict", (
    (1, SHOT), (2, SHOT), (3, SHOT), (4, SHOT), (100, SHOT), (127, SHOT), (128, OK), (129, OK),
    (137, SHOT),
))
@pytest.mark.parametrize("extensions", ((), (IPv6ExtHdrDestOpt(),)), ids=("bare", "extended"))
def test_icmpv6_types(icmp, kind, verdict, extensions):
    given = frame(6, ICMPv6Unknown(type=kind) / (b"x" * 48), ip=extensions)
    assert answer(icmp, given).verdict == verdict


def test_later_fragments_without_answer(icmp):
    assert answer(icmp, frame(4, UDP() / b"12345678", frag=1)).verdict == SHOT
    given = frame(6, UDP() / b"12345678", ip=(IPv6ExtHdrFragment(offset=1),))
    assert answer(icmp, given).verdict == SHOT


def test_first_fragment_is_answered(icmp):
    given = frame(4, UDP() / b"12345678", flags="MF")
    check_error(answer(icmp, given), given, 4)


def test_what_is_no_ip_packet(icmp):
    assert answer(icmp, bytes(ether(type=0x0800)) + b"\x75" + b"\0" * 40).verdict == SHOT
    assert answer(icmp, bytes(ether(type=0x0800)) + b"\x44" + b"\0" * 40).verdict == SHOT
    # Extension headers that are not there.
    given = bytes(ether() / IPv6(src="2001:db8::1", dst="fd00:96::10", nh=0))
    assert answer(icmp, given).verdict == SHOT
    short = bytearray(frame(4, UDP()))
    short[ETHER + 2 : ETHER + 4] = (7).to_bytes(2, "big")
    assert answer(icmp, bytes(short)).verdict == SHOT
