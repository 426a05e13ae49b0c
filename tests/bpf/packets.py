# SPDX-License-Identifier: Apache-2.0
"""Packets in scapy: made in a few words, and every checksum of them judged."""

import socket

from abi import SCTP as SCTP_NUMBER
from abi import TCP as TCP_NUMBER
from scapy.layers.inet import IP, TCP, UDP, Ether
from scapy.layers.inet6 import IPv6
from scapy.layers.sctp import SCTP, crc32c
from scapy.packet import Raw
from scapy.utils import checksum
from world import MACS

ETHER = 14
MAC_NODE, MAC_PEER = "02:00:00:00:00:01", "02:00:00:00:00:02"


def ether(src=MAC_PEER, dst=MAC_NODE, **fields):
    return Ether(src=src, dst=dst, **fields)


def network(src, dst, **fields):
    """An IP header of the addresses' family; ttl is the hop limit, too."""
    if ":" in src:
        if "ttl" in fields:
            fields["hlim"] = fields.pop("ttl")
        return IPv6(src=src, dst=dst, **fields)
    return IP(src=src, dst=dst, **fields)


def segment(protocol, sport, dport, flags="S", **fields):
    if protocol == TCP_NUMBER:
        numbers = {"seq": 0 if "S" in flags else 1, "ack": 1 if "A" in flags else 0}
        return TCP(sport=sport, dport=dport, flags=flags, **{**numbers, **fields})
    if protocol == SCTP_NUMBER:
        return SCTP(sport=sport, dport=dport, **fields)
    return UDP(sport=sport, dport=dport, **fields)


HEADS = {
    "uplink_in": ("eth0p", "eth0"), "uplink_out": ("eth0", "eth0p"), "pod_in": ("pod1p", "pod1"),
    "pod_out": ("pod1", "pod1p"), "lo_out": ("lo", "lo"), "svc_out": ("svc0", "svc0"),
}


def frame(hook, src, sport, dst, dport, protocol=TCP_NUMBER, payload=b"", flags="S", parts=(),
          transport=None, ip=None, **fields):
    """A packet as it is seen at a hook; `fields` and `ip` are the IP header's, `flags` TCP's."""
    source, destination = HEADS[hook]
    packet = Ether(src=MACS[source], dst=MACS[destination])
    packet.explicit = 1  # no field is a range, of which scapy would look for the first each time
    upper_layer = segment(protocol, sport, dport, flags, **(transport or {}))
    for layer in (network(src, dst, **fields, **(ip or {})), *(part.copy() for part in parts),
                  upper_layer, Raw(load=payload)):
        layer.explicit = 1
        packet.add_payload(layer)  # "/" copies both sides each time
    return packet


def from_others(packet, clients):
    """Bytes of a frame as others would send it: (address, port) each. To make thousands in scapy
    takes seconds, and minutes where the machine is emulated."""
    data = bytearray(bytes(packet))
    six = data[ETHER] >> 4 == 6
    protocol, offset, _, _ = upper(data[ETHER:])
    place = ETHER + (8 if six else 12)
    length = 16 if six else 4
    start = ETHER + offset
    sum_at = start + (16 if protocol == TCP_NUMBER else 6)
    for address, port in clients:
        data[place : place + length] = socket.inet_pton(
            socket.AF_INET6 if six else socket.AF_INET, address)
        data[start : start + 2] = port.to_bytes(2, "big")
        if not six:
            data[ETHER + 10 : ETHER + 12] = bytes(2)
            data[ETHER + 10 : ETHER + 12] = checksum(bytes(data[ETHER : ETHER + offset])).to_bytes(2, "big")
        data[sum_at : sum_at + 2] = bytes(2)
        body = bytes(data[start:])
        total = checksum(bytes(pseudo(data[ETHER:], protocol, len(body))) + body)
        data[sum_at : sum_at + 2] = (total or 0xFFFF).to_bytes(2, "big")
        yield bytes(data)


def ones_complement(data):
    """The sum of all 16-bit words, 0xffff if `data` holds its own checksum and it is right."""
    return ~checksum(bytes(data)) & 0xFFFF


def upper(data):
    """(protocol, offset, later fragment) of the upper layer of an IP packet in bytes."""
    if data[0] >> 4 == 4:
        later = int.from_bytes(data[6:8], "big") & 0x1FFF
        return data[9], (data[0] & 15) * 4, bool(later), int.from_bytes(data[6:8], "big") & 0x3FFF
    following, offset, later, fragment = data[6], 40, False, 0
    while following in (0, 43, 44, 60):
        if following == 44:
            fragment = int.from_bytes(data[offset + 2 : offset + 4], "big") & 0xFFF9
            later = bool(fragment & 0xFFF8)
            following, offset = data[offset], offset + 8
            if later:
                break
        else:
            following, offset = data[offset], offset + (data[offset + 1] + 1) * 8
    return following, offset, later, fragment


def pseudo(data, protocol, length):
    if data[0] >> 4 == 4:
        return data[12:20] + bytes([0, protocol]) + length.to_bytes(2, "big")
    return data[8:40] + length.to_bytes(4, "big") + bytes([0, 0, 0, protocol])


def judge(frame, quoted=True):
    """All checksums of a frame, the quoted ones of ICMP errors included: a list of the wrong."""
    data = bytes(frame)[ETHER:]
    return judge_ip(data, "", quoted)


def judge_ip(data, where, quoted):
    wrong = []
    if data[0] >> 4 == 4:
        if ones_complement(data[: (data[0] & 15) * 4]) != 0xFFFF:
            wrong.append(f"{where}IP")
        total = int.from_bytes(data[2:4], "big")
    else:
        total = 40 + int.from_bytes(data[4:6], "big")
    whole = len(data) >= total
    data = data[:total]
    protocol, offset, _, fragment = upper(data)
    if fragment or not whole:
        return wrong
    body = data[offset:]
    if protocol == 1:
        if ones_complement(body) != 0xFFFF:
            wrong.append(f"{where}ICMP")
    elif protocol in (6, 17, 58):
        none = protocol == 17 and body[6:8] == b"\0\0" and data[0] >> 4 == 4
        if not none and ones_complement(pseudo(data, protocol, len(body)) + body) != 0xFFFF:
            wrong.append(f"{where}{ {6: 'TCP', 17: 'UDP', 58: 'ICMPv6'}[protocol] }")
        if protocol == 17 and data[0] >> 4 == 6 and body[6:8] == b"\0\0":
            wrong.append(f"{where}UDP without a checksum")
    elif protocol == SCTP_NUMBER and body[8:12] != bytes(4):  # zero: none, or not finished
        if crc32c(body[:8] + bytes(4) + body[12:]) != int.from_bytes(body[8:12], "big"):
            wrong.append(f"{where}SCTP")
    errors = {1: (3, 11, 12), 58: (1, 2, 3, 4)}.get(protocol, ())
    if quoted and errors and body[0] in errors:
        wrong += judge_ip(body[8:], where + "quoted ", quoted)
    return wrong
