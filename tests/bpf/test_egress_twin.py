# SPDX-License-Identifier: Apache-2.0
"""The gateway's twin: what the agent learns from it, and that it leaves nothing behind."""

import pytest
from abi import TCP
from bpf import REDIRECT, SHOT
from egress import CAUSES, DRAINING
from packets import frame, judge, network
from scapy.layers.inet import ICMP
from scapy.layers.inet import UDP as Udp
from scapy.layers.inet6 import ICMPv6EchoRequest
from test_egress_gateway import FIRST, POD, ROUTER, SERVER, head_of, inside, tunnel
from world import NODE, NOWHERE

SNAT = {4: "203.0.113.77", 6: "2001:db8:203::77"}  # on no interface
UNREACHABLE = 2  # BPF_FIB_LKUP_RET_*


def ping(family):
    echo = ICMP(type=8, id=7, seq=3) if family == 4 else ICMPv6EchoRequest(id=7, seq=3)
    return network(POD[family], SERVER[family]) / echo


def written(gateway):
    """All that a packet may leave behind."""
    maps = [gateway.nat["flows"], gateway.nat["fragments"], gateway.nat["limits"]]
    arrays = [bytes(gateway.maps["egress_ports"][number]) for number in range(3)]
    arrays += [gateway.maps["egress_blocks"][number].value for number in range(8)]
    arrays += [bytes(gateway.nat["pressure"][0]), tuple(gateway.drops().items())]
    return [len(found) for found in maps], arrays


def test_sent(gateway, family):
    """A client's packet comes out translated, whoever the client is, and nothing is kept of it."""
    gateway.translate_to(SNAT)
    before = written(gateway)
    found, out, _, result = gateway.twin(tunnel(family, inside(family)))
    assert (found, out) == ("sent", gateway.world.index["eth0"])
    assert result.verdict == REDIRECT and not judge(result.packet)
    head = head_of(result.packet, family)
    assert (head.src, head.dst, head[Udp].sport) == (SNAT[family], SERVER[family], FIRST)
    assert written(gateway) == before


def test_as_the_program_does(gateway, family):
    """Twin and program make the same of a packet."""
    gateway.client(POD[family])
    _, _, _, told = gateway.twin(tunnel(family, inside(family)))
    assert bytes(told.packet) == bytes(gateway.send(tunnel(family, inside(family))).packet)


def test_no_route(gateway, family):
    before = written(gateway)
    found, why, _, result = gateway.twin(tunnel(family, inside(family, dst=NOWHERE)))
    assert (found, why, result.verdict) == ("no-route", UNREACHABLE, SHOT)
    assert written(gateway) == before


def test_no_address_to_translate_to(gateway, family):
    gateway.translate_to({10 - family: SNAT[10 - family]})
    found, cause, _, result = gateway.twin(tunnel(family, inside(family)))
    assert (found, CAUSES[cause], result.verdict) == ("dropped", "no-route", SHOT)


def test_dropped(gateway, family):
    found, cause, _, result = gateway.twin(tunnel(family, inside(family, dst=NODE)))
    assert (found, CAUSES[cause], result.verdict) == ("dropped", "nested", SHOT)
    assert gateway.drops() == {}


def test_not_ours(gateway, family):
    plain = frame("uplink_in", ROUTER[family], 1000, NODE[family], 53, 17)
    for packet in (plain, tunnel(family, inside(family), dport=5556)):
        found, _, _, result = gateway.twin(packet)
        assert (found, result.verdict) == ("not-ours", SHOT)


def test_where_the_address_leads(gateway, family):
    """Guarded, it leads nowhere; else by the default route, or to somebody else who has it."""
    gateway.translate_to(SNAT)
    assert gateway.twin(tunnel(family, inside(family)))[2] == 0
    gateway.translate_to(NOWHERE)
    assert gateway.twin(tunnel(family, inside(family)))[2] == UNREACHABLE


@pytest.mark.parametrize("kind", ("UDP", "TCP", "ping"))
def test_live(gateway, family, kind):
    """Of a packet as it comes in: whose it is, the port that it gets, and the way back."""
    sent = {"UDP": lambda: inside(family), "TCP": lambda: inside(family, TCP),
            "ping": lambda: ping(family)}[kind]()
    eth0 = gateway.world.index["eth0"]
    found, cause, _, _, _ = gateway.live_twin(tunnel(family, sent))
    assert (found, CAUSES[cause]) == ("dropped", "stranger")
    gateway.client(POD[family])
    before = written(gateway)
    assert gateway.live_twin(tunnel(family, sent))[:4] == ("sent", eth0, "given", eth0)
    assert written(gateway) == before
    real = gateway.send(tunnel(family, sent))
    *said, told = gateway.live_twin(tunnel(family, sent))
    assert said == ["sent", eth0, "flow", eth0]
    assert bytes(told.packet) == bytes(real.packet)


def test_live_next_port(gateway, family):
    """A further flow gets the next of the client's ports, as the twin has said."""
    gateway.client(POD[family])
    gateway.send(tunnel(family, inside(family)))
    other = tunnel(family, inside(family, sport=1001))
    before = written(gateway)
    found, _, port, _, told = gateway.live_twin(other)
    assert (found, port) == ("sent", "next") and written(gateway) == before
    assert bytes(told.packet) == bytes(gateway.send(other).packet)


def test_live_draining(gateway, family):
    """New flows are refused, begun ones go on."""
    gateway.client(POD[family])
    gateway.send(tunnel(family, inside(family)))
    gateway.control.flags = DRAINING
    gateway.write()
    assert gateway.live_twin(tunnel(family, inside(family)))[2] == "flow"
    found, cause, *_ = gateway.live_twin(tunnel(family, inside(family, sport=1001)))
    assert (found, CAUSES[cause]) == ("dropped", "draining")
