# SPDX-License-Identifier: Apache-2.0
"""The programs on real devices: where packets go, and unfinished checksums on the way.

Only what BPF_PROG_TEST_RUN can't show; hosts with sockets are in tests/netns.
"""

import subprocess
from pathlib import Path

import abi
import pytest
from packets import ETHER, frame, judge
from scapy.layers.inet import IP, TCP, Ether
from scapy.layers.l2 import Dot1Q
from test_flows import opposite, reply_to, web
from test_offload import CHECKSUM, HEADER
from test_verdicts import CLIENT, NODE, POD1, POD2, VIP, ends
from wire import GSO_TCP4, GSO_TCP6, Wire, completed
from world import MACS

ATTACHED = {
    "eth0": ("uplink_in", "uplink_out"),
    "pod1": ("pod_in", "pod_out"),
    "pod2": ("pod_in", "pod_out"),
}


def attach(device, direction, program):
    command = ["tc", "filter", "add", "dev", device, direction, "bpf", "da", "object-pinned"]
    subprocess.run([*command, program], check=True)


@pytest.fixture(name="wires")
def wires_fixture(nat, nat_folder, icmp_folder):
    """The far ends of all devices, with the programs attached to the near ones."""
    for device, programs in ATTACHED.items():
        for each in (device, f"{device}p"):
            subprocess.run(["tc", "qdisc", "add", "dev", each, "clsact"], check=True)
        for direction, program in zip(("ingress", "egress"), programs):
            attach(device, direction, nat_folder / "live" / program)
        attach(f"{device}p", "ingress", icmp_folder / "live" / "sink")
    ends_ = {name: Wire(f"{name}p") for name in ATTACHED}
    yield ends_
    for device, wire in ends_.items():
        wire.__exit__()
        for each in (device, f"{device}p"):
            subprocess.run(["tc", "qdisc", "del", "dev", each, "clsact"], check=True)


def unfinished(packet, family, protocol):
    """The frame with the sum of its pseudo header in place of its checksum."""
    data = bytearray(bytes(packet))
    start = ETHER + HEADER[family]
    length = len(data) - start
    addresses = data[ETHER + 12 : ETHER + 20] if family == 4 else data[ETHER + 8 : ETHER + 40]
    words = bytes(addresses) + length.to_bytes(4, "big") + bytes([0, protocol])
    total = sum(int.from_bytes(words[i : i + 2], "big") for i in range(0, len(words), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    place = start + CHECKSUM_AT[protocol]
    data[place : place + 2] = total.to_bytes(2, "big")
    return bytes(data)


CHECKSUM_AT = {abi.TCP: CHECKSUM[TCP], abi.UDP: 6}


def send(wire, packet, family, protocol, unfinished_=True, **more):
    start = ETHER + HEADER[family]
    if unfinished_:
        wire.send(
            unfinished(packet, family, protocol), start, CHECKSUM_AT[protocol], **more
        )
    else:
        wire.send(bytes(packet))


def next_of(wire, protocol, payload=None):
    """The next frame of TCP or UDP; the kernel may have something of its own to say between."""
    layer = {abi.TCP: "TCP", abi.UDP: "UDP"}[protocol]
    while received := wire.receive():
        packet = Ether(received.data)
        if packet.haslayer(layer) and (payload is None or bytes(received.data).endswith(payload)):
            return received, packet
    raise AssertionError("nothing came")


@pytest.mark.parametrize("offload", (False, True), ids=("finished", "unfinished"))
def test_masqueraded_both_next_hops(nat, wires, family, protocol, offload):
    web(nat, family, protocol, POD1)
    sent = frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, protocol, b"there")
    send(wires["eth0"], sent, family, protocol, offload)
    received, packet = next_of(wires["pod1"], protocol)
    assert received.partial == offload and judge(completed(received)) == []
    assert packet.dst == MACS["pod1p"] and packet.src == MACS["pod1"]
    assert ends(packet)[0] == NODE[family] and ends(packet)[2:] == (POD1[family], 8080)
    send(
        wires["pod1"], reply_to("pod_in", packet, protocol, payload=b"back"), family, protocol,
        offload,
    )
    received, packet = next_of(wires["eth0"], protocol)
    assert received.partial == offload and judge(completed(received)) == []
    assert ends(packet) == opposite(sent) and packet.dst == MACS["eth0p"]
    assert received.data.endswith(b"back")


@pytest.mark.parametrize("offload", (False, True), ids=("finished", "unfinished"))
def test_pods_both_next_hops(nat, wires, family, protocol, offload):
    """Through the stack, translated back where it leaves."""
    web(nat, family, protocol, POD2)
    sent = frame("pod_in", POD1[family], 40000, VIP[family], 80, protocol, b"there")
    send(wires["pod1"], sent, family, protocol, offload)
    received, packet = next_of(wires["pod2"], protocol)
    assert received.partial == offload and judge(completed(received)) == []
    assert ends(packet) == (POD1[family], 40000, POD2[family], 8080)
    back = reply_to("pod_in", packet, protocol, payload=b"back")
    back.src, back.dst = MACS["pod2p"], MACS["pod2"]
    send(wires["pod2"], back, family, protocol, offload)
    received, packet = next_of(wires["pod1"], protocol)
    assert received.partial == offload and judge(completed(received)) == []
    assert ends(packet) == opposite(sent)


def test_hairpin(nat, wires, family, protocol):
    web(nat, family, protocol, POD1)
    sent = frame("pod_in", POD1[family], 40000, VIP[family], 80, protocol, b"there")
    send(wires["pod1"], sent, family, protocol)
    received, packet = next_of(wires["pod1"], protocol)
    assert judge(completed(received)) == [] and ends(packet)[0] == NODE[family]
    send(wires["pod1"], reply_to("pod_in", packet, protocol, payload=b"back"), family, protocol)
    received, packet = next_of(wires["pod1"], protocol)
    assert judge(completed(received)) == [] and ends(packet) == opposite(sent)


def test_many_in_one(nat, wires, family):
    """60000 bytes of TCP stay one frame."""
    web(nat, family, abi.TCP, POD1)
    payload = bytes(i * 31 % 256 for i in range(60000))
    packet = frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, abi.TCP, payload, flags="A")
    header = ETHER + HEADER[family] + 20
    send(
        wires["eth0"], packet, family, abi.TCP, gso={4: GSO_TCP4, 6: GSO_TCP6}[family], size=1400,
        header=header,
    )
    received, packet = next_of(wires["pod1"], abi.TCP)
    assert received.gso[1] == 1400 and received.data.endswith(payload)
    assert ends(packet)[2:] == (POD1[family], 8080) and judge(completed(received)) == []


def tagged(packet, vlan):
    return Ether(src=packet.src, dst=packet.dst) / Dot1Q(vlan=vlan, prio=5) / packet.payload


def test_priority_without_vlan(nat, wires, family, protocol):
    """VLAN 0 is no VLAN: the tag has a priority only, and nobody further on expects it. A packet
    of VLAN 5 is another device's."""
    web(nat, family, protocol, POD1, to=NODE)
    other, ours = (
        frame("uplink_in", CLIENT[family], port, NODE[family], 80, protocol, b"there")
        for port in (39999, 40000)
    )
    for packet in tagged(other, 5), tagged(ours, 0):
        send(wires["eth0"], packet, family, protocol, unfinished_=False)
    received, packet = next_of(wires["pod1"], protocol)
    assert received.tag is None and judge(received.data) == []
    assert ends(packet)[2:] == (POD1[family], 8080)
    assert nat.halves() == 2
    back = tagged(reply_to("pod_in", packet, protocol, payload=b"back"), 0)
    send(wires["pod1"], back, family, protocol, unfinished_=False)
    received, packet = next_of(wires["eth0"], protocol)
    assert received.tag is None and ends(packet) == opposite(ours)


@pytest.mark.parametrize("inner", (0, 5))
def test_a_tag_behind_a_priority(nat, wires, family, protocol, inner):
    """Linux takes both off, the second one behind our programs, which would not see the packet."""
    web(nat, family, protocol, POD2)
    for device, hook, source in (("pod1", "pod_in", POD1), ("eth0", "uplink_in", CLIENT)):
        packet = tagged(frame(hook, source[family], 40000, VIP[family], 80, protocol), 0)
        twice = Ether(src=packet.src, dst=packet.dst) / Dot1Q(vlan=0) / Dot1Q(vlan=inner) / packet.payload.payload
        send(wires[device], twice, family, protocol, unfinished_=False)
    assert nat.refusals() == {"malformed": 2} and not nat.halves()


def test_priority_of_a_refused_packet(nat, wires, family, protocol):
    nat.service(NODE[family], 80, protocol=protocol, kind=abi.NODE_PORT,
                outcomes={abi.OUTSIDE: "reject"})
    asked = frame("uplink_in", CLIENT[family], 40000, NODE[family], 80, protocol)
    send(wires["eth0"], tagged(asked, 0), family, protocol, unfinished_=False)
    received = wires["eth0"].receive()
    assert received.tag is None and judge(received.data) == []
    assert nat.refusals() == {"no-endpoints": 1}


CUT_COMMANDS = """
link set pod1 mtu 1400
link set pod1p mtu 1400
route replace default via 192.0.2.1 dev eth0 mtu lock 1300
route add 10.96.0.0/16 dev svc0
"""
UNCUT_COMMANDS = """
link set pod1 mtu 1500
link set pod1p mtu 1500
route replace default via 192.0.2.1 dev eth0
route del 10.96.0.0/16 dev svc0
"""
STRICT = {"all/rp_filter": 1, "lo/accept_local": 1}


@pytest.fixture(name="narrow")
def narrow_fixture(world):
    """The ways to POD1 and to the client take less than others; nothing else is lax."""
    folder = Path("/proc/sys/net/ipv4/conf")
    before = {name: (folder / name).read_text(encoding="ascii") for name in STRICT}
    world.ip(CUT_COMMANDS)
    for name, value in STRICT.items():
        (folder / name).write_text(str(value), encoding="ascii")
    yield
    world.ip(UNCUT_COMMANDS)
    for name, value in before.items():
        (folder / name).write_text(value, encoding="ascii")


def whole(wire):
    """The IP packet that the next fragments make, its parts' sizes beside it."""
    parts, sizes = {}, []
    while received := wire.receive():
        packet = Ether(received.data)
        if IP not in packet or packet[IP].proto not in (abi.TCP, abi.UDP):
            continue
        data = completed(received)[ETHER:]
        header, total = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
        place = int.from_bytes(data[6:8], "big")
        parts[(place & 0x1FFF) * 8] = data[header:total]
        sizes.append(total)
        if not place & 0x2000:
            first = IP(data[:header])
            first.len = first.chksum = None
            first.flags = first.frag = 0
            joined = b"".join(parts[key] for key in sorted(parts))
            return Ether() / IP(bytes(first / joined)), sizes
    raise AssertionError("nothing came")


@pytest.mark.parametrize("to", (VIP, NODE), ids=("clusterIP", "nodePort"))
def test_cut_into_fragments_both_next_hops(nat, wires, narrow, protocol, to):
    """Without DF a packet larger than the way's MTU is cut, whatever the source has become."""
    web(nat, 4, protocol, POD1, to=to)
    payload = bytes(i * 31 % 256 for i in range(1440))
    sent = frame("uplink_in", CLIENT[4], 40000, to[4], 80, protocol, payload)
    send(wires["eth0"], sent, 4, protocol, unfinished_=False)
    packet, sizes = whole(wires["pod1"])
    assert max(sizes) <= 1400 and len(sizes) == 2 and judge(packet) == []
    assert ends(packet)[0] == NODE[4] and ends(packet)[2:] == (POD1[4], 8080)
    assert bytes(packet).endswith(payload)
    back = reply_to("pod_in", packet, protocol, payload=payload[:1340])
    send(wires["pod1"], back, 4, protocol, unfinished_=False)
    packet, sizes = whole(wires["eth0"])
    assert max(sizes) <= 1300 and len(sizes) == 2 and judge(packet) == []
    assert ends(packet) == opposite(sent) and bytes(packet).endswith(payload[:1340])
    assert nat.refusals() == {}
