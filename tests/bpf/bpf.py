# SPDX-License-Identifier: Apache-2.0
"""The bpf(2) system call, as far as tests want it: pinned maps, and programs run on a packet.

Debian has no Python binding of libbpf, and what is needed is small. Maps take and give structs of
ctypes; what they look like is in abi.py. Programs run by BPF_PROG_TEST_RUN: a packet in, verdict
and packet out, nothing sent.
"""

import ctypes
import mmap
import os
import re
from collections import namedtuple
from pathlib import Path

MAP_LOOKUP, MAP_UPDATE, MAP_DELETE, MAP_NEXT = 1, 2, 3, 4
OBJECT_GET, PROGRAM_RUN, OBJECT_INFO = 7, 10, 15
SYSTEM_CALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
ENOENT = 2

# Verdicts of programs at a hook.
NEXT, OK, SHOT, REDIRECT = -1, 0, 2, 7

libc = ctypes.CDLL(None, use_errno=True)


class Attributes(ctypes.Structure):
    """A union bpf_attr; its tail is zero."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.kept = []  # buffers that are pointed to

    def point(self, field, buffer):
        self.kept.append(buffer)
        setattr(self, field, ctypes.addressof(buffer))


def structure(name, *fields):
    return type(name, (Attributes,), {"_fields_": list(fields)})


u32, u64 = ctypes.c_uint32, ctypes.c_uint64

ObjectAttributes = structure(
    "ObjectAttributes", ("path", u64), ("fd", u32), ("flags", u32)
)
MapAttributes = structure(
    "MapAttributes", ("fd", u32), ("pad", u32), ("key", u64), ("value", u64), ("flags", u64)
)
RunAttributes = structure(
    "RunAttributes",
    ("fd", u32), ("verdict", ctypes.c_int32), ("size_in", u32), ("size_out", u32),
    ("data_in", u64), ("data_out", u64), ("repeat", u32), ("duration", u32),
    ("context_size_in", u32), ("context_size_out", u32), ("context_in", u64),
    ("context_out", u64), ("flags", u32), ("cpu", u32), ("batch", u32), ("pad", u32),
)
InfoAttributes = structure("InfoAttributes", ("fd", u32), ("length", u32), ("info", u64))
MapInfo = structure(
    "MapInfo",
    ("type", u32), ("id", u32), ("key_size", u32), ("value_size", u32), ("max_entries", u32),
    ("flags", u32),
)
ProgramInfo = structure(
    "ProgramInfo", ("before", u32 * 54), ("verified_insns", u32), ("after", u32 * 3),
)


class Context(ctypes.Structure):
    """struct __sk_buff."""

    _fields_ = [
        ("len", u32), ("pkt_type", u32), ("mark", u32), ("queue_mapping", u32),
        ("protocol", u32), ("vlan_present", u32), ("vlan_tci", u32), ("vlan_proto", u32),
        ("priority", u32), ("ingress_ifindex", u32), ("ifindex", u32), ("tc_index", u32),
        ("cb", u32 * 5), ("hash", u32), ("tc_classid", u32), ("data", u32),
        ("data_end", u32), ("napi_id", u32), ("family", u32), ("remote_ip4", u32),
        ("local_ip4", u32), ("remote_ip6", u32 * 4), ("local_ip6", u32 * 4),
        ("remote_port", u32), ("local_port", u32), ("data_meta", u32), ("flow_keys", u64),
        ("tstamp", u64), ("wire_len", u32), ("gso_segs", u32), ("sk", u64),
        ("gso_size", u32), ("tstamp_type", u32), ("hwtstamp", u64),
    ]


def call(command, attributes):
    result = libc.syscall(
        SYSTEM_CALL, command, ctypes.byref(attributes), ctypes.sizeof(attributes)
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result


def open_pinned(path):
    attributes = ObjectAttributes()
    attributes.point("path", ctypes.create_string_buffer(os.fsencode(path)))
    return call(OBJECT_GET, attributes)


def information(fd, info):
    attributes = InfoAttributes(fd=fd, length=ctypes.sizeof(info))
    attributes.point("info", info)
    call(OBJECT_INFO, attributes)
    return info


class Map:
    """A pinned map, keys and values being of two types of ctypes."""

    def __init__(self, path, key, value):
        self.fd = open_pinned(path)
        self.key, self.value = key, value
        info = information(self.fd, MapInfo())
        self.entries = info.max_entries
        sizes = ctypes.sizeof(key), ctypes.sizeof(value)
        assert sizes == (info.key_size, info.value_size), f"{path}: {sizes}"

    def attributes(self, key=None, **buffers):
        attributes = MapAttributes(fd=self.fd)
        if key is not None:
            attributes.point("key", key if isinstance(key, self.key) else self.key(key))
        for field, buffer in buffers.items():
            attributes.point(field, buffer)
        return attributes

    def __getitem__(self, key):
        value = self.value()
        try:
            call(MAP_LOOKUP, self.attributes(key, value=value))
        except FileNotFoundError as error:
            raise KeyError(key) from error
        return value

    def get(self, key):
        try:
            return self[key]
        except KeyError:
            return None

    def __contains__(self, key):
        return self.get(key) is not None

    def __setitem__(self, key, value):
        value = value if isinstance(value, self.value) else self.value(value)
        call(MAP_UPDATE, self.attributes(key, value=value))

    def __delitem__(self, key):
        call(MAP_DELETE, self.attributes(key))

    def keys(self):
        """All of them; nothing else may write the map meanwhile."""
        found, last = [], None
        while True:
            following = self.key()
            try:
                call(MAP_NEXT, self.attributes(last, value=following))
            except FileNotFoundError:
                return found
            found.append(following)
            last = following

    def items(self):
        return [(key, self[key]) for key in self.keys()]

    def __len__(self):
        return len(self.keys())

    def clear(self):
        for key in self.keys():
            del self[key]


def processors():
    """As many as there may be."""
    text = Path("/sys/devices/system/cpu/possible").read_text(encoding="ascii")
    return int(re.findall(r"\d+", text)[-1]) + 1


class Words:
    """A pinned map of one value, which is an array of 64-bit words, as it lies in memory."""

    def __init__(self, path):
        self.fd = open_pinned(path)
        info = information(self.fd, MapInfo())
        assert info.max_entries == 1 and info.value_size % 8 == 0
        self.memory = mmap.mmap(self.fd, -(-info.value_size // mmap.PAGESIZE) * mmap.PAGESIZE)
        self.words = memoryview(self.memory).cast("Q")[: info.value_size // 8]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        return self.words[index]

    def __setitem__(self, index, word):
        self.words[index] = word


class Rooms:
    """A pinned PERCPU_ARRAY of one, of which the beginning is known."""

    def __init__(self, path, value):
        self.fd = open_pinned(path)
        self.value = value
        self.size = information(self.fd, MapInfo()).value_size + 7 & ~7

    def read(self):
        """The value of each processor."""
        rooms = ctypes.create_string_buffer(self.size * processors())
        attributes = MapAttributes(fd=self.fd)
        attributes.point("key", u32(0))
        attributes.point("value", rooms)
        call(MAP_LOOKUP, attributes)
        return [
            self.value.from_buffer_copy(rooms, index)
            for index in range(0, len(rooms), self.size)
        ]


Ran = namedtuple("Ran", "verdict packet cb context")


class Program:
    def __init__(self, path):
        self.fd = open_pinned(path)

    def verified(self):
        """How many instructions the kernel's verifier went through."""
        return information(self.fd, ProgramInfo()).verified_insns

    def takes(self, flags):
        """Whether the kernel knows these flags."""
        try:
            self.run(bytes(64), flags=flags)
        except OSError:
            return False
        return True

    def prepare(self, packet, ifindex=0, ingress_ifindex=0, cb=(), flags=0, **context):
        """A run of the bytes of a frame, to be called."""
        given = Context(ifindex=ifindex, ingress_ifindex=ingress_ifindex, **context)
        given.cb[: len(cb)] = cb
        taken = Context()
        out = ctypes.create_string_buffer(len(packet) + 4096)
        attributes = RunAttributes(
            fd=self.fd, size_in=len(packet), size_out=len(out), repeat=1, flags=flags,
            context_size_in=ctypes.sizeof(given), context_size_out=ctypes.sizeof(taken),
        )
        attributes.point("data_in", ctypes.create_string_buffer(bytes(packet), len(packet)))
        attributes.point("data_out", out)
        attributes.point("context_in", given)
        attributes.point("context_out", taken)

        def run():
            attributes.size_out = len(out)
            call(PROGRAM_RUN, attributes)
            packet = out.raw[: attributes.size_out]
            return Ran(attributes.verdict, packet, tuple(taken.cb), taken)

        return run

    def run(self, packet, *args, **kwargs):
        """What the program makes of the bytes of a frame."""
        return self.prepare(packet, *args, **kwargs)()
