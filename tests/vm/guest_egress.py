# SPDX-License-Identifier: Apache-2.0
"""Egress beside Coil: our client with a gateway, and our gateway with a client, that the kernel's own
Foo-over-UDP makes as Coil has it set up (lab/coil.py). Runs inside the guest; test_nat.py boots it.
One lab serves all tests.

The first node has our agent, which is client and gateway. The second has pods alone: one that Coil
has wired as a client, and one that is its gateway.
"""

import ipaddress
import itertools
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab import Lab, coil, objects, wait_equal  # noqa: E402
from lab.capture import Capture  # noqa: E402
from lab.features import CUTTING, switch  # noqa: E402
from lab.traffic import Connection, Datagrams, ask, serve  # noqa: E402

PATIENCE = 20
PORT = 8080
BULK = 200_000
CUT = ("tx-generic-segmentation", "tx-tcp-segmentation", "tx-tcp6-segmentation")
VIP = {4: "10.96.0.55", 6: "fd00:96::55"}  # of the gateways' Service, as clients of Coil know them
UDP, OPTIONS = 17, 60


def of_family(host, family):
    return coil.own_address(host, family)


def write(lab):
    first, second = lab.nodes
    lab.write("nodes.yaml", objects.node("node1", [first.address4, first.address6], {"gateway": "yes"}),
              objects.node("node2", [second.address4, second.address6]),
              *first.objects()[1:], *second.objects()[1:])
    service = {"apiVersion": "v1", "kind": "Service",
               "metadata": objects.metadata("theirs", "internet"),
               "spec": {"type": "ClusterIP", "clusterIPs": ["10.96.0.56", "fd00:96::56"],
                        "ports": [{"port": coil.PORT, "protocol": "UDP"}]}}
    slices = [objects.slice_of("theirs", [objects.endpoint(of_family(lab.gateway, family), "node2")],
                               family=f"IPv{family}", ports=({"port": coil.PORT, "protocol": "UDP"},),
                               suffix=f"v{family}") for family in coil.FAMILIES]
    for item in slices:
        item["metadata"]["namespace"] = "internet"
    lab.write("egress.yaml", objects.egress("theirs", gateways=None), service, *slices,
              objects.egress("ours"))
    lab.write("pods.yaml", objects.client_pod(lab.ours, "theirs"),
              objects.client_pod(lab.theirs, "ours"))


def translate_service(node, gateway):
    """The Service of our gateway: clients know its address alone, and answers come from another one. It
    is translated without connection tracking, which would take an answer for a flow of its own."""
    for family, ip in ((4, "ip"), (6, "ip6")):
        node.run("nft", f"add table {ip} services; add chain {ip} services pre {{ type filter hook "
                 f"prerouting priority raw; }}; add rule {ip} services pre {ip} daddr "
                 f"{VIP[family]} udp dport {coil.PORT} {ip} daddr set {of_family(gateway, family)}")


@pytest.fixture(name="world", scope="module")
def world_fixture():
    with Lab("vm-egress", nat=True) as lab:
        first, second = lab.nodes
        lab.ours = lab.pod(first, "ours")
        lab.theirs, lab.gateway = lab.pod(second, "theirs"), lab.pod(second, "gateway")
        for block, via in ((second.block4, second.address4), (second.block6, second.address6)):
            lab.tor.configure(f"route add {block} via {via}")
        for block, via in ((first.block4, first.address4), (first.block6, first.address6)):
            lab.tor.configure(f"route add {block} via {via} metric 999")
        write(lab)
        lab.agent(first, services={"enabled": False}, egress={"enabled": True, "gateway": {}})
        lab.node1 = first
        coil.initialise(lab.theirs)
        coil.initialise(lab.gateway)
        coil.rules(lab.theirs)
        coil.masquerade(lab.gateway)
        translate_service(second, first)
        serve(lab.client, PORT)
        yield lab
        lab.show_logs()


def wire_up(world, **options):
    """The kernel's tunnels of both its sides, all made anew."""
    for family in coil.FAMILIES:
        coil.lead(world.theirs, VIP[family], **options)
        coil.accept(world.gateway, of_family(world.ours, family), **options)


def cut_up(world, state):
    """Whether senders have large packets cut up before they are wrapped, and wires carry none."""
    ends = [(host, "eth0") for host in (world.ours, world.theirs, world.client, world.gateway)]
    for host, device in ends:
        with host.entered():
            switch(device, CUT, 0 if state else 1)
    for host, device in ((world.node1, "eth0"), (world.tor, "node1"), (world.nodes[1], "eth0"),
                         (world.tor, "node2"), (world.gateway, "eth0")):
        with host.entered():
            switch(device, CUTTING, 0)


WAYS = {"client": ("ours", "gateway"), "gateway": ("theirs", "node1")}


def transfer(world, way, family):
    """Bytes both ways over TCP, datagrams, and whom the host outside sees."""
    pod, gateway = (getattr(world, name) for name in WAYS[way])
    outside, wanted = of_family(world.client, family), of_family(gateway, family)
    for protocol in ("TCP", "UDP"):
        assert ask(pod, outside, PORT, protocol, timeout=PATIENCE).peer == wanted
    with Connection(pod, outside, PORT, timeout=PATIENCE) as connection:
        assert connection.put(bytes(range(256)) * (BULK // 256)) and connection.get(BULK)
    with Datagrams(pod, outside, PORT, timeout=PATIENCE) as datagrams:
        for size in (10, 1300):
            assert datagrams.put(b"x" * size) and datagrams.get(size)


def reached(world):
    def seen():
        return [ask(getattr(world, pod), of_family(world.client, family), PORT, timeout=3).peer
                for pod, _ in WAYS.values() for family in coil.FAMILIES]
    wanted = [of_family(getattr(world, gateway), family)
              for _, gateway in WAYS.values() for family in coil.FAMILIES]
    wait_equal(seen, wanted, "both gateways give their addresses")


@pytest.mark.parametrize("sport, checksum, cut", (
    ("auto", False, False),
    (coil.PORT, False, True),
    ("auto", True, True),
    (coil.PORT, True, False),
))
def test_transfers(world, sport, checksum, cut):
    """`checksum`: the kernel's outer packets have one. `cut`: senders make small packets themselves, so
    that nothing is left to cut behind the outer headers."""
    wire_up(world, sport=sport, checksum=checksum)
    cut_up(world, cut)
    reached(world)
    for way, family in itertools.product(WAYS, coil.FAMILIES):
        transfer(world, way, family)


def outer(data):
    """What a wire shows of a packet of FoU: by whom, the hops, options, ports, and the checksum."""
    if data[0] >> 4 == 4:
        assert data[0] & 15 == 5
        head, hops, options, protocol = 20, data[8], b"", data[9]
        assert sum(struct.unpack("!10H", data[:20])) % 0xFFFF == 0
        ends = data[12:16]
    else:
        head, hops, options, protocol = 40, data[7], b"", data[6]
        ends = data[8:24]
        if protocol == OPTIONS:
            options, protocol = data[40:48], data[40]
            head = 48
    if protocol != UDP:
        return None
    sport, dport, length, checksum = struct.unpack_from("!4H", data, head)
    if dport != coil.PORT or not data[head + 8] >> 4:  # a probe has neither version inside
        return None
    assert data[head + 8] >> 4 == data[0] >> 4, "of the same family inside"
    if data[0] >> 4 == 4:
        assert length == struct.unpack_from("!H", data, 2)[0] - 20
    return ends, hops, options, sport, bool(checksum)


@pytest.mark.parametrize("sport", ("auto", coil.PORT))
def test_wire(world, sport):
    """Whoever wraps: no checksum, 225 hops, less one for each router; of the kernel and IPv6, an option
    that limits encapsulation, in front of UDP."""
    wire_up(world, sport=sport)
    cut_up(world, True)
    for way, family in itertools.product(WAYS, coil.FAMILIES):
        pod, gateway = WAYS[way]
        option = bytes((UDP, 0, 4, 1, 0, 1, 1, 0)) if family == 6 else b""
        pod, gateway = getattr(world, pod), getattr(world, gateway)
        with Capture(world.tor, "node1") as capture:
            assert ask(pod, of_family(world.client, family), PORT, timeout=PATIENCE)
            seen = {found for data, _ in capture.raw() if (found := outer(data))}
        for host, ours in ((pod, way == "client"), (gateway, way == "gateway")):
            own = ipaddress.ip_address(of_family(host, family)).packed
            [(hops, options, port, checksum)] = {found[1:] for found in seen if found[0] == own}
            wanted = (225, b"", False) if ours else (223, option, False)
            assert (hops, options, checksum) == wanted
            # Ours have the port itself, unless the Egress asks for others.
            assert port == coil.PORT if ours or sport != "auto" else port != coil.PORT
