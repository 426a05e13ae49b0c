# SPDX-License-Identifier: Apache-2.0
"""Links that `ip` can't set up alone: tun devices with somebody who carries their packets, and
WireGuard without its tools."""

import fcntl
import os
import select
import socket
import struct
import threading

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def open_tun(host, name):
    with host.entered():
        fd = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


class Tun:
    """Two tun devices, on two hosts, as the ends of one wire: until close()."""

    def __init__(self, name, *hosts):
        self.ends = [open_tun(host, name) for host in hosts]
        self.stop = os.pipe()
        self.thread = threading.Thread(target=self._carry, daemon=True)
        self.thread.start()

    def _carry(self):
        one, two = self.ends
        while True:
            ready, _, _ = select.select([one, two, self.stop[0]], [], [])
            if self.stop[0] in ready:
                return
            for fd in ready:
                try:
                    os.write(two if fd == one else one, os.read(fd, 65536))
                except OSError:  # the device is down
                    pass

    def close(self):
        os.close(self.stop[1])
        self.thread.join()
        for fd in (*self.ends, self.stop[0]):
            os.close(fd)


# ---- WireGuard, by generic netlink: linux/wireguard.h

NETLINK_GENERIC, GENL_CONTROL, ERROR, DONE = 16, 16, 2, 3
REQUEST, ACK, DUMP, NESTED = 1, 4, 0x300, 0x8000
GET_FAMILY, FAMILY_ID, FAMILY_NAME = 3, 1, 2
GET_DEVICE, SET_DEVICE = 0, 1
IFNAME, PRIVATE_KEY, PUBLIC_KEY, LISTEN_PORT, PEERS = 2, 3, 4, 6, 8
PEER_KEY, PEER_ENDPOINT, PEER_ALLOWED = 1, 4, 9
ALLOWED_FAMILY, ALLOWED_ADDRESS, ALLOWED_LENGTH = 1, 2, 3
PORT = 51820


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def nest(kind, *members):
    return attribute(kind | NESTED, b"".join(members))


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def generic(host, family, command, flags, body):
    """The attributes of the first answer; none of an acknowledgement."""
    with host.entered():
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    with netlink:
        message = struct.pack("=BBH", command, 1, 0) + body
        head = struct.pack("=IHHII", 16 + len(message), family, REQUEST | flags, 1, 0)
        netlink.send(head + message)
        answer = netlink.recv(65536)
    length, kind = struct.unpack_from("=IH", answer)
    if kind == ERROR and struct.unpack_from("=i", answer, 16)[0]:
        error = -struct.unpack_from("=i", answer, 16)[0]
        raise OSError(error, os.strerror(error))
    return attributes(answer[20:length]) if kind not in (ERROR, DONE) else {}


def wireguard_family(host):
    asked = attribute(FAMILY_NAME, b"wireguard\0")
    answer = generic(host, GENL_CONTROL, GET_FAMILY, 0, asked)
    return struct.unpack("=H", answer[FAMILY_ID])[0]


def allowed(family, size):
    """Any address of a family."""
    return nest(0, attribute(ALLOWED_FAMILY, struct.pack("=H", family)),
                attribute(ALLOWED_ADDRESS, bytes(size)), attribute(ALLOWED_LENGTH, b"\0"))


def join_wireguard(one, two):
    """Makes two devices, each (host, name, IPv4 address of the host), the other's only peer, for any
    address. The kernel tells the public keys."""
    keys = {}
    for host, name, _ in (one, two):
        family, device = wireguard_family(host), attribute(IFNAME, name.encode() + b"\0")
        generic(host, family, SET_DEVICE, ACK, device + attribute(PRIVATE_KEY, os.urandom(32)) +
                attribute(LISTEN_PORT, struct.pack("=H", PORT)))
        keys[host] = generic(host, family, GET_DEVICE, DUMP, device)[PUBLIC_KEY]
    for (host, name, _), (other, _, address) in ((one, two), (two, one)):
        endpoint = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(PORT),
                               socket.inet_aton(address))
        peer = nest(0, attribute(PEER_KEY, keys[other]), attribute(PEER_ENDPOINT, endpoint),
                    nest(PEER_ALLOWED, allowed(socket.AF_INET, 4), allowed(socket.AF_INET6, 16)))
        generic(host, wireguard_family(host), SET_DEVICE, ACK,
                attribute(IFNAME, name.encode() + b"\0") + nest(PEERS, peer))
