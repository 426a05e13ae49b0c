# SPDX-License-Identifier: Apache-2.0
"""The maps of the NAT program, filled as the agent fills them, and its hooks.

    web = nat.service("10.96.0.10", 80, cluster=[("10.244.1.5", 8080)])
    nat.send("pod_in", packet)

Outcomes are words by where the packet comes from: "forward", "reject", "drop", with "local" (from
the local set) and "masquerade".
"""

import ctypes
import functools
import ipaddress
import time
from dataclasses import dataclass, field

import abi
from abi import Address, FrontendKey, Tuple
from bpf import Map, Program, Rooms, Words
from packets import judge
from scapy.layers.inet import TCP, UDP, Ether
from world import POD_NETS, SERVICE_NETS

# As the planner has it for a ClusterIP.
OUTCOMES = {abi.OUTSIDE: "forward masquerade", abi.POD: "forward", abi.NODE: "forward masquerade"}
ACTS = {"forward": 0, "reject": 1, "drop": 2}
SNAT = (50000, 10000)  # first, count
CHECKSUM_COMPLETE = 4  # flag of BPF_PROG_TEST_RUN, from Linux 6.16
DEVICES = {
    "uplink_in": "eth0", "uplink_out": "eth0", "pod_in": "pod1", "pod_out": "pod1",
    "lo_out": "lo", "svc_out": "svc0",
}


def outcome(words):
    words = words.split()
    value = ACTS[words[0]]
    value |= abi.OUTCOME_LOCAL if "local" in words else 0
    return value | (abi.OUTCOME_MASQ if "masquerade" in words else 0)


@dataclass
class Result:
    verdict: int
    data: bytes
    cb: tuple

    @functools.cached_property
    def packet(self):
        return Ether(self.data)


@dataclass
class Service:
    """A Service of one port and family; ids are as low as they get."""

    nat: "Nat"
    id: int
    port: int
    family: int
    word: int = abi.SERVICE_USED
    outcomes: dict = field(default_factory=dict)  # (kind, origin): words
    endpoints: dict = field(default_factory=dict)  # (address, port): id
    sets: list = field(default_factory=lambda: [[], []])  # keys of endpoints
    protocol: int = abi.TCP

    @property
    def bank(self):
        return self.word & abi.SERVICE_BANK

    def frontend(self, address, port, kind=abi.CLUSTER_IP, outcomes=None):
        """One more address and port of it."""
        for origin, words in {**OUTCOMES, **(outcomes or {})}.items():
            self.outcomes[kind, origin] = words
        self.update()
        self.nat.frontend(address, port, self.protocol, kind, self.id, self.port)
        if kind == abi.CLUSTER_IP:
            self.nat.frontend(address, 0, 0, abi.REFUSED, self.id)
        return self

    def update(self, cluster=None, local=None, **word):
        """Switches to other sets, ranges or affinity: all in the idle bank, then the word."""
        for number, endpoints in ((abi.CLUSTER, cluster), (abi.LOCAL, local)):
            if endpoints is not None:
                self.sets[number] = list(endpoints)
        bank = 1 - self.bank
        value = abi.PortValue(owner=self.id << 32 | self.family << 24 | self.protocol << 16)
        for (kind, origin), words in self.outcomes.items():
            value.outcomes |= outcome(words) << (kind * 3 + origin) * 4
        for number, members in enumerate(self.sets):
            value.sets[number] = self.nat.slots_of(self, members)
        self.nat.maps["ports"][self.port * 2 + bank] = value
        self.set_ranges(bank, word.pop("ranges", None))
        if "affinity" in word:
            self.word &= ~(0xFFFFFF << abi.AFFINITY_SHIFT)
            self.word |= word["affinity"] << abi.AFFINITY_SHIFT
        self.word ^= abi.SERVICE_BANK
        self.nat.maps["services"][self.id] = self.word
        for key in set(self.endpoints) - {key for members in self.sets for key in members}:
            self.retire(key)
        return self

    def set_ranges(self, bank, ranges):
        """`ranges`: None is as before (of the other bank), [] is all."""
        if ranges is None:
            ranges = self.ranges if hasattr(self, "ranges") else []
        self.ranges = ranges
        flag = abi.SERVICE_RANGES[self.family]
        self.word = self.word | flag if ranges else self.word & ~flag
        owner = self.id << 1 | bank
        for key in self.nat.maps["ranges"].keys():
            if key.owner == owner:
                del self.nat.maps["ranges"][key]
        for text in ranges:
            net = ipaddress.ip_network(text)
            bits = net.prefixlen + (96 if net.version == 4 else 0)
            addr = (ctypes.c_uint8 * 16)(*abi.mapped(net.network_address))
            self.nat.maps["ranges"][abi.RangeKey(32 + bits, owner, addr)] = 32 + bits

    def retire(self, key):
        """An endpoint that serves no longer: its generation ends."""
        number = self.endpoints.pop(key)
        value = self.nat.maps["endpoints"][number]
        value.state = (value.state & 0xFFFFFFFF) + 1
        self.nat.maps["endpoints"][number] = value

    def endpoint(self, key):
        """(id, generation) of an endpoint."""
        number = self.endpoints[key]
        return number, self.nat.maps["endpoints"][number].state & 0xFFFFFFFF

    def counters(self):
        """(packets, bytes, flows, refused)"""
        stripes = [
            self.nat.maps["counters"][self.id * abi.STRIPES + i] for i in range(abi.STRIPES)
        ]
        return tuple(
            sum(getattr(stripe, name) for stripe in stripes)
            for name in ("packets", "bytes", "flows", "refused")
        )


class Nat:
    """The loaded programs and their maps; reset() for each test."""

    def __init__(self, folder, world):
        self.world = world
        self.maps = {
            name: Map(folder / "maps" / name, *types) for name, types in abi.MAPS.items()
        }
        self.maps["filter"] = Words(folder / "maps" / "filter")
        self.rooms = Rooms(folder / "maps" / "scratch", abi.Seen)
        self.live = {hook: Program(folder / "live" / hook) for hook in abi.HOOKS}
        self.twin = {hook: Program(folder / "twin" / hook) for hook in abi.HOOKS}
        self.services = self.ports = self.endpoints = self.slots = 0  # of each the last id
        self.filter_used = set()
        self.complete = self.live["lo_out"].takes(CHECKSUM_COMPLETE)

    def reset(self):
        for name in (
            "frontends", "ranges", "flows", "affinity", "refusals", "limits",
            "interfaces", "fragments",
        ):
            self.maps[name].clear()
        for name, number in (
            ("services", self.services + 1), ("ports", self.ports * 2 + 2), ("slots", self.slots),
            ("endpoints", self.endpoints + 1), ("counters", (self.services + 1) * abi.STRIPES),
            ("searches", self.endpoints + 1), ("pressure", 1),
        ):
            for index in range(number):
                self.maps[name][index] = self.maps[name].value()
        for index in self.filter_used:
            self.maps["filter"][index] = 0
        self.services = self.ports = self.endpoints = self.slots = 0
        self.filter_used = set()
        self.generation = 100
        self.control = abi.Control()
        self.control.svc0_ifindex = self.world.index["svc0"]
        self.control.svc0_mac[:] = bytes.fromhex(self.world.MACS["svc0"].replace(":", ""))
        self.control.snat_first, self.control.snat_count = SNAT
        self.control.ring_slots = self.maps["flows"].entries // 2
        self.control.timeouts_s[:] = list(abi.STATES.values())
        self.set_nets("pod", POD_NETS)
        self.set_nets("service", SERVICE_NETS)
        self.write_control()
        for name in ("eth0", "pod1", "pod2", "lo"):
            self.interface(self.world.index[name])
        self.interface(0)

    def set_nets(self, which, nets):
        array = getattr(self.control, f"{which}_nets")
        for index, net in enumerate(nets):
            array[index] = abi.Net.of(net)
        setattr(self.control, f"{which}_net_count", len(nets))

    def write_control(self):
        self.maps["control"][0] = self.control

    def interface(self, index, v4=None, v6=None, back=abi.BACK_UNKNOWN):
        v4, v6 = v4 or self.world.NODE[4], v6 or self.world.NODE[6]
        self.maps["interfaces"][index] = abi.InterfaceValue(
            Address.of(v4), Address.of(v6), index, back)

    def filter(self, address, port=0):
        words = self.maps["filter"]
        word, bits = abi.filter_place(Address.of(address), port, len(words) // 2)
        self.filter_used.add(word)
        words[word] |= bits

    def frontend(self, address, port, protocol, kind, service=0, number=0):
        key = FrontendKey(Address.of(address), port, protocol)
        self.maps["frontends"][key] = abi.FrontendValue(service, number, kind, check=key.check())
        self.filter(address, port if kind == abi.NODE_PORT else 0)

    def service(self, address=None, port=80, cluster=(), local=(), protocol=abi.TCP,
                kind=abi.CLUSTER_IP, outcomes=None, family=None, **word):
        """A Service with its first frontend. Endpoints are (address, port)."""
        self.services += 1
        self.ports += 1
        family = family or ipaddress.ip_address(address).version
        service = Service(self, self.services, self.ports, family, protocol=protocol)
        service.update(cluster, local, **word)
        if address:
            service.frontend(address, port, kind, outcomes)
        return service

    def slots_of(self, service, members):
        """The word of a set, for which each endpoint gets a slot, an id and a life."""
        first = self.slots
        self.slots += len(members)
        for key in members:
            if key not in service.endpoints:
                self.endpoints += 1
                self.generation += 1
                service.endpoints[key] = self.endpoints
                self.maps["endpoints"][self.endpoints] = abi.EndpointValue(
                    state=self.generation, addr=Address.of(key[0]), port=key[1],
                    protocol=service.protocol, owner=service.id,
                )
                self.filter(*key)
        for index, endpoint in enumerate(sorted(service.endpoints[key] for key in members)):
            self.maps["slots"][first + index] = (
                endpoint << 32 | self.maps["endpoints"][endpoint].state & 0xFFFFFFFF
            )
        return first << 32 | len(members)

    def on_node(self, service, key):
        """The endpoint's address is this node's own."""
        value = self.maps["endpoints"][service.endpoints[key]]
        value.state |= abi.ON_NODE
        self.maps["endpoints"][service.endpoints[key]] = value

    def send(self, hook, packet, device=None, ingress=0, judged=True, complete=True, **context):
        """A frame at a hook. Whatever comes out must have right checksums, if it goes anywhere;
        with `complete`, the sum that a network card gave along is to be right, too."""
        data = bytes(packet)
        if device and hook.endswith("_in"):  # for this device, not for another station
            data = bytes.fromhex(self.world.MACS[device].replace(":", "")) + data[6:]
        device = device or DEVICES[hook]
        flags = CHECKSUM_COMPLETE if complete and self.complete and hook.endswith("_in") else 0
        if ingress:
            ingress = self.world.index[ingress]
        ran = self.live[hook].run(
            data, self.world.index[device], ingress, flags=flags, **context
        )
        if judged and ran.verdict != 2:
            assert judge(ran.packet) == []
        return Result(ran.verdict, ran.packet, ran.cb)

    def ask(self, hook, packet, pick=0, flags=0, device=None, ingress=0):
        """What the twin says of a packet, which it leaves alone."""
        ran = self.twin[hook].run(
            bytes(packet), self.world.index[device or DEVICES[hook]],
            self.world.index[ingress] if ingress else 0, cb=(pick, flags),
        )
        assert (ran.verdict, ran.packet) == (-1, bytes(packet))
        word = ran.cb[0]
        return Answer(
            word & 0xFF, abi.CAUSES[word >> 8 & 0xFF], word >> 16 & 0xFF, word >> 24, ran.cb[1],
            ran.cb[2], ran.cb[3], ran.cb[4] >> 31, ran.cb[4] & 0x7FFFFFFF,
            ran.context.mark,
        )

    def flow(self, flow):
        """The half under a tuple; None if there is none."""
        return self.maps["flows"].get(flow)

    def mate(self, flow):
        """The other half of the flow of a tuple; None if it is alone."""
        return self.flow(self.flow(flow).to.reversed())

    def state(self, flow):
        """What the flow of a tuple has come to: nat_flow_state()."""
        return abi.flow_state(self.flow(flow), self.mate(flow), flow.protocol)

    def halves(self):
        return len(self.maps["flows"])

    def change_flow(self, flow, **fields):
        """Writes fields of a half."""
        found = self.flow(flow)
        for key, value in fields.items():
            setattr(found, key, value)
        self.maps["flows"][flow] = found

    def grow_old(self, flow, seconds):
        """The flow of a tuple was silent for so long."""
        for key in (flow, self.flow(flow).to.reversed()):
            if half := self.flow(key):
                self.change_flow(key, seen_s=half.seen_s - seconds)

    def refusals(self, service=None):
        """{cause: count} of a service (0: of none), or of all."""
        return {
            abi.CAUSES[key.cause]: value.count
            for key, value in self.maps["refusals"].items()
            if service is None or key.service == service
        }

    def seen(self):
        """{hook: packets seen since the programs were loaded}"""
        rooms = [list(room.packets) for room in self.rooms.read()]
        return dict(zip(abi.HOOKS, map(sum, zip(*rooms))))

    def snapshot(self):
        """All that the program may write, to tell whether it did."""
        names = "flows affinity refusals limits fragments".split()
        state = {
            name: sorted((bytes(key), bytes(value)) for key, value in self.maps[name].items())
            for name in names
        }
        state["counters"] = [bytes(self.maps["counters"][index]) for index in range(512)]
        return state


@dataclass
class Answer:
    act: int
    cause: str
    masquerade: int
    route: int
    service: int
    port: int
    endpoint: int
    set: int
    count: int
    out: int


def now_s():
    return int(time.clock_gettime(time.CLOCK_MONOTONIC))


def tuple_of(packet):
    """The tuple of a packet with ports."""
    ip = packet.payload
    upper, protocol = (packet[TCP], abi.TCP) if TCP in packet else (packet[UDP], abi.UDP)
    return Tuple.of(ip.src, upper.sport, ip.dst, upper.dport, protocol)
