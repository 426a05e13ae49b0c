# SPDX-License-Identifier: Apache-2.0
"""The maps of egress, filled as the agent fills them, and its hooks.

    client.pod(POD1[4], policy=1)
    client.route(1, "0.0.0.0/0", client.set([GATEWAY[4]]))
    client.send("client_in", packet)
"""

import ctypes
import ipaddress
import mmap
import time
from collections import namedtuple

import abi
from abi import Address, Value, be16, check, u8, u16, u32, u64
from bpf import Map, Program
from scapy.layers.inet import IP, UDP, Ether
from scapy.layers.inet6 import IPv6
from world import NODE

PORT = 5555
SET_MAX, BLOCKS_MAX, SOURCES_MAX = 64, 64, 8
CAUSES = (
    "held no-gateway too-big offload no-route stranger spoofed nested protocol fragment malformed "
    "ports blocks flows-full unknown ttl draining source destination pod-tunnel"
).split()
HOLD_UNKNOWN, DRAINING, LEAVING, GONE, POD_TUNNELS = 1, 2, 4, 8, 16
STALE_S = 10
TOLD = "passed sent dropped".split()
TOLD_POD, TOLD_PINNED, TOLD_INBOUND, TOLD_HERE = 1, 2, 4, 8
TWIN_LIVE = 1
TWIN_PORT = "given next flow".split()
TWIN = "nothing not-ours dropped no-route sent".split()
POD_HELD, POD_NEW = 1, 2
POD_INBOUND = 1
PIN_BUCKETS, PIN_NEXT_HOPS = 16384, 8
PIN_TRANSLATED, PIN_INBOUND, PIN_SEEN = 1 << 31, 1 << 30, 1 << 29
SET_USED, SET_FLOWS, SET_AUTO, SET_COUNT_SHIFT = 1, 2, 4, 8
GATEWAY_USED, GATEWAY_ACTIVE, GATEWAY_PEER, GATEWAY_STALE = 1, 2, 8, 16
GATEWAY = {4: "192.0.2.20", 6: "2001:db8:2::20"}
OTHER_GATEWAY = {4: "192.0.2.21", 6: "2001:db8:2::21"}
OUTER = {4: 28, 6: 48}  # bytes of the outer headers


class Control(Value):
    _fields_ = [
        ("port", be16), ("zero", u16), ("flags", u32), ("auto_first", u16), ("auto_count", u16),
        ("snat_first", u16), ("block_size", u16), ("address_blocks", u32), ("client_blocks", u32),
        ("sources", u32 * 2), ("own", Address * 2), ("snat", (Address * SOURCES_MAX) * 2),
        ("by_route", u32 * 4), ("heard_s", u32), ("rest", u32),
    ]


class PodValue(Value):
    _fields_ = [("policy", u32), ("flags", u32), ("check", u32), ("ifindex", u32),
                ("traits", u32), ("port", u32)]


class RouteKey(Value):
    _fields_ = [("prefixlen", u32), ("policy", u32.__ctype_be__), ("addr", u8 * 16)]


class RouteValue(Value):
    _fields_ = [("prefixlen", u32), ("set", u32)]


class GatewayValue(Value):
    _fields_ = [("word", u64), ("addr", Address), ("packets", u64)]


class Pin(Value):
    _fields_ = [("key", abi.Tuple), ("gateway", u32), ("generation", u32), ("used_s", u32),
                ("zero", u32)]


class Bucket(Value):
    _fields_ = [("checks", u32 * PIN_NEXT_HOPS), ("owners", u32 * PIN_NEXT_HOPS), ("pins", Pin * PIN_NEXT_HOPS)]


class PathValue(Value):
    _fields_ = [("mtu", u32), ("check", u32), ("seen_s", u32), ("zero", u32)]


class ClientValue(Value):
    _fields_ = [("id", u32), ("check", u32)]


class PortsValue(Value):
    _fields_ = [
        ("next", u32), ("count", u32), ("blocks", u16 * BLOCKS_MAX), ("failed_s", u32),
        ("longest", u32), ("generation", u32), ("policy", u32), ("packets", u64), ("bytes", u64),
        ("flows", u64), ("refused", u64),
    ]


class DropValue(Value):
    _fields_ = [
        ("count", u64), ("last_ns", u64), ("last", abi.Tuple), ("ifindex", u32), ("zero", u32),
    ]


SHARED = {
    "egress_control": (u32, Control), "egress_drops": (u32, DropValue),
    "egress_paths": (Address, PathValue),
}
CLIENT = {
    "egress_pods": (Address, PodValue), "egress_routes": (RouteKey, RouteValue),
    "egress_sets": (u32, u64), "egress_gateways": (u32, GatewayValue),
    "egress_seen": (u32, u32), "egress_bridges": (u32, u32), "egress_doors": (Address, u32),
    "egress_pins": (u32, Bucket),
}
GATEWAY_MAPS = {
    "egress_routes": (RouteKey, RouteValue),
    "egress_clients": (Address, ClientValue), "egress_ports": (u32, PortsValue),
    "egress_blocks": (u32, u64),
}
STRUCTS = {
    "egress_control": Control, "egress_pod_value": PodValue, "egress_route_key": RouteKey,
    "egress_route_value": RouteValue, "egress_gateway_value": GatewayValue,
    "egress_pin": Pin, "egress_bucket": Bucket, "egress_path_value": PathValue,
    "egress_client_value": ClientValue, "egress_ports_value": PortsValue,
    "egress_drop_value": DropValue,
}

Result = namedtuple("Result", "verdict packet")
Told = namedtuple("Told", "found cause flags set gateway bits stay out mtu packet")


def fou(src, dst, inner, sport=PORT, dport=PORT, frame=None, **fields):
    """A frame that carries `inner`, an IP packet, over UDP."""
    head = IPv6(src=src, dst=dst, **fields) if ":" in src else IP(src=src, dst=dst, **fields)
    frame = frame or Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01")
    udp = UDP(sport=sport, dport=dport, chksum=0)
    return frame / head / udp / bytes(inner)


def unwrap(packet):
    """(outer IP header, UDP header, inner packet) of FoU."""
    outer = packet[IPv6] if IPv6 in packet else packet[IP]
    udp = outer[UDP]
    kind = IPv6 if isinstance(outer, IPv6) else IP
    return outer, udp, kind(bytes(udp.payload))


class Programs:
    """What both sides have."""

    def __init__(self, folder, world, maps, hooks):
        self.world = world
        self.maps = {
            name: Map(folder / "maps" / name, *types) for name, types in {**SHARED, **maps}.items()
        }
        self.hooks = {hook: Program(folder / "live" / hook) for hook in hooks}

    def start(self):
        for name in set(self.maps) - {"egress_control", "egress_drops", "egress_sets", "egress_pins",
                                      "egress_gateways", "egress_ports", "egress_blocks"}:
            self.maps[name].clear()
        for cause in range(len(CAUSES)):
            self.maps["egress_drops"][cause] = DropValue()
        self.control = Control(port=PORT, auto_first=32768, auto_count=28232,
                               heard_s=int(time.monotonic()))
        self.write()

    def write(self):
        self.maps["egress_control"][0] = self.control

    def run(self, hook, device, packet, ingress=None):
        index = self.world.index[device]
        ran = self.hooks[hook].run(
            bytes(packet), ifindex=index,
            ingress_ifindex=index if ingress is None else self.world.index[ingress],
        )
        return Result(ran.verdict, Ether(ran.packet))

    def drops(self):
        """{cause: number} of what was dropped or answered since the start."""
        counts = {
            name: self.maps["egress_drops"][cause].count for cause, name in enumerate(CAUSES)
        }
        return {name: count for name, count in counts.items() if count}

    @staticmethod
    def route_key(policy, text):
        net = ipaddress.ip_network(text)
        bits = 32 + net.prefixlen + (96 if net.version == 4 else 0)
        addr = (ctypes.c_uint8 * 16)(*abi.mapped(net.network_address))
        return RouteKey(bits, policy, addr)

    def route(self, policy, text, number=0):
        """`number`: of a set; 0: it stays in the cluster."""
        key = self.route_key(policy, text)
        self.maps["egress_routes"][key] = RouteValue(key.prefixlen, number)

    def stay(self, text):
        self.route(0, text)


class Client(Programs):
    def __init__(self, folder, world):
        super().__init__(folder, world, CLIENT, ("client_in", "client_out", "client_guard"))
        self.ask = Program(folder / "twin" / "client_in")
        self.sets = 0
        self.memory = mmap.mmap(self.maps["egress_pins"].fd, PIN_BUCKETS * ctypes.sizeof(Bucket))

    def reset(self):
        self.start()
        self.forget()
        for number in range(1, self.sets + 1):
            self.maps["egress_sets"][number] = 0
            for slot in range(SET_MAX):
                self.maps["egress_gateways"][number * SET_MAX + slot] = GatewayValue()
        self.sets = 0
        self.generation = 0

    def pod(self, address, policy=1, held=False, new=False):
        addr = Address.of(address)
        flags = (POD_HELD if held else 0) | (POD_NEW if new else 0)
        self.maps["egress_pods"][addr] = PodValue(policy, flags, check(addr, 0))

    def set(self, gateways, flags=0):
        self.sets += 1
        for slot, address in enumerate(gateways):
            self.gateway(self.sets, slot, address)
        self.maps["egress_sets"][self.sets] = SET_USED | flags | len(gateways) << SET_COUNT_SHIFT
        return self.sets

    def gateway(self, number, slot, address, state=GATEWAY_USED | GATEWAY_ACTIVE):
        """Puts a gateway into a slot; `address` None: takes it out."""
        index = number * SET_MAX + slot
        if address is None:
            self.maps["egress_gateways"][index] = GatewayValue()
            return
        self.generation += 1
        self.maps["egress_gateways"][index] = GatewayValue(
            self.generation << 32 | state, Address.of(address)
        )

    def state(self, number, slot, state):
        """Another state of a gateway that stays."""
        index = number * SET_MAX + slot
        value = self.maps["egress_gateways"][index]
        value.word = value.word >> 32 << 32 | state
        self.maps["egress_gateways"][index] = value

    def pins(self):
        """{tuple: pin}; a pin that is written to is so in the map."""
        found, size = {}, ctypes.sizeof(Bucket)
        none = bytes(4 * PIN_NEXT_HOPS)
        for start in range(0, PIN_BUCKETS * size, size):
            if self.memory[start:start + len(none)] != none:
                bucket = Bucket.from_buffer(self.memory, start)
                found.update((abi.Tuple.from_buffer_copy(bytes(pin.key)), pin)
                             for check, pin in zip(bucket.checks, bucket.pins) if check)
        return found

    def forget(self):
        """All pins are lost."""
        self.memory[:] = bytes(len(self.memory))

    def twin(self, packet, device="pod1"):
        """What the twin says, and what comes out of it."""
        index = self.world.index[device]
        ran = self.ask.run(bytes(packet), ifindex=index, ingress_ifindex=index)
        word = ran.cb[0]
        cause = word >> 8 & 0xff
        return Told(TOLD[word & 0xff], CAUSES[cause] if cause < len(CAUSES) else None, word >> 16,
                    ran.cb[1], ran.cb[2], ran.cb[3] & 0xffff, ran.cb[3] >> 16, ran.cb[4], ran.context.mark,
                    Ether(ran.packet))

    def leave(self, packet, ingress="pod1"):
        """A packet that is forwarded, where it leaves the node."""
        return self.run("client_guard", "eth0", packet, ingress)

    def send(self, hook, packet, device="pod1"):
        return self.run(hook, device, packet, None if hook == "client_in" else "eth0")


class Gateway(Programs):
    def __init__(self, folder, world):
        super().__init__(folder, world, GATEWAY_MAPS,
                         ("gateway_in", "gateway_twin"))
        self.nat = {
            name: Map(folder / "maps" / name, *types)
            for name, types in abi.MAPS.items()
        }
        self.clients = 0

    def reset(self, first=20000, size=8, count=8, blocks=4):
        self.start()
        for name in ("flows", "limits", "fragments"):
            self.nat[name].clear()
        control = abi.Control(ring_slots=self.nat["flows"].entries // 2)
        control.timeouts_s[:] = control.egress_timeouts_s[:] = list(abi.STATES.values())
        control.egress_icmp_s = 30
        self.nat["control"][0] = control
        self.nat["pressure"][0] = self.nat["pressure"].value()
        for number in range(self.clients + 1):
            self.maps["egress_ports"][number] = PortsValue()
        for number in range(64):
            self.maps["egress_blocks"][number] = 0
        self.clients = 0
        for text in ("0.0.0.0/0", "::/0"):
            self.route(1, text, 1)
        self.control.snat_first, self.control.block_size = first, size
        self.control.address_blocks, self.control.client_blocks = count, blocks
        for index, family in enumerate((4, 6)):
            self.control.own[index] = Address.of(NODE[family])
        self.translate_to(NODE)

    def translate_to(self, *places):
        """Addresses by family; None: none at this place."""
        for index, family in enumerate((4, 6)):
            self.control.sources[index] = len(places)
            for at in range(SOURCES_MAX):
                address = at < len(places) and places[at] and places[at].get(family)
                self.control.snat[index][at] = Address.of(address) if address else Address()
        self.write()

    def client(self, address, policy=1):
        self.clients += 1
        addr = Address.of(address)
        self.maps["egress_ports"][self.clients] = PortsValue(generation=1, policy=policy)
        self.maps["egress_clients"][addr] = ClientValue(self.clients, check(addr, 0))
        return self.clients

    def go(self, address):
        """A client goes; its blocks are anybody's."""
        addr = Address.of(address)
        number = self.maps["egress_clients"][addr].id
        del self.maps["egress_clients"][addr]
        self.orphan(number)
        for block in range(64):
            if self.maps["egress_blocks"][block].value >> 32 == number:
                self.maps["egress_blocks"][block] = 0

    def orphan(self, number):
        """A client's id has no client any more."""
        ports = self.maps["egress_ports"][number]
        ports.generation += 1
        self.maps["egress_ports"][number] = ports

    def send(self, packet):
        return self.run("gateway_in", "eth0", packet)

    def live_twin(self, packet):
        """The same of a packet as it comes in: (found, what, where its port is from, the way back),
        and what comes out."""
        ran = self.run_twin(packet, 0, TWIN_LIVE)
        return (TWIN[ran.cb[0]], ran.cb[1], TWIN_PORT[ran.cb[3]], ran.cb[4],
                Result(ran.verdict, Ether(ran.packet)))

    def run_twin(self, packet, *cb):
        index = self.world.index["eth0"]
        return self.hooks["gateway_twin"].run(bytes(packet), ifindex=index, ingress_ifindex=index,
                                              cb=cb)

    def twin(self, packet, source=0):
        """What the twin says, (found, what, home), and what comes out. `source`: the number of the
        address."""
        ran = self.run_twin(packet, source, 0)
        return TWIN[ran.cb[0]], ran.cb[1], ran.cb[2], Result(ran.verdict, Ether(ran.packet))
