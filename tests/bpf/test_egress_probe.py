# SPDX-License-Identifier: Apache-2.0
"""Probes of a gateway: what its program answers, and to what it doesn't."""

import struct
import time

import pytest
from bpf import NEXT, REDIRECT, SHOT
from egress import GONE, LEAVING, PORT, STALE_S
from packets import ether, judge, network
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from world import CLIENT, NODE

FORM = ">BBHIQ"  # version, kind, state, magic, cookie
QUESTION, ANSWER = 0, 1
MAGIC, COOKIE = 0x46504F53, 0x0123456789ABCDEF


def probe(kind=QUESTION, version=0, magic=MAGIC):
    return struct.pack(FORM, version, kind, 0, magic, COOKIE)


def question(family, payload, dst=None, hops=1, **udp):
    head = network(CLIENT[family], (dst or NODE)[family])
    if family == 4:
        head.ttl = hops
    else:
        head.hlim = hops
    return ether() / head / UDP(sport=40000, dport=PORT, **udp) / payload


@pytest.mark.parametrize("flags,state", ((0, 0), (LEAVING, 1), (GONE | LEAVING, 3)))
def test_answer(gateway, family, flags, state):
    gateway.control.flags = flags
    gateway.write()
    result = gateway.send(question(family, probe()))
    assert result.verdict == REDIRECT and not judge(result.packet)
    head = result.packet[IP if family == 4 else IPv6]
    assert (head.src, head.dst) == (NODE[family], CLIENT[family])
    assert (head.ttl if family == 4 else head.hlim) == 64
    assert (head[UDP].sport, head[UDP].dport) == (PORT, 40000)
    assert bytes(head[UDP].payload) == struct.pack(FORM, 0, ANSWER, state, MAGIC, COOKIE)
    assert gateway.drops() == {}


@pytest.mark.parametrize("age,state", ((-1, 0), (0, 0), (STALE_S - 1, 0), (STALE_S + 2, 4)))
def test_heartbeat(gateway, family, age, state):
    """A gateway whose agent has not been heard of says so, whatever else it says. The agent's clock may be a second ahead."""
    gateway.control.heard_s = int(time.monotonic()) - age
    for flags, more in ((0, 0), (LEAVING, 1)):
        gateway.control.flags = flags
        gateway.write()
        answer = gateway.send(question(family, probe())).packet[UDP].payload
        assert bytes(answer) == struct.pack(FORM, 0, ANSWER, state | more, MAGIC, COOKIE)


def test_without_checksum(gateway):
    result = gateway.send(question(4, probe(), chksum=0))
    assert result.verdict == REDIRECT and result.packet[UDP].chksum == 0
    assert not judge(result.packet)


@pytest.mark.parametrize("payload", (
    probe(kind=ANSWER), probe(magic=MAGIC + 1), probe(version=1), probe()[:-1], b"\0", b"",
))
def test_no_probe(gateway, family, payload):
    """Least of all an answer is answered: two gateways would never end."""
    assert gateway.send(question(family, payload)).verdict == SHOT
    assert gateway.drops() == {"stranger": 1}


def test_for_another(gateway, family):
    sent = question(family, probe(), dst=CLIENT)
    result = gateway.send(sent)
    assert result.verdict == NEXT and bytes(result.packet) == bytes(sent)
