# SPDX-License-Identifier: Apache-2.0
"""Foo-over-UDP: agent/bpf/fou.h by itself."""

import ctypes
import errno
import socket

import pytest
from abi import Address, Value, u32
from bpf import OK, SHOT, Map, Program
from packets import ETHER, ether, judge, network
from scapy.layers.inet import IP, TCP, UDP, Ether
from scapy.layers.inet6 import HBHOptUnknown, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment

POD = {4: "10.244.1.5", 6: "fd00:244:1::5"}
OUTSIDE = {4: "198.51.100.7", 6: "2001:db8:51::7"}
GATEWAY = {4: "192.0.2.77", 6: "2001:db8:2::77"}
PORT = 5555
ROOM = {4: 28, 6: 48}
transports = pytest.mark.parametrize("transport", (TCP, UDP), ids=("tcp", "udp"))


class Arguments(Value):
    """struct arguments of fou.bpf.c"""

    _fields_ = [("src", Address), ("dst", Address), ("sport", ctypes.c_uint16),
                ("dport", ctypes.c_uint16), ("error", ctypes.c_int32)]


class Fou:
    def __init__(self, folder):
        self.live = folder / "live"
        self.arguments = Map(folder / "maps" / "arguments", u32, Arguments)
        for name in ("put", "take"):
            setattr(self, name, Program(self.live / name))

    def tell(self, family, sport=PORT):
        self.arguments[0] = Arguments(
            Address.of(POD[family]), Address.of(GATEWAY[family]), socket.htons(sport),
            socket.htons(PORT), 0)

    @property
    def error(self):
        return self.arguments[0].error


@pytest.fixture(scope="session", name="fou")
def fou_fixture(load_object):
    return Fou(load_object("fou", "tests/bpf/fou.bpf.o"))


def inner(family, transport=UDP, payload=b"payload", parts=(), **fields):
    packet = ether() / network(POD[family], OUTSIDE[family], **fields)
    for part in parts:
        packet /= part
    return bytes(packet / transport(sport=40000, dport=443) / payload)


def outer(family, data, sport=PORT, chksum=0, **fields):
    """A frame in FoU, as scapy makes it."""
    wrapped = ether() / network(POD[family], GATEWAY[family], ttl=225, **fields)
    return bytes(wrapped / UDP(sport=sport, dport=PORT, chksum=chksum) / data[ETHER:])


def without_chance(frame, family):
    """A frame without what is drawn by lot: IPv4's identification, IPv6's flow label."""
    data = bytearray(frame)
    if family == 4:
        data[ETHER + 4 : ETHER + 6] = data[ETHER + 10 : ETHER + 12] = b"\0\0"
    else:
        data[ETHER + 1] &= 0xF0
        data[ETHER + 2 : ETHER + 4] = b"\0\0"
    return bytes(data)


@transports
@pytest.mark.parametrize("size", (0, 1, 8, 1000, 1400))
def test_there_and_back(fou, family, transport, size):
    given = inner(family, transport, b"x" * size)
    fou.tell(family, sport=33333)
    put = fou.put.run(given)
    assert put.verdict == OK
    assert without_chance(put.packet, family) == without_chance(
        outer(family, given, sport=33333), family)
    assert family == 6 or judge(put.packet) == []
    taken = fou.take.run(put.packet)
    assert taken.verdict == OK and taken.packet == given


def test_padding_of_a_short_frame(fou, family):
    given = inner(family, payload=b"")
    fou.tell(family)
    put = fou.put.run(given + b"......").packet
    assert put[-6:] == b"......"
    assert without_chance(put[:-6], family) == without_chance(outer(family, given), family)


def test_dont_fragment_is_the_inner_ones(fou):
    fou.tell(4)
    whole = Ether(fou.put.run(inner(4, flags="DF")).packet)
    assert whole[IP].flags == "DF" and whole[IP].id == 0
    numbers = set()
    for _ in range(20):
        packet = Ether(fou.put.run(inner(4)).packet)
        assert packet[IP].flags == 0
        numbers.add(packet[IP].id)
    assert len(numbers) > 10


def traffic_class(family, tos):
    return {"tos": tos} if family == 4 else {"tc": tos}


def tos_of(frame, family):
    packet = Ether(frame)
    return packet[IP].tos if family == 4 else packet[IPv6].tc


@pytest.mark.parametrize("tos, expected", ((0, 0), (1, 1), (2, 2), (3, 2), (0xB8, 0), (0xBB, 2)))
def test_congestion_is_told_to_the_outer_header(fou, family, tos, expected):
    fou.tell(family)
    put = fou.put.run(inner(family, **traffic_class(family, tos))).packet
    assert tos_of(put, family) == expected
    assert tos_of(fou.take.run(put).packet, family) == tos


@pytest.mark.parametrize("tos, met, expected", (
    (0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, None), (1, 3, 3), (2, 3, 3), (3, 0, 3), (3, 1, 3),
    (2, 1, 1), (1, 2, 1),
    (0xB9, 3, 0xBB)))
def test_congestion_on_the_way_is_told_to_the_inner_header(fou, family, tos, met, expected):
    """RFC 6040, section 4.2, as Linux has it."""
    given = outer(family, inner(family, **traffic_class(family, tos)), **traffic_class(family, met))
    taken = fou.take.run(given)
    if expected is None:
        assert taken.verdict == SHOT and fou.error == -errno.EINVAL
        return
    assert taken.verdict == OK and tos_of(taken.packet, family) == expected
    assert judge(taken.packet) == []


@transports
@pytest.mark.parametrize("payload", (b"", b"x", b"payload"))
def test_what_has_an_outer_checksum_is_taken(fou, family, transport, payload):
    given = inner(family, transport, payload)
    assert judge(outer(family, given, chksum=None)) == []
    taken = fou.take.run(outer(family, given, chksum=None))
    assert taken.verdict == OK and taken.packet == given


def test_fragments(fou, family):
    """One packet like another."""
    if family == 4:
        given = inner(4, flags="MF", frag=100)
    else:
        given = inner(6, parts=(IPv6ExtHdrFragment(offset=100, m=1, id=7),))
    fou.tell(family)
    put = fou.put.run(given)
    assert put.verdict == OK and Ether(put.packet)[1].payload.dport == PORT
    assert fou.take.run(put.packet).packet == given


def test_the_last_bytes_of_a_fragmented_packet(fou, family):
    """Shorter than any header, and with an outer checksum."""
    if family == 4:
        given = bytes(ether() / network(POD[4], OUTSIDE[4], proto=17, frag=100) / b"abc")
    else:
        given = bytes(ether() / network(POD[6], OUTSIDE[6]) /
                      IPv6ExtHdrFragment(offset=100, nh=17, id=7) / b"abc")
    for chksum in (0, None):
        taken = fou.take.run(outer(family, given, chksum=chksum))
        assert taken.verdict == OK and taken.packet == given


def test_destination_option_of_the_tunnel(fou):
    """ip6tnl devices say by default how deep a packet may be nested (RFC 2473)."""
    given = inner(6)
    limit = IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=4, optdata=b"\x04")])
    wrapped = ether() / network(POD[6], GATEWAY[6]) / limit
    wrapped = bytes(wrapped / UDP(sport=PORT, dport=PORT, chksum=0) / given[ETHER:])
    assert len(wrapped) == len(given) + ROOM[6] + 8
    taken = fou.take.run(wrapped)
    assert taken.verdict == OK and taken.packet == given


def test_another_family_inside(fou, family):
    other = {4: 6, 6: 4}[family]
    assert fou.take.run(outer(family, inner(other))).verdict == SHOT
    assert fou.error == -errno.EINVAL


@pytest.mark.parametrize("left", (0, 1, 19))
def test_cut_short(fou, family, left):
    given = outer(family, inner(family))[: ETHER + ROOM[family] + left]
    assert fou.take.run(given).verdict == SHOT
