# SPDX-License-Identifier: Apache-2.0
"""When routes come and go in a namespace's kernel, to the microsecond; and deleting them.

`ip monitor` would add its own output and a pipe to every figure, so the kernel's notifications are
read here as they come: one socket, one system call, and the monotonic clock right after it.
"""

import ipaddress
import select
import socket
import struct
import time

RTM_NEWROUTE, RTM_DELROUTE = 24, 25
NLM_F_REQUEST = 1
ROUTE_GROUPS = 0x40 | 0x400  # IPv4 and IPv6
RTA_DST, RTA_TABLE = 1, 15
SO_RCVBUFFORCE = 33
RTN_UNSPEC, RT_SCOPE_NOWHERE = 0, 255

HEADER = struct.Struct("=IHHII")
ROUTE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, proto, scope, type
ATTRIBUTE = struct.Struct("=HH")


def network(prefix):
    return ipaddress.ip_network(prefix)


def routes_in(data):
    """(added, table, prefix length, address bytes) of each route message in a datagram."""
    at = 0
    while at + HEADER.size <= len(data):
        length, kind, *_ = HEADER.unpack_from(data, at)
        if kind in (RTM_NEWROUTE, RTM_DELROUTE):
            _, bits, _, _, table, *_ = ROUTE.unpack_from(data, at + HEADER.size)
            offset, address = at + HEADER.size + ROUTE.size, b""
            while offset + ATTRIBUTE.size <= at + length:
                size, which = ATTRIBUTE.unpack_from(data, offset)
                if which == RTA_DST:
                    address = data[offset + ATTRIBUTE.size : offset + size]
                offset += (size + 3) & ~3
            yield kind == RTM_NEWROUTE, table, bits, address
        at += (length + 3) & ~3


class RouteWatch:
    """The route notifications of one table (below 256) of a namespace."""

    def __init__(self, host, table=254):
        self.table = table
        with host.entered():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 512 << 20)
        self.socket.bind((0, ROUTE_GROUPS))

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def receive(self):
        """One datagram: the time it came, and its changes as (added, (bits, address))."""
        data = self.socket.recv(65536)
        now = time.monotonic()
        routes = [(new, (bits, ip)) for new, table, bits, ip in routes_in(data)
                  if table == self.table]
        return now, routes

    def drain(self):
        """Forgets what has come so far."""
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(65536)

    def count(self, number, timeout):
        """The time at which so many routes had been added."""
        self.socket.settimeout(timeout)
        while number > 0:
            now, routes = self.receive()
            number -= sum(new for new, _ in routes)
        return now


def key_of(prefix):
    net = network(prefix)
    return net.prefixlen, net.network_address.packed


def seen(watches, prefixes, added=True, timeout=30):
    """When each prefix came to (or left) each watched table: a dict of prefix to time per watch."""
    wanted = {key_of(prefix): prefix for prefix in prefixes}
    found = [{} for _ in watches]
    sockets = {watch.socket: (watch, times) for watch, times in zip(watches, found)}
    deadline = time.monotonic() + timeout
    while any(len(times) < len(wanted) for times in found):
        ready, _, _ = select.select(list(sockets), [], [], deadline - time.monotonic())
        if not ready:
            raise TimeoutError(f"waited {timeout} s for {prefixes}; seen: {found}")
        for ready_socket in ready:
            watch, times = sockets[ready_socket]
            now, routes = watch.receive()
            for new, key in routes:
                if new == added and key in wanted:
                    times.setdefault(wanted[key], now)
    return found


def attribute(kind, payload):
    body = ATTRIBUTE.pack(ATTRIBUTE.size + len(payload), kind) + payload
    return body + bytes(-len(body) % 4)


def delete_message(prefix, table):
    net = network(prefix)
    family = socket.AF_INET if net.version == 4 else socket.AF_INET6
    route = ROUTE.pack(family, net.prefixlen, 0, 0, 0, 0, RT_SCOPE_NOWHERE, RTN_UNSPEC, 0)
    body = route + attribute(RTA_DST, net.network_address.packed)
    body += attribute(RTA_TABLE, struct.pack("=I", table))
    return HEADER.pack(HEADER.size + len(body), RTM_DELROUTE, NLM_F_REQUEST, 0, 0) + body


class RouteDeleter:
    """Deletes routes as fast as a program can, without the start of `ip`."""

    def __init__(self, host):
        with host.entered():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)

    def delete(self, prefixes, table=119):
        """In one call of the kernel, which has done it on return."""
        self.socket.send(b"".join(delete_message(prefix, table) for prefix in prefixes))
