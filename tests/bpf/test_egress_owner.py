# SPDX-License-Identifier: Apache-2.0
"""Flows of clients that have gone: nothing follows them, and nothing of theirs is in others' way,
though they are in the table until the agent's sweep comes to them."""

import pytest
from abi import TCP, UDP
from bpf import NEXT, REDIRECT, SHOT
from egress import PortsValue, unwrap
from packets import ether
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet import TCP as Tcp
from scapy.layers.inet import UDP as Udp
from scapy.layers.inet6 import ICMPv6DestUnreach, IPv6
from test_egress_gateway import (
    FIRST, OTHER, POD, ROUTER, SIZE, answered, ask, establish, head_of, inside, leaves, reply,
    send, tunnel,
)
from world import NODE


def error_about(family, packet):
    """What a router says of a packet that has left."""
    if family == 4:
        return ether() / IP(src=ROUTER[4], dst=NODE[4]) / ICMP(type=3, code=1) / bytes(packet)
    return ether() / IPv6(src=ROUTER[6], dst=NODE[6]) / ICMPv6DestUnreach() / bytes(packet)


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_answers_to_nobody(gateway, family, protocol):
    """What still comes for one who has gone reaches nobody by the tunnel."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family, protocol))
    assert answered(gateway, family, reply(family, left, protocol))
    gateway.go(POD[family])
    assert gateway.send(ether() / reply(family, left, protocol)).verdict == NEXT
    assert gateway.send(error_about(family, left)).verdict == NEXT
    assert len(gateway.nat["flows"]) == 2


def test_the_next_at_the_address(gateway, family):
    """Who has the address next has none of the flows: a datagram begins one under a port of its own
    blocks, a segment gets a reset."""
    gateway.client(POD[family])
    old = leaves(gateway, family, inside(family, UDP))[Udp].sport
    assert establish(gateway, family, 0) is not None
    gateway.go(POD[family])
    number = gateway.client(POD[family])
    fresh = leaves(gateway, family, inside(family, UDP))[Udp].sport
    assert (old, fresh) == (FIRST, FIRST + SIZE) and gateway.drops() == {}
    assert gateway.maps["egress_ports"][number].flows == 1
    segment = inside(family, TCP, sport=3000, flags="A", transport={"seq": 1, "ack": 1})
    assert gateway.live_twin(tunnel(family, inside(family, TCP, sport=3000)))[2] == "next"
    result = send(gateway, family, segment)
    assert result.verdict == REDIRECT and "R" in unwrap(result.packet)[2][Tcp].flags
    assert gateway.drops() == {"unknown": 1}


def leaves_as(gateway, family, who, number=0):
    """The port that another's datagram leaves from."""
    sent = tunnel(family, inside(family, UDP, src=who, sport=3000 + number), src=who)
    return head_of(gateway.send(sent).packet, family)[Udp].sport


def test_blocks_of_the_gone(gateway, family):
    """Another gets the block at once, all its ports to the same place, and the answers."""
    gateway.control.address_blocks = 1
    gateway.write()
    gateway.client(POD[family])
    ports = [establish(gateway, family, number) for number in range(SIZE)]
    asked = [ask(gateway, family, number) for number in range(SIZE)]
    assert sorted(ports) == sorted(asked) == list(range(FIRST, FIRST + SIZE))
    gateway.go(POD[family])
    gateway.client(OTHER[family])
    gateway.maps["egress_ports"][0] = PortsValue()
    theirs = [leaves_as(gateway, family, OTHER, number) for number in range(SIZE)]
    assert sorted(theirs) == sorted(asked)
    assert gateway.maps["egress_ports"][0].longest <= 2  # its first port is tried twice
    sent = tunnel(family, inside(family, TCP, src=OTHER, sport=3000), src=OTHER)
    left = head_of(gateway.send(sent).packet, family)
    assert left[Tcp].sport in ports
    result = gateway.send(ether() / reply(family, left, TCP))
    assert (unwrap(result.packet)[0].dst, gateway.drops()) == (OTHER[family], {})


def test_room_of_the_gone(gateway, family):
    """A table that is full of their connections has room."""
    control = gateway.nat["control"][0]
    control.ring_slots = 2 * SIZE
    gateway.nat["control"][0] = control
    gateway.client(POD[family])
    assert None not in [establish(gateway, family, number) for number in range(2 * SIZE)]
    gateway.client(OTHER[family])
    sent = tunnel(family, inside(family, UDP, src=OTHER), src=OTHER)
    assert gateway.send(sent).verdict == SHOT and gateway.drops() == {"flows-full": 1}
    gateway.go(POD[family])
    assert gateway.send(sent).verdict == REDIRECT


def test_going(gateway, family):
    """A packet that was taken for its client's while that one goes begins nothing."""
    number = gateway.client(POD[family])
    gateway.orphan(number)
    assert send(gateway, family, inside(family)).verdict == SHOT
    assert gateway.drops() == {"stranger": 1} and len(gateway.nat["flows"]) == 0
