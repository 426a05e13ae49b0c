# SPDX-License-Identifier: Apache-2.0
"""Source ports: to an endpoint no two flows look the same, nor one like a direct connection."""

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from maps import tuple_of
from packets import frame, from_others
from test_flows import answered, begin, opposite, reply_to, web
from test_verdicts import NODE, POD1, POD2, REMOTE, VIP, ends, first


OTHERS = {4: "198.51.100.%d", 6: "2001:db8:51::%x"}


def others_begin(nat, family, protocol, number, sport=40000):
    """Another client's first packet, always from the same port."""
    packet = frame("uplink_in", OTHERS[family] % number, sport, VIP[family], 80, protocol)
    return packet, nat.send("uplink_in", packet)


def others_live(nat, family, protocol, number):
    """A flow of another client that is established, or a stream."""
    packet, result = others_begin(nat, family, protocol, number)
    nat.send("pod_in", reply_to("pod_in", result.packet, protocol))
    again = frame("uplink_in", OTHERS[family] % number, 40000, VIP[family], 80, protocol, flags="A")
    nat.send("uplink_in", again)
    assert nat.state(tuple_of(packet)) in ("established", "stream")
    return packet, result


def test_a_client_keeps_its_port(nat, family, protocol):
    """Where it is free, and not one that means something to the endpoint or to this node."""
    web(nat, family, protocol, POD1)
    nat.service(NODE[family], 30080, [(POD2[family], 8080)], protocol=protocol, kind=abi.NODE_PORT)
    for sport, kept in ((40001, True), (1024, True), (1023, False), (30080, False)):
        hook, packet, _ = first("outside", family, protocol, VIP, sport=sport)
        assert (ends(nat.send(hook, packet).packet)[1] == sport) == kept


def test_ports_are_claimed(nat, family, protocol):
    """Two hundred flows from one client port to one endpoint: each gets a source port of its own,
    and none that is a node port."""
    nat.control.snat_count = 200
    nat.write_control()
    web(nat, family, protocol, POD1)
    nat.service(NODE[family], 50100, [(POD2[family], 8080)], protocol=protocol, kind=abi.NODE_PORT)
    seen = [ends(others_begin(nat, family, protocol, number)[1].packet)[1]
            for number in range(1, 201)]
    assert sorted(seen) == sorted({40000, *range(50000, 50200)} - {50100})


def test_exhausted_ports(nat, family, protocol):
    """Refused is only who comes when each port has a flow that lives."""
    nat.control.snat_count = 2
    nat.write_control()
    service = web(nat, family, protocol, POD1)
    for number in range(1, 4):
        others_live(nat, family, protocol, number)
    assert others_begin(nat, family, protocol, 4)[1].verdict == SHOT
    assert nat.refusals(service.id) == {"snat-exhausted": 1} and nat.halves() == 6
    pressure = nat.maps["pressure"][0]
    assert (pressure.ports_refused, pressure.ports_dropped) == (1, 0)
    last = next(value.last for _, value in nat.maps["refusals"].items())
    assert (str(last.src), str(last.dst), last.dport) == (NODE[family], POD1[family], 8080)


def test_a_flow_that_nobody_answered_gives_its_port_away(nat, family, protocol):
    """The one that got it longest ago, before anybody is refused; flows that live stay."""
    nat.control.snat_count = 3
    nat.write_control()
    web(nat, family, protocol, POD1)
    packets = [others_begin(nat, family, protocol, 1)[0], others_live(nat, family, protocol, 2)[0]]
    packets += [others_begin(nat, family, protocol, number)[0] for number in (3, 4)]
    port = ends(others_begin(nat, family, protocol, 5)[1].packet)[1]
    gone = [packet for packet in packets if not nat.flow(tuple_of(packet))]
    assert gone == [packets[2]] and port == 50001
    assert nat.maps["pressure"][0].ports_dropped == 1


@pytest.mark.parametrize("silent_s, taken", ((100, False), (130, True)))
def test_a_stream_that_is_over_gives_its_port_away(nat, family, silent_s, taken):
    nat.control.snat_count = 1
    nat.write_control()
    web(nat, family, abi.UDP, POD1)
    kept, _ = others_live(nat, family, abi.UDP, 1)
    over, result = others_live(nat, family, abi.UDP, 2)
    nat.grow_old(tuple_of(over), silent_s)
    port = ends(result.packet)[1]
    assert ends(others_begin(nat, family, abi.UDP, 3)[1].packet)[1] == port
    assert nat.flow(tuple_of(kept)) and not nat.flow(tuple_of(over))
    assert nat.maps["pressure"][0].ports_dropped == int(not taken)


def test_what_fails_is_not_searched_for_again_at_once(nat, family):
    """A full search takes milliseconds: one in a second."""
    nat.control.snat_count = 1000
    nat.write_control()
    web(nat, family, abi.TCP, POD1)
    source = {4: "198.51.%d.%d", 6: "2001:db8:52::%x:%x"}[family]
    clients = [(source % (number // 250, number % 250 + 1), 40000) for number in range(1, 1002)]
    one = frame("uplink_in", *clients[0], VIP[family], 80)
    for packet in from_others(one, clients):
        assert nat.live["uplink_in"].run(packet, nat.world.index["eth0"]).verdict == REDIRECT
    for key, half in nat.maps["flows"].items():
        nat.change_flow(key, flags=half.flags | abi.FLOW_ANSWERED | abi.FLOW_CONFIRMED)
    before = nat.maps["searches"][1].next
    assert [others_begin(nat, family, abi.TCP, number)[1].verdict for number in range(2)] == [SHOT] * 2
    assert nat.maps["searches"][1].next - before in (1256, 2000)  # a second may have begun


@pytest.mark.parametrize("start", (begin, answered))
def test_a_flow_that_lost_its_tuple_begins_anew(nat, family, start):
    """Its answers would go to the one that has the tuple now."""
    web(nat, family, abi.TCP, POD1)
    _, other, *_ = start(nat, "outside", family, abi.TCP, sport=40001)
    sent, result, *_ = start(nat, "outside", family, abi.TCP)
    lost = tuple_of(result.packet).reversed()
    nat.change_flow(lost, to=nat.flow(tuple_of(other.packet).reversed()).to)
    nat.grow_old(tuple_of(sent), 1)
    anew = nat.send("uplink_in", sent)
    assert anew.verdict == REDIRECT and ends(anew.packet)[1] != ends(result.packet)[1]
    assert nat.flow(lost).half == abi.HALF_REPLY, "it is another's"
    answer = nat.send("pod_in", reply_to("pod_in", anew.packet, abi.TCP))
    assert ends(answer.packet) == opposite(sent)


def test_ports_are_per_endpoint(nat, family, protocol):
    nat.control.snat_count = 1
    nat.write_control()
    for number, endpoint in enumerate((POD1, POD2, REMOTE)):
        nat.service(VIP[family], 80 + number, [(endpoint[family], 8080)], protocol=protocol)
    for port in (80, 81, 82):
        hook, packet, _ = first("outside", family, protocol, VIP, port=port)
        assert nat.send(hook, packet).verdict == REDIRECT


def test_same_client_port_to_two_services_of_one_endpoint(nat, family, protocol):
    """Without masquerade both would be the same to the endpoint: the second gets another port."""
    for port in (80, 81):
        nat.service(VIP[family], port, [(POD2[family], 8080)], protocol=protocol)
    one = begin(nat, "pod", family, protocol, port=80)
    two = begin(nat, "pod", family, protocol, port=81)
    assert ends(one[1].packet)[:2] == (POD1[family], 40000)
    source, sport, *_ = ends(two[1].packet)
    assert source == POD1[family] and sport >= 50000
    for sent, result in (one, two):
        answer = nat.send("pod_out", reply_to("pod_out", result.packet, protocol))
        assert ends(answer.packet) == opposite(sent)


def direct(family, protocol, **fields):
    return frame("pod_in", POD1[family], 40000, POD2[family], 8080, protocol, **fields)


def test_direct_connection_first(nat, family, protocol):
    """The same client port to an endpoint and to its Service at once; the direct one was first."""
    web(nat, family, protocol)
    packet = direct(family, protocol)
    result = nat.send("pod_in", packet)
    assert (result.verdict, result.data) == (NEXT, bytes(packet))
    key = tuple_of(packet).reversed()
    assert nat.flow(key).half == abi.HALF_DIRECT
    sent, result = begin(nat, "pod", family, protocol)
    source, sport, *destination = ends(result.packet)
    assert source == POD1[family] and sport >= 50000 and destination == [POD2[family], 8080]
    answer = reply_to("pod_out", packet, protocol)
    plain = nat.send("pod_out", answer)
    assert (plain.verdict, plain.data) == (NEXT, bytes(answer))
    translated = nat.send("pod_out", reply_to("pod_out", result.packet, protocol))
    assert ends(translated.packet) == opposite(sent)


def test_direct_connection_second(nat, family, protocol):
    """The flow has the tuple already: the direct connection gets another port, and its answers
    are the endpoint's own."""
    web(nat, family, protocol)
    sent, result = begin(nat, "pod", family, protocol)
    assert ends(result.packet)[1] == 40000
    packet = direct(family, protocol)
    straight = nat.send("pod_in", packet)
    source, sport, *destination = ends(straight.packet)
    assert source == POD1[family] and sport >= 50000 and destination == [POD2[family], 8080]
    answer = nat.send("pod_out", reply_to("pod_out", straight.packet, protocol))
    assert ends(answer.packet) == opposite(packet)
    answer = nat.send("pod_out", reply_to("pod_out", result.packet, protocol))
    assert ends(answer.packet) == opposite(sent)


def test_direct_connection_after_the_flow_has_ended(nat, family):
    web(nat, family, abi.TCP)
    _, result, _ = answered(nat, "pod", family, abi.TCP)
    nat.send("pod_out", reply_to("pod_out", result.packet, abi.TCP, "RA"))
    packet = direct(family, abi.TCP)
    straight = nat.send("pod_in", packet)
    assert (straight.verdict, straight.data) == (NEXT, bytes(packet))


def test_direct_packets_are_untouched(nat, family, protocol):
    web(nat, family, protocol)
    for flags in ("S", "A", "PA", "FA"):
        packet = direct(family, protocol, flags=flags)
        result = nat.send("pod_in", packet)
        assert (result.verdict, result.data) == (NEXT, bytes(packet))
    answer = reply_to("pod_out", direct(family, protocol), protocol)
    result = nat.send("pod_out", answer)
    assert (result.verdict, result.data) == (NEXT, bytes(answer))


def test_direct_connection_is_kept_in_use(nat, family, protocol):
    """By its replies, so that it is told from one that is long over."""
    web(nat, family, protocol)
    packet = direct(family, protocol)
    nat.send("pod_in", packet)
    key = tuple_of(packet).reversed()
    nat.change_flow(key, seen_s=5)
    answer = reply_to("pod_in", packet, protocol)
    assert nat.send("pod_in", answer, device="pod2").verdict == NEXT
    half = nat.flow(key)
    assert half.seen_s > 5 and half.packets == 1 and half.bytes == len(answer)


def own_direct(family, protocol, sport=40000, **fields):
    """What the node itself sends to an endpoint, as the kubelet does."""
    return frame("pod_out", NODE[family], sport, POD1[family], 8080, protocol, **fields)


def test_the_nodes_own_connection_to_an_endpoint(nat, family, protocol):
    """The kernel chose a source port that a masqueraded flow has: it gets another one, and its
    answers are its own."""
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    assert ends(result.packet)[:2] == (NODE[family], 40000)
    probe = nat.send("pod_out", own_direct(family, protocol))
    source, sport, *there = ends(probe.packet)
    assert probe.verdict == NEXT and source == NODE[family] and there == [POD1[family], 8080]
    assert 50000 <= sport < 60000
    again = nat.send("pod_out", own_direct(family, protocol, flags="A"))
    assert ends(again.packet) == ends(probe.packet)
    back = nat.send("pod_in", reply_to("pod_in", probe.packet, protocol))
    assert back.verdict == NEXT and ends(back.packet) == opposite(own_direct(family, protocol))
    answer = nat.send("pod_in", reply_to("pod_in", result.packet, protocol))
    assert ends(answer.packet) == opposite(sent)


def test_the_nodes_own_connection_was_first(nat, family, protocol):
    """A flow from the same port gets another one; the node's own packets are left alone."""
    web(nat, family, protocol, POD1)
    for flags in ("S", "A"):
        packet = own_direct(family, protocol, flags=flags)
        probe = nat.send("pod_out", packet)
        assert (probe.verdict, probe.data) == (NEXT, bytes(packet))
    assert nat.flow(tuple_of(packet).reversed()).half == abi.HALF_DIRECT
    _, result = begin(nat, "outside", family, protocol)
    assert ends(result.packet)[1] >= 50000
    back = reply_to("pod_in", packet, protocol)
    assert (nat.send("pod_in", back).verdict, nat.send("pod_in", back).data) == (NEXT, bytes(back))
