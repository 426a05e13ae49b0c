# SPDX-License-Identifier: Apache-2.0
"""ns per packet of the live program, by BPF_PROG_TEST_RUN, beside those of floor.bpf.c in the same run.

What changes neither packet nor maps is run a million times in one call. An established flow is made
for that whose translation is its own tuple: all is done as for any other, and the packet is the same
afterwards. What a new flow or a refusal costs is only seen once per packet: of many single runs the
median is taken, of these and of what they are compared with.
"""

import ctypes
import ipaddress
import socket
import statistics
import subprocess
from pathlib import Path

from attached import programs
from lab import Lab
from lab.agent import REPOSITORY, build_folder
from lab.traffic import Connection, serve
from served import FAMILIES, TARGET, Service, start

from abi import MAPS, Tuple, check, swapped
from bpf import (
    PROGRAM_RUN,
    Context,
    Map,
    RunAttributes,
    call,
    open_pinned,
    structure,
    u32,
)

PROGRAM_BY_ID = 13
IdAttributes = structure("IdAttributes", ("id", u32), ("next", u32), ("flags", u32))
TCP, UDP, ACK, SYN = 6, 17, 0x10, 0x02
NO_SLOT = 0xFFFFFFFF
REPEAT = 1_000_000
ROUNDS = 9
# The flows of both families fill half of a table of the default size.
SINGLES = 5_000
FILL = 20_000


def floor(folder, flows):
    """The programs to compare with, by name: file descriptors. `flows`: the path of the live map."""
    built = build_folder() / "floor.bpf.o"
    source = Path(__file__).with_name("floor.bpf.c")
    subprocess.run(["clang-14", "-O2", "-g", "-target", "bpf", "-mcpu=v3",
                    "-I/usr/include/x86_64-linux-gnu", f"-I{REPOSITORY / 'agent'}", "-c", str(source),
                    "-o", str(built)], check=True)
    subprocess.run(["bpftool", "prog", "loadall", str(built), str(folder / "floor"),
                    "map", "name", "flows", "pinned", str(flows)], check=True)
    return {name: open_pinned(folder / "floor" / name) for name in ("empty", "least", "inserts")}


class Runner:
    """Runs programs on packets as if they came in by one interface."""

    def __init__(self, ifindex):
        self.ifindex = ifindex

    def once(self, fd, packet, repeat=1):
        """ns per run."""
        given = Context(ifindex=self.ifindex, ingress_ifindex=self.ifindex)
        attributes = RunAttributes(fd=fd, size_in=len(packet), repeat=repeat,
                                   context_size_in=ctypes.sizeof(given))
        attributes.point("data_in", ctypes.create_string_buffer(packet, len(packet)))
        attributes.point("context_in", given)
        call(PROGRAM_RUN, attributes)
        return attributes.duration

    def many(self, fd, packet):
        return self.once(fd, packet, REPEAT)

    def singles(self, fd, packets):
        """The median of as many runs."""
        return statistics.median(self.once(fd, packet) for packet in packets)


def packet(mac, src, sport, dst, dport, protocol=TCP, flags=ACK):
    """A frame for the interface of that address: the program leaves others' alone."""
    from scapy.layers.inet import IP, UDP as Udp, Ether, TCP as Tcp
    from scapy.layers.inet6 import IPv6

    network = IPv6(src=src, dst=dst) if ":" in src else IP(src=src, dst=dst)
    upper = Tcp(sport=sport, dport=dport, flags=flags) if protocol == TCP else \
        Udp(sport=sport, dport=dport)
    return bytes(Ether(src="02:00:00:00:00:02", dst=mac) / network / upper /
                 (b"x" * 32))


def numbered(template, count, six, start=0):
    """The same packet from so many sources: the last two bytes of the address, and the port."""
    at, port = (14 + 22, 14 + 40) if six else (14 + 14, 14 + 20)
    for number in range(start, start + count):
        data = bytearray(template)
        data[at : at + 2] = (number // 60000 + 2).to_bytes(2, "big")
        data[port : port + 2] = (number % 60000 + 1024).to_bytes(2, "big")
        yield bytes(data)


def tuple_check(key):
    """nat_tuple_check() of abi.h"""
    ports = swapped(key.sport) << 16 | swapped(key.dport)
    return (check(key.src, ports) * 0x85EBCA6B & 0xFFFFFFFF) ^ check(key.dst, key.protocol)


def flows_of(agent):
    [path] = Path(agent.settings["paths"]["bpf"]).glob("*/flows")
    return path


def standing_flow(agent, client, mac, where, source, port, slot=None):
    """An established flow of that source whose translation changes nothing, made of a real one."""
    flows = Map(flows_of(agent), *MAPS["flows"])
    with Connection(client, *where) as connection:
        connection.who()
        real = Tuple.of(*connection.name(), *where)
        value = flows[real]
    key = Tuple.of(source, port, *where)
    value.to, value.check = key, tuple_check(key)
    value.slot = value.slot if slot is None else slot
    flows[key] = value
    return packet(mac, source, port, *where)


def packets_of(lab, agent, services, family):
    """One of each kind, by name."""
    web, empty = services
    six = family == 6
    mac = agent.node.ip_json("link", "show", "eth0")[0]["address"]
    source = "2001:db8:c::99" if six else "192.0.2.99"
    net = ipaddress.ip_network(agent.node.block6 if six else agent.node.block4)
    where = web.address("loadBalancer", family)
    return {
        "established": standing_flow(agent, lab.client, mac, where, source, 50000),
        # A pod elsewhere; without a slot nothing is remembered, and each packet is asked for.
        "asked": standing_flow(agent, lab.client, mac, where, str(net[-2]), 50004, NO_SLOT),
        "miss": packet(mac, source, 50001, "2001:db8:77::1" if six else "198.18.0.1", 443),
        "new": packet(mac, source, 50002, *where, flags=SYN),
        "reject": packet(mac, source, 50003, *empty.address("loadBalancer", family), UDP),
    }


def measure(runner, floors, program, packets, family, note):
    """Every kind beside the floor, or the bare inserts, within each round."""
    six = family == 6
    singles = {name: packets[name] for name in ("new", "reject")}
    for fd in (program, floors["inserts"]):
        runner.singles(fd, numbered(packets["new"], FILL, six))
    for number in range(ROUNDS):
        empty = runner.many(floors["empty"], packets["miss"])
        note("program-empty", empty)
        least = runner.many(floors["least"], packets["established"])
        note(f"program{family}-floor", least)
        for name in ("established", "asked", "miss"):
            took = runner.many(program, packets[name])
            note(f"program{family}-{name}", took)
            note(f"program{family}-{name}/floor", took / least)
        offset = FILL + number * SINGLES
        cost = {
            name: runner.singles(fd, numbered(singles[kind], SINGLES, six, offset))
            for name, fd, kind in (("once", floors["empty"], "new"), ("reject", program, "reject"),
                                   ("inserts", floors["inserts"], "new"), ("new", program, "new"))
        }
        for name in ("new", "inserts", "reject"):
            note(f"program{family}-{name}", cost[name] - cost["once"] + empty)
        note(f"program{family}-new/inserts",
             samples_ratio(cost["new"], cost["inserts"], cost["once"] - empty))


def samples_ratio(cost, base, shared):
    """Without what a single run costs whatever it runs."""
    return (cost - shared) / (base - shared)


def nat_program():
    samples = {}

    def note(name, value):
        samples.setdefault(name, []).append(value)

    with Lab("bench-program", nodes=1, nat=True) as lab:
        [node] = lab.nodes
        pod = lab.pod(node, "one")
        serve(pod, TARGET)
        web = Service(lab, "web", 10, externalTrafficPolicy="Local")
        empty = Service(lab, "empty", 11)
        web.write(pod)
        empty.write()
        [agent] = start(lab, web)
        packets = {f: packets_of(lab, agent, (web, empty), f) for f in FAMILIES}
        floors = floor(Path(agent.settings["paths"]["bpf"]), flows_of(agent))
        number = programs(agent)["eth0", "ingress"]
        program = call(PROGRAM_BY_ID, IdAttributes(id=number))
        with node.entered():  # whose routes the program asks for
            runner = Runner(socket.if_nametoindex("eth0"))
            for family in FAMILIES:
                measure(runner, floors, program, packets[family], family, note)
    six = [a / b for a, b in zip(samples["program6-established"], samples["program4-established"])]
    samples["program-established-6/4"] = six
    return samples
