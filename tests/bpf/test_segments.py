# SPDX-License-Identifier: Apache-2.0
"""What TCP segments make of a flow: a RST and a FIN count where they are expected, and nowhere
else (RFC 5961)."""

import random

import abi
import pytest
from bpf import REDIRECT
from cases import draws
from maps import tuple_of
from test_flows import answered, reply_to, web
from test_verdicts import POD1, VIP, first

CLIENT_ISN, SERVER_ISN = 0xFFFFFFF0, 0x7FFFFFFF  # numbers that wrap, and change their sign


class Connection:
    """A connection from outside, whose two sides send segments; each keeps its own numbers."""

    def __init__(self, nat, family, sport=40000):
        self.nat, self.family, self.sport = nat, family, sport
        self.next = {"client": CLIENT_ISN, "server": SERVER_ISN}
        self.acked = {"client": 0, "server": 0}  # what each has acknowledged
        hook, packet, _ = first("outside", family, abi.TCP, VIP, sport=sport,
                                transport={"seq": CLIENT_ISN})
        self.went = nat.send(hook, packet).packet
        self.key = tuple_of(packet)
        self.next["client"] += 1
        self.send("server", "SA")
        self.send("client", "A")

    def send(self, who, flags, payload=b"", ahead=0, ack=None, counted=True):
        """A segment at the sender's next number, or so many ahead of it."""
        other = {"client": "server", "server": "client"}[who]
        numbers = {"seq": self.next[who] + ahead & 0xFFFFFFFF,
                   "ack": (self.next[other] if ack is None else ack) & 0xFFFFFFFF}
        if who == "client":
            packet = first("outside", self.family, abi.TCP, VIP, sport=self.sport, flags=flags,
                           payload=payload, transport=numbers)[1]
            result = self.nat.send("uplink_in", packet)
        else:
            packet = reply_to("pod_in", self.went, abi.TCP, flags, payload=payload,
                              transport=numbers)
            result = self.nat.send("pod_in", packet)
        assert result.verdict == REDIRECT
        if counted and ahead == 0:
            self.next[who] += len(payload) + ("S" in flags) + ("F" in flags)
        return self

    @property
    def state(self):
        return self.nat.state(self.key)


@pytest.fixture(name="connection")
def connection_fixture(nat, family):
    web(nat, family, abi.TCP, POD1)
    connection = Connection(nat, family)
    assert connection.state == "established"
    connection.send("client", "PA", b"x" * 100).send("server", "PA", b"y" * 1000)
    return connection


SIDES = ("client", "server")
other = {"client": "server", "server": "client"}


@pytest.mark.parametrize("who", SIDES)
def test_a_reset_where_it_is_expected(connection, who):
    assert connection.send(who, "R").state == "closed"


@pytest.mark.parametrize("who", SIDES)
@pytest.mark.parametrize("ahead", (1, -1, 1000, 1 << 31))
def test_a_reset_elsewhere_changes_nothing(connection, who, ahead):
    assert connection.send(who, "R", ahead=ahead).state == "established"
    assert connection.send(who, "RA", ahead=ahead).state == "established"


@pytest.mark.parametrize("who", SIDES)
def test_a_reset_at_what_the_other_side_has_acknowledged(connection, who):
    """Data under way was lost, and with it the number that the sender thinks is next."""
    acknowledged = connection.next[who]
    connection.send(who, "PA", b"z" * 10).send(other[who], "A", ack=acknowledged)
    assert connection.send(who, "R", ahead=-10).state == "closed"


@pytest.mark.parametrize("who", SIDES)
@pytest.mark.parametrize("then", SIDES)
def test_a_connection_that_goes_on_is_established_again(connection, who, then):
    """A reset that the other side has not taken."""
    connection.send(who, "R")
    assert connection.send(then, "A").state == "established"


@pytest.mark.parametrize("who", SIDES)
def test_a_client_that_has_closed_gets_the_rest(connection, who):
    connection.send(who, "FA").send(other[who], "A")
    assert connection.state == "half-closed"
    connection.send(other[who], "PA", b"rest")
    assert connection.state == "half-closed"


@pytest.mark.parametrize("who", SIDES)
def test_closed_is_when_both_are_acknowledged(connection, who):
    connection.send(who, "FA").send(other[who], "FA")
    assert connection.state == "half-closed"
    assert connection.send(who, "A").state == "closed"


@pytest.mark.parametrize("who", SIDES)
@pytest.mark.parametrize("ahead", (1, -1, 70000, 1 << 31))
def test_a_fin_elsewhere_changes_nothing(connection, who, ahead):
    assert connection.send(who, "FA", ahead=ahead).state == "established"


@pytest.mark.parametrize("who", SIDES)
def test_data_after_a_fin_takes_it_back(connection, who):
    """The FIN was a guess that hit."""
    connection.send(who, "FA", counted=False)
    assert connection.state == "half-closed"
    assert connection.send(who, "PA", b"more").state == "established"


@pytest.mark.parametrize("who", SIDES)
def test_a_fin_that_is_sent_again(connection, who):
    connection.send(who, "FA").send(who, "FA", ahead=-1)
    assert connection.state == "half-closed"


@pytest.mark.parametrize("who", SIDES)
def test_after_a_gap(connection, who):
    """A segment was lost before it came here, and came another way: by the other side's word."""
    connection.next[who] += 5000
    connection.send(other[who], "A")
    connection.nat.grow_old(connection.key, 1)
    connection.send(who, "PA", b"on")
    assert connection.send(who, "FA").state == "half-closed"


def test_segments_of_somebody_who_guesses(connection):
    """Of any kind, to both sides."""
    chance = random.Random(3)
    for _ in range(draws(500)):
        who, flags = chance.choice(SIDES), chance.choice(("R", "RA", "FA", "PA", "S", "SA", "A"))
        payload = b"?" * chance.choice((0, 0, 1, 1400))
        connection.send(who, flags, payload, ahead=chance.randrange(1 << 21, 1 << 32 - 1),
                        ack=chance.getrandbits(32))
    assert connection.state == "established"
    assert connection.send("server", "PA", b"still here").state == "established"
    assert connection.send("client", "FA").state == "half-closed"


def test_a_client_that_is_not_there_is_not_established(nat, family):
    """Who answers a SYN-ACK that he cannot see would have to guess its number."""
    web(nat, family, abi.TCP, POD1)
    sent, _, _ = answered(nat, "outside", family, abi.TCP)
    packet = first("outside", family, abi.TCP, VIP, flags="A", transport={"ack": 12345678})[1]
    nat.send("uplink_in", packet)
    assert nat.state(tuple_of(sent)) == "answered"


def test_acknowledgements_that_sweep_the_numbers(nat, family):
    """In steps of a megabyte, and close to the right one: none is right, and the flow goes before others in a flood."""
    web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    right = nat.flow(tuple_of(result.packet).reversed()).next
    for ahead in (-1, 1, -1000, *(-(step << 20) - 1 for step in range(0, 1 << 12, 64))):
        ack = right + ahead & 0xFFFFFFFF
        nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="A", transport={"ack": ack})[1])
        assert nat.state(tuple_of(sent)) == "answered"
    nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="A", transport={"ack": right})[1])
    assert nat.state(tuple_of(sent)) == "established"


def test_a_syn_that_is_refused(nat, family):
    """Its RST names the SYN; one that does not is somebody else's."""
    web(nat, family, abi.TCP, POD1)
    hook, packet, _ = first("outside", family, abi.TCP, VIP, transport={"seq": 700})
    went = nat.send(hook, packet).packet
    for ack, state in ((500, "half-open"), (701, "closed")):
        nat.send("pod_in", reply_to("pod_in", went, abi.TCP, "RA", transport={"seq": 0, "ack": ack}))
        assert nat.state(tuple_of(packet)) == state


def test_an_answer_whose_mark_was_lost(nat, family):
    """Two CPUs wrote the flags of the forward half at once: the next packet finds it out."""
    web(nat, family, abi.TCP, POD1)
    sent, _, _ = answered(nat, "outside", family, abi.TCP)
    flags = nat.flow(tuple_of(sent)).flags
    nat.change_flow(tuple_of(sent), flags=flags & ~abi.FLOW_ANSWERED)
    nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="A")[1])
    assert nat.state(tuple_of(sent)) == "established"
    assert nat.flow(tuple_of(sent)).flags & abi.FLOW_ANSWERED
