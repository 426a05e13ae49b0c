# SPDX-License-Identifier: Apache-2.0
"""SCTP: as UDP, but for its checksum, which covers the whole packet, its ports and no addresses."""

import re

import abi
import pytest
from abi import SCTP
from bpf import NEXT, REDIRECT, SHOT
from lab.agent import REPOSITORY
from packets import ETHER, frame
from scapy.layers.inet import IP, Ether
from scapy.layers.sctp import SCTP as Sctp
from test_errors import ROUTER, check, error_at
from test_flows import begin, opposite, reply_to, web
from test_fragments import cut
from test_verdicts import CLIENT, LB, NODE, POD1, POD2, REMOTE, VIP, ends, first, ip

POLYNOMIAL = 0x82F63B78


def product(a, b):
    total = 0
    for bit in range(31, -1, -1):
        total ^= b if a >> bit & 1 else 0
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)
    return total


def test_tables():
    text = (REPOSITORY / "agent/bpf/packet/crc32c.h").read_text(encoding="ascii")
    words = [int(word, 16) for word in re.findall(r"0x[0-9a-f]{8}(?=,)", text)]
    power = 1 << 31 - 8  # x^8
    expected = []
    for _ in range(2):
        value = 1 << 31
        for _ in range(256):
            expected.append(value)
            value = product(value, power)
        power = value
    assert words == expected


@pytest.mark.parametrize("size", (0, 1, 2, 3, 4, 100, 243, 244, 245, 256, 1000, 1448))
def test_masqueraded_both_next_hops(nat, family, size):
    """Both ports change, the client's and the server's, in a packet of any length."""
    payload = bytes(i * 31 % 256 for i in range(size))
    web(nat, family, SCTP, POD1)
    sent, result = begin(nat, "outside", family, SCTP, payload=payload, sport=1000)
    assert result.verdict == REDIRECT
    source, sport, *destination = ends(result.packet)
    assert source == NODE[family] and sport >= 50000
    assert destination == [POD1[family], 8080]
    back = nat.send("pod_in", reply_to("pod_in", result.packet, SCTP, payload=payload))
    assert back.verdict == REDIRECT and ends(back.packet) == opposite(sent)
    assert bytes(back.packet[Sctp].payload) == payload


def test_large(nat, family):
    """As over lo, where a packet need not fit into a page either."""
    service = web(nat, family, SCTP, NODE)
    nat.on_node(service, (NODE[family], 8080))
    _, result = begin(nat, "node", family, SCTP, payload=bytes(range(250)) * 12)
    assert ends(result.packet)[2:] == (NODE[family], 8080)


def test_pod_keeps_its_source(nat, family):
    web(nat, family, SCTP, POD2)
    sent, result = begin(nat, "pod", family, SCTP, payload=b"chunk")
    assert result.verdict == NEXT
    assert ends(result.packet) == (POD1[family], 40000, POD2[family], 8080)
    out = nat.send("pod_out", reply_to("pod_out", result.packet, SCTP, payload=b"answer"))
    assert out.verdict == NEXT and ends(out.packet) == opposite(sent)


def test_no_checksum_stays_none(nat, family):
    """It is unfinished, or left out by agreement (RFC 9653)."""
    web(nat, family, SCTP, POD1)
    none = {"chksum": 0}
    # Nobody checks these, so it doesn't matter what a network card's sum says of them.
    hook, packet, _ = first("outside", family, SCTP, VIP, payload=b"chunk", transport=none)
    result = nat.send(hook, packet, complete=False)
    assert ends(result.packet)[2:] == (POD1[family], 8080)
    assert result.packet[Sctp].chksum == 0


def test_a_wrong_checksum_stays_wrong(nat, family):
    web(nat, family, SCTP, POD1)
    hook, packet, _ = first("outside", family, SCTP, VIP, transport={"chksum": 1})
    result = nat.send(hook, packet, judged=False, complete=False)
    assert ends(result.packet)[2:] == (POD1[family], 8080)
    body = bytes(ip(result.packet).payload)
    again = Sctp(body)
    again.chksum = None
    assert bytes(again) != body


@pytest.mark.parametrize("kind, to", (
    (abi.CLUSTER_IP, VIP), (abi.LOAD_BALANCER, LB), (abi.NODE_PORT, NODE),
))
def test_kinds(nat, family, kind, to):
    nat.service(to[family], 80, [(REMOTE[family], 8080)], protocol=SCTP, kind=kind)
    _, result = begin(nat, "outside", family, SCTP, to, payload=b"chunk")
    assert ends(result.packet)[2:] == (REMOTE[family], 8080)


def test_port_of_the_other_protocol(nat, family):
    nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=abi.TCP)
    hook, packet, _ = first("pod", family, SCTP, VIP)
    assert nat.send(hook, packet).verdict == REDIRECT
    assert nat.refusals() == {"undefined-port": 1}


def test_cut_short(nat, family):
    web(nat, family, SCTP, POD1)
    hook, packet, _ = first("outside", family, SCTP, VIP)
    length = {4: 20, 6: 40}[family]
    result = nat.send(hook, bytes(packet)[: ETHER + length + 8], judged=False, complete=False)
    assert result.verdict == SHOT and nat.refusals() == {"malformed": 1}


def test_fragments(nat, family):
    """The first one has the checksum of all of them: who does not know the rest can't mend it."""
    web(nat, family, SCTP, POD1)
    pieces = cut(frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, SCTP, bytes(3000)))
    verdicts = [nat.send("uplink_in", piece, complete=False).verdict for piece in pieces]
    assert verdicts == [SHOT] * 3 and nat.refusals() == {"fragment": 3}


def test_fragments_whose_ports_stay(nat, family):
    nat.service(VIP[family], 80, [(POD2[family], 80)], protocol=SCTP)
    pieces = cut(frame("pod_in", POD1[family], 40000, VIP[family], 80, SCTP, bytes(3000)))
    results = [nat.send("pod_in", piece) for piece in pieces]
    assert [ip(Ether(result.data)).dst for result in results] == [POD2[family]] * 3


def test_errors(nat, family):
    """What a router says about a packet of a flow, quoting nothing of it but ports and tag."""
    web(nat, family, SCTP, REMOTE)
    sent, result = begin(nat, "outside", family, SCTP, payload=b"chunk")
    for length in (8, 100):
        about = result.data[: ETHER + {4: 20, 6: 40}[family] + length]
        out = nat.send("uplink_in", error_at("uplink_in", family, about, ROUTER[family]),
                       judged=False)
        assert out.verdict == REDIRECT
        check(out, family, VIP[family], CLIENT[family], ends(sent))


def test_many_in_one(nat):
    """Segments of SCTP have many sizes: the size of one is not said."""
    web(nat, 4, SCTP, POD1)
    packet = frame("uplink_in", CLIENT[4], 40000, VIP[4], 80, SCTP, bytes(3000),
                   transport={"chksum": 0}, ip={"flags": "DF"})
    result = nat.send("uplink_in", packet, complete=False, gso_segs=3, gso_size=0xFFFF)
    assert result.verdict == REDIRECT and result.packet[IP].dst == POD1[4]
