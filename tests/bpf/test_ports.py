# SPDX-License-Identifier: Apache-2.0
"""Source ports: to an endpoint no two flows look the same, nor one like a direct connection."""

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from maps import tuple_of
from packets import frame
from test_flows import answered, begin, opposite, reply_to, web
from test_verdicts import POD1, POD2, REMOTE, VIP, ends, first


def test_ports_are_claimed(nat, family, protocol):
    """Two hundred flows of one client port to one endpoint: each gets a source port of its own."""
    nat.control.snat_count = 250
    nat.write_control()
    web(nat, family, protocol, POD1)
    seen = set()
    source = {4: "198.51.100.%d", 6: "2001:db8:51::%x"}[family]
    for number in range(1, 201):
        packet = frame("uplink_in", source % number, 40000, VIP[family], 80, protocol)
        result = nat.send("uplink_in", packet)
        if result.verdict == REDIRECT:
            seen.add(ends(result.packet)[1])
    assert len(seen) >= 195 and seen <= set(range(50000, 50250))
    assert len(nat.maps["flows_new"]) == 2 * len(seen)


def test_exhausted_ports(nat, family, protocol):
    nat.control.snat_count = 2
    nat.write_control()
    service = web(nat, family, protocol, POD1)
    verdicts = []
    for sport in range(40000, 40003):
        hook, packet, _ = first("outside", family, protocol, VIP, sport=sport)
        verdicts.append(nat.send(hook, packet).verdict)
    assert verdicts == [REDIRECT, REDIRECT, SHOT]
    assert nat.refusals(service.id) == {"snat-exhausted": 1} and nat.flow_count() == (0, 4)


def close(nat, family, sport, *segments):
    """A connection from outside that ends with these segments: (who, flags). Returns its port."""
    _, result, _ = answered(nat, "outside", family, abi.TCP, sport=sport)
    for who, flags in segments:
        if who == "client":
            hook, packet, ingress = first("outside", family, abi.TCP, VIP, sport=sport, flags=flags)
        else:
            hook, ingress = "pod_in", 0
            packet = reply_to(hook, result.packet, abi.TCP, flags)
        assert nat.send(hook, packet, ingress=ingress).verdict == REDIRECT
    return ends(result.packet)[1]


CLIENT_LAST = (("client", "FA"), ("endpoint", "FA"), ("client", "A"))


@pytest.mark.parametrize("other", (
    (("client", "FA"), ("endpoint", "A"), ("client", "A"), ("endpoint", "FA")),
    (("client", "FA"), ("endpoint", "FA"), ("client", "FA")),
    (("endpoint", "FA"), ("client", "FA"), ("endpoint", "A")),
    (("client", "FA"), ("endpoint", "A")),
))
def test_a_port_is_taken_where_nobody_waits(nat, family, other):
    """Of ports that are in use one whose endpoint is done, not the one that waits for the last ACK
    or keeps TIME_WAIT, for which it would have to be drawn eight times in a row."""
    nat.control.snat_count = 8
    nat.write_control()
    web(nat, family, abi.TCP, POD1)
    kept = close(nat, family, 30000, *other)
    again = [close(nat, family, 40000 + number, *CLIENT_LAST) for number in range(60)]
    assert kept not in again


@pytest.mark.parametrize("start", (begin, answered))
def test_a_flow_that_lost_its_tuple_begins_anew(nat, family, start):
    """Its answers would go to the one that has the tuple now."""
    web(nat, family, abi.TCP, POD1)
    _, other, *_ = start(nat, "outside", family, abi.TCP, sport=40001)
    sent, result, *_ = start(nat, "outside", family, abi.TCP)
    lost = tuple_of(result.packet).reversed()
    nat.change_flow(lost, to=nat.flow(tuple_of(other.packet).reversed())[1].to)
    anew = nat.send("uplink_in", sent)
    assert anew.verdict == REDIRECT and ends(anew.packet)[1] != ends(result.packet)[1]
    assert nat.flow(lost)[1].half == abi.HALF_REPLY, "it is another's"
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
    assert nat.flow(key)[1].half == abi.HALF_DIRECT
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
    half = nat.flow(key)[1]
    assert half.seen_s > 5 and half.packets == 1 and half.bytes == len(answer)
