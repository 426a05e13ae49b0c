# SPDX-License-Identifier: Apache-2.0
"""agent/bpf/abi.h in ctypes. test_abi.py holds it to the header."""

import ctypes
import ipaddress

u8, u16, u32, u64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
be16 = ctypes.c_uint16.__ctype_be__

TCP, UDP, SCTP = 6, 17, 132
STRIPES = 8
LAYOUT = "3"  # the folder of the pins
PASS, FORWARD, REJECT, DROP = range(4)
CAUSES = (
    "none no-endpoints no-local-endpoints source-range unallocated undefined-port unmapped-port "
    "other-proxy snat-exhausted no-route invalid fragment malformed protocol ttl too-big "
    "flows-full extensions reverse-path"
).split()
CLUSTER_IP, LOAD_BALANCER, EXTERNAL_IP, NODE_PORT, REFUSED, FOREIGN = range(6)
OUTSIDE, POD, NODE = range(3)
CLUSTER, LOCAL = range(2)
OUTCOME_LOCAL, OUTCOME_MASQ = 4, 8
HALF_FORWARD, HALF_REPLY, HALF_DIRECT = 1, 2, 3
DELIVER_STACK, DELIVER_NEIGH, DELIVER_SVC0, DELIVER_LO = range(4)
FLOW_FIN, FLOW_RST, FLOW_MASQ, FLOW_HAIRPIN = (1 << bit for bit in range(4))
PATH_STACK, PATH_STACKED, PATH_XFRM, PATH_WHOLE = 1, 2, 4, 8
FLOW_AT_EXIT, FLOW_ANSWERED, FLOW_CONFIRMED, FLOW_OUTBOUND = (1 << bit for bit in range(4, 8))
SERVICE_BANK, SERVICE_USED = 1 << 0, 1 << 1
SERVICE_RANGES = {4: 1 << 2, 6: 1 << 3}
AFFINITY_SHIFT, GENERATION_SHIFT = 8, 32
ON_NODE = 1 << 40
DRY_FLOWS, DRY_CAME = 1, 2
BACK_UNKNOWN, BACK_ANY = 0, 0xFFFFFFFF
STATES = {  # of a flow, and after how many seconds of silence it is over
    "half-open": 60, "unanswered": 30, "exchange": 30, "answered": 60, "closed": 10,
    "half-closed": 3600, "stream": 120, "established": 7440,
}
ROUTE_SVC0 = 254
HOOKS = "uplink_in uplink_out pod_in pod_out lo_out svc_out".split()


def mapped(address):
    """The 16 bytes of an address; IPv4 is mapped."""
    address = ipaddress.ip_address(str(address))
    return (b"\0" * 10 + b"\xff\xff" if address.version == 4 else b"") + address.packed


def plain(data):
    """The text of an address that is stored in 16 bytes."""
    address = ipaddress.IPv6Address(bytes(data))
    return str(address.ipv4_mapped or address)


class Value(ctypes.Structure):
    """A struct that is compared and shown by its fields."""

    def __repr__(self):
        fields = (f"{name}={getattr(self, name)!r}" for name, *_ in self._fields_)
        return f"{type(self).__name__}({', '.join(fields)})"

    def __eq__(self, other):
        return type(self) is type(other) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))


class Address(Value):
    _fields_ = [("halves", u64 * 2)]

    @classmethod
    def of(cls, address):
        return cls.from_buffer_copy(mapped(address))

    def __str__(self):
        return plain(bytes(self))

    __repr__ = __str__


class Tuple(Value):
    """struct nat_tuple"""

    _fields_ = [
        ("src", Address), ("dst", Address), ("sport", be16), ("dport", be16),
        ("protocol", u8), ("zero", u8 * 3),
    ]

    @classmethod
    def of(cls, src, sport, dst, dport, protocol=TCP):
        return cls(Address.of(src), Address.of(dst), sport, dport, protocol)

    def reversed(self):
        return Tuple(self.dst, self.src, self.dport, self.sport, self.protocol)

    def __repr__(self):
        protocol = {TCP: "tcp", UDP: "udp"}.get(self.protocol, self.protocol)
        return f"{self.src}:{self.sport}->{self.dst}:{self.dport}/{protocol}"


class Net(Value):
    _fields_ = [("net", Address), ("mask", Address)]

    @classmethod
    def of(cls, text):
        net = ipaddress.ip_network(text)
        bits = net.prefixlen + (96 if net.version == 4 else 0)
        mask = ((1 << 128) - (1 << (128 - bits))).to_bytes(16, "big")
        return cls(Address.of(net.network_address), Address.from_buffer_copy(mask))


class Control(Value):
    _fields_ = [
        ("filter_half", u64), ("filter_words", u32), ("svc0_ifindex", u32),
        ("svc0_mac", u8 * 6), ("snat_first", u16), ("snat_count", u32),
        ("pod_net_count", u32), ("service_net_count", u32), ("peer_counts", u32 * 2),
        ("icmp_interval_ms", u32 * 2), ("path", u32), ("ring_slots", u32),
        ("timeouts_s", u32 * len(STATES)),
        ("egress_timeouts_s", u32 * len(STATES)), ("egress_icmp_s", u32), ("mark", u32),
        ("pod_nets", Net * 16), ("service_nets", Net * 16),
        ("by_route", u32 * 4),
    ]


class FrontendKey(Value):
    _fields_ = [("addr", Address), ("port", be16), ("protocol", u8), ("zero", u8 * 5)]

    def check(self):
        return check(self.addr, swapped(self.port) << 8 | self.protocol)


class FrontendValue(Value):
    _fields_ = [("service", u32), ("port", u32), ("kind", u8), ("zero", u8 * 3), ("check", u32)]


class PortValue(Value):
    _fields_ = [("outcomes", u64), ("sets", u64 * 2), ("owner", u64)]


class EndpointValue(Value):
    _fields_ = [("state", u64), ("addr", Address), ("port", be16), ("protocol", u8), ("zero", u8), ("owner", u32)]


class RangeKey(Value):
    _fields_ = [("prefixlen", u32), ("owner", ctypes.c_uint32.__ctype_be__), ("addr", u8 * 16)]


class Flow(Value):
    _fields_ = [
        ("to", Tuple), ("service", u32), ("port", u32), ("endpoint", u32), ("generation", u32),
        ("seen_s", u32), ("check", u32), ("half", u8), ("delivery", u8), ("reverse_delivery", u8),
        ("flags", u8), ("slot", u32), ("next", u32), ("ack", u32), ("packets", u64),
        ("bytes", u64),
    ]


class Came(Value):
    _fields_ = [("forward", u64), ("reply", u64)]


class Search(Value):
    _fields_ = [("next", u32), ("failed_s", u32)]


class Pressure(Value):
    _fields_ = [(name, u64) for name in (
        "turn", "flows_dropped", "flows_refused", "ports_searched", "ports_dropped",
        "ports_refused", "errors_spread", "spread_ns")]


class AffinityKey(Value):
    _fields_ = [("port", u32), ("set", u32), ("client", Address)]


class AffinityValue(Value):
    _fields_ = [("choice", u64), ("age", u64)]

    @property
    def endpoint(self):
        return self.choice >> 32 & 0xFFFFFF

    @property
    def rounds(self):
        """Of the choice and of its age."""
        return self.choice >> 56, self.age >> 56

    @property
    def seen_s(self):
        return self.age & 0xFFFFFFFF

    @seen_s.setter
    def seen_s(self, seconds):
        self.age = self.age & ~0xFFFFFFFF | seconds & 0xFFFFFFFF


class Counter(Value):
    _fields_ = [("packets", u64), ("bytes", u64), ("flows", u64), ("refused", u64)]


class RefusalKey(Value):
    _fields_ = [("service", u32), ("cause", u32)]


class RefusalValue(Value):
    _fields_ = [
        ("count", u64), ("last_ns", u64), ("last", Tuple), ("ifindex", u32), ("zero", u32)
    ]


class InterfaceValue(Value):
    _fields_ = [("v4", Address), ("v6", Address), ("check", u32), ("back", u32)]


class FragmentKey(Value):
    _fields_ = [("src", Address), ("dst", Address), ("id", u32), ("protocol", u8), ("zero", u8 * 3)]


class FragmentValue(Value):
    _fields_ = [
        ("sport", be16), ("dport", be16), ("check", u32), ("seen_s", u32), ("protocol", u8),
        ("zero", u8 * 3),
    ]


class Seen(Value):
    _fields_ = [("packets", u64 * len(HOOKS))]


MAPS = {
    "control": (u32, Control), "frontends": (FrontendKey, FrontendValue),
    "services": (u32, u64), "ports": (u32, PortValue), "slots": (u32, u64),
    "endpoints": (u32, EndpointValue), "ranges": (RangeKey, u32), "flows": (Tuple, Flow),
    "ring": (u32, Tuple), "came": (u32, Came), "searches": (u32, Search), "pressure": (u32, Pressure),
    "peers": (u32, Address),
    "affinity": (AffinityKey, AffinityValue),
    "counters": (u32, Counter), "refusals": (RefusalKey, RefusalValue),
    "limits": (Address, u64), "interfaces": (u32, InterfaceValue),
    "fragments": (FragmentKey, FragmentValue),
}
STRUCTS = {
    "nat_tuple": Tuple, "nat_net": Net, "nat_control": Control,
    "nat_frontend_key": FrontendKey, "nat_frontend_value": FrontendValue,
    "nat_port_value": PortValue, "nat_endpoint_value": EndpointValue,
    "nat_range_key": RangeKey, "nat_flow": Flow, "nat_came": Came, "nat_affinity_key": AffinityKey,
    "nat_affinity_value": AffinityValue, "nat_counter": Counter,
    "nat_search": Search, "nat_pressure": Pressure, "nat_refusal_key": RefusalKey, "nat_refusal_value": RefusalValue,
    "nat_interface_value": InterfaceValue, "nat_fragment_key": FragmentKey,
    "nat_fragment_value": FragmentValue, "nat_seen": Seen,
}


def swapped(port):
    """A port as a little-endian machine reads it from the wire."""
    return int.from_bytes(int(port).to_bytes(2, "big"), "little")


def check(addr, rest):
    """nat_check()"""
    words = [int.from_bytes(bytes(addr)[i : i + 4], "little") for i in range(0, 16, 4)]
    value = words[0] * 3 ^ words[1] * 5 ^ words[2] * 7 ^ words[3] ^ rest * 0x9E3779B1
    return value & 0xFFFFFFFF


def tuple_check(flow):
    """nat_tuple_check()"""
    ports = swapped(flow.sport) << 16 | swapped(flow.dport)
    return check(flow.src, ports) * 0x85EBCA6B & 0xFFFFFFFF ^ check(flow.dst, flow.protocol)


def filter_place(addr, port, words):
    """(word, bits) of a key of the Bloom filter: nat_filter_hash() and those beside it."""
    low, high = addr.halves
    mask = (1 << 64) - 1
    value = (low * 0x9E3779B97F4A7C15 & mask) ^ high
    value ^= value >> 32
    value = (value ^ swapped(port)) * 0xD6E8FEB86659FD93 & mask
    word = (value >> 28 & 0xFFFFFFFF) & (words - 1)
    return word, 1 << (value >> 58) | 1 << (value >> 52 & 63)


def flow_state(half, mate, protocol):
    """nat_flow_state()"""
    flags = half.flags | (mate.flags if mate else 0)
    if protocol != TCP:
        if not flags & FLOW_ANSWERED:
            return "unanswered"
        return "stream" if flags & FLOW_CONFIRMED else "exchange"
    if flags & FLOW_RST:
        return "closed"
    if not flags & FLOW_ANSWERED:
        return "half-open"
    if flags & FLOW_FIN:
        both = mate and half.flags & mate.flags & FLOW_FIN
        acknowledged = both and half.ack == mate.next and mate.ack == half.next
        return "closed" if acknowledged or not mate else "half-closed"
    return "established" if flags & FLOW_CONFIRMED else "answered"
