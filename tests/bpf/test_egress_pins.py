# SPDX-License-Identifier: Apache-2.0
"""What the client's side remembers of flows: who begins them, who may drive whom out, and what is lost
with a memory that is lost."""

import time

import pytest
from abi import TCP, UDP, Address, Tuple, check, tuple_check
from bpf import NEXT, REDIRECT
from egress import (
    GATEWAY, GATEWAY_ACTIVE, GATEWAY_USED, OTHER_GATEWAY, PIN_BUCKETS, PIN_INBOUND, PIN_SEEN,
    PIN_TRANSLATED, PIN_NEXT_HOPS, POD_INBOUND, SET_MAX, Bucket, Pin,
)
from packets import ETHER, frame, network
from scapy.layers.inet import ICMP, Ether
from scapy.layers.inet import UDP as Udp
from scapy.layers.inet6 import ICMPv6DestUnreach
from scapy.packet import Raw
from test_egress_answers import answer, reply
from test_egress_client import OUTSIDE, check_tunnel, go_out, packet, ping
from world import MACS, POD1, POD2, REMOTE

OTHER_S, SEEN_S = 120, 10


def comes(client, family, protocol=UDP, sport=9100, dport=6001, **fields):
    """A packet from outside, by no gateway."""
    sent = frame("pod_out", OUTSIDE[family], sport, POD1[family], dport, protocol, **fields)
    assert client.send("client_out", sent).verdict == NEXT
    return sent


def says(client, family, protocol=UDP, sport=6001, dport=9100, **fields):
    """How the pod's packet leaves: "straight", or by a "gateway"."""
    sent = packet(family, protocol, sport=sport, dport=dport, **fields)
    return {NEXT: "straight", REDIRECT: "gateway"}[client.send("client_in", sent).verdict]


def age(client, seconds):
    for pin in client.pins().values():
        pin.used_s -= seconds


# ---- flows that begin outside ----


@pytest.mark.parametrize("flags", ("S", "A", "PA", "R", "SA"))
def test_a_connection_of_the_pods_own(client, family, flags):
    """Whatever comes from outside, a SYN of the pod goes to its gateway, and what follows too."""
    go_out(client, family)
    comes(client, family, TCP, flags=flags)
    for own in ("S", "A", "PA", "FA"):
        assert says(client, family, TCP, flags=own) == "gateway"


def test_a_connection_from_outside(client, family):
    """Its answers need no memory: nobody can drive that out."""
    go_out(client, family)
    comes(client, family, TCP, flags="S")
    assert says(client, family, TCP, flags="SA") == "straight"
    client.forget()
    for flags in ("A", "PA", "FA", "R"):
        assert says(client, family, TCP, flags=flags) == "straight"
    assert not client.pins(), "and none is made"


def test_a_port_that_was_the_pods_own(client, family):
    """Where the pod answers by a SYN, a connection that it began there is over."""
    go_out(client, family)
    assert says(client, family, TCP, flags="S") == "gateway"
    comes(client, family, TCP, sport=1, flags="S")
    comes(client, family, TCP, flags="S")
    assert says(client, family, TCP, flags="SA") == "straight"
    assert says(client, family, TCP, flags="A") == "straight"


def test_a_pod_that_nobody_calls(client, family):
    """It has no answers to give: a segment without a pin is of a connection whose pin is lost."""
    go_out(client, family)
    assert says(client, family, TCP, flags="S") == "gateway"
    client.forget()
    assert says(client, family, TCP, flags="PA") == "gateway"


def test_a_packet_in_the_cluster_is_no_call(client, family):
    go_out(client, family)
    client.send("client_out", frame("pod_out", REMOTE[family], 9100, POD1[family], 6001, TCP))
    assert client.maps["egress_pods"][Address.of(POD1[family])].traits == 0
    comes(client, family, TCP, flags="S")
    assert client.maps["egress_pods"][Address.of(POD1[family])].traits == POD_INBOUND


def test_a_datagram_is_answered(client, family):
    """At once, or as long as the two go on."""
    go_out(client, family)
    comes(client, family)
    assert [pin.gateway for pin in client.pins().values()] == [PIN_INBOUND | PIN_SEEN]
    assert says(client, family) == "straight"
    assert [pin.gateway for pin in client.pins().values()] == [PIN_INBOUND]
    for _ in range(3):
        age(client, OTHER_S - 2)
        assert says(client, family) == "straight"
        age(client, OTHER_S - 2)
        comes(client, family)
    age(client, OTHER_S + 2)
    assert says(client, family) == "gateway"


def test_a_datagram_that_nobody_answered(client, family):
    """It takes no flow off its way for longer than an answer may take."""
    go_out(client, family)
    comes(client, family)
    age(client, SEEN_S + 2)
    assert says(client, family) == "gateway"
    comes(client, family)
    assert says(client, family) == "gateway", "it has a gateway now"


def test_a_datagram_to_a_closed_port(client, family):
    """The pod says so by an error, which goes back the way the datagram came; that was all."""
    go_out(client, family)
    came = comes(client, family)
    kind = ICMP(type=3, code=3) if family == 4 else ICMPv6DestUnreach(code=4)
    error = (Ether(src=MACS["pod1p"], dst=MACS["pod1"]) / network(POD1[family], OUTSIDE[family]) / kind
             / Raw(bytes(came)[ETHER:]))
    assert client.send("client_in", error).verdict == NEXT
    assert says(client, family) == "gateway"


def test_echo(client, family):
    """A reply goes back the way that the question came, also beside an echo of the pod's own."""
    go_out(client, family)
    own = ping(family, POD1[family], OUTSIDE[family])
    check_tunnel(client.send("client_in", own), own, family)
    client.send("client_out", ping(family, OUTSIDE[family], POD1[family], number=9,
                                   macs=("pod1", "pod1p")))
    back = ping(family, POD1[family], OUTSIDE[family], number=9, reply=True)
    assert client.send("client_in", back).verdict == NEXT
    check_tunnel(client.send("client_in", own), own, family)


# ---- pins that are lost ----


@pytest.mark.parametrize("kind", ("tcp", "udp", "echo"))
def test_an_answer_without_a_pin(client, family, kind):
    """A gateway of the pod's knows the flow: it is taken, and the flow has its pin again."""
    number = go_out(client, family, [GATEWAY[family], OTHER_GATEWAY[family]])
    comes(client, family, TCP, sport=1, flags="S")  # so that pins are needed
    inner = {
        "tcp": lambda: reply(family, TCP, flags="PA"), "udp": lambda: reply(family),
        "echo": lambda: bytes(ping(family, OUTSIDE[family], POD1[family], reply=True))[ETHER:],
    }[kind]()
    result, _ = answer(client, family, inner, OTHER_GATEWAY)
    # service NAT may have translated the flow: it sees the answer first
    assert result.verdict == REDIRECT and bytes(result.packet)[ETHER:] == inner
    [pin] = client.pins().values()
    assert pin.gateway == PIN_TRANSLATED | (number * SET_MAX + 1)
    sent = {"tcp": lambda: packet(family, TCP, flags="A"), "udp": lambda: packet(family),
            "echo": lambda: ping(family, POD1[family], OUTSIDE[family])}[kind]()
    age(client, 1)
    check_tunnel(client.send("client_in", sent), sent, family, OTHER_GATEWAY)
    result, _ = answer(client, family, inner, OTHER_GATEWAY)
    assert result.verdict == NEXT and bytes(result.packet)[ETHER:] == inner


def test_who_can_not_restore_a_pin(client, family):
    """Strangers, gateways of others' Egresses, and such as are gone."""
    number = go_out(client, family)
    client.set([OTHER_GATEWAY[family]])
    for source in (OTHER_GATEWAY, REMOTE):
        result, sent = answer(client, family, reply(family), source)
        assert result.verdict == NEXT and bytes(result.packet) == bytes(sent)
    client.state(number, 0, 0)
    result, sent = answer(client, family, reply(family))
    assert result.verdict == NEXT and bytes(result.packet) == bytes(sent)
    assert not client.pins()


def test_an_answer_from_another_gateway(client, family):
    """It is taken, and the flow stays where it is."""
    number = go_out(client, family)
    sent = packet(family)
    check_tunnel(client.send("client_in", sent), sent, family)
    client.gateway(number, 1, OTHER_GATEWAY[family], GATEWAY_USED | GATEWAY_ACTIVE)
    client.maps["egress_sets"][number] = 1 | 2 << 8
    result, _ = answer(client, family, reply(family), OTHER_GATEWAY)
    assert result.verdict == REDIRECT
    check_tunnel(client.send("client_in", sent), sent, family)


# ---- who drives whom out ----

OLD, SOURCES = 50, {"one": POD1, "two": POD2, "three": REMOTE}


def fill(client, family, index, *entries):
    """Fills a bucket with flows: (pod, since when it is silent, gateway)."""
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    bucket = Bucket()
    for way, (name, silent, gateway) in enumerate(entries):
        source = Address.of(SOURCES[name][family])
        key = Tuple(src=source, dst=Address.of(OUTSIDE[family]), sport=40000 + way, dport=1,
                    protocol=UDP)
        bucket.pins[way] = Pin(key, gateway, 1, int(now) - silent)
        bucket.checks[way], bucket.owners[way] = tuple_check(key), check(source, 0)
    client.maps["egress_pins"][index] = bucket


def left(client, index):
    """Which ways still have the flows of fill(), and whose flow is new."""
    bucket = client.maps["egress_pins"][index]
    ways = [way for way, pin in enumerate(bucket.pins) if pin.key.dport == 1 and bucket.checks[way]]
    return [way for way in range(PIN_NEXT_HOPS) if way not in ways]


def place_of(client):
    """The bucket of the only flow, which is forgotten."""
    [index] = [index for index in range(PIN_BUCKETS)
               if any(client.memory[index * 512:index * 512 + 32])]
    client.forget()
    return index


def begins(client, family, *entries, inward=False):
    """What a new flow of pod one's drives out of a full bucket."""
    go_out(client, family)
    act = (lambda: comes(client, family)) if inward else (lambda: says(client, family))
    act()
    index = place_of(client)
    fill(client, family, index, *entries)
    act()
    return left(client, index)


def entries(silent, gateway=SET_MAX, **counts):
    return [(name, silent + at, gateway) for name, count in counts.items() for at in range(count)]


@pytest.mark.parametrize("full,taken", (
    (entries(OLD, one=1, two=7), [7]),  # who has more: the oldest of its own
    (entries(OLD, two=8), [7]),
    (entries(OLD, one=7, two=1), [6]),  # one's own, though older ones are there
    (entries(OLD, two=3, one=2, three=3), [4]),
    (entries(OLD, one=3, two=5), [7]),  # as many as it would have itself, and one more
    (entries(OLD, one=4, two=4), [3]),
    (entries(OLD, two=6) + entries(OTHER_S + 5, one=1) + entries(0, three=1), [6]),  # it is over
    (entries(OLD, two=6) + entries(1, PIN_INBOUND | PIN_SEEN, two=1) + entries(OLD, three=1), [6]),
))
def test_whom_a_new_flow_drives_out(client, family, full, taken):
    assert begins(client, family, *full) == taken


@pytest.mark.parametrize("full,taken", (
    (entries(OLD, one=8), []),
    (entries(OLD, two=8), []),
    (entries(OLD, one=6) + entries(3, PIN_INBOUND | PIN_SEEN, one=2), [7]),
    (entries(OLD, one=7) + entries(OTHER_S + 5, two=1), [7]),
    (entries(OLD, one=7) + entries(3, PIN_INBOUND | PIN_SEEN, two=1), []),
))
def test_whom_a_datagram_from_outside_drives_out(client, family, full, taken):
    """No flow that a pod has, its own or another's: only what waits for an answer, as it does."""
    assert begins(client, family, *full, inward=True) == taken


def test_a_flow_without_a_place(client, family):
    """Each pod has its share of the bucket: it has no pin, and goes to the same gateway each time."""
    pods = [f"10.244.3.{n}" if family == 4 else f"fd00:244:3::{n}" for n in range(PIN_NEXT_HOPS)]
    SOURCES.update({pod: {family: pod} for pod in pods})
    assert begins(client, family, *((pod, OLD, SET_MAX) for pod in pods)) == []
    assert says(client, family) == "gateway"
    inner = reply(family, sport=6001, dport=9100)
    assert bytes(answer(client, family, inner)[0].packet)[ETHER:] == inner


def test_a_scan(client, family):
    """One pod's flows have all of the table, and more come: another's get in, and stay."""
    go_out(client, family)
    client.pod(POD2[family])
    fill(client, family, 0, *entries(OLD, two=8))
    client.memory[:] = client.memory[:512] * PIN_BUCKETS
    for port in range(2000, 2064):
        assert says(client, family, sport=port) == "gateway"
    sent = frame("pod_in", POD2[family], 1, OUTSIDE[family], 53, UDP)
    raw, at = bytearray(bytes(sent)), len(sent) - len(sent[Udp])
    ifindex = client.world.index["pod2"]
    for port in range(0, 65536, 3):
        raw[at:at + 2] = port.to_bytes(2, "big")
        client.hooks["client_in"].run(bytes(raw), ifindex=ifindex, ingress_ifindex=ifindex)
    pins = [pin.key for pin in client.pins().values() if pin.key.dport != 1]
    assert len(pins) > 21800
    assert sum(str(key.src) == POD1[family] for key in pins) == 64
