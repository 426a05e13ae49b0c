# SPDX-License-Identifier: Apache-2.0
"""Flows: both directions of them, how they begin, stay and end. Their ports: test_ports.py."""

import abi
import pytest
from abi import Tuple
from bpf import NEXT, REDIRECT, SHOT
from maps import POD_NETS, tuple_of
from packets import frame, from_others, judge
from test_verdicts import CLIENT, LB, NODE, POD1, POD2, REMOTE, VIP, ends, first, hops
from world import MACS


def reply_to(hook, packet, protocol, flags="SA", **fields):
    """What an endpoint answers to a packet it got, as it is seen at a hook."""
    source, sport, destination, dport = ends(packet)
    return frame(hook, destination, dport, source, sport, protocol, flags=flags, **fields)


def begin(nat, way, family, protocol, to=VIP, **fields):
    """The first packet of a flow: (as sent, as it goes on)."""
    hook, packet, ingress = first(way, family, protocol, to, **fields)
    result = nat.send(hook, packet, ingress=ingress)
    assert result.verdict in (NEXT, REDIRECT), nat.refusals()
    return packet, result


def web(nat, family, protocol, endpoint=POD2, to=VIP, **more):
    kind = {id(VIP): abi.CLUSTER_IP, id(NODE): abi.NODE_PORT}.get(id(to), abi.LOAD_BALANCER)
    return nat.service(
        to[family], 80, [(endpoint[family], 8080)], protocol=protocol, kind=kind, **more
    )


@pytest.fixture(name="node_is", params=("outside", "among"))
def node_is_fixture(request, nat):
    """Whether the node's own address is among those of pods: it counts as a pod's then, but its
    packets still come from here and its answers belong here."""
    if request.param == "among":
        nat.set_nets("pod", [*POD_NETS, *NODE.values()])
        nat.write_control()
    return request.param


def opposite(packet):
    source, sport, destination, dport = ends(packet)
    return destination, dport, source, sport


# Both directions.


def test_reply_to_a_pod_is_translated_where_it_leaves(nat, family, protocol):
    web(nat, family, protocol)
    sent, result = begin(nat, "pod", family, protocol)
    answer = reply_to("pod_in", result.packet, protocol)
    entry = nat.send("pod_in", answer, device="pod2")
    assert (entry.verdict, entry.data[6:]) == (NEXT, bytes(answer)[6:])
    answer = reply_to("pod_out", result.packet, protocol)
    leaving = nat.send("pod_out", answer)
    assert leaving.verdict == NEXT and ends(leaving.packet) == opposite(sent)
    assert hops(leaving.packet) == 64


def test_reply_to_outside_under_local_policy(nat, family, protocol):
    web(nat, family, protocol, POD1, LB, outcomes={abi.OUTSIDE: "forward"})
    sent, result = begin(nat, "outside", family, protocol, LB)
    answer = reply_to("pod_in", result.packet, protocol)
    entry = nat.send("pod_in", answer)
    assert (entry.verdict, entry.data) == (NEXT, bytes(answer))
    leaving = nat.send("uplink_out", reply_to("uplink_out", result.packet, protocol))
    assert leaving.verdict == NEXT and ends(leaving.packet) == opposite(sent)


@pytest.mark.parametrize("endpoint, hook", ((POD1, "pod_in"), (REMOTE, "uplink_in")))
def test_reply_of_a_masqueraded_flow(nat, family, protocol, endpoint, hook):
    web(nat, family, protocol, endpoint)
    sent, result = begin(nat, "outside", family, protocol)
    assert result.verdict == REDIRECT
    answer = nat.send(hook, reply_to(hook, result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)
    assert hops(answer.packet) == 63


@pytest.mark.parametrize("target", (VIP, NODE), ids=("svc0", "lo"))
@pytest.mark.parametrize("endpoint, hook", ((POD1, "pod_in"), (REMOTE, "uplink_in")))
def test_reply_to_the_node_itself(nat, family, protocol, endpoint, hook, target, node_is):
    """It goes in once more where the node sent it out, so that strict rp_filter is content."""
    web(nat, family, protocol, endpoint, target)
    sent, result = begin(nat, "node", family, protocol, target)
    assert result.verdict == REDIRECT and ends(result.packet)[0] == NODE[family]
    answer = nat.send(hook, reply_to(hook, result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)
    assert answer.packet.dst == MACS["svc0" if target is VIP else "lo"]
    flags = nat.flow(tuple_of(sent)).flags
    assert bool(flags & abi.FLOW_MASQ) == (node_is == "outside")
    assert hops(answer.packet) == 64


@pytest.mark.parametrize("endpoint, hook", ((POD2, "pod_in"), (REMOTE, "uplink_in"), (NODE, "lo_out")))
def test_client_by_an_interface_that_is_not_known_yet(nat, family, protocol, endpoint, hook):
    """Of a pod that was born while no agent ran: nothing of ours stands there to translate the answer,
    so it must come by here."""
    service = web(nat, family, protocol, endpoint)
    if endpoint is NODE:
        nat.on_node(service, (NODE[family], 8080))
    packet = frame("svc_out", POD1[family], 40000, VIP[family], 80, protocol)
    ingress = nat.world.index["pod1"]
    del nat.maps["interfaces"][ingress]
    result = nat.send("svc_out", packet, ingress="pod1")
    assert result.verdict == REDIRECT
    assert ends(result.packet)[0] == NODE[family] and ends(result.packet)[2] == endpoint[family]
    answer = nat.send(hook, reply_to(hook, result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(packet)


def test_hairpin(nat, family, protocol):
    """A pod reaches itself: it must see another source, and its answer must come by here."""
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "pod", family, protocol)
    source, sport, *destination = ends(result.packet)
    assert result.verdict == REDIRECT and destination == [POD1[family], 8080]
    assert (source, sport) == (NODE[family], 40000)
    answer = nat.send("pod_in", reply_to("pod_in", result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)
    half = nat.flow(tuple_of(sent))
    assert half.flags & abi.FLOW_HAIRPIN and not half.flags & abi.FLOW_MASQ


def test_hairpin_is_of_the_chosen_endpoint_only(nat, family, protocol):
    nat.service(
        VIP[family], 80, [(POD1[family], 8080), (POD2[family], 8080)], protocol=protocol
    )
    seen = set()
    for sport in range(40000, 40040):
        hook, packet, _ = first("pod", family, protocol, VIP, sport=sport)
        source, _, destination, _ = ends(nat.send(hook, packet).packet)
        seen.add((source, destination))
    assert seen == {(NODE[family], POD1[family]), (POD1[family], POD2[family])}


def test_hairpin_under_local_policy(nat, family, protocol):
    """Trap 5: no masquerade by policy, but the chosen endpoint is the sender."""
    nat.service(
        LB[family], 80, [(POD1[family], 8080)], [(POD1[family], 8080)], protocol=protocol,
        kind=abi.LOAD_BALANCER, outcomes={abi.POD: "forward"},
    )
    _, result = begin(nat, "pod", family, protocol, LB)
    assert ends(result.packet)[0] == NODE[family]


def test_endpoint_on_this_node(nat, family, protocol):
    """A host-network endpoint: delivered by the stack, which would not take its own source."""
    service = web(nat, family, protocol, NODE)
    nat.on_node(service, (NODE[family], 8080))
    sent, result = begin(nat, "outside", family, protocol)
    assert result.verdict == NEXT
    assert ends(result.packet) == (CLIENT[family], 40000, NODE[family], 8080)
    leaving = nat.send("uplink_out", reply_to("uplink_out", result.packet, protocol))
    assert leaving.verdict == NEXT and ends(leaving.packet) == opposite(sent)


def test_node_to_an_endpoint_on_this_node(nat, family, protocol, node_is):
    """By svc0 into lo; the answer leaves by lo and goes back in at svc0."""
    service = web(nat, family, protocol, NODE)
    nat.on_node(service, (NODE[family], 8080))
    sent, result = begin(nat, "node", family, protocol)
    assert result.verdict == REDIRECT and result.packet.dst == MACS["lo"]
    assert ends(result.packet) == (NODE[family], 40000, NODE[family], 8080)
    answer = nat.send("lo_out", reply_to("lo_out", result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)
    assert answer.packet.dst == MACS["svc0"]


def test_node_port_to_an_endpoint_on_this_node(nat, family, protocol, node_is):
    service = web(nat, family, protocol, NODE, NODE)
    nat.on_node(service, (NODE[family], 8080))
    sent, result = begin(nat, "node", family, protocol, NODE)
    assert result.verdict == NEXT
    assert ends(result.packet) == (NODE[family], 40000, NODE[family], 8080)
    answer = nat.send("lo_out", reply_to("lo_out", result.packet, protocol))
    assert answer.verdict == NEXT and ends(answer.packet) == opposite(sent)


def test_source_of_the_next_hop_out(nat, family, protocol):
    """4.8: the address of the interface it leaves by; another's, if that has none."""
    out, else_ = {4: "192.0.2.99", 6: "2001:db8:2::99"}, {4: "192.0.2.98", 6: "2001:db8:2::98"}
    web(nat, family, protocol, POD1)
    nat.interface(nat.world.index["pod1"], v4=out[4], v6=out[6])
    nat.interface(0, v4=else_[4], v6=else_[6])
    _, result = begin(nat, "outside", family, protocol)
    assert ends(result.packet)[0] == out[family]
    del nat.maps["interfaces"][nat.world.index["pod1"]]
    _, result = begin(nat, "outside", family, protocol, sport=40001)
    assert ends(result.packet)[0] == else_[family]


# The tables.


def test_source_of_the_node_among_pods(nat, family, protocol):
    """It is not masqueraded."""
    other = {4: {"v4": "192.0.2.99"}, 6: {"v6": "2001:db8::99"}}[family]
    nat.interface(nat.world.index["pod1"], **other)
    nat.set_nets("pod", [*POD_NETS, *NODE.values()])
    nat.write_control()
    web(nat, family, protocol, POD1)
    _, result = begin(nat, "node", family, protocol)
    source, sport, *_ = ends(result.packet)
    assert (source, sport) == (NODE[family], 40000)


def test_both_halves(nat, family, protocol):
    service = web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    forward, to = tuple_of(sent), tuple_of(result.packet)
    half, other = nat.flow(forward), nat.flow(to.reversed())
    assert nat.halves() == 2
    assert (half.half, half.to) == (abi.HALF_FORWARD, to)
    assert (other.half, other.to) == (abi.HALF_REPLY, forward.reversed())
    number, generation = service.endpoint((POD1[family], 8080))
    for key, value in ((forward, half), (to.reversed(), other)):
        assert value.check == abi.tuple_check(key)
        assert (value.service, value.port) == (service.id, service.port)
        assert (value.endpoint, value.generation) == (number, generation)
        assert value.flags & abi.FLOW_MASQ
    assert other.slot == half.slot and nat.maps["ring"][half.slot] == to.reversed()
    assert half.packets == 1 and half.bytes == len(sent)


def answered(nat, way, family, protocol, endpoint=POD1, to=VIP, **fields):
    """A flow of which the endpoint has answered: (packet as sent, as it went on, the answer)."""
    sent, result = begin(nat, way, family, protocol, to, **fields)
    hook = "pod_in" if ends(result.packet)[0] == NODE[family] else "pod_out"
    answer = nat.send(hook, reply_to(hook, result.packet, protocol))
    assert ends(answer.packet) == opposite(sent)
    return sent, result, answer


@pytest.mark.parametrize("way, endpoint", (("outside", POD1), ("pod", POD2), ("node", POD1)))
def test_an_answer_makes_it_last(nat, family, protocol, way, endpoint):
    web(nat, family, protocol, endpoint)
    sent, result, _ = answered(nat, way, family, protocol)
    assert nat.halves() == 2
    half, other = nat.flow(tuple_of(sent)), nat.flow(tuple_of(result.packet).reversed())
    assert half.flags & other.flags & abi.FLOW_ANSWERED and half.packets == other.packets == 1
    assert nat.state(tuple_of(sent)) == ("answered" if protocol == abi.TCP else "exchange")
    hook, packet, ingress = first(way, family, protocol, VIP, flags="A")
    again = nat.send(hook, packet, ingress=ingress)
    assert ends(again.packet) == ends(result.packet)
    assert nat.state(tuple_of(sent)) == ("established" if protocol == abi.TCP else "stream")
    assert nat.flow(tuple_of(sent)).packets == 2 and nat.halves() == 2


def test_a_refusal_is_no_answer(nat, family):
    """RST to a SYN: it is over."""
    web(nat, family, abi.TCP, POD1)
    sent, result = begin(nat, "outside", family, abi.TCP)
    answer = nat.send("pod_in", reply_to("pod_in", result.packet, abi.TCP, "RA"))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)
    assert nat.state(tuple_of(sent)) == "closed"


def test_a_flood_does_not_touch_the_living(nat, family, protocol):
    web(nat, family, protocol, POD1)
    sent, result, _ = answered(nat, "outside", family, protocol)
    source = {4: "198.51.%d.%d", 6: "2001:db8:51::%x:%x"}[family]
    hook = "uplink_in"
    one = frame(hook, source % (1, 1), 1024, VIP[family], 80, protocol)
    clients = [(source % (number // 250 % 250, number % 250 + 1), 1024 + number)
               for number in range(12000)]
    for flood in from_others(one, clients):
        nat.live[hook].run(flood, nat.world.index["eth0"])
    assert judge(flood) == [] and flood == bytes(frame(hook, *clients[-1], VIP[family], 80, protocol))
    again = nat.send("uplink_in", first("outside", family, protocol, VIP, flags="A")[1])
    assert ends(again.packet) == ends(result.packet)


def test_reply_half_that_is_lost_comes_back(nat, family, protocol):
    """Each half holds enough to make the other; a flow is looked after once a second."""
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    reply = tuple_of(result.packet).reversed()
    del nat.maps["flows"][reply]
    nat.grow_old(tuple_of(sent), 1)
    hook, packet, _ = first("outside", family, protocol, VIP)
    assert ends(nat.send(hook, packet).packet) == ends(result.packet)
    assert nat.flow(reply).to == tuple_of(sent).reversed()


def test_forward_half_that_is_lost_comes_back(nat, family, protocol):
    web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    del nat.maps["flows"][tuple_of(sent)]
    answer = nat.send("pod_in", reply_to("pod_in", result.packet, protocol))
    assert ends(answer.packet) == opposite(sent)
    assert nat.flow(tuple_of(sent)).to == tuple_of(result.packet)


def test_value_of_another_key(nat, family, protocol):
    """A value that was given to another key while it was read is not taken for this one's."""
    web(nat, family, protocol, POD1)
    sent, _ = begin(nat, "outside", family, protocol)
    nat.change_flow(tuple_of(sent), check=12345, to=Tuple.of(
        NODE[family], 1, REMOTE[family], 666, protocol
    ))
    hook, packet, _ = first("outside", family, protocol, VIP)
    result = nat.send(hook, packet)
    assert result.verdict == SHOT or ends(result.packet)[2:] == (POD1[family], 8080)


# How they end.


@pytest.mark.parametrize("way, endpoint", (("outside", POD1), ("pod", POD2)))
def test_late_answer_of_an_endpoint_that_left(nat, family, protocol, way, endpoint):
    """It was asked first, then another one, since it left: the flow is the other's."""
    service = web(nat, family, protocol, endpoint)
    sent, old = begin(nat, way, family, protocol)
    service.update(cluster=[(REMOTE[family], 8081)])
    _, new = begin(nat, way, family, protocol)
    assert ends(new.packet)[2:] == (REMOTE[family], 8081)
    hook = "pod_in" if way == "outside" else "pod_out"
    nat.send(hook, reply_to(hook, old.packet, protocol))
    assert nat.flow(tuple_of(sent)).to == tuple_of(new.packet)
    hook = "uplink_in" if way == "outside" else "pod_out"
    answer = nat.send(hook, reply_to(hook, new.packet, protocol))
    assert ends(answer.packet) == opposite(sent)
    assert nat.flow(tuple_of(sent)).to == tuple_of(new.packet)


@pytest.mark.parametrize("flags", ("R", "RA", "FA", "F", "SA", "SR", "", "PU"))
def test_tcp_that_opens_nothing(nat, family, flags):
    """Of a flow that isn't known; it would only show the pod's address to the client: 5.7."""
    service = web(nat, family, abi.TCP, POD1)
    hook, packet, _ = first("outside", family, abi.TCP, VIP, flags=flags)
    result = nat.send(hook, packet)
    assert (result.verdict, result.data) == (SHOT, bytes(packet))
    assert nat.refusals(service.id) == {"invalid": 1} and nat.halves() == 0


@pytest.mark.parametrize("who", ("client", "endpoint"))
def test_port_reuse(nat, family, who):
    """A SYN under the tuple of a connection that is over begins a new one, elsewhere maybe."""
    web_ = nat.service(VIP[family], 80, [(POD1[family], 8080)])
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    if who == "client":
        nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="RA")[1])
    else:
        nat.send("pod_in", reply_to("pod_in", result.packet, abi.TCP, "RA"))
    web_.update(cluster=[(POD1[family], 8080), (POD2[family], 8081)])
    web_.update(cluster=[(POD2[family], 8081)], local=[(POD1[family], 8080)])
    begun = nat.send("uplink_in", first("outside", family, abi.TCP, VIP)[1])
    assert ends(begun.packet)[2:] == (POD2[family], 8081)
    assert nat.state(tuple_of(sent)) == "half-open" and nat.halves() == 2


def test_a_syn_of_a_live_connection_stays(nat, family):
    """Sent again, or by someone who guesses: the endpoint answers it as it sees fit."""
    service = web(nat, family, abi.TCP, POD1)
    _, result, _ = answered(nat, "outside", family, abi.TCP)
    service.update(cluster=[(POD2[family], 8081)], local=[(POD1[family], 8080)])
    again = nat.send("uplink_in", first("outside", family, abi.TCP, VIP)[1])
    assert ends(again.packet) == ends(result.packet)


@pytest.mark.parametrize("flags", ("A", "PA", "FA", "RA"))
def test_tcp_outlives_its_endpoint(nat, family, flags):
    """6.2, 6.4: established TCP is never touched by a change of rules."""
    service = web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    service.update(cluster=[])
    packet = first("outside", family, abi.TCP, VIP, flags=flags)[1]
    assert ends(nat.send("uplink_in", packet).packet) == ends(result.packet)
    answer = nat.send("pod_in", reply_to("pod_in", result.packet, abi.TCP, flags))
    assert ends(answer.packet) == opposite(sent)


def test_syn_to_an_endpoint_that_left(nat, family):
    """Half-open, and its endpoint went: sent again, it is judged anew."""
    service = web(nat, family, abi.TCP, POD1)
    begin(nat, "outside", family, abi.TCP)
    service.update(cluster=[(POD2[family], 8081)])
    _, result = begin(nat, "outside", family, abi.TCP)
    assert ends(result.packet)[2:] == (POD2[family], 8081)


@pytest.mark.parametrize("live", (False, True), ids=("half-open", "answered"))
@pytest.mark.parametrize("way", ("outside", "pod"))
def test_udp_flow_of_an_endpoint_that_left(nat, family, way, live):
    """6.2: from the moment on that it no longer serves, its flows are dead."""
    service = web(nat, family, abi.UDP, POD2)
    if live and way == "pod":
        answered(nat, way, family, abi.UDP)
    else:
        sent, result = begin(nat, way, family, abi.UDP)
        if live:
            nat.send("pod_in", reply_to("pod_in", result.packet, abi.UDP), device="pod2")
    service.update(cluster=[(REMOTE[family], 8081)])
    _, result = begin(nat, way, family, abi.UDP)
    assert ends(result.packet)[2:] == (REMOTE[family], 8081)
    assert nat.halves() == 2


def test_udp_flow_when_none_is_left(nat, family):
    service = web(nat, family, abi.UDP, POD1)
    answered(nat, "outside", family, abi.UDP)
    service.outcomes[abi.CLUSTER_IP, abi.OUTSIDE] = "reject"
    service.update(cluster=[])
    hook, packet, _ = first("outside", family, abi.UDP, VIP)
    result = nat.send(hook, packet)
    assert result.verdict == REDIRECT and nat.refusals() == {"no-endpoints": 1}
    assert nat.halves() == 0


def test_udp_flow_to_a_serving_endpoint_stays(nat, family):
    """6.1: no change of other endpoints moves it."""
    service = web(nat, family, abi.UDP, POD1)
    _, result, _ = answered(nat, "outside", family, abi.UDP)
    service.update(cluster=[(POD2[family], 8081)], local=[(POD1[family], 8080)])
    _, again = begin(nat, "outside", family, abi.UDP)
    assert ends(again.packet) == ends(result.packet)


def test_reused_endpoint_id(nat, family):
    """6.5: the same address in a new life inherits no UDP flow."""
    service = web(nat, family, abi.UDP, POD1)
    answered(nat, "outside", family, abi.UDP)
    service.update(cluster=[])
    service.update(cluster=[(POD1[family], 8080)])
    begin(nat, "outside", family, abi.UDP)
    assert nat.halves() == 2


@pytest.mark.parametrize("idle_s, anew", ((20, False), (65, True)))
def test_half_open_flow_that_was_long_silent(nat, family, protocol, idle_s, anew):
    service = web(nat, family, protocol, POD1)
    sent, result = begin(nat, "outside", family, protocol)
    service.update(cluster=[(POD2[family], 8081)], local=[(POD1[family], 8080)])
    nat.grow_old(tuple_of(sent), idle_s)
    _, again = begin(nat, "outside", family, protocol)
    assert (ends(again.packet)[2:] == (POD2[family], 8081)) == anew


def test_fin_and_rst_are_remembered(nat, family):
    web(nat, family, abi.TCP, POD1)
    sent, result, _ = answered(nat, "outside", family, abi.TCP)
    forward, reply = tuple_of(sent), tuple_of(result.packet).reversed()
    nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="FA")[1])
    assert nat.flow(forward).flags & abi.FLOW_FIN
    assert not nat.flow(reply).flags & (abi.FLOW_FIN | abi.FLOW_RST)
    nat.send("pod_in", reply_to("pod_in", result.packet, abi.TCP, "R"))
    assert nat.flow(reply).flags & abi.FLOW_RST
    # The rest of a connection that is being closed still gets through.
    last = nat.send("uplink_in", first("outside", family, abi.TCP, VIP, flags="A")[1])
    assert ends(last.packet) == ends(result.packet)


def test_counters_of_both_directions(nat, family, protocol):
    service = web(nat, family, protocol, POD1)
    sent, result, answer = answered(nat, "outside", family, protocol)
    assert service.counters() == (2, len(sent) + len(answer.data), 1, 0)


def test_forward_packets_at_the_exit(nat, family, protocol):
    """The program's own packets leave by devices that are watched, too."""
    web(nat, family, protocol, POD1)
    _, result = begin(nat, "outside", family, protocol)
    leaving = nat.send("pod_out", result.packet, ingress="eth0")
    assert (leaving.verdict, leaving.data) == (NEXT, result.data)


def test_session_of_many_packets(nat, family, protocol):
    web(nat, family, protocol, POD1)
    sent, result, _ = answered(nat, "outside", family, protocol)
    for size in (1, 2, 3, 500, 1400):
        packet = first("outside", family, protocol, VIP, flags="PA", payload=b"x" * size)[1]
        out = nat.send("uplink_in", packet)
        assert ends(out.packet) == ends(result.packet) and len(out.data) == len(packet)
        back = reply_to("pod_in", result.packet, protocol, "PA", payload=b"y" * size)
        assert ends(nat.send("pod_in", back).packet) == opposite(sent)
