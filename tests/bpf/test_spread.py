# SPDX-License-Identifier: Apache-2.0
"""ICMP errors that came to the wrong Node: "too big", about a flow that another one has."""

import socket
import time

import abi
import pytest
from abi import Address
from bpf import NEXT, SHOT
from maps import tuple_of
from packets import frame, judge
from scapy.layers.inet import Ether
from test_errors import ROUTER, error_at, quoted
from test_flows import begin, reply_to, web
from test_verdicts import CLIENT, LB, NODE, POD1, REMOTE, ends, ip

PEERS = {4: ("192.0.2.11", "192.0.2.12"), 6: ("2001:db8:2::11", "2001:db8:2::12")}
TOO_BIG = {4: (3, 4), 6: (2, 0)}
ETH_P_ALL = 3


@pytest.fixture(autouse=True)
def peers_fixture(nat):
    for family, first in ((4, 0), (6, 512)):
        nat.control.peer_counts[family == 6] = len(PEERS[family])
        for index, peer in enumerate(PEERS[family]):
            nat.maps["peers"][first + index] = Address.of(peer)
    nat.write_control()


@pytest.fixture(name="seen")
def seen_fixture(nat):
    """What the stack is given at eth0 during the test: frames for this Node."""
    assert nat.world.index["eth0"]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as tap:
        tap.bind(("eth0", 0))
        tap.setblocking(False)

        def frames():
            found, patience = [], time.monotonic() + 1
            while time.monotonic() < patience and len(found) < 2:
                try:
                    data, address = tap.recvfrom(65536)
                    if address[2] == socket.PACKET_HOST:
                        found.append(Ether(data))
                except BlockingIOError:
                    pass
            return found

        yield frames


def error(family, protocol, about=LB, port=80, to=None, kind=None):
    """A router's word about what a Service's address has sent to a client."""
    packet = frame("uplink_out", about[family], port, CLIENT[family], 40000, protocol, flags="A")
    given = error_at("uplink_in", family, packet, ROUTER[family], *(kind or TOO_BIG[family]), word=1400)
    if to:
        layer = ip(Ether(given))
        layer.dst = to[family]
    return given


def test_the_others_get_it(nat, family, protocol, seen):
    web(nat, family, protocol, REMOTE, LB)
    given = error(family, protocol)
    assert nat.send("uplink_in", given).verdict == SHOT
    frames = seen()
    assert {ip(one).dst for one in frames} == set(PEERS[family])
    for one in frames:
        assert ip(one).src == ROUTER[family] and judge(one) == []
        assert ends(quoted(bytes(one), family)) == ends(quoted(given, family))
    assert nat.maps["pressure"][0].errors_spread == 1


def test_not_too_often(nat, family, protocol):
    web(nat, family, protocol, REMOTE, LB)
    given = error(family, protocol)
    verdicts = [nat.send("uplink_in", given).verdict for _ in range(20)]
    assert verdicts[0] == SHOT and verdicts.count(SHOT) < 20
    assert nat.maps["pressure"][0].errors_spread == verdicts.count(SHOT)


@pytest.mark.parametrize("what", ("kind", "port", "stranger", "alone", "own"))
def test_no_others(nat, family, protocol, what):
    """Other errors, about nothing of ours, or with nobody to tell; and our own flow's come home."""
    web(nat, family, protocol, POD1, LB, outcomes={abi.OUTSIDE: "forward"})
    given = {
        "kind": lambda: error(family, protocol, kind=(3 if family == 4 else 1, 1)),
        "port": lambda: error(family, protocol, port=81),
        "stranger": lambda: error(family, protocol, about=NODE),
    }.get(what, lambda: error(family, protocol))()
    if what == "alone":
        nat.control.peer_counts[:] = [0, 0]
        nat.write_control()
    if what == "own":
        _, result = begin(nat, "outside", family, protocol, LB)
        assert nat.flow(tuple_of(result.packet).reversed())
        left = nat.send("uplink_out", reply_to("uplink_out", result.packet, protocol))
        given = error_at("uplink_in", family, left.data, ROUTER[family], *TOO_BIG[family], word=1400)
    assert nat.send("uplink_in", given).verdict == NEXT
    assert nat.maps["pressure"][0].errors_spread == 0


def test_the_one_who_has_the_flow_takes_it(nat, family, protocol):
    """Addressed to the Node itself, as the others send it."""
    web(nat, family, protocol, POD1, LB, outcomes={abi.OUTSIDE: "forward"})
    _, result = begin(nat, "outside", family, protocol, LB)
    left = nat.send("uplink_out", reply_to("uplink_out", result.packet, protocol))
    given = error_at("uplink_in", family, left.data, ROUTER[family], *TOO_BIG[family], word=1400)
    moved = Ether(given)
    ip(moved).dst = NODE[family]
    for layer in (ip(moved), ip(moved).payload):
        for name in ("chksum", "cksum"):
            if hasattr(layer, name):
                delattr(layer, name)
    out = nat.send("uplink_in", bytes(moved), complete=False)
    assert out.verdict == NEXT and ip(out.packet).dst == POD1[family]
    assert ends(quoted(out.data, family)) == (POD1[family], 8080, CLIENT[family], 40000)
