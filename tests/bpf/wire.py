# SPDX-License-Identifier: Apache-2.0
"""One end of a wire: frames with their offload state, as a network card would delivery them over.

A packet socket with a virtio header can do what BPF_PROG_TEST_RUN can't: send a frame whose
checksum is yet to be completed (CHECKSUM_PARTIAL), or one that is to be cut up (GSO), and see
whether a received one is. What a device would complete is completed here.
"""

import socket
import struct
from collections import namedtuple

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 8, 15, 23
VLAN_VALID = 1 << 4
NEEDS_CHECKSUM = 1
GSO_NONE, GSO_TCP4, GSO_TCP6, GSO_UDP_L4 = 0, 1, 4, 5
HEADER = struct.Struct("=BBHHHH")  # flags, gso type, header length, gso size, start, offset
AUXDATA = struct.Struct("=IIIHHHH")  # status, length, captured, MAC, network, tag, tag's protocol

Frame = namedtuple("Frame", "data partial start offset gso tag")  # tag: None, or priority and VLAN


class Wire:
    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind((device, ETH_P_ALL))
        self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data, start=0, offset=0, gso=GSO_NONE, size=0, header=0):
        """With `start`, the checksum at start + offset is left to be completed."""
        flags = NEEDS_CHECKSUM if start else 0
        head = HEADER.pack(flags, gso, header, size, start, offset)
        self.socket.send(head + bytes(data))

    def receive(self, timeout=10):
        """The next frame; None if there is none in time."""
        self.socket.settimeout(timeout)
        try:
            received, extra, _, _ = self.socket.recvmsg(70000, 100)
        except TimeoutError:
            return None
        status, *_, tag, _ = AUXDATA.unpack(extra[0][2])
        flags, gso, _, size, start, offset = HEADER.unpack(received[: HEADER.size])
        return Frame(
            received[HEADER.size :], bool(flags & NEEDS_CHECKSUM), start, offset, (gso, size),
            tag if status & VLAN_VALID else None,
        )


def completed(frame):
    """The bytes of a frame as a device with checksum offload sends them."""
    if not frame.partial:
        return frame.data
    data = bytearray(frame.data)
    if len(data) % 2:
        data += b"\0"
    words = struct.unpack(f"!{(len(data) - frame.start) // 2}H", data[frame.start :])
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    place = frame.start + frame.offset
    data[place : place + 2] = struct.pack("!H", ~total & 0xFFFF)
    return bytes(data[: len(frame.data)])
