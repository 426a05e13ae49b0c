# SPDX-License-Identifier: Apache-2.0
"""What passes a device, as its wire shows it: the outermost header of every IP packet."""

import socket
import struct
from collections import namedtuple
from ipaddress import ip_address

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 3, 0x0800, 0x86DD
SOL_PACKET, PACKET_STATISTICS, PACKET_OUTGOING = 263, 6, 4
SO_RCVBUFFORCE = 33
TCP, UDP, ICMP6, ESP = 6, 17, 58, 50
BGP = 179

# `sent`: by the host at whose device it was seen. `ports`: none but of TCP and UDP, unless in fragments.
Packet = namedtuple("Packet", "sent source target protocol ports")


def packet_of(data, sent):
    """The header that everybody on the wire reads."""
    if data[0] >> 4 == 4:
        protocol, start = data[9], (data[0] & 15) * 4
        source, target = data[12:16], data[16:20]
        later = struct.unpack_from("!H", data, 6)[0] & 0x1FFF
    else:
        protocol, start, later = data[6], 40, 0
        source, target = data[8:24], data[24:40]
    known = protocol in (TCP, UDP) and not later
    ports = struct.unpack_from("!HH", data, start) if known else ()
    return Packet(sent, str(ip_address(source)), str(ip_address(target)), protocol, ports)


class Capture:
    """All that passes a device until close()."""

    def __init__(self, host, device):
        with host.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind((device, ETH_P_ALL))
        self.socket.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def raw(self):
        """The first 256 bytes of the IP packets since the last call, and whether each was sent here. None
        has been missed."""
        found = []
        while True:
            try:
                data, (_, kind, way, *_) = self.socket.recvfrom(256)
            except BlockingIOError:
                break
            if kind in (ETH_P_IP, ETH_P_IPV6):
                found.append((data, way == PACKET_OUTGOING))
        _, lost = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        assert lost == 0, "packets passed unseen"
        return found

    def packets(self):
        """What everybody on the wire reads of them."""
        return [packet_of(data, sent) for data, sent in self.raw()]


def is_of_the_link(packet):
    """What neighbours say to each other: discovery, and routes."""
    ends = [ip_address(end) for end in (packet.source, packet.target)]
    if packet.protocol == ICMP6:
        return any(end.is_link_local or end.is_multicast for end in ends)
    return packet.protocol == TCP and BGP in packet.ports
