# SPDX-License-Identifier: Apache-2.0
"""Foo-over-UDP: agent/bpf/fou.h by itself."""

import ctypes
import socket

import pytest
from abi import Address, Value, u32
from bpf import OK, Map, Program
from packets import ETHER, ether, judge, network
from scapy.layers.inet import IP, TCP, UDP, Ether
from scapy.layers.inet6 import IPv6

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
        self.put = Program(self.live / "put")

    def tell(self, family, sport=PORT):
        self.arguments[0] = Arguments(
            Address.of(POD[family]), Address.of(GATEWAY[family]), socket.htons(sport),
            socket.htons(PORT), 0)


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
def test_whole_packet(fou, family, transport, size):
    given = inner(family, transport, b"x" * size)
    fou.tell(family, sport=33333)
    put = fou.put.run(given)
    assert put.verdict == OK
    assert without_chance(put.packet, family) == without_chance(
        outer(family, given, sport=33333), family)
    assert family == 6 or judge(put.packet) == []


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
