# SPDX-License-Identifier: Apache-2.0
"""Gives a claimed address of a host another lifetime, as a kernel has it whose own clock stood still. Debian's `ip` would
forget whose address it is."""

import errno
import os
import socket
import struct

RTM_NEWADDR = 20
REQUEST_ACK_REPLACE = 0x1 | 0x4 | 0x100
IFA_ADDRESS, IFA_LOCAL, IFA_CACHEINFO, IFA_FLAGS, IFA_PROTO = 1, 2, 6, 8, 11
NODAD, NOPREFIXROUTE = 0x02, 0x200
KEPT = 31  # ADDRESS_PROTOCOL_KEPT of agent/base/ours.h
FOR_EVER = 0xFFFFFFFF


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def set_lifetime(host, device, address, seconds=FOR_EVER):
    six = ":" in address
    family = socket.AF_INET6 if six else socket.AF_INET
    raw = socket.inet_pton(family, address)
    with host.entered():
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        index = socket.if_nametoindex(device)
    body = struct.pack("=BBBBI", family, 8 * len(raw), 0, 0, index) + b"".join((
        attribute(IFA_LOCAL, raw), attribute(IFA_ADDRESS, raw),
        attribute(IFA_FLAGS, struct.pack("=I", NOPREFIXROUTE | (NODAD if six else 0))),
        attribute(IFA_PROTO, bytes([KEPT])),
        attribute(IFA_CACHEINFO, struct.pack("=IIII", 0, seconds, 0, 0))))
    with netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWADDR, REQUEST_ACK_REPLACE, 1, 0) + body)
        error = -struct.unpack_from("=i", netlink.recv(4096), 16)[0]
    if error:
        raise OSError(error, f"{host}: {address}: {errno.errorcode[error]} {os.strerror(error)}")
