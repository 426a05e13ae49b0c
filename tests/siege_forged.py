# SPDX-License-Identifier: Apache-2.0
"""Frames that a pod sends as it likes, under whose address it likes: for tests/siege."""

import socket
import struct
import time

from lab.namespace import inverted_sum

UDP, FRAGMENT = 17, 44
MORE_V4 = 0x2000


class Wire:
    """A packet socket at a host's eth0; what it sends is for the other end of that."""

    def __init__(self, host, other, device):
        links = other.ip_json("link", "show", "dev", device) + host.ip_json("link", "show", "dev", "eth0")
        self.macs = b"".join(bytes.fromhex(link["address"].replace(":", "")) for link in links)
        with host.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind(("eth0", 0))

    def send(self, packet):
        kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
        self.socket.send(self.macs + struct.pack("!H", kind) + packet)


def wire(pod):
    return Wire(pod, pod.node, pod.host_end)


def packed(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def packet(source, destination, protocol, body, number=1, place=0):
    """`place`: the word of IPv4's header that says which fragment it is."""
    if ":" in source:
        return struct.pack("!IHBB", 6 << 28, len(body), protocol, 64) + packed(source) + \
            packed(destination) + body
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), number, place, 64, protocol, 0) + \
        packed(source) + packed(destination)
    return head[:10] + inverted_sum(head) + head[12:] + body


def upper(source, sport, destination, dport, data):
    """UDP's header and data, with their checksum."""
    body = struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data
    pseudo = packed(source) + packed(destination) + struct.pack("!II", UDP, len(body))
    return body[:6] + inverted_sum(pseudo + body) + body[8:]


def datagram(source, sport, destination, dport, data):
    return packet(source, destination, UDP, upper(source, sport, destination, dport, data))


def pieces(source, sport, destination, dport, data, number):
    """The same in two fragments: 64 bytes, and the rest."""
    body = upper(source, sport, destination, dport, data)
    for first, more in ((0, 1), (64, 0)):
        part = body[first : first + 64 if more else None]
        if ":" in source:
            head = struct.pack("!BBHI", UDP, 0, first | more, number)
            yield packet(source, destination, FRAGMENT, head + part)
        else:
            yield packet(source, destination, UDP, part, number, more * MORE_V4 | first // 8)


def listener(host, port, family):
    with host.entered():
        found = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind(("::" if family == 6 else "0.0.0.0", port))
    return found


def heard(listening, seconds=2):
    """The first that comes within that time, and what else is there then."""
    found, end = [], time.monotonic() + seconds
    while not found and (left := end - time.monotonic()) > 0:
        listening.settimeout(left)
        try:
            found.append(listening.recv(4000))
        except TimeoutError:
            return found
    return found
