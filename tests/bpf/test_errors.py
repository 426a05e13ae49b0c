# SPDX-License-Identifier: Apache-2.0
"""ICMP errors about packets of a flow, from either side; hops and sizes; packets that are odd."""

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from maps import tuple_of
from packets import ETHER, HEADS, frame, judge, network, ones_complement, pseudo
from scapy.layers.inet import ICMP, IP, IPOption, Ether
from scapy.layers.l2 import Dot1Q
from scapy.layers.inet6 import (
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from test_flows import begin, opposite, reply_to, web
from test_icmp_error import error as icmp_frame
from test_verdicts import (
    CLIENT, LB, NODE, POD1, POD2, REMOTE, VIP, assert_untouched, ends, first, hops, ip,
)
from world import MACS

ROUTER = {4: "203.0.113.1", 6: "2001:db8:3::1"}
HEADER = {4: 20, 6: 40}
UNREACHABLE = {4: 3, 6: 1}
TIME_EXCEEDED = {4: 11, 6: 3}


def error_at(hook, family, about, source, kind=None, code=0, word=0):
    """An error about a packet (its sender gets it), as it is seen at a hook."""
    quote = bytes(about)[ETHER:]
    given = icmp_frame(family, kind or UNREACHABLE[family], quote, code=code, word=word)
    body = given[ETHER + HEADER[family] :]
    sender, receiver = HEADS[hook]
    about = ip(Ether(bytes(about)))
    layer = network(source, about.src, **({"proto": 1} if family == 4 else {"nh": 58}))
    packet = Ether(src=MACS[sender], dst=MACS[receiver]) / layer / body
    if family == 6:
        # The sum covers the addresses.
        data = bytearray(bytes(packet))
        start = ETHER + 40
        data[start + 2 : start + 4] = b"\0\0"
        total = ones_complement(pseudo(data[ETHER:], 58, len(body)) + data[start:])
        data[start + 2 : start + 4] = (~total & 0xFFFF).to_bytes(2, "big")
        return bytes(data)
    return bytes(packet)


def quoted(data, family):
    """The quoted packet, as if it had come in a frame."""
    kind = {4: 0x0800, 6: 0x86DD}[family]
    return Ether(bytes(12) + kind.to_bytes(2, "big") + data[ETHER + HEADER[family] + 8 :])


def check(result, family, sender, receiver, about):
    """What came out: from whom to whom, and about which packet."""
    layer = ip(result.packet)
    assert (layer.src, layer.dst) == (sender, receiver)
    assert ends(quoted(result.data, family)) == about


KINDS = {
    4: ((3, 0, 0), (3, 1, 0), (3, 4, 1400), (11, 0, 0), (12, 0, 0)),
    6: ((1, 0, 0), (2, 0, 1400), (3, 0, 0), (4, 0, 0)),
}
CASES = [(family, *kind) for family in KINDS for kind in KINDS[family]]


@pytest.mark.parametrize("family, kind, code, word", CASES)
def test_router_beyond_a_masqueraded_flow(nat, family, protocol, kind, code, word):
    """The client must learn of the packet that it sent, not of what became of it. Who says so is
    known by the service's address, as with conntrack: a router's own, strict checks refuse."""
    web(nat, family, protocol, REMOTE)
    sent, result = begin(nat, "outside", family, protocol)
    given = error_at("uplink_in", family, result.data, ROUTER[family], kind, code, word)
    out = nat.send("uplink_in", given)
    assert out.verdict == REDIRECT
    check(out, family, VIP[family], CLIENT[family], ends(sent))
    body = out.data[ETHER + HEADER[family] :]
    assert (body[0], body[1], int.from_bytes(body[4:8], "big")) == (kind, code, word)


def test_endpoint_of_a_masqueraded_flow(nat, family, protocol):
    """An error of the endpoint itself comes from the service's address."""
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    out = nat.send("pod_in", error_at("pod_in", family, result.data, POD1[family]))
    assert out.verdict == REDIRECT
    check(out, family, VIP[family], CLIENT[family], ends(sent))


@pytest.mark.parametrize("target", (VIP, NODE), ids=("svc0", "lo"))
def test_error_for_the_node_itself(nat, family, protocol, target):
    web(nat, family, protocol, REMOTE, target)
    sent, result = begin(nat, "node", family, protocol, target)
    out = nat.send("uplink_in", error_at("uplink_in", family, result.data, ROUTER[family]))
    assert out.verdict == REDIRECT
    assert out.packet.dst == MACS["svc0" if target is VIP else "lo"]
    check(out, family, target[family], NODE[family], ends(sent))


def test_error_for_a_pod(nat, family, protocol):
    """It goes through the stack as it is, and is translated where it leaves."""
    web(nat, family, protocol, REMOTE)
    sent, result = begin(nat, "pod", family, protocol)
    given = error_at("uplink_in", family, result.data, ROUTER[family])
    entry = nat.send("uplink_in", given)
    assert (entry.verdict, entry.data) == (NEXT, given)
    out = nat.send("pod_out", error_at("pod_out", family, result.data, ROUTER[family]))
    assert out.verdict == NEXT
    check(out, family, VIP[family], POD1[family], ends(sent))


def test_error_of_the_endpoint_for_a_pod(nat, family, protocol):
    web(nat, family, protocol, POD2)
    sent, result = begin(nat, "pod", family, protocol)
    out = nat.send("pod_out", error_at("pod_out", family, result.data, POD2[family]))
    check(out, family, VIP[family], POD1[family], ends(sent))


def test_error_about_a_reply(nat, family, protocol):
    """From the client's side, of what the endpoint answered: it is the endpoint's to know."""
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    answer = reply_to("pod_in", result.packet, protocol)
    back = nat.send("pod_in", answer)
    given = error_at("uplink_in", family, back.data, ROUTER[family])
    out = nat.send("uplink_in", given)
    assert out.verdict == REDIRECT
    check(out, family, NODE[family], POD1[family], ends(answer))


def test_error_of_the_client_about_a_reply(nat, family, protocol):
    """It is known to the endpoint by the address that it talks to."""
    web(nat, family, protocol, POD1)
    _, result = begin(nat, "outside", family, protocol)
    answer = reply_to("pod_in", result.packet, protocol)
    back = nat.send("pod_in", answer)
    out = nat.send("uplink_in", error_at("uplink_in", family, back.data, CLIENT[family]))
    check(out, family, NODE[family], POD1[family], ends(answer))


def test_error_of_a_pod_about_a_reply(nat, family, protocol):
    web(nat, family, protocol, POD2)
    _, result = begin(nat, "pod", family, protocol)
    answer = reply_to("pod_out", result.packet, protocol)
    back = nat.send("pod_out", answer)
    out = nat.send("pod_in", error_at("pod_in", family, back.data, POD1[family]))
    assert out.verdict == NEXT
    check(out, family, POD1[family], POD2[family], ends(answer))


def test_error_about_no_flow(nat, family, protocol):
    web(nat, family, protocol, POD1)
    about = frame("uplink_out", POD1[family], 1234, CLIENT[family], 80, protocol)
    given = error_at("uplink_in", family, about, ROUTER[family])
    assert_untouched(nat, nat.send("uplink_in", given), given)


def test_error_about_a_direct_connection(nat, family, protocol):
    web(nat, family, protocol, POD2)
    packet = frame("pod_in", POD1[family], 40000, POD2[family], 8080, protocol)
    nat.send("pod_in", packet)
    given = error_at("pod_out", family, packet, ROUTER[family])
    result = nat.send("pod_out", given)
    assert (result.verdict, result.data) == (NEXT, given)


def test_error_without_a_checksum_in_its_quote(nat, family, protocol):
    """Old routers quote eight bytes."""
    web(nat, family, protocol, REMOTE)
    sent, result = begin(nat, "outside", family, protocol)
    short = result.data[: ETHER + HEADER[family] + 8]
    out = nat.send("uplink_in", error_at("uplink_in", family, short, ROUTER[family]))
    assert out.verdict == REDIRECT
    quote = quoted(out.data, family)
    assert ip(quote).dst == VIP[family] and ip(quote).src == CLIENT[family]
    assert bytes(ip(quote).payload)[:4] == bytes(ip(sent).payload)[:4]


# Hops and sizes.


@pytest.mark.parametrize("left, passes", ((1, False), (2, True)))
def test_hops_of_a_masqueraded_flow(nat, family, protocol, left, passes):
    service = web(nat, family, protocol, POD1)
    hook, packet, _ = first("outside", family, protocol, VIP, ttl=left)
    result = nat.send(hook, packet)
    assert result.verdict == REDIRECT
    if passes:
        assert hops(result.packet) == 1 and ends(result.packet)[2:] == (POD1[family], 8080)
        return
    body = result.data[ETHER + HEADER[family] :]
    assert (body[0], body[1]) == (TIME_EXCEEDED[family], 0)
    assert ip(result.packet).dst == CLIENT[family] and nat.refusals(service.id) == {"ttl": 1}
    assert ends(quoted(result.data, family)) == ends(packet)


@pytest.mark.parametrize("left", (1, 2))
def test_hops_of_what_the_stack_forwards(nat, family, protocol, left):
    """They are the stack's to count."""
    web(nat, family, protocol, POD2)
    hook, packet, _ = first("pod", family, protocol, VIP, ttl=left)
    assert hops(nat.send(hook, packet).packet) == left


def test_hops_of_the_node(nat, family, protocol):
    web(nat, family, protocol, POD1)
    hook, packet, ingress = first("node", family, protocol, VIP, ttl=1)
    result = nat.send(hook, packet, ingress=ingress)
    assert result.verdict == REDIRECT and hops(result.packet) == 1


@pytest.fixture(name="narrow")
def narrow_fixture(world):
    """The way to POD1 takes packets of 1400 bytes."""
    world.ip("link set pod1 mtu 1400\nlink set pod1p mtu 1400\n")
    yield 1400
    world.ip("link set pod1 mtu 1500\nlink set pod1p mtu 1500\n")


def sized(family, protocol, size):
    """A packet from outside, not to be fragmented, of `size` bytes without the Ethernet header."""
    ip_ = {"flags": "DF"} if family == 4 else {}
    empty = frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, protocol, ip=ip_)
    return Ether(bytes(empty / (b"x" * (size - (len(empty) - ETHER)))))


def check_too_big(nat, result, family, packet, mtu):
    body = result.data[ETHER + HEADER[family] :]
    assert (body[0], body[1]) == {4: (3, 4), 6: (2, 0)}[family]
    assert int.from_bytes(body[4:8], "big") == mtu
    assert ends(quoted(result.data[: ETHER + HEADER[family] * 2 + 28], family)) == ends(packet)
    assert nat.refusals() == {"too-big": 1}


@pytest.mark.parametrize("over", (0, 1, 4, 5, 100))
def test_larger_than_the_next_hop(nat, family, protocol, narrow, over):
    web(nat, family, protocol, POD1)
    packet = sized(family, protocol, narrow + over)
    result = nat.send("uplink_in", packet, complete=False)
    assert result.verdict == REDIRECT
    if over:
        check_too_big(nat, result, family, packet, narrow)
    else:
        assert ends(result.packet)[2:] == (POD1[family], 8080)


def test_larger_than_the_route(nat, family, protocol, world):
    """A route may have an MTU of its own. (Of routes whose MTU isn't locked, bpf_fib_lookup() takes
    the device's.)"""
    web(nat, family, protocol, POD1)
    world.ip(f"route del {POD1[family]} dev pod1\n")
    world.ip(f"route add {POD1[family]} dev pod1 mtu lock 1300\n")
    try:
        packet = sized(family, protocol, 1350)
        check_too_big(nat, nat.send("uplink_in", packet, complete=False), family, packet, 1300)
    finally:
        world.ip(f"route del {POD1[family]} dev pod1\nroute add {POD1[family]} dev pod1\n")


def segments(family):
    """3000 bytes of TCP."""
    ip_ = {"flags": "DF"} if family == 4 else {}
    return frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, payload=b"x" * 3000,
                 flags="A", ip=ip_)


def test_segments_that_fit(nat, family, narrow):
    """Many in one frame: each of them fits, and the device cuts them."""
    web(nat, family, abi.TCP, POD1)
    packet = segments(family)
    result = nat.send("uplink_in", packet, gso_segs=3, gso_size=1200)
    assert result.verdict == REDIRECT and ends(result.packet)[2:] == (POD1[family], 8080)


def test_segments_that_do_not_fit(nat, family, narrow):
    web(nat, family, abi.TCP, POD1)
    packet = segments(family)
    result = nat.send("uplink_in", packet, gso_segs=3, gso_size=1440, complete=False)
    check_too_big(nat, result, family, packet, narrow)


def test_larger_than_the_next_hop_and_may_be_cut(nat, protocol, narrow):
    """Without DF routers cut a packet: so does the stack, which gets it translated."""
    web(nat, 4, protocol, POD1)
    packet = sized(4, protocol, narrow + 100)
    packet[IP].flags = 0
    del packet[IP].chksum
    result = nat.send("uplink_in", packet, complete=False)
    assert result.verdict == REDIRECT and result.packet.dst == MACS["lo"]
    assert ends(result.packet)[0] == NODE[4] and ends(result.packet)[2:] == (POD1[4], 8080)
    assert hops(result.packet) == hops(packet)  # the stack will take one
    assert nat.refusals() == {}


# Odd packets.


def test_ipv4_options(nat, protocol):
    web(nat, 4, protocol, POD1)
    options = [IPOption(b"\x94\x04\x00\x00")] * 10
    sent, result = begin(nat, "outside", 4, protocol, options=options)
    assert ends(result.packet)[2:] == (POD1[4], 8080) and result.packet[IP].ihl == 15
    answer = reply_to("pod_in", result.packet, protocol, options=options)
    assert ends(nat.send("pod_in", answer).packet) == opposite(sent)


EXTENSIONS = {
    "hop-by-hop": (IPv6ExtHdrHopByHop(),),
    "destination": (IPv6ExtHdrDestOpt(),),
    "routing": (IPv6ExtHdrRouting(addresses=["2001:db8::99"], segleft=0),),
    "four": (
        IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(),
        IPv6ExtHdrRouting(addresses=["2001:db8::99"], segleft=0), IPv6ExtHdrDestOpt(),
    ),
}


@pytest.mark.parametrize("extensions", EXTENSIONS.values(), ids=EXTENSIONS)
def test_ipv6_extensions(nat, protocol, extensions):
    web(nat, 6, protocol, POD1)
    sent, result = begin(nat, "outside", 6, protocol, parts=extensions)
    assert ends(result.packet)[2:] == (POD1[6], 8080)
    assert len(result.data) == len(sent)
    answer = reply_to("pod_in", result.packet, protocol, parts=extensions)
    assert ends(nat.send("pod_in", answer).packet) == opposite(sent)


LONG = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(250))])
DEEP = {"many": (IPv6ExtHdrDestOpt(),) * 6, "long": (LONG,) * 3}


@pytest.mark.parametrize("extensions", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("way", ("outside", "pod", "node"))
def test_more_extensions_than_are_walked(nat, protocol, extensions, way):
    """The stack would not know what to do with it: it goes no further, by name."""
    web(nat, 6, protocol, POD1)
    hook, packet, _ = first(way, 6, protocol, VIP, parts=extensions)
    result = nat.send(hook, packet)
    assert (result.verdict, result.data) == (SHOT, bytes(packet))
    assert nat.refusals() == {"extensions": 1}


@pytest.mark.parametrize("extensions", DEEP.values(), ids=DEEP)
def test_more_extensions_to_nobody(nat, protocol, extensions):
    web(nat, 6, protocol, POD1)
    hook, packet, _ = first("outside", 6, protocol, CLIENT, parts=extensions)
    assert_untouched(nat, nat.send(hook, packet), packet)


def test_udp_without_a_checksum(nat):
    web(nat, 4, abi.UDP, POD1)
    none = {"chksum": 0}
    # Nobody checks these, so it doesn't matter what a network card's sum says of them.
    hook, sent, _ = first("outside", 4, abi.UDP, VIP, transport=none)
    result = nat.send(hook, sent, complete=False)
    assert result.packet["UDP"].chksum == 0
    answer = reply_to("pod_in", result.packet, abi.UDP, transport=none)
    back = nat.send("pod_in", answer, complete=False)
    assert ends(back.packet) == opposite(sent) and back.packet["UDP"].chksum == 0


def test_padded_frame(nat):
    """What Ethernet adds to a short packet goes along."""
    web(nat, 4, abi.TCP, POD1)
    hook, packet, _ = first("outside", 4, abi.TCP, VIP)
    result = nat.send(hook, bytes(packet) + b"\0" * 6)
    assert result.verdict == REDIRECT and ends(result.packet)[2:] == (POD1[4], 8080)


@pytest.mark.parametrize("hook, source", (("uplink_in", CLIENT), ("pod_in", POD1)))
def test_truncated_headers(nat, family, protocol, hook, source):
    web(nat, family, protocol, POD2)
    packet = frame(hook, source[family], 40000, VIP[family], 80, protocol)
    for cut in range(1, {abi.TCP: 20, abi.UDP: 8}[protocol]):
        nat.maps["refusals"].clear()
        data = bytes(packet)[:-cut]
        result = nat.send(hook, data, judged=False)
        assert (result.verdict, result.data) == (SHOT, data)
        assert nat.refusals() == {"malformed": 1}


def test_truncated_headers_to_nobody(nat, family, protocol):
    web(nat, family, protocol, POD2)
    data = bytes(frame("pod_in", POD1[family], 40000, CLIENT[family], 80, protocol))[:-4]
    result = nat.send("pod_in", data, judged=False)
    assert (result.verdict, result.data) == (NEXT, data)


def test_damaged_packets_stay_damaged(nat, family, protocol):
    """A wrong checksum isn't mended on the way, or nobody would notice."""
    web(nat, family, protocol, POD2)
    packet = frame("pod_in", POD1[family], 40000, VIP[family], 80, protocol, b"payload")
    data = bytearray(bytes(packet))
    data[-1] ^= 0x55
    result = nat.send("pod_in", bytes(data), judged=False)
    assert len(judge(result.data)) == 1


def test_tagged_frames(nat, family, protocol):
    """They belong to the VLAN's own device."""
    web(nat, family, protocol, POD2)
    packet = frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, protocol)
    tagged = Ether(src=packet.src, dst=packet.dst) / Dot1Q(vlan=7) / packet.payload
    result = nat.send("uplink_in", tagged, judged=False)
    assert (result.verdict, result.data) == (NEXT, bytes(tagged))


def test_frames_to_another_station(nat, family, protocol):
    """Seen by a promiscuous device, or flooded by a switch: not received, so not forwarded."""
    web(nat, family, protocol, POD2)
    packet = frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, protocol)
    packet.dst = "02:00:00:00:99:99"
    assert_untouched(nat, nat.send("uplink_in", packet), packet)


def test_frames_to_a_bridge(nat, family, protocol):
    """A pod's device may be a port of a bridge: what is for the bridge is received."""
    web(nat, family, protocol, POD2)
    packet = frame("pod_in", POD1[family], 40000, VIP[family], 80, protocol)
    packet.dst = "02:00:00:00:99:99"
    assert ends(nat.send("pod_in", packet).packet)[2:] == (POD2[family], 8080)


@pytest.mark.parametrize("device", ("eth0", "pod1", "svc0"))
def test_twin_knows_no_stations(nat, family, protocol, device):
    """The agent asks with addresses of zero."""
    web(nat, family, protocol, POD2)
    hook = {"eth0": "uplink_in", "pod1": "pod_in", "svc0": "svc_out"}[device]
    packet = frame(hook, CLIENT[family], 40000, VIP[family], 80, protocol)
    packet.src = packet.dst = "00:00:00:00:00:00"
    assert nat.ask(hook, packet).act == abi.FORWARD


def test_answered_echo_is_not_ours(nat):
    """Echoes between others, and to pods, pass."""
    web(nat, 4, abi.TCP, POD1)
    packet = Ether(src=MACS["eth0p"], dst=MACS["eth0"]) / IP(src=CLIENT[4], dst=POD1[4]) / ICMP()
    assert_untouched(nat, nat.send("uplink_in", packet), packet)


def test_echo_to_a_load_balancer(nat):
    """14.7: not answered here."""
    web(nat, 4, abi.TCP, POD1, LB)
    packet = Ether(src=MACS["eth0p"], dst=MACS["eth0"]) / IP(src=CLIENT[4], dst=LB[4]) / ICMP()
    assert_untouched(nat, nat.send("uplink_in", packet), packet)
