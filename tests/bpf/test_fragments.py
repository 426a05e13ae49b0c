# SPDX-License-Identifier: Apache-2.0
"""Fragments: only the first has ports, and the rest must go the same way."""

import itertools

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from packets import HEADS, frame, network, ones_complement, pseudo
from scapy.layers.inet import IP, Ether, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.packet import Raw
from test_flows import begin, opposite, reply_to, web
from test_verdicts import CLIENT, NODE, POD1, POD2, VIP, ends, first, ip
from world import MACS

PAYLOAD = bytes(i * 13 % 256 for i in range(3000))
HEADER = {4: 20, 6: 40}


def cut(packet, number=0x1234):
    """The fragments of a frame, in order."""
    head = Ether(src=packet.src, dst=packet.dst)
    if IP in packet:
        whole = packet[IP].copy()
        whole.id = number
        return [head / piece for piece in fragment(IP(bytes(whole)), fragsize=1200)]
    body = bytes(packet[IPv6].payload)
    pieces = []
    for begins in range(0, len(body), 1200):
        last = begins + 1200 >= len(body)
        pieces.append(
            head / IPv6(src=packet[IPv6].src, dst=packet[IPv6].dst)
            / IPv6ExtHdrFragment(
                nh=packet[IPv6].nh, offset=begins // 8, m=int(not last), id=number
            )
            / Raw(body[begins : begins + 1200])
        )
    return pieces


def joined(frames):
    """What a receiver gets of fragments: (source, destination, upper layer's bytes)."""
    parts, addresses = {}, set()
    for data in frames:
        layer = ip(Ether(bytes(data)))
        addresses.add((layer.src, layer.dst))
        if layer.version == 4:
            parts[layer.frag * 8] = bytes(layer.payload)
        else:
            header = layer[IPv6ExtHdrFragment]
            parts[header.offset * 8] = bytes(header.payload)
    assert len(addresses) == 1
    return *addresses.pop(), b"".join(parts[key] for key in sorted(parts))


def assert_whole(family, protocol, frames, source, sport, destination, dport):
    """The pieces make one datagram of these ends, with a right checksum and the same payload."""
    src, dst, body = joined(frames)
    assert (src, dst) == (source, destination)
    assert int.from_bytes(body[:2], "big") == sport and int.from_bytes(body[2:4], "big") == dport
    header = bytes(network(src, dst))
    assert ones_complement(pseudo(header, protocol, len(body)) + body) == 0xFFFF
    assert body.endswith(PAYLOAD)


def datagram(hook, family, protocol, source, to, sport=40000, dport=80):
    return frame(
        hook, source[family], sport, to[family], dport, protocol, PAYLOAD, flags="A"
    )


def test_in_order(nat, family, protocol):
    web(nat, family, protocol)
    results = [nat.send("pod_in", piece) for piece in cut(
        datagram("pod_in", family, protocol, POD1, VIP)
    )]
    assert [result.verdict for result in results] == [NEXT] * 3
    assert_whole(
        family, protocol, [result.data for result in results], POD1[family], 40000, POD2[family],
        8080,
    )


def test_masqueraded(nat, family, protocol):
    web(nat, family, protocol, POD1)
    results = [nat.send("uplink_in", piece) for piece in cut(
        datagram("uplink_in", family, protocol, CLIENT, VIP)
    )]
    assert [result.verdict for result in results] == [REDIRECT] * 3
    body = joined([result.data for result in results])[2]
    sport = int.from_bytes(body[:2], "big")
    assert sport == 40000
    assert_whole(
        family, protocol, [result.data for result in results], NODE[family], sport, POD1[family],
        8080,
    )


def test_replies(nat, family, protocol):
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    answer = reply_to("pod_in", result.packet, protocol, "A", payload=PAYLOAD)
    results = [nat.send("pod_in", piece) for piece in cut(answer)]
    assert [result.verdict for result in results] == [REDIRECT] * 3
    assert_whole(family, protocol, [result.data for result in results], *opposite(sent))


def test_replies_at_the_exit(nat, family, protocol):
    web(nat, family, protocol)
    sent, result = begin(nat, "pod", family, protocol)
    answer = reply_to("pod_out", result.packet, protocol, "A", payload=PAYLOAD)
    results = [nat.send("pod_out", piece) for piece in cut(answer)]
    assert [result.verdict for result in results] == [NEXT] * 3
    assert_whole(family, protocol, [result.data for result in results], *opposite(sent))


@pytest.mark.parametrize("order", [order for order in itertools.permutations(range(3)) if order[0]])
@pytest.mark.parametrize("way", ("pod", "outside"))
def test_out_of_order(nat, family, protocol, order, way):
    """6.12: who comes before the first goes to the stack, which puts the datagram together if all
    of it is there, and brings it back by svc0: so none of it may go another way."""
    web(nat, family, protocol, POD2)
    hook, source = {"pod": ("pod_in", POD1), "outside": ("uplink_in", CLIENT)}[way]
    pieces = cut(datagram(hook, family, protocol, source, VIP))
    for index in order:
        result = nat.send(hook, pieces[index])
        assert (result.verdict, result.data) == (NEXT, bytes(pieces[index])), nat.refusals()
    assert nat.refusals() == {} and nat.halves() == 0


def test_out_of_order_next_datagram(nat, family, protocol):
    """One datagram in disorder doesn't concern the next of the same flow."""
    web(nat, family, protocol)
    whole = datagram("pod_in", family, protocol, POD1, VIP)
    for index in (1, 0, 2):
        nat.send("pod_in", cut(whole, 7)[index])
    results = [nat.send("pod_in", piece) for piece in cut(whole, 8)]
    assert_whole(
        family, protocol, [result.data for result in results], POD1[family], 40000, POD2[family],
        8080,
    )


@pytest.mark.parametrize("order", [order for order in itertools.permutations(range(3)) if order[0]])
def test_the_same_number_again(nat, family, protocol, order):
    """Identifications come again: the datagram after the one in disorder is another."""
    web(nat, family, protocol)
    pieces = cut(datagram("pod_in", family, protocol, POD1, VIP), 7)
    for index in order:
        nat.send("pod_in", pieces[index])
    results = [nat.send("pod_in", piece) for piece in pieces]
    assert_whole(
        family, protocol, [result.data for result in results], POD1[family], 40000, POD2[family],
        8080,
    )


def grow_old(nat, seconds):
    for key, value in nat.maps["fragments"].items():
        value.seen_s -= seconds
        nat.maps["fragments"][key] = value


@pytest.mark.parametrize("seconds, left", ((1, True), (10, False)))
def test_what_waits_for_a_first_one_grows_old(nat, family, protocol, seconds, left):
    web(nat, family, protocol)
    pieces = cut(datagram("pod_in", family, protocol, POD1, VIP), 7)
    nat.send("pod_in", pieces[2])
    grow_old(nat, seconds)
    results = [nat.send("pod_in", piece) for piece in pieces[:2]]
    assert all(ip(Ether(result.data)).dst == (VIP if left else POD2)[family] for result in results)


@pytest.mark.parametrize("seconds, known", ((10, True), (100, False)))
def test_ports_grow_old(nat, family, protocol, seconds, known):
    """A later fragment of another datagram must not get the ports of the one before."""
    web(nat, family, protocol)
    pieces = cut(datagram("pod_in", family, protocol, POD1, VIP), 7)
    nat.send("pod_in", pieces[0])
    grow_old(nat, seconds)
    result = nat.send("pod_in", pieces[1])
    assert ip(Ether(result.data)).dst == (POD2 if known else VIP)[family]


def test_replies_out_of_order(nat, family, protocol):
    """The stack would take the whole for its own, and reset the connection: some may be lost, but
    not all of them may pass."""
    web(nat, family, protocol, POD1)
    _, result = begin(nat, "outside", family, protocol)
    pieces = cut(reply_to("pod_in", result.packet, protocol, "A", payload=PAYLOAD))
    verdicts = [nat.send("pod_in", pieces[index]).verdict for index in (1, 0, 2)]
    assert any(verdict != NEXT for verdict in verdicts)


def test_in_order_at_svc0(nat, family, protocol):
    """The stack puts fragments in order; they may be sent on as fragments again."""
    web(nat, family, protocol, POD2)
    pieces = cut(datagram("svc_out", family, protocol, CLIENT, VIP))
    results = [nat.send("svc_out", piece, ingress="eth0") for piece in pieces]
    assert [result.verdict for result in results] == [REDIRECT] * 3
    src, dst, body = joined([result.data for result in results])
    assert dst == POD2[family] and body.endswith(PAYLOAD)


def test_later_fragment_at_svc0(nat, family, protocol):
    """Without defragmentation there is no first one to wait for."""
    web(nat, family, protocol, POD2)
    piece = cut(datagram("svc_out", family, protocol, CLIENT, VIP))[1]
    result = nat.send("svc_out", piece, ingress="eth0")
    assert (result.verdict, result.data) == (SHOT, bytes(piece))
    assert nat.refusals() == {"fragment": 1}


def test_same_number_of_another_sender(nat, family, protocol):
    """The identification is the sender's, and the protocol's."""
    web(nat, family, protocol)
    nat.send("pod_in", cut(datagram("pod_in", family, protocol, POD1, VIP))[0])
    other = {4: "10.244.1.77", 6: "fd00:244:1::77"}
    piece = cut(datagram("pod_in", family, protocol, other, VIP))[1]
    result = nat.send("pod_in", piece)
    assert (result.verdict, result.data) == (NEXT, bytes(piece))


def test_fragments_to_nobody(nat, family, protocol):
    web(nat, family, protocol)
    for piece in cut(datagram("pod_in", family, protocol, POD1, CLIENT)):
        result = nat.send("pod_in", piece)
        assert (result.verdict, result.data) == (NEXT, bytes(piece))


def test_refused_fragments(nat, family, protocol):
    """The first is answered; the rest has nobody to go to. (Cutting a packet short ends the card's
    sum, which the kernel's check of it doesn't know.)"""
    nat.service(VIP[family], 80, protocol=protocol, outcomes={abi.POD: "reject"})
    pieces = cut(datagram("pod_in", family, protocol, POD1, VIP))
    verdicts = [nat.send("pod_in", piece, complete=False).verdict for piece in pieces]
    assert verdicts == [REDIRECT, SHOT, SHOT]


def test_atomic_fragment(nat, protocol):
    """RFC 6946: a fragment header, and it is the whole packet."""
    web(nat, 6, protocol)
    packet = first("pod", 6, protocol, VIP, parts=(IPv6ExtHdrFragment(id=9),))[1]
    result = nat.send("pod_in", packet)
    assert result.verdict == NEXT and ends(result.packet)[2:] == (POD2[6], 8080)
    assert len(nat.maps["fragments"]) == 0


def test_options_before_the_fragment_header(nat, protocol):
    web(nat, 6, protocol)
    whole = datagram("pod_in", 6, protocol, POD1, VIP)
    pieces = []
    for piece in cut(whole):
        header = piece[IPv6ExtHdrFragment].copy()
        pieces.append(
            Ether(src=whole.src, dst=whole.dst) / IPv6(src=POD1[6], dst=VIP[6])
            / IPv6ExtHdrHopByHop() / header
        )
    results = [nat.send("pod_in", piece) for piece in pieces]
    assert [ip(result.packet).dst for result in results] == [POD2[6]] * 3


def test_options_after_the_fragment_header(nat, protocol):
    """Later fragments name the options as what follows, not TCP or UDP."""
    web(nat, 6, protocol)
    body = datagram("pod_in", 6, protocol, POD1, VIP)
    upper = bytes(body[IPv6].payload)
    options = IPv6ExtHdrDestOpt(nh=protocol)
    packed = bytes(options) + upper
    source, destination = HEADS["pod_in"]
    pieces = [
        Ether(src=MACS[source], dst=MACS[destination]) / IPv6(src=POD1[6], dst=VIP[6])
        / IPv6ExtHdrFragment(nh=60, offset=begins // 8, m=int(begins + 1200 < len(packed)), id=5)
        / Raw(packed[begins : begins + 1200])
        for begins in range(0, len(packed), 1200)
    ]
    results = [nat.send("pod_in", Ether(bytes(piece))) for piece in pieces]
    assert {ip(Ether(result.data)).dst for result in results} == {POD2[6]}
    assert len(results) == 3


def test_first_fragment_without_ports(nat):
    """Too short to be of any Service; a way to hide ports from filters, at best."""
    web(nat, 4, abi.UDP)
    whole = datagram("pod_in", 4, abi.UDP, POD1, VIP)
    tiny = Ether(src=whole.src, dst=whole.dst) / IP(
        src=POD1[4], dst=VIP[4], proto=17, flags="MF", id=3
    ) / Raw(bytes(whole[IP].payload)[:4])
    result = nat.send("pod_in", tiny, judged=False)
    assert result.verdict == SHOT and nat.refusals() == {"malformed": 1}
