# SPDX-License-Identifier: Apache-2.0
"""Foo-over-UDP: agent/bpf/packet/fou.h by itself. Single packets are run through it; packets of many
segments and unfinished checksums go through a real device."""

import ctypes
import errno
import os
import re
import socket
import subprocess

import pytest
from abi import Address, Value, u32
from bpf import OK, SHOT, Map, Program
from lab.features import CUTTING, switch
from lab.wait import wait
from packets import ETHER, MAC_NODE, MAC_PEER, ether, judge, network
from scapy.layers.inet import IP, TCP, UDP, Ether
from scapy.layers.inet6 import HBHOptUnknown, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from wire import GSO_TCP4, GSO_TCP6, GSO_UDP_L4, Wire, completed

POD = {4: "10.244.1.5", 6: "fd00:244:1::5"}
OUTSIDE = {4: "198.51.100.7", 6: "2001:db8:51::7"}
GATEWAY = {4: "192.0.2.77", 6: "2001:db8:2::77"}
PORT = 5555
ROOM = {4: 28, 6: 48}
HEADER = {4: 20, 6: 40}
CHECKSUM = {TCP: 16, UDP: 6}
# Before Linux 6.2, packet sockets take no UDP packets of many segments.
KERNEL = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
SEGMENTED = (TCP, UDP) if KERNEL >= (6, 2) else (TCP,)
segmented = pytest.mark.parametrize("transport", SEGMENTED, ids=lambda kind: kind.__name__.lower())
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
    whole = {"flags": "DF"} if family == 4 else {}
    wrapped = ether() / network(POD[family], GATEWAY[family], ttl=225, **{**whole, **fields})
    return bytes(wrapped / UDP(sport=sport, dport=PORT, chksum=chksum) / data[ETHER:])


def without_chance(frame, family):
    """A frame without what tells segments apart, or is drawn by lot: IPv4's identification, IPv6's flow label."""
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


def test_never_cut_on_the_next_hop(fou):
    """Who unwraps takes no fragments."""
    fou.tell(4)
    for flags in ("DF", ""):
        packet = Ether(fou.put.run(inner(4, flags=flags)).packet)
        assert packet[IP].flags == "DF" and packet[IP].id == 0


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
def test_congestion_on_the_next_hop_is_told_to_the_inner_header(fou, family, tos, met, expected):
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


# ---- On a device: what BPF_PROG_TEST_RUN has no frames for.

@pytest.fixture(name="wire")
def wire_fixture(fou, world):
    """The far end of eth0, which sends back what a program makes of it: attach() says which. The
    device cuts up nothing itself, so that what comes is cut up already."""
    def attach(name):
        subprocess.run([*"tc filter add dev eth0 ingress bpf da object-pinned".split(),
                        fou.live / name], check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "eth0", "clsact"], check=True)
    switch("eth0", CUTTING, 0)
    with Wire("eth0p") as wire:
        wire.attach = attach
        yield wire
    switch("eth0", ["tx-checksum-ip-generic", *CUTTING], 1)
    subprocess.run(["tc", "qdisc", "del", "dev", "eth0", "clsact"], check=True)


def unfinished(family, transport, size):
    """A frame with the sum of its pseudo header where its checksum shall be."""
    data = bytearray(inner(family, transport, bytes(i * 31 % 256 for i in range(size))))
    at = ETHER + HEADER[family]
    ends = data[ETHER + 12 : ETHER + 20] if family == 4 else data[ETHER + 8 : ETHER + 40]
    words = bytes(ends) + (len(data) - at).to_bytes(4, "big")
    words += bytes([0, {TCP: 6, UDP: 17}[transport]])
    total = sum(int.from_bytes(words[i : i + 2], "big") for i in range(0, len(words), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    place = at + CHECKSUM[transport]
    data[place : place + 2] = total.to_bytes(2, "big")
    return bytes(data)


def send_many(wire, data, family, transport):
    """Sends a frame as one of segments of 1200 bytes; the length of its headers."""
    start = ETHER + HEADER[family]
    header = start + {TCP: 20, UDP: 8}[transport]
    kind = GSO_UDP_L4 if transport is UDP else {4: GSO_TCP4, 6: GSO_TCP6}[family]
    wire.send(data, start=start, offset=CHECKSUM[transport], gso=kind, size=1200, header=header)
    return header


def next_back(wire):
    """The next frame that was sent back: it has the sender's addresses still."""
    while frame := wire.receive():
        if frame.data[:12] == bytes.fromhex((MAC_NODE + MAC_PEER).replace(":", "")):
            return frame
    raise AssertionError("nothing came back")


@transports
def test_unfinished_checksum(wire, fou, family, transport):
    wire.attach("put_back")
    fou.tell(family)
    given = unfinished(family, transport, 600)
    start = ETHER + HEADER[family]
    wire.send(given, start=start, offset=CHECKSUM[transport])
    frame = next_back(wire)
    assert frame.partial and frame.start == start + ROOM[family]
    unwrapped = completed(frame)[:ETHER] + completed(frame)[ETHER + ROOM[family] :]
    assert judge(unwrapped) == []


def check_segments(wire, given, header, family, room=0):
    """Packets of 1200 bytes come back, each of them whole, in headers of `room` bytes."""
    payload = b""
    for size in (1200, 1200, 1200, 1200, 200):
        data = completed(next_back(wire))
        unwrapped = data[:ETHER] + data[ETHER + room :]
        if room:
            expected = outer(family, unwrapped)[: ETHER + room]
            assert without_chance(data, family)[: len(expected)] == without_chance(expected, family)
        assert judge(unwrapped) == [] and len(unwrapped) == header + size
        payload += unwrapped[header:]
    assert payload == given[header:]


@segmented
def test_many_in_one(wire, fou, family, transport):
    """Each segment is a packet of FoU."""
    wire.attach("put_back")
    fou.tell(family)
    given = unfinished(family, transport, 5000)
    header = send_many(wire, given, family, transport)
    check_segments(wire, given, header, family, ROOM[family])


@segmented
def test_many_in_one_there_and_back(wire, fou, family, transport):
    """TCP leaves a tunnel uncut; of UDP this can't be had."""
    wire.attach("both_back")
    fou.tell(family)
    given = unfinished(family, transport, 5000)
    header = send_many(wire, given, family, transport)
    if transport is TCP:
        check_segments(wire, given, header, family)
    else:
        wait(lambda: fou.error == -errno.EOPNOTSUPP, "UDP to be refused")


@segmented
def test_many_in_one_unmarked(wire, fou, family, transport):
    wire.attach("both_unmarked_back")
    fou.tell(family)
    given = unfinished(family, transport, 5000)
    header = send_many(wire, given, family, transport)
    check_segments(wire, given, header, family)


@transports
def test_wrapped_again(wire, fou, family, transport):
    """What has come out of a tunnel."""
    wire.attach("again_back")
    fou.tell(family)
    start = ETHER + HEADER[family]
    wire.send(unfinished(family, transport, 600), start=start, offset=CHECKSUM[transport])
    data = completed(next_back(wire))
    assert judge(data[:ETHER] + data[ETHER + ROOM[family] :]) == []
    assert fou.error == 0


def test_many_in_one_wrapped_again(wire, fou, family):
    wire.attach("again_back")
    fou.tell(family)
    send_many(wire, unfinished(family, TCP, 5000), family, TCP)
    wait(lambda: fou.error == -errno.EALREADY, "the second wrapping to be refused")


@transports
def test_unfinished_outer_checksum(wire, fou, family, transport):
    """The request to complete it goes with the outer headers: seen by a device that lets the kernel
    complete checksums."""
    wire.attach("take_back")
    switch("eth0", ["tx-checksum-ip-generic"], 0)
    given = inner(family, transport)
    wrapped = outer(family, given, chksum=1)
    wire.send(wrapped, start=ETHER + HEADER[family], offset=CHECKSUM[UDP])
    frame = next_back(wire)
    assert not frame.partial and frame.data == given
