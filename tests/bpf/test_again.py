# SPDX-License-Identifier: Apache-2.0
"""A client uses its port for another connection, as proxies do all the time: the flow that is over begins again
where it stands if it leads to the same endpoint, or gives its slot and its place to the new one."""

import abi
import pytest
from maps import tuple_of
from test_flows import answered, begin, opposite, reply_to, web
from test_stack import through
from test_verdicts import POD1, POD2, VIP, ends, first


def close(nat, family, result):
    """The endpoint refuses to go on."""
    nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="A")[1])
    nat.send("pod_in", reply_to("pod_in", result.packet, abi.TCP, "RA"))


def halves_of(nat, sent, wire):
    return nat.flow(tuple_of(sent)), nat.flow(tuple_of(wire).reversed())


def turn(nat):
    """How many slots the delivery has looked at."""
    return nat.maps["pressure"][0].turn


def is_new(nat, sent, result):
    forward, reply = halves_of(nat, sent, result.packet)
    kept = abi.FLOW_MASQ | abi.FLOW_HAIRPIN | abi.FLOW_AT_EXIT | abi.FLOW_OUTBOUND
    assert not forward.flags & ~kept and not reply.flags & ~kept
    assert (forward.packets, reply.packets, reply.next, reply.ack) == (1, 0, 0, 0)
    assert forward.seen_s == reply.seen_s and nat.state(tuple_of(sent)) == "half-open"


def test_to_the_same_endpoint(nat, family):
    service = web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    close(nat, family, result)
    assert nat.state(tuple_of(sent)) == "closed"
    slots, before = {half.slot for half in halves_of(nat, sent, result.packet)}, turn(nat)
    _, again = begin(nat, "outside", family, abi.TCP)
    assert ends(again.packet) == ends(result.packet) and nat.halves() == 2
    is_new(nat, sent, again)
    assert {half.slot for half in halves_of(nat, sent, again.packet)} == slots and turn(nat) == before
    assert service.counters()[2] == 2, "two flows"
    answer = nat.send("pod_in", reply_to("pod_in", again.packet, abi.TCP))
    assert ends(answer.packet) == opposite(sent)
    nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="A")[1])
    assert nat.state(tuple_of(sent)) == "established"


def test_to_another_endpoint(nat, family):
    service = web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    close(nat, family, result)
    slot, before = nat.flow(tuple_of(sent)).slot, turn(nat)
    service.update(cluster=[(POD2[family], 8081)])
    _, again = begin(nat, "outside", family, abi.TCP)
    assert ends(again.packet)[2:] == (POD2[family], 8081) and nat.halves() == 2
    is_new(nat, sent, again)
    assert {half.slot for half in halves_of(nat, sent, again.packet)} == {slot} and turn(nat) == before
    assert bytes(nat.maps["ring"][slot]) == bytes(tuple_of(again.packet).reversed())


def test_of_another_service_by_the_same_addresses(nat, family):
    """The endpoint is the same, and its id is another's now: what counts for whom follows the new flow."""
    web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    close(nat, family, result)
    nat.change_flow(tuple_of(sent), service=77, endpoint=78, generation=79)
    _, again = begin(nat, "outside", family, abi.TCP)
    forward, reply = halves_of(nat, sent, again.packet)
    assert (forward.service, forward.endpoint, forward.generation) == (reply.service, reply.endpoint, reply.generation)
    assert forward.service != 77 and forward.endpoint != 78 and forward.generation != 79


def test_half_of_it_is_left(nat, family):
    """The sweep has just removed the reply half: all is made anew."""
    web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    close(nat, family, result)
    del nat.maps["flows"][tuple_of(result.packet).reversed()]
    _, again = begin(nat, "outside", family, abi.TCP)
    is_new(nat, sent, again)
    answer = nat.send("pod_in", reply_to("pod_in", again.packet, abi.TCP))
    assert ends(answer.packet) == opposite(sent)


@pytest.mark.parametrize("path", (abi.PATH_STACK | abi.PATH_STACKED, 0), ids=("to the stack", "past the stack"))
def test_by_another_next_hop(nat, family, path):
    """The agent has changed services.path since: the flow goes as new ones do."""
    web(nat, family, abi.TCP, POD1)
    nat.control.path = path ^ (abi.PATH_STACK | abi.PATH_STACKED)
    nat.write_control()
    sent, result = begin(nat, "outside", family, abi.TCP)
    nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="RA")[1])
    nat.change_flow(tuple_of(sent), flags=nat.flow(tuple_of(sent)).flags | abi.FLOW_RST)
    nat.control.path = path
    nat.write_control()
    _, again = begin(nat, "outside", family, abi.TCP)
    assert again.verdict != result.verdict
    assert bool(nat.flow(tuple_of(sent)).flags & abi.FLOW_AT_EXIT) == bool(path)


def test_both_legs_through_the_stack(nat, family):
    nat.control.path = abi.PATH_STACK | abi.PATH_STACKED
    nat.write_control()
    web(nat, family, abi.TCP, POD1)
    packets = [first("outside", family, abi.TCP, VIP, flags=flags)[1] for flags in ("S", "A")]
    seen = []
    for _ in range(2):
        before = turn(nat)
        _, wire = through(nat, "uplink_in", "pod_out", packets[0])
        seen.append((ends(wire.packet), turn(nat) - before))
        for flags in ("SA", "RA"):
            back = reply_to("pod_in", wire.packet, abi.TCP, flags)
            assert ends(through(nat, "pod_in", "uplink_out", back)[1].packet) == opposite(packets[0])
            through(nat, "uplink_in", "pod_out", packets[1])
    assert seen == [(seen[0][0], 2), (seen[0][0], 0)] and nat.halves() == 4
