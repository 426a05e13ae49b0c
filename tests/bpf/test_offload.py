# SPDX-License-Identifier: Apache-2.0
"""Refusals of packets whose checksum is unfinished, or that are many in one: on a real device.

Who sends the error on may complete the quoted checksum or not: both must leave it right.
"""

import subprocess

import pytest
from abi import Address, Tuple
from packets import ETHER, MAC_NODE, ether, judge, network
from scapy.layers.inet import ICMP, IP, TCP, UDP, Ether
from scapy.layers.inet6 import IPv6
from wire import GSO_TCP4, GSO_TCP6, Wire, completed

ADDRESSES = {4: ("198.51.100.7", "10.96.0.10"), 6: ("2001:db8:51::7", "fd00:96::10")}
HEADER = {4: 20, 6: 40}
QUOTED = {4: 548, 6: 1232}
CHECKSUM = {TCP: 16, UDP: 6}
families = pytest.mark.parametrize("family", (4, 6))
transports = pytest.mark.parametrize("transport", (TCP, UDP), ids=("tcp", "udp"))


@pytest.fixture(name="wire")
def wire_fixture(icmp_folder, world):
    """The far end of eth0, where the program answers all that comes."""
    bounce = icmp_folder / "live" / "bounce"
    subprocess.run(["tc", "qdisc", "add", "dev", "eth0", "clsact"], check=True)
    add = ["tc", "filter", "add", "dev", "eth0", "ingress", "bpf", "da", "object-pinned", bounce]
    subprocess.run(add, check=True)
    with Wire("eth0p") as wire:
        yield wire
    subprocess.run(["tc", "qdisc", "del", "dev", "eth0", "clsact"], check=True)


def unfinished(family, transport, payload=b"", **fields):
    """A frame with the sum of its pseudo header where its checksum shall be."""
    packet = ether() / network(*ADDRESSES[family]) / transport(sport=40000, dport=80, **fields)
    data = bytearray(bytes(packet / payload))
    start = ETHER + HEADER[family]
    length = len(data) - start
    ends = data[ETHER + 12 : ETHER + 20] if family == 4 else data[ETHER + 8 : ETHER + 40]
    words = bytes(ends) + length.to_bytes(4, "big") + bytes([0, {TCP: 6, UDP: 17}[transport]])
    total = sum(int.from_bytes(words[i : i + 2], "big") for i in range(0, len(words), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    place = start + CHECKSUM[transport]
    data[place : place + 2] = total.to_bytes(2, "big")
    return bytes(data)


def next_error(wire, family):
    while frame := wire.receive():
        packet = Ether(frame.data)
        if packet.src == MAC_NODE and (
            ICMP in packet or (IPv6 in packet and packet[IPv6].nh == 58 and family == 6)
        ):
            return frame
    raise AssertionError("no error came")


def check_error(frame, given, family, transport):
    place = ETHER + HEADER[family] + CHECKSUM[transport]
    quote = frame.data[ETHER + HEADER[family] + 8 :]
    before, after = place - ETHER, place - ETHER + 2
    given = given[ETHER:][: QUOTED[family]]
    assert quote[:before] == given[:before] and quote[after:] == given[after:]
    ip = Ether(frame.data)[IP if family == 4 else IPv6]
    assert (ip.src, ip.dst) == tuple(reversed(ADDRESSES[family]))
    assert judge(frame.data, quoted=False) == []
    assert judge(completed(frame), quoted=False) == []


@families
@transports
@pytest.mark.parametrize("size", (0, 1, 7, 300, 1400))
def test_unfinished_checksum(wire, family, transport, size):
    given = unfinished(family, transport, bytes(i * 31 % 256 for i in range(size)))
    wire.send(given, start=ETHER + HEADER[family], offset=CHECKSUM[transport])
    frame = next_error(wire, family)
    assert frame.partial, "no longer what this test is about"
    check_error(frame, given, family, transport)


@families
@pytest.mark.parametrize("size", (3000, 30001, 60000))
def test_many_in_one(wire, family, size):
    given = unfinished(family, TCP, bytes(i * 31 % 256 for i in range(size)), flags="A")
    header = HEADER[family] + ETHER
    wire.send(
        given, start=header, offset=16, gso={4: GSO_TCP4, 6: GSO_TCP6}[family], size=1400,
        header=header + 20,
    )
    frame = next_error(wire, family)
    assert frame.gso == (0, 0)
    check_error(frame, given, family, TCP)


@families
@transports
def test_finished_checksum(wire, family, transport):
    """For comparison: nothing of the quote is touched."""
    packet = ether() / network(*ADDRESSES[family]) / transport(sport=1, dport=2) / b"payload"
    wire.send(bytes(packet))
    frame = next_error(wire, family)
    assert not frame.partial
    assert frame.data[ETHER + HEADER[family] + 8 :] == bytes(packet)[ETHER:]
    assert judge(frame.data) == []


@families
@transports
def test_own_answer_is_translated(wire, icmp, icmp_folder, family, transport):
    """A refusal that another node of ours sent over a veth: unfinished, right in both ways."""
    source, destination = ADDRESSES[family]
    other = {4: "203.0.113.77", 6: "2001:db8:77::77"}[family]
    number = {TCP: 6, UDP: 17}[transport]
    icmp.arguments[0] = icmp.Arguments(
        Tuple.of(source, 40000, destination, 80, number),
        Tuple.of(other, 50001, destination, 8080, number),
        Address.of(destination), Address.of(other),
    )
    add = ["tc", "filter", "add", "dev", "eth0", "egress", "bpf", "da", "object-pinned"]
    subprocess.run([*add, icmp_folder / "live" / "translate"], check=True)
    given = unfinished(family, transport, b"some payload")
    wire.send(given, start=ETHER + HEADER[family], offset=CHECKSUM[transport])
    frame = next_error(wire, family)
    assert frame.partial, "no longer what this test is about"
    quote = Ether(bytes(12) + given[12:14] + frame.data[ETHER + HEADER[family] + 8 :])
    assert quote[1].src == other and quote[transport].sport == 50001
    assert quote[transport].dport == 8080
    assert judge(frame.data, quoted=False) == []
    assert judge(completed(frame), quoted=False) == []
