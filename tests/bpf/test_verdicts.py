# SPDX-License-Identifier: Apache-2.0
"""What becomes of the first packet of a flow: forwarded, refused, dropped, or left alone."""

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from packets import ETHER, frame
from scapy.layers.inet import ICMP, IP, TCP, Ether
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.sctp import SCTP
from world import CLIENT, LED, MACS, NODE, NOWHERE, POD1, POD2, REMOTE

VIP = {4: "10.96.0.10", 6: "fd00:96::10"}
FREE = {4: "10.96.0.99", 6: "fd00:96::99"}  # in the service networks
LB = {4: "203.0.113.10", 6: "2001:db8:113::10"}
OTHER = {4: "203.0.113.77", 6: "2001:db8:113::77"}  # nobody's
HEADER = {4: 20, 6: 40}
KINDS = {
    abi.CLUSTER_IP: VIP, abi.LOAD_BALANCER: LB, abi.EXTERNAL_IP: LB, abi.NODE_PORT: NODE,
}
# Where a packet to a service comes from: (hook, source, interface it came in by, origin).
WAYS = {
    "outside": ("uplink_in", CLIENT, "eth0", abi.OUTSIDE),
    "pod": ("pod_in", POD1, "pod1", abi.POD),
    "node": ("svc_out", NODE, None, abi.NODE),
    "passed by": ("svc_out", CLIENT, "eth0", abi.OUTSIDE),
    "pod of another node": ("uplink_in", REMOTE, "eth0", abi.POD),
}
ways = pytest.mark.parametrize("way", WAYS)


def first(way, family, protocol, to, port=80, sport=40000, **fields):
    hook, source, ingress, _ = WAYS[way]
    if to == NODE and hook == "svc_out" and ingress is None:
        hook = "lo_out"
    packet = frame(hook, source[family], sport, to[family], port, protocol, **fields)
    return hook, packet, ingress if hook == "svc_out" and ingress else 0


def ip(packet):
    return packet[IP] if IP in packet else packet[IPv6]


def ends(packet):
    layer = ip(packet)
    upper = next(packet[name] for name in ("TCP", "UDP", "SCTP") if packet.haslayer(name))
    return layer.src, upper.sport, layer.dst, upper.dport


def hops(packet):
    return packet[IP].ttl if IP in packet else packet[IPv6].hlim


def assert_unreachable(result, packet, family):
    body = result.data[ETHER + HEADER[family] :]
    assert tuple(body[:2]) == {4: (3, 3), 6: (1, 4)}[family]
    assert body[8:] == bytes(packet)[ETHER:]


def assert_reset(result, packet):
    """RFC 9293, 3.5.2: of a SYN; checksums are right."""
    got, given = result.packet[TCP], packet[TCP]
    assert (got.sport, got.dport, got.flags) == (given.dport, given.sport, "RA")
    assert (got.seq, got.ack, len(got.payload)) == (0, given.seq + 1 + len(given.payload), 0)
    summed = result.packet.copy()
    del summed[TCP].chksum
    assert got.chksum == Ether(bytes(summed))[TCP].chksum


def assert_refused(nat, result, packet, family, service, cause, way="outside"):
    """An ICMP port unreachable to the sender, or a reset (delivery.h), told of the service."""
    assert result.verdict == REDIRECT
    given = Ether(bytes(packet))
    assert (ip(result.packet).src, ip(result.packet).dst) == (ip(given).dst, ip(given).src)
    if family == 6 and way in ("pod", "node") and TCP in given:
        assert_reset(result, given)
    else:
        assert_unreachable(result, packet, family)
    assert nat.refusals() == {cause: 1}
    assert nat.halves() == 0
    if service:
        assert nat.refusals(service.id) == {cause: 1}
        assert service.counters() == (0, 0, 0, 1)


def assert_dropped(nat, result, packet, service, cause):
    assert (result.verdict, result.data) == (SHOT, bytes(packet))
    assert nat.refusals(service.id if service else 0) == {cause: 1}
    assert nat.halves() == 0


def assert_untouched(nat, result, packet):
    assert (result.verdict, result.data) == (NEXT, bytes(packet))
    assert nat.refusals() == {} and nat.halves() == 0


# Forwarded.


def test_pod_keeps_its_source(nat, family, protocol):
    service = nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=protocol)
    hook, packet, _ = first("pod", family, protocol, VIP)
    result = nat.send(hook, packet)
    assert result.verdict == NEXT
    assert ends(result.packet) == (POD1[family], 40000, POD2[family], 8080)
    assert hops(result.packet) == 64
    assert result.data[:ETHER] == bytes(packet)[:ETHER]
    assert service.counters() == (1, len(packet), 1, 0)


@pytest.mark.parametrize("way", ("outside", "pod", "node"))
def test_an_endpoint_that_is_a_frontend_is_judged_once(nat, family, protocol, way):
    """14.13: a hostNetwork endpoint at another Service's NodePort, which nobody serves."""
    web = nat.service(VIP[family], 80, [(NODE[family], 30080)], protocol=protocol)
    nat.on_node(web, (NODE[family], 30080))
    refused = dict.fromkeys((abi.OUTSIDE, abi.POD, abi.NODE), "reject")
    other = nat.service(NODE[family], 30080, protocol=protocol, kind=abi.NODE_PORT,
                        outcomes=refused)
    hook, packet, _ = first(way, family, protocol, VIP)
    result = nat.send(hook, packet)
    assert result.verdict == (REDIRECT if way == "node" else NEXT)
    assert ends(result.packet)[2:] == (NODE[family], 30080)
    assert nat.refusals() == {} and other.counters() == (0, 0, 0, 0)
    hook, packet, _ = first(way, family, protocol, NODE, 30080, sport=40001)
    assert nat.send(hook, packet).verdict == REDIRECT
    assert nat.refusals() == {"no-endpoints": 1}


def test_outside_is_masqueraded(nat, family, protocol):
    service = nat.service(VIP[family], 80, [(POD1[family], 8080)], protocol=protocol)
    hook, packet, _ = first("outside", family, protocol, VIP)
    result = nat.send(hook, packet)
    source, sport, *destination = ends(result.packet)
    assert result.verdict == REDIRECT
    assert source == NODE[family] and sport == 40000
    assert destination == [POD1[family], 8080]
    assert hops(result.packet) == 63
    assert service.counters() == (1, len(packet), 1, 0)


def test_outside_under_local_policy_keeps_its_source(nat, family, protocol):
    nat.service(
        LB[family], 80, [(REMOTE[family], 8080)], [(POD1[family], 8080)], protocol=protocol,
        kind=abi.LOAD_BALANCER, outcomes={abi.OUTSIDE: "forward local"},
    )
    hook, packet, _ = first("outside", family, protocol, LB)
    result = nat.send(hook, packet)
    assert result.verdict == NEXT
    assert ends(result.packet) == (CLIENT[family], 40000, POD1[family], 8080)


@pytest.mark.parametrize("way, target", (("node", VIP), ("node", NODE)), ids=("svc0", "lo"))
def test_node_is_masqueraded(nat, family, protocol, way, target):
    kind = abi.CLUSTER_IP if target == VIP else abi.NODE_PORT
    nat.service(target[family], 80, [(POD1[family], 8080)], protocol=protocol, kind=kind)
    hook, packet, ingress = first(way, family, protocol, target)
    result = nat.send(hook, packet, ingress=ingress)
    source, sport, *destination = ends(result.packet)
    assert result.verdict == REDIRECT
    assert source == NODE[family] and sport == 40000
    assert destination == [POD1[family], 8080]
    assert hops(result.packet) == 64  # it is no router of its own packets


def test_passed_by_pod_goes_on_from_svc0(nat, family, protocol):
    """Nobody took it where it came in: svc0 sends it on itself, since its route leads here."""
    nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=protocol)
    packet = frame("svc_out", POD1[family], 40000, VIP[family], 80, protocol)
    result = nat.send("svc_out", packet, ingress="pod1")
    assert result.verdict == REDIRECT
    assert ends(result.packet) == (POD1[family], 40000, POD2[family], 8080)
    assert hops(result.packet) == 63


@ways
@pytest.mark.parametrize("kind", KINDS)
def test_outcome_of_each_kind_and_origin(nat, family, kind, way):
    """Only this kind and this origin are refused; then only these are not."""
    hook, source, ingress, origin = WAYS[way]
    address = KINDS[kind][family]
    ours = {origin: "reject"}
    service = nat.service(address, 80, [(POD2[family], 8080)], kind=kind, outcomes=ours)
    for other in set(KINDS) - {kind}:
        service.frontend(OTHER[family], 80, other, {})
    hook, packet, ingress = first(way, family, abi.TCP, KINDS[kind])
    assert nat.ask(hook, packet, ingress=ingress).act == abi.REJECT

    everything = {each: "reject" for each in range(3)}
    for each in KINDS:
        service.outcomes |= {(each, number): words for number, words in everything.items()}
    service.outcomes[kind, origin] = "drop"
    service.update()
    assert nat.ask(hook, packet, ingress=ingress).act == abi.DROP


# Refused and dropped.


@ways
@pytest.mark.parametrize("kind", KINDS)
def test_no_endpoints(nat, family, protocol, way, kind):
    origin = WAYS[way][3]
    service = nat.service(
        KINDS[kind][family], 80, protocol=protocol, kind=kind, outcomes={origin: "reject"}
    )
    hook, packet, ingress = first(way, family, protocol, KINDS[kind])
    result = nat.send(hook, packet, ingress=ingress)
    assert_refused(nat, result, packet, family, service, "no-endpoints", way)


@ways
@pytest.mark.parametrize("kind", KINDS)
def test_no_local_endpoints(nat, family, protocol, way, kind):
    origin = WAYS[way][3]
    service = nat.service(
        KINDS[kind][family], 80, [(REMOTE[family], 8080)], protocol=protocol, kind=kind,
        outcomes={origin: "drop"},
    )
    hook, packet, ingress = first(way, family, protocol, KINDS[kind])
    result = nat.send(hook, packet, ingress=ingress)
    assert_dropped(nat, result, packet, service, "no-local-endpoints")
    assert service.counters() == (0, 0, 0, 1)


@ways
def test_undefined_port(nat, family, protocol, way):
    service = nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=protocol)
    hook, packet, ingress = first(way, family, protocol, VIP, port=81)
    result = nat.send(hook, packet, ingress=ingress)
    assert_refused(nat, result, packet, family, service, "undefined-port", way)


@ways
def test_port_of_the_other_protocol(nat, family, way):
    service = nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=abi.TCP)
    hook, packet, ingress = first(way, family, abi.UDP, VIP)
    result = nat.send(hook, packet, ingress=ingress)
    assert_refused(nat, result, packet, family, service, "undefined-port", way)


@pytest.mark.parametrize("way", ("outside", "pod", "node"))
@pytest.mark.parametrize("upper", ("echo", "sctp"))
def test_any_protocol_to_a_cluster_ip_is_refused(nat, family, way, upper):
    """kube-proxy's rule for undefined ports knows no protocol: 2.8."""
    service = nat.service(VIP[family], 80, [(POD2[family], 8080)])
    hook, packet, ingress = first(way, family, abi.UDP, VIP)
    body = SCTP(sport=1, dport=80) / b"0123456789abcdef"
    if upper == "echo":
        body = ICMP(type=8) / b"ping" if family == 4 else ICMPv6EchoRequest(data=b"ping")
    ip(packet).remove_payload()
    result = nat.send(hook, packet / body, ingress=ingress)
    assert_refused(nat, result, packet / body, family, service, "undefined-port", way)


@ways
def test_unallocated_address(nat, family, protocol, way):
    nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=protocol)
    hook, packet, ingress = first(way, family, protocol, FREE)
    assert_dropped(nat, nat.send(hook, packet, ingress=ingress), packet, None, "unallocated")


@ways
def test_cluster_ip_of_another_proxy(nat, family, protocol, way):
    nat.frontend(VIP[family], 0, 0, abi.FOREIGN)
    hook, packet, ingress = first(way, family, protocol, VIP)
    assert_untouched(nat, nat.send(hook, packet, ingress=ingress), packet)


def test_free_port_of_a_load_balancer(nat, family, protocol):
    """Left alone where it comes in (2.7); svc0, where the guard sends it, refuses."""
    nat.service(LB[family], 80, [(POD1[family], 8080)], protocol=protocol, kind=abi.LOAD_BALANCER)
    for way in ("outside", "pod"):
        hook, packet, _ = first(way, family, protocol, LB, port=81)
        assert_untouched(nat, nat.send(hook, packet), packet)
    hook, packet, ingress = first("node", family, protocol, LB, port=81)
    result = nat.send(hook, packet, ingress=ingress)
    assert_refused(nat, result, packet, family, None, "unmapped-port", "node")


@pytest.mark.parametrize("way", ("outside", "pod"))
def test_free_port_of_the_node(nat, family, protocol, way):
    nat.service(NODE[family], 30080, [(POD1[family], 8080)], protocol=protocol, kind=abi.NODE_PORT)
    hook, packet, _ = first(way, family, protocol, NODE, port=22)
    assert_untouched(nat, nat.send(hook, packet), packet)


def test_what_is_not_for_a_service(nat, family, protocol):
    nat.service(VIP[family], 80, [(POD1[family], 8080)], protocol=protocol)
    for hook, source, target in (
        ("uplink_in", CLIENT, OTHER), ("pod_in", POD1, OTHER), ("uplink_in", CLIENT, POD2),
        ("uplink_out", POD1, CLIENT), ("pod_out", CLIENT, POD1), ("lo_out", NODE, NODE),
    ):
        packet = frame(hook, source[family], 40000, target[family], 8888, protocol)
        assert_untouched(nat, nat.send(hook, packet), packet)


def test_node_to_a_guarded_address_of_nobody(nat, family, protocol):
    hook, packet, ingress = first("node", family, protocol, OTHER)
    result = nat.send(hook, packet, ingress=ingress)
    assert_refused(nat, result, packet, family, None, "unmapped-port", "node")


def test_no_route_to_the_endpoint(nat, family, protocol):
    service = nat.service(VIP[family], 80, [(NOWHERE[family], 8080)], protocol=protocol)
    hook, packet, _ = first("outside", family, protocol, VIP)
    assert_dropped(nat, nat.send(hook, packet), packet, service, "no-route")


def test_an_address_of_a_service_is_no_endpoint(nat, family, protocol):
    """What is led to svc0 would be judged there again, and again."""
    service = nat.service(VIP[family], 80, [(LED[family], 8080)], protocol=protocol)
    hook, packet, _ = first("node", family, protocol, VIP)
    assert nat.ask(hook, packet).route == abi.ROUTE_SVC0
    assert_dropped(nat, nat.send(hook, packet), packet, service, "no-route")


def test_service_that_is_gone(nat, family, protocol):
    """Its word is zero before its frontends go: as if it were not there."""
    service = nat.service(LB[family], 80, [(POD1[family], 8080)], kind=abi.LOAD_BALANCER)
    nat.maps["services"][service.id] = 0
    hook, packet, _ = first("outside", family, abi.TCP, LB)
    assert_untouched(nat, nat.send(hook, packet), packet)


def test_answers_keep_to_the_limit(nat, family, protocol):
    service = nat.service(VIP[family], 80, outcomes={abi.OUTSIDE: "reject", abi.NODE: "reject"})
    nat.control.icmp_interval_ms[:] = (3600000, 3600000)
    nat.write_control()
    hook, packet, _ = first("outside", family, abi.TCP, VIP)
    verdicts = [nat.send(hook, packet).verdict for _ in range(8)]
    assert verdicts == [REDIRECT] * 6 + [SHOT] * 2
    assert service.counters()[3] == 8 and nat.refusals() == {"no-endpoints": 8}
    hook, packet, ingress = first("node", family, abi.TCP, VIP)
    verdicts = [nat.send(hook, packet, ingress=ingress).verdict for _ in range(8)]
    assert verdicts == [REDIRECT] * 8  # as the kernel, which has no limit on loopback


def test_last_refused_packet(nat, family, protocol):
    service = nat.service(
        VIP[family], 80, protocol=protocol, outcomes={abi.OUTSIDE: "reject"}
    )
    for sport in (40000, 40001, 40002):
        hook, packet, _ = first("outside", family, protocol, VIP, sport=sport)
        nat.send(hook, packet)
    value = nat.maps["refusals"][abi.RefusalKey(service.id, abi.CAUSES.index("no-endpoints"))]
    assert value.count == 3 and value.ifindex == nat.world.index["eth0"] and value.last_ns
    assert value.last == abi.Tuple.of(CLIENT[family], 40002, VIP[family], 80, protocol)


def test_answer_of_svc0_is_for_svc0(nat, family):
    nat.service(VIP[family], 80, outcomes={abi.NODE: "reject"})
    hook, packet, ingress = first("node", family, abi.TCP, VIP)
    packet.src = "02:00:00:00:99:99"
    result = nat.send(hook, packet, ingress=ingress)
    assert result.verdict == REDIRECT and result.packet.dst == MACS["svc0"]


# The twin.


@ways
def test_twin_agrees_and_touches_nothing(nat, family, protocol, way):
    cases = {
        "forward": nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=protocol),
        "reject": nat.service(
            LB[family], 81, protocol=protocol, kind=abi.EXTERNAL_IP,
            outcomes={origin: "reject" for origin in range(3)},
        ),
        "drop": nat.service(
            LB[family], 82, [(POD2[family], 8080)], protocol=protocol, kind=abi.EXTERNAL_IP,
            outcomes={origin: "drop" for origin in range(3)},
        ),
    }
    before = nat.snapshot()
    for name, (target, port, act, cause) in {
        "forward": (VIP, 80, abi.FORWARD, "none"),
        "reject": (LB, 81, abi.REJECT, "no-endpoints"),
        "drop": (LB, 82, abi.DROP, "no-local-endpoints"),
    }.items():
        hook, packet, ingress = first(way, family, protocol, target, port)
        said = nat.ask(hook, packet, ingress=ingress)
        assert (said.act, said.cause, said.service) == (act, cause, cases[name].id)
        assert said.port == cases[name].port
    hook, packet, ingress = first(way, family, protocol, VIP)
    said = nat.ask(hook, packet, ingress=ingress)
    masquerade = {abi.POD: 0, abi.OUTSIDE: 1, abi.NODE: 1}[WAYS[way][3]]
    assert (said.masquerade, said.set, said.count, said.route) == (masquerade, abi.CLUSTER, 1, 0)
    assert said.endpoint == cases["forward"].endpoints[POD2[family], 8080]
    assert said.out == nat.world.index["pod2"]
    hook, packet, ingress = first(way, family, protocol, FREE)
    assert nat.ask(hook, packet, ingress=ingress).cause == "unallocated"
    assert nat.snapshot() == before


def test_twin_takes_the_slot_it_is_told(nat, family, protocol):
    endpoints = [(POD1[family], port) for port in range(8000, 8010)]
    service = nat.service(VIP[family], 80, endpoints, protocol=protocol)
    hook, packet, _ = first("outside", family, protocol, VIP)
    for pick, key in enumerate(endpoints, 1):
        said = nat.ask(hook, packet, pick=pick)
        assert (said.endpoint, said.count) == (service.endpoints[key], 10)


def test_twin_says_that_there_is_no_route(nat, family, protocol):
    nat.service(VIP[family], 80, [(NOWHERE[family], 8080)], protocol=protocol)
    hook, packet, _ = first("outside", family, protocol, VIP)
    said = nat.ask(hook, packet)
    assert (said.act, said.route) == (abi.FORWARD, 2 if family == 4 else said.route)
    assert said.route and not said.out


def test_twin_says_that_a_slot_is_dead(nat, family, protocol):
    """A slot whose endpoint has another generation mustn't be proved."""
    service = nat.service(VIP[family], 80, [(POD1[family], 8080)], protocol=protocol)
    value = nat.maps["endpoints"][1]
    value.state += 1
    nat.maps["endpoints"][1] = value
    hook, packet, _ = first("outside", family, protocol, VIP)
    said = nat.ask(hook, packet, pick=1)
    assert said.act != abi.FORWARD and service.id == said.service


def test_twin_tells_hairpin(nat, family, protocol):
    nat.service(VIP[family], 80, [(POD1[family], 8080)], protocol=protocol)
    hook, packet, _ = first("pod", family, protocol, VIP)
    assert nat.ask(hook, packet).masquerade == 2


def test_twin_looks_at_flows_if_told(nat, family, protocol):
    service = nat.service(VIP[family], 80, [(POD2[family], 8080)], protocol=protocol)
    hook, packet, _ = first("pod", family, protocol, VIP)
    nat.send(hook, packet)
    old = service.endpoints[POD2[family], 8080]
    if protocol == abi.TCP:
        packet["TCP"].flags = "A"
    service.update(cluster=[(POD1[family], 8081), (POD2[family], 8080)])
    new = service.endpoints[POD1[family], 8081]
    assert old < new, "a set has its endpoints in the order of their ids"
    assert nat.ask(hook, packet, pick=2).endpoint == new
    assert nat.ask(hook, packet, pick=2, flags=abi.DRY_FLOWS).endpoint == old


def test_multicast_at_svc0(nat, family):
    """Neighbour discovery and the like aren't answered."""
    to = {4: "224.0.0.22", 6: "ff02::16"}
    packet = frame("svc_out", NODE[family], 5353, to[family], 5353, abi.UDP)
    assert_untouched(nat, nat.send("svc_out", packet), packet)


def test_other_frames(nat):
    arp = Ether(src=MACS["eth0p"], dst=MACS["eth0"], type=0x0806) / (b"\0" * 46)
    for hook in abi.HOOKS:
        assert_untouched(nat, nat.send(hook, arp, judged=False), arp)


def test_without_settings(nat):
    """A program that is attached before its maps are filled lets all pass."""
    nat.control = abi.Control()
    nat.write_control()
    packet = frame("uplink_in", CLIENT[4], 40000, VIP[4], 80)
    assert_untouched(nat, nat.send("uplink_in", packet), packet)
