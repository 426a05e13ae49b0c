# SPDX-License-Identifier: Apache-2.0
"""Room in the flow table: who gets it, and at whose cost, without an agent that sweeps."""

import abi
import pytest
from bpf import NEXT, SHOT
from maps import tuple_of
from packets import frame
from test_flows import answered, begin, reply_to, web
from test_verdicts import POD1, POD2, VIP, ends, first

SLOTS = 16


@pytest.fixture(name="small")
def small_fixture(nat):
    nat.control.ring_slots = SLOTS
    nat.write_control()
    return nat


def fill(nat, family, protocol, state, count=SLOTS):
    """Flows that have come to a state, one for each slot; the packets they began with."""
    packets = []
    for number in range(count):
        sport = 30000 + number
        if state in ("half-open", "unanswered"):
            sent, _ = begin(nat, "outside", family, protocol, sport=sport)
        else:
            sent, result, _ = answered(nat, "outside", family, protocol, sport=sport)
        if state in ("established", "stream", "half-closed", "closed"):
            nat.send("uplink_in", first("outside", family, protocol, VIP, sport=sport, flags="A")[1])
        if state == "half-closed":
            nat.send("uplink_in", first("outside", family, protocol, VIP, sport=sport, flags="FA")[1])
        if state == "closed":
            nat.send("pod_in", reply_to("pod_in", result.packet, protocol, "RA"))
        assert nat.state(tuple_of(sent)) == state
        packets.append(sent)
    return packets


def living(nat, packets):
    return [number for number, packet in enumerate(packets) if nat.flow(tuple_of(packet))]


def starts(nat, family, protocol, sport=50000):
    hook, packet, _ = first("outside", family, protocol, VIP, sport=sport)
    return nat.send(hook, packet).verdict != SHOT


def test_the_young_stay(small, family, protocol):
    """What waits for its answer for less than a second is no older flow's victim, wherever the delivery
    stands."""
    web(small, family, protocol, POD1)
    packets = fill(small, family, protocol, "half-open" if protocol == abi.TCP else "unanswered")
    small.grow_old(tuple_of(packets[5]), 3)
    assert starts(small, family, protocol)
    assert living(small, packets) == [number for number in range(SLOTS) if number != 5]


@pytest.mark.parametrize("protocol, state", (
    (abi.TCP, "half-open"), (abi.TCP, "answered"), (abi.TCP, "closed"),
    (abi.UDP, "unanswered"), (abi.UDP, "exchange")), ids=str)
def test_what_is_worth_little_makes_room(small, family, protocol, state):
    """The oldest of them first: a flood drives out its like."""
    web(small, family, protocol, POD1)
    packets = fill(small, family, protocol, state)
    assert starts(small, family, protocol)
    assert living(small, packets) == list(range(1, SLOTS)) and small.halves() == 2 * SLOTS
    assert small.maps["pressure"][0].flows_dropped == 1


@pytest.mark.parametrize("protocol, state", ((abi.TCP, "established"), (abi.UDP, "stream")), ids=str)
def test_what_lives_is_not_driven_out(small, family, protocol, state):
    """A new flow is refused, and that is said."""
    service = web(small, family, protocol, POD1)
    packets = fill(small, family, protocol, state)
    assert not starts(small, family, protocol)
    assert living(small, packets) == list(range(SLOTS))
    assert small.refusals(service.id) == {"flows-full": 1}
    assert small.maps["pressure"][0].flows_refused == 1


@pytest.mark.parametrize("protocol, state, silent_s", (
    (abi.TCP, "established", 7450), (abi.TCP, "half-closed", 3700), (abi.UDP, "stream", 130)), ids=str)
def test_what_is_over_makes_room_without_the_agent(small, family, protocol, state, silent_s):
    """All that was silent for too long is used again, slot by slot, at the cost of nobody."""
    web(small, family, protocol, POD1)
    for packet in fill(small, family, protocol, state):
        small.grow_old(tuple_of(packet), silent_s)
    assert all(starts(small, family, protocol, 50000 + number) for number in range(SLOTS))
    assert small.halves() == 2 * SLOTS
    pressure = small.maps["pressure"][0]
    assert (pressure.flows_dropped, pressure.flows_refused) == (0, 0)


def test_the_rest_of_the_living_stays(small, family):
    """Only one is worth little; it is found wherever the turn is."""
    web(small, family, abi.TCP, POD1)
    packets = fill(small, family, abi.TCP, "established", SLOTS - 1)
    for sport in range(50000, 50020):
        assert starts(small, family, abi.TCP, sport)
        assert living(small, packets) == list(range(SLOTS - 1))


def test_a_half_closed_flow_goes_before_a_refusal(small, family):
    """Who opens connections and only closes his side fills no table for an hour."""
    web(small, family, abi.TCP, POD1)
    packets = fill(small, family, abi.TCP, "half-closed")
    small.grow_old(tuple_of(packets[5]), 40)
    assert starts(small, family, abi.TCP)
    assert 5 not in living(small, packets)


def test_a_slot_that_names_another_flow_is_free(small, family):
    """The flow ended, and one of the same tuple has got another slot."""
    web(small, family, abi.TCP, POD1)
    packet = fill(small, family, abi.TCP, "established", 1)[0]
    slot = small.flow(tuple_of(packet)).slot
    for number in range(SLOTS):
        if number != slot:
            small.maps["ring"][number] = small.maps["ring"][slot]
    for sport in range(50000, 50000 + SLOTS - 1):
        assert starts(small, family, abi.TCP, sport)
    assert small.flow(tuple_of(packet)) and small.halves() == 2 * SLOTS


def test_a_direct_connection_needs_no_room(small, family):
    """Where there is none, only its tuple is not kept."""
    web(small, family, abi.TCP, POD2)
    for number in range(SLOTS):
        sent = begin(small, "pod", family, abi.TCP, sport=30000 + number)[0]
        for key in (tuple_of(sent), small.flow(tuple_of(sent)).to.reversed()):
            small.change_flow(key, flags=small.flow(key).flags | abi.FLOW_ANSWERED | abi.FLOW_CONFIRMED)
    packet = frame("pod_in", POD1[family], 50000, POD2[family], 8080)
    result = small.send("pod_in", packet)
    assert (result.verdict, ends(result.packet)) == (NEXT, ends(packet))
    assert small.halves() == 2 * SLOTS
