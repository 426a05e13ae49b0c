# SPDX-License-Identifier: Apache-2.0
"""The forward policy of legacy iptables, by its own system calls: a stock kernel makes the table
"filter" when it is first asked for it, whether the program is installed or not; its module has to be there."""

import ctypes
import os
import socket
import struct

from lab.namespace import libc

GET_INFO = SET_REPLACE = 64
GET_ENTRIES = 65
FORWARD = 2  # among the hooks
INFO = struct.Struct("=32sI5I5III")  # valid hooks, entries, underflows, number, size
TARGET, VERDICT = 88, 32  # where an entry says where its target is; in the target
ACCEPT, DROP = -2, -1


def asked(sock, option, buffer):
    size = ctypes.c_uint(len(buffer))
    if libc.getsockopt(sock.fileno(), socket.IPPROTO_IP, option, buffer, ctypes.byref(size)) != 0:
        raise OSError(ctypes.get_errno(), "getsockopt of iptables")
    return buffer.raw


def forward_policy(host, verdict):
    """Sets what becomes of forwarded IPv4 packets that no rule is for."""
    host.run("modprobe", "iptable_filter")
    with host.entered():
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    with sock:
        name = b"filter".ljust(32, b"\0")
        info = INFO.unpack(asked(sock, GET_INFO, ctypes.create_string_buffer(name, INFO.size)))
        hooks, entries, underflows, (number, size) = info[1], info[2:7], info[7:12], info[12:]
        head = struct.pack("=32sI4x", name, size)
        rules = bytearray(asked(sock, GET_ENTRIES, ctypes.create_string_buffer(head, 40 + size))[40:])
        last = underflows[FORWARD]
        at = last + struct.unpack_from("=H", rules, last + TARGET)[0] + VERDICT
        struct.pack_into("=i", rules, at, verdict)
        counters = ctypes.create_string_buffer(16 * number)
        replace = struct.pack("=32sIII5I5II", name, hooks, number, size, *entries, *underflows, number)
        replace = replace.ljust(88, b"\0") + struct.pack("=Q", ctypes.addressof(counters)) + rules
        if libc.setsockopt(sock.fileno(), socket.IPPROTO_IP, SET_REPLACE, replace, len(replace)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
