# SPDX-License-Identifier: Apache-2.0
"""Masqueraded flows that go through the stack: their destination is translated where packets come
in, their source where they leave, so that whoever listens in between sees client and endpoint."""

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from maps import tuple_of
from packets import frame
from test_errors import ROUTER, check, error_at
from test_flows import begin, opposite, reply_to, web
from test_verdicts import CLIENT, LB, NODE, POD1, POD2, REMOTE, VIP, ends, first, hops
from world import LED, MACS

WAYS = pytest.mark.parametrize(
    "endpoint, way_in, way_out, back_in, back_out",
    ((POD1, "uplink_in", "pod_out", "pod_in", "uplink_out"),
     (REMOTE, "uplink_in", "uplink_out", "uplink_in", "uplink_out")), ids=("here", "elsewhere"))
SOURCE = {"uplink_in": "eth0", "pod_in": "pod1"}


@pytest.fixture(autouse=True)
def path_fixture(nat):
    nat.control.path = abi.PATH_STACK | abi.PATH_STACKED
    nat.write_control()


def through(nat, way_in, way_out, packet):
    """A packet that comes in, is routed by the stack, and leaves: what it is at each end."""
    entered = nat.send(way_in, packet)
    assert entered.verdict == NEXT, nat.refusals()
    left = nat.send(way_out, entered.packet, ingress=SOURCE[way_in])
    return entered, left


def opened(nat, family, protocol, way_in, way_out, **fields):
    """The first packet of an outsider's flow: as sent, inside, and as it left."""
    sent = first("outside", family, protocol, VIP, **fields)[1]
    inside, left = through(nat, way_in, way_out, sent)
    assert left.verdict == NEXT, nat.refusals()
    return sent, inside, left


@WAYS
def test_requests_and_replies(nat, family, protocol, endpoint, way_in, way_out, back_in, back_out):
    service = web(nat, family, protocol, endpoint)
    sent, inside, left = opened(nat, family, protocol, way_in, way_out)
    client, port, *_ = ends(sent)
    assert ends(inside.packet) == (client, port, endpoint[family], 8080)
    assert ends(left.packet) == (NODE[family], port, endpoint[family], 8080)
    assert hops(left.packet) == 64  # the stack takes the hop
    inside, left = through(nat, back_in, back_out, reply_to(back_in, left.packet, protocol))
    assert ends(inside.packet) == (endpoint[family], 8080, client, port)
    assert ends(left.packet) == opposite(sent)
    assert service.counters()[0::2] == (2, 1)


@WAYS
def test_many_packets_stay_on_their_next_hop(nat, family, protocol, endpoint, way_in, way_out, back_in,
                                        back_out):
    web(nat, family, protocol, endpoint)
    _, _, wire = opened(nat, family, protocol, way_in, way_out)
    for size in (0, 1, 1400):
        more = first("outside", family, protocol, VIP, flags="PA", payload=b"x" * size)[1]
        assert ends(through(nat, way_in, way_out, more)[1].packet) == ends(wire.packet)
        back = reply_to(back_in, wire.packet, protocol, "PA", payload=b"y" * size)
        assert ends(through(nat, back_in, back_out, back)[1].packet) == opposite(more)
    assert nat.halves() == 4


def test_a_taken_port(nat, family, protocol):
    """Two clients with the same port: the endpoint sees two ports of the node's."""
    web(nat, family, protocol, REMOTE)
    wires = set()
    for client in (CLIENT, ROUTER):
        packet = frame("uplink_in", client[family], 40000, VIP[family], 80, protocol)
        inside, left = through(nat, "uplink_in", "uplink_out", packet)
        assert ends(inside.packet)[:2] == (client[family], 40000)
        wires.add(ends(left.packet)[:2])
        back = reply_to("uplink_in", left.packet, protocol)
        assert ends(through(nat, "uplink_in", "uplink_out", back)[1].packet) == opposite(packet)
    assert len(wires) == 2 and {source for source, _ in wires} == {NODE[family]}


def test_one_client_by_two_addresses(nat, family, protocol):
    """To the stack it would be the same connection: it sees another port of the client."""
    service = web(nat, family, protocol, REMOTE)
    service.frontend(LB[family], 80, abi.LOAD_BALANCER)
    insides = set()
    for address in (VIP, LB):
        packet = first("outside", family, protocol, address)[1]
        inside, left = through(nat, "uplink_in", "uplink_out", packet)
        insides.add(ends(inside.packet)[1])
        back = reply_to("uplink_in", left.packet, protocol)
        assert ends(through(nat, "uplink_in", "uplink_out", back)[1].packet) == opposite(packet)
    assert len(insides) == 2


@pytest.mark.parametrize("port", (40000, 8080))
def test_a_pod_to_itself(nat, family, protocol, port):
    """Also from the port that it serves: requests and replies would be one tuple."""
    web(nat, family, protocol, POD1)
    packet = first("pod", family, protocol, VIP, sport=port)[1]
    inside, left = through(nat, "pod_in", "pod_out", packet)
    assert ends(inside.packet)[0] == POD1[family] and ends(left.packet)[0] == NODE[family]
    assert (ends(inside.packet)[1] == port) == (port == 40000)
    inside, left = through(nat, "pod_in", "pod_out", reply_to("pod_in", left.packet, protocol))
    assert ends(left.packet) == opposite(packet)


def test_others_keep_their_source(nat, family, protocol):
    """Flows that are not masqueraded, and packets of pods straight to an endpoint."""
    web(nat, family, protocol, POD2)
    packet = first("pod", family, protocol, VIP)[1]
    inside = nat.send("pod_in", packet)
    left = nat.send("pod_out", inside.packet, device="pod2", ingress="pod1")
    assert (left.verdict, ends(left.packet)[:2]) == (NEXT, ends(packet)[:2])
    straight = frame("pod_in", POD1[family], 50000, POD2[family], 8080, protocol)
    assert nat.send("pod_in", straight).verdict == NEXT
    left = nat.send("pod_out", straight, device="pod2", ingress="pod1")
    assert ends(left.packet) == ends(straight)


def test_a_second_exit_leaves_it_alone(nat, family, protocol):
    """A VLAN's device and the one below it."""
    web(nat, family, protocol, REMOTE)
    *_, left = opened(nat, family, protocol, "uplink_in", "uplink_out")
    again = nat.send("uplink_out", left.packet, ingress="eth0")
    assert (again.verdict, again.data) == (NEXT, left.data)


def test_nothing_leaves_untranslated(nat, family, protocol):
    """The source leg outlives its flow: the endpoint's late answer doesn't reach the client."""
    web(nat, family, protocol, REMOTE)
    _, inside, left = opened(nat, family, protocol, "uplink_in", "uplink_out")
    del nat.maps["flows"][tuple_of(inside.packet).reversed()]
    late = nat.send("uplink_in", reply_to("uplink_in", left.packet, protocol))
    assert late.verdict == SHOT and nat.refusals() == {"invalid": 1}


def test_a_lost_leg_is_made_again(nat, family, protocol):
    web(nat, family, protocol, REMOTE)
    sent, inside, left = opened(nat, family, protocol, "uplink_in", "uplink_out")
    for half in (tuple_of(inside.packet), tuple_of(left.packet).reversed()):
        del nat.maps["flows"][half]
    left = through(nat, "uplink_in", "uplink_out", sent)[1]
    assert ends(left.packet)[0] == NODE[family]
    back = reply_to("uplink_in", left.packet, protocol)
    assert ends(through(nat, "uplink_in", "uplink_out", back)[1].packet) == opposite(sent)


def test_flows_stay_on_the_path_that_they_began_on(nat, family, protocol):
    web(nat, family, protocol, REMOTE)
    sent, _, wire = opened(nat, family, protocol, "uplink_in", "uplink_out")
    nat.control.path = abi.PATH_STACKED
    nat.write_control()
    assert ends(through(nat, "uplink_in", "uplink_out", sent)[1].packet) == ends(wire.packet)
    other = nat.send("uplink_in", first("outside", family, protocol, VIP, sport=41000)[1])
    assert other.verdict == REDIRECT and ends(other.packet)[0] == NODE[family]


def test_without_a_source_port_nothing_leaves(nat, family):
    """Least of all with the client's address."""
    service = web(nat, family, abi.TCP, REMOTE)
    nat.control.snat_first, nat.control.snat_count = 20000, 1
    nat.write_control()
    low = frame("uplink_in", CLIENT[family], 1000, VIP[family], 80)
    inside, left = through(nat, "uplink_in", "uplink_out", low)
    assert ends(left.packet)[:2] == (NODE[family], 20000)
    for half in (tuple_of(inside.packet), tuple_of(left.packet).reversed()):
        flags = nat.flow(half).flags | abi.FLOW_ANSWERED | abi.FLOW_CONFIRMED
        nat.change_flow(half, flags=flags)
    other = frame("uplink_in", ROUTER[family], 1000, VIP[family], 80)
    assert through(nat, "uplink_in", "uplink_out", other)[1].verdict == SHOT
    assert nat.refusals(service.id) == {"snat-exhausted": 1}


@pytest.mark.parametrize("source", (REMOTE, ROUTER), ids=("endpoint", "router"))
def test_errors_on_the_next_hop_to_the_endpoint(nat, family, protocol, source):
    """They quote the packet as it was on the wire; inside, and to the client, as it was there."""
    web(nat, family, protocol, REMOTE)
    sent, inside, wire = opened(nat, family, protocol, "uplink_in", "uplink_out")
    given = error_at("uplink_in", family, wire.data, source[family])
    entered = nat.send("uplink_in", given)
    assert entered.verdict == NEXT
    check(entered, family, REMOTE[family], CLIENT[family], ends(inside.packet))
    left = nat.send("uplink_out", entered.packet, ingress="eth0")
    check(left, family, VIP[family], CLIENT[family], ends(sent))


def test_errors_of_the_client(nat, family, protocol):
    web(nat, family, protocol, REMOTE)
    _, _, wire = opened(nat, family, protocol, "uplink_in", "uplink_out")
    reply = reply_to("uplink_in", wire.packet, protocol)
    inside, left = through(nat, "uplink_in", "uplink_out", reply)
    entered = nat.send("uplink_in", error_at("uplink_in", family, left.data, CLIENT[family]))
    check(entered, family, CLIENT[family], REMOTE[family], ends(inside.packet))
    out = nat.send("uplink_out", entered.packet, ingress="eth0")
    check(out, family, NODE[family], REMOTE[family], ends(reply))


@pytest.mark.parametrize("xfrm", (0, abi.PATH_XFRM), ids=("past", "xfrm"))
def test_this_nodes_own(nat, family, protocol, xfrm):
    """What it sends itself has gone through the stack's output already, and goes past it; with
    policies of XFRM it comes in once more, by lo, for the stack to forward and encrypt."""
    nat.control.path |= xfrm
    nat.write_control()
    web(nat, family, protocol, REMOTE)
    sent, result = begin(nat, "node", family, protocol)
    assert result.verdict == REDIRECT and ends(result.packet)[2] == REMOTE[family]
    assert (result.packet.dst == MACS["lo"]) == bool(xfrm)
    left = nat.send("uplink_out", result.packet, ingress="lo")
    assert (left.verdict, left.data) == (NEXT, result.data)
    answer = nat.send("uplink_in", reply_to("uplink_in", result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)


def test_whole_before_xfrm(nat, family, protocol):
    """Where nobody but XFRM listens, the stack gets packets with both addresses translated, by lo, and
    their answers by svc0: what is sealed at the way out could not be translated there."""
    nat.control.path |= abi.PATH_XFRM | abi.PATH_WHOLE
    nat.write_control()
    web(nat, family, protocol, REMOTE)
    sent, result = begin(nat, "outside", family, protocol)
    assert result.verdict == REDIRECT and result.packet.dst == MACS["lo"]
    assert (ends(result.packet)[0], ends(result.packet)[2]) == (NODE[family], REMOTE[family])
    left = nat.send("uplink_out", result.packet, ingress="lo")
    assert (left.verdict, left.data) == (NEXT, result.data)
    answer = nat.send("uplink_in", reply_to("uplink_in", result.packet, protocol))
    assert answer.verdict == REDIRECT and ends(answer.packet) == opposite(sent)


def entered_by(source, family):
    """The device by which the stack takes packets from an address, however it filters reverse paths."""
    return MACS["svc0" if source is LED and family == 4 else "lo"]


def test_errors_before_xfrm(nat, family, protocol):
    """What an error quotes is not for everybody either: it goes to the client, and to the endpoint, as
    the packets do that it is about."""
    nat.control.path |= abi.PATH_XFRM | abi.PATH_WHOLE
    nat.write_control()
    web(nat, family, protocol, REMOTE, LED)
    sent, result = begin(nat, "outside", family, protocol, LED)
    reply = reply_to("uplink_in", result.packet, protocol)
    answer = nat.send("uplink_in", reply)
    for about, source, seen, ways in (
            (result, ROUTER, sent, (LED, CLIENT)), (answer, CLIENT, reply, (NODE, REMOTE))):
        out = nat.send("uplink_in", error_at("uplink_in", family, about.data, source[family]))
        assert (out.verdict, out.packet.dst) == (REDIRECT, entered_by(ways[0], family))
        check(out, family, *(end[family] for end in ways), ends(seen))
        left = nat.send("uplink_out", out.packet, ingress="lo")
        assert (left.verdict, left.data) == (NEXT, out.data)


@pytest.mark.parametrize("target", (LED, NODE), ids=("svc0", "lo"))
def test_refusals_before_xfrm(nat, family, protocol, target):
    """The same for what this node says itself: who asked may be behind the other end of a tunnel."""
    nat.control.path |= abi.PATH_XFRM | abi.PATH_WHOLE
    nat.write_control()
    kind = abi.LOAD_BALANCER if target is LED else abi.NODE_PORT
    nat.service(target[family], 80, protocol=protocol, kind=kind,
                outcomes=dict.fromkeys((abi.OUTSIDE, abi.POD, abi.NODE), "reject"))
    packet = first("outside", family, protocol, target)[1]
    out = nat.send("uplink_in", packet)
    assert (out.verdict, out.packet.dst) == (REDIRECT, entered_by(target, family))
    check(out, family, target[family], CLIENT[family], ends(packet))
    left = nat.send("uplink_out", out.packet, ingress="lo")
    assert (left.verdict, left.data) == (NEXT, out.data)
