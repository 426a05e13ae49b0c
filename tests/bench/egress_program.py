# SPDX-License-Identifier: Apache-2.0
"""ns per packet of egress' programs, by BPF_PROG_TEST_RUN, and what the check of the source costs of that.

Real agents set everything up, so that any revision can be measured. A program changes the packet that
it is given: each run is one of its own. Runs of the programs that are compared take turns, one by one, and of
many the fastest tenth counts, which a busy machine disturbs least.

The check is measured by the same program with and without it, on the same maps. Where the kernel puts a program
makes a tenth of what it takes: each is loaded several times, and the fastest counts.
"""

import ctypes
import itertools
import re
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

from attached import programs
from lab.agent import REPOSITORY, build_folder
from served import FAMILIES, TARGET, address_of

from bpf import PROGRAM_RUN, REDIRECT, Context, RunAttributes, call, open_pinned

from .egress_path import Path as Way
from .nat_program import PROGRAM_BY_ID, SYN, UDP, IdAttributes, numbered, packet

ROUNDS, RUNS = 9, 500
FOU = 5555
COPIES = 5
SOURCES = {"checked": """
#include "bpf/egress_client.bpf.c"
""", "unchecked": """
#include "bpf/egress/egress_by.h"
#define came_by_own(skb, room, pod) 1
#include "bpf/egress_client.bpf.c"
"""}


def layout():
    """Which maps the program fits that is compiled here."""
    text = (REPOSITORY / "agent/bpf/egress_abi.h").read_text(encoding="ascii")
    return re.search(r"#define EGRESS_LAYOUT (\d+)", text)[1]


def compiled(folder, maps):
    """Programs with and without the check, on the live maps, by name: file descriptors."""
    words = [word for path in maps for word in ("map", "name", path.name, "pinned", str(path))]
    fds = {}
    for copy, (name, source) in itertools.product(range(COPIES), SOURCES.items()):
        built, pins = build_folder() / f"{name}.bpf.o", folder / f"{name}-{copy}"
        if not copy:
            subprocess.run(["clang-14", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-std=gnu11",
                            "-isystem", "/usr/include/x86_64-linux-gnu", "-D__x86_64__",
                            f"-I{REPOSITORY / 'agent'}", "-x", "c", "-c", "-", "-o", str(built)],
                           input=source, text=True, check=True)
        subprocess.run(["bpftool", "prog", "loadall", str(built), str(pins), *words], check=True)
        fds[name, copy] = open_pinned(pins / "client_in")
    return fds


def once(fd, ifindex, data):
    """ns of one run, whose packet is sent on."""
    given = Context(ifindex=ifindex, ingress_ifindex=ifindex)
    attributes = RunAttributes(fd=fd, size_in=len(data), repeat=1, context_size_in=ctypes.sizeof(given))
    attributes.point("data_in", ctypes.create_string_buffer(data, len(data)))
    attributes.point("context_in", given)
    call(PROGRAM_RUN, attributes)
    assert attributes.verdict == REDIRECT, attributes.verdict
    return attributes.duration


def fastest(fds, ifindex, packets):
    """Of each program, its fastest tenth; `packets`: those of each program, by turns."""
    took = {name: [] for name in fds}
    for number, group in enumerate(packets):
        turn = list(zip(fds, group))
        for name, data in turn if number % 2 else turn[::-1]:
            took[name].append(once(fds[name], ifindex, data))
    return {name: sorted(values)[len(values) // 10] for name, values in took.items()}


def mac_of(host, device):
    return host.ip_json("link", "show", device)[0]["address"]


def begun(template, family, number):
    """The same packet of another flow: by its source port."""
    at = 14 + (40 if family == 6 else 20)
    return template[:at] + (number % 60000 + 1024).to_bytes(2, "big") + template[at + 2:]


def wrapped(way, family, inner):
    """What the client's node makes of a pod's frame: a frame of the gateway's uplink."""
    from scapy.layers.inet import IP, UDP as Udp, Ether
    from scapy.layers.inet6 import IPv6

    src, dst = address_of(way.pod, family), address_of(way.two, family)
    head = IPv6(src=src, dst=dst) if family == 6 else IP(src=src, dst=dst)
    return bytes(Ether(src="02:00:00:00:00:02", dst=mac_of(way.two, "eth0")) / head /
                 Udp(sport=FOU, dport=FOU, chksum=0) / inner[14:])


def fd_of(agent, device):
    return call(PROGRAM_BY_ID, IdAttributes(id=programs(agent, "egress-links")[device, "ingress"]))


def measure_client(way, family, fds, note):
    """A datagram of a flow that stands, and a connection's first packet."""
    index = socket.if_nametoindex(way.pod.host_end)
    ends = address_of(way.pod, family), address_of(way.lab.client, family)
    mac = mac_of(way.one, way.pod.host_end)
    datagram = packet(mac, ends[0], 50000, ends[1], TARGET, UDP)
    syn = packet(mac, ends[0], 50000, ends[1], TARGET, flags=SYN)
    for number in range(ROUNDS):
        first = number * RUNS * len(fds)
        kinds = {"datagram": itertools.repeat([datagram] * len(fds), RUNS),
                 "connection": ([begun(syn, family, first + len(fds) * at + each) for each in range(len(fds))]
                                for at in range(RUNS))}
        for kind, packets in kinds.items():
            took = fastest(fds, index, packets)
            note(f"egress-program{family}-{kind}", took["live"])
            if len(fds) > 1:
                best = {name: min(took[name, copy] for copy in range(COPIES)) for name in SOURCES}
                note(f"egress-program{family}-{kind}-source", best["checked"] / best["unchecked"])


def measure_gateway(way, family, fd, note):
    index = socket.if_nametoindex("eth0")
    datagram = wrapped(way, family, packet(mac_of(way.one, way.pod.host_end), address_of(way.pod, family), 50000,
                                           address_of(way.lab.client, family), TARGET, UDP))
    for _ in range(ROUNDS):
        took = fastest({"live": fd}, index, itertools.repeat([datagram], RUNS))
        note(f"egress-program{family}-gateway", took["live"])


def egress_program():
    samples = {}

    def note(name, value):
        samples.setdefault(name, []).append(value)

    with ExitStack() as stack:
        way = Way(stack, "ours", "bench-egress-program")
        [client], [gateway] = way.one.agents, way.two.agents
        fds = {"live": fd_of(client, way.pod.host_end)}
        folder = Path(client.settings["paths"]["bpf"])
        maps = sorted(folder.glob(f"egress-{layout()}/*"))
        if maps:  # another revision's may look otherwise
            fds |= compiled(folder, maps)
        for family in FAMILIES:
            with way.one.entered():
                measure_client(way, family, fds, note)
            with way.two.entered():
                measure_gateway(way, family, fd_of(gateway, "eth0"), note)
    return samples
