# SPDX-License-Identifier: Apache-2.0
"""The client's side of egress: which packets of a pod go to which gateway, and how."""

import pytest
from abi import TCP, UDP
from bpf import NEXT, REDIRECT, SHOT
from egress import (
    GATEWAY, GATEWAY_ACTIVE, GATEWAY_PEER, GATEWAY_STALE, GATEWAY_USED, HOLD_UNKNOWN, OTHER_GATEWAY, OUTER, PORT,
    SET_AUTO, SET_FLOWS, unwrap,
)
from packets import ETHER, frame, judge, judge_ip, network
from scapy.layers.inet import ICMP, IP, Ether
from scapy.layers.inet import TCP as Tcp
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6PacketTooBig, IPv6
from scapy.packet import Raw
from world import CLIENT, MACS, NODE, POD1, POD2, REMOTE

ALL = {4: "0.0.0.0/0", 6: "::/0"}
CLUSTER = {4: "10.0.0.0/8", 6: "fd00::/8"}
NARROW = {4: "10.99.7.0/24", 6: "fd00:99:7::/48"}
IN_NARROW = {4: "10.99.7.9", 6: "fd00:99:7::9"}
OUTSIDE = CLIENT  # an address beyond the cluster
ROUTER = {4: "192.0.2.1", 6: "2001:db8:2::1"}


def go_out(client, family, gateways=None, flags=0):
    """All that POD1 sends beyond the cluster goes to a gateway."""
    client.pod(POD1[family])
    client.stay(CLUSTER[family])
    number = client.set(gateways or [GATEWAY[family]], flags)
    client.route(1, ALL[family], number)
    return number


def packet(family, protocol=UDP, dst=None, sport=1000, dport=53, **fields):
    return frame("pod_in", POD1[family], sport, dst or OUTSIDE[family], dport, protocol, **fields)


def ping(family, src, dst, number=7, reply=False, macs=("pod1p", "pod1")):
    kind = {
        (4, False): lambda: ICMP(type=8, id=number, seq=1),
        (4, True): lambda: ICMP(type=0, id=number, seq=1),
        (6, False): lambda: ICMPv6EchoRequest(id=number, seq=1),
        (6, True): lambda: ICMPv6EchoReply(id=number, seq=1),
    }[family, reply]()
    return Ether(src=MACS[macs[0]], dst=MACS[macs[1]]) / network(src, dst) / kind / b"ping"


def check_tunnel(result, sent, family, gateway=None):
    """The packet is in the tunnel, as it was; returns the outer headers."""
    assert result.verdict == REDIRECT
    outer, udp, inner = unwrap(result.packet)
    assert (outer.src, outer.dst) == (POD1[family], (gateway or GATEWAY)[family])
    assert udp.dport == PORT and udp.chksum == 0
    assert udp.len == len(inner) + 8
    assert bytes(inner) == bytes(sent)[ETHER:]
    no_checksum = ["UDP", "UDP without a checksum"] if family == 6 else []  # RFC 6935
    assert judge(result.packet) == no_checksum
    return outer, udp


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_goes_to_its_gateway(client, family, protocol):
    go_out(client, family)
    sent = packet(family, protocol, payload=b"x" * 100)
    outer, udp = check_tunnel(client.send("client_in", sent), sent, family)
    assert udp.sport == PORT
    if family == 4:
        assert (outer.ttl, outer.proto, outer.version, outer.ihl) == (225, 17, 4, 5)
        assert outer.len == len(sent) - ETHER + OUTER[4]
    else:
        assert (outer.hlim, outer.nh, outer.plen) == (225, 17, len(sent) - ETHER + 8)


def test_echo_goes_too(client, family):
    go_out(client, family)
    sent = ping(family, POD1[family], OUTSIDE[family])
    check_tunnel(client.send("client_in", sent), sent, family)


def test_prefixes(client, family):
    """Narrow destinations beat what is in the cluster, and that beats wide ones."""
    go_out(client, family)
    assert client.send("client_in", packet(family, dst=REMOTE[family])).verdict == NEXT
    narrow = client.set([OTHER_GATEWAY[family]])
    assert client.send("client_in", packet(family, dst=IN_NARROW[family])).verdict == NEXT
    client.route(1, NARROW[family], narrow)
    sent = packet(family, dst=IN_NARROW[family])
    check_tunnel(client.send("client_in", sent), sent, family, OTHER_GATEWAY)
    client.route(1, CLUSTER[family], narrow)  # as long as what stays: somebody has named it
    sent = packet(family, dst=REMOTE[family])
    check_tunnel(client.send("client_in", sent), sent, family, OTHER_GATEWAY)
    assert client.drops() == {}


def test_families_apart(client):
    """A policy of all of IPv6 says nothing of IPv4, whose addresses are mapped into it."""
    client.pod(POD1[4])
    client.route(1, ALL[6], client.set([GATEWAY[6]]))
    assert client.send("client_in", packet(4)).verdict == NEXT


def test_others_are_left_alone(client, family):
    """Pods without a policy, and who is no pod."""
    go_out(client, family)
    client.pod(POD2[family], policy=0)
    other = frame("pod_in", POD2[family], 1000, OUTSIDE[family], 53, UDP)
    assert client.send("client_in", other).verdict == NEXT
    stranger = frame("pod_in", REMOTE[family], 1000, OUTSIDE[family], 53, UDP)
    assert client.send("client_in", stranger).verdict == NEXT
    client.control.flags = HOLD_UNKNOWN
    client.write()
    assert client.send("client_in", other).verdict == NEXT
    assert client.send("client_in", stranger).verdict == SHOT
    assert client.drops() == {"held": 1}


def test_held(client, family):
    """Until its gateways are known a pod may speak to the cluster only."""
    client.stay(CLUSTER[family])
    client.pod(POD1[family], policy=1, held=True)
    assert client.send("client_in", packet(family)).verdict == SHOT
    assert client.send("client_in", packet(family, dst=REMOTE[family])).verdict == NEXT
    assert client.drops() == {"held": 1}
    client.route(1, NARROW[family], client.set([GATEWAY[family]]))
    assert client.send("client_in", packet(family, dst=IN_NARROW[family])).verdict == SHOT


def test_no_gateway(client, family):
    number = go_out(client, family)
    client.gateway(number, 0, None)
    assert client.send("client_in", packet(family)).verdict == SHOT
    assert client.drops() == {"no-gateway": 1}


def chosen(client, family, count=64, **fields):
    """The gateways that `count` flows go to."""
    found = []
    for port in range(2000, 2000 + count):
        result = client.send("client_in", packet(family, sport=port, **fields))
        assert result.verdict == REDIRECT
        found.append(unwrap(result.packet)[0].dst)
    return found


def test_one_gateway_for_a_client(client, family):
    gateways = [f"192.0.2.{n}" if family == 4 else f"2001:db8:2::{n}" for n in range(20, 28)]
    go_out(client, family, gateways)
    assert len(set(chosen(client, family))) == 1


def test_a_gateway_for_each_flow(client, family):
    """They are spread, and of those that go only their own flows move."""
    gateways = [f"192.0.2.{n}" if family == 4 else f"2001:db8:2::{n}" for n in range(20, 24)]
    number = go_out(client, family, gateways, SET_FLOWS)
    before = chosen(client, family)
    assert set(before) == set(gateways)
    client.forget()
    assert chosen(client, family) == before, "every node chooses alike"
    client.forget()
    client.gateway(number, 2, None)
    after = chosen(client, family)
    for was, now in zip(before, after):
        assert now == was if was != gateways[2] else now != was


def test_a_flow_keeps_its_gateway(client, family):
    number = go_out(client, family, [GATEWAY[family]])
    sent = packet(family, TCP, flags="A")
    check_tunnel(client.send("client_in", sent), sent, family)
    # The old one takes no new flows any more, and there is another.
    client.gateway(number, 1, OTHER_GATEWAY[family])
    client.maps["egress_sets"][number] = 1 | 2 << 8
    client.state(number, 0, GATEWAY_USED)
    check_tunnel(client.send("client_in", sent), sent, family)
    new = packet(family, TCP, sport=1001)
    check_tunnel(client.send("client_in", new), new, family, OTHER_GATEWAY)
    client.gateway(number, 0, None)  # gone
    check_tunnel(client.send("client_in", sent), sent, family, OTHER_GATEWAY)


def test_a_connection_outlives_what_stays(client, family):
    """Its destination comes to be in the cluster: whom it speaks to knows the gateway, not the pod."""
    number = go_out(client, family)
    sent, asked = packet(family, TCP, flags="A"), packet(family, UDP)
    for one in (sent, asked):
        check_tunnel(client.send("client_in", one), one, family)
    client.stay(OUTSIDE[family])
    check_tunnel(client.send("client_in", sent), sent, family)
    assert client.send("client_in", asked).verdict == NEXT
    assert client.send("client_in", packet(family, TCP, sport=1001, flags="A")).verdict == NEXT
    client.route(1, ALL[family], client.set([OTHER_GATEWAY[family]]))
    assert client.send("client_in", sent).verdict == NEXT, "another Egress: its gateway knows it no more"
    client.route(1, ALL[family], number)
    check_tunnel(client.send("client_in", sent), sent, family)
    assert client.send("client_in", packet(family, TCP, flags="S")).verdict == NEXT
    assert client.send("client_in", sent).verdict == NEXT, "opened anew, it goes the new way"


def test_leaving_a_gateway_that_takes_no_new_flows(client, family):
    """Whose connection opens once more, or whose flow was silent, has nothing to lose."""
    number = go_out(client, family, [GATEWAY[family]])
    opening, asked = packet(family, TCP, flags="S"), packet(family, UDP)
    for sent in (opening, asked):
        check_tunnel(client.send("client_in", sent), sent, family)
    client.gateway(number, 1, OTHER_GATEWAY[family])
    client.maps["egress_sets"][number] = 1 | 2 << 8
    client.state(number, 0, GATEWAY_USED)
    check_tunnel(client.send("client_in", opening), opening, family, OTHER_GATEWAY)
    check_tunnel(client.send("client_in", asked), asked, family)
    for pin in client.pins().values():
        pin.used_s -= 60
    check_tunnel(client.send("client_in", asked), asked, family, OTHER_GATEWAY)


def test_a_slot_given_to_another(client, family):
    """A flow pinned to a gateway that is gone never goes to who has its slot now by mistake."""
    number = go_out(client, family, [GATEWAY[family]])
    sent = packet(family, TCP)
    check_tunnel(client.send("client_in", sent), sent, family)
    client.gateway(number, 0, OTHER_GATEWAY[family], GATEWAY_USED)
    assert client.send("client_in", sent).verdict == SHOT
    assert client.drops() == {"no-gateway": 1}


def test_this_node_is_the_gateway(client, family):
    """The packet is received by lo, behind which the gateway's program stands."""
    go_out(client, family, [NODE[family]])
    sent = packet(family, TCP, payload=b"x" * 100)
    result = client.send("client_in", sent)
    check_tunnel(result, sent, family, NODE)
    assert result.packet[Ether].dst == MACS["lo"]


def test_the_gateway_is_a_pod_of_this_node(client, family):
    number = go_out(client, family, [POD2[family]])
    client.state(number, 0, GATEWAY_USED | GATEWAY_ACTIVE | GATEWAY_PEER)
    sent = packet(family, TCP, payload=b"x" * 100)
    result = client.send("client_in", sent)
    check_tunnel(result, sent, family, POD2)
    assert (result.packet[Ether].src, result.packet[Ether].dst) == (MACS["pod2"], MACS["pod2p"])


def test_automatic_source_port(client, family):
    go_out(client, family, flags=SET_AUTO)
    ports = set()
    for port in range(3000, 3040):
        sent = packet(family, TCP, sport=port)
        _, udp = check_tunnel(client.send("client_in", sent), sent, family)
        again = unwrap(client.send("client_in", sent).packet)[1]
        assert again.sport == udp.sport, "a flow's is always the same"
        assert 32768 <= udp.sport < 61000
        ports.add(udp.sport)
    assert len(ports) > 30


@pytest.mark.parametrize("inner,outer", ((0, 0), (1, 1), (2, 2), (3, 2)))
def test_congestion(client, family, inner, outer):
    go_out(client, family)
    fields = {"ip": {"tos": 0xB8 | inner}} if family == 4 else {"ip": {"tc": 0xB8 | inner}}
    head, _ = check_tunnel(
        client.send("client_in", sent := packet(family, **fields)), sent, family)
    assert (head.tos if family == 4 else head.tc) == outer


def test_tunnels_are_not_cut(client):
    go_out(client, 4)
    for flags in ("", "DF"):
        sent = packet(4, ip={"flags": flags})
        outer, _ = check_tunnel(client.send("client_in", sent), sent, 4)
        assert outer.flags == "DF"


@pytest.mark.parametrize("protocol", (132, 47))
def test_other_protocols(client, family, protocol):
    go_out(client, family)
    field = {"proto": protocol} if family == 4 else {"nh": protocol}
    sent = Ether(src=MACS["pod1p"], dst=MACS["pod1"]) / network(
        POD1[family], OUTSIDE[family], **field) / Raw(b"\0" * 40)
    assert client.send("client_in", sent).verdict == SHOT
    assert client.drops() == {"protocol": 1}


@pytest.mark.parametrize("over", (0, 1))
def test_size(client, family, over):
    """The largest that fits; and one byte more is answered with how large it may be."""
    go_out(client, family)
    fits = 1500 - OUTER[family]
    head = 28 if family == 4 else 48
    flags = {"flags": "DF"} if family == 4 else {}
    sent = packet(family, payload=b"x" * (fits - head + over), ip=flags)
    result = client.send("client_in", sent)
    if not over:
        check_tunnel(result, sent, family)
        return
    assert result.verdict == REDIRECT and not judge(result.packet)
    assert client.drops() == {"too-big": 1}
    answer = result.packet[IP] if family == 4 else result.packet[IPv6]
    assert (answer.src, answer.dst) == (OUTSIDE[family], POD1[family])
    if family == 4:
        assert (answer[ICMP].type, answer[ICMP].code, answer[ICMP].nexthopmtu) == (3, 4, fits)
    else:
        assert answer[ICMPv6PacketTooBig].mtu == fits


@pytest.mark.parametrize("options", ([("MSS", 1460)], [("NOP", None), ("MSS", 1460)],
                                     [("WScale", 7), ("MSS", 1460)], [("MSS", 900)], []))
def test_segment_size(client, family, options):
    """A SYN's MSS is lowered to what fits, wherever the option is."""
    go_out(client, family)
    most = 1500 - OUTER[family] - (40 if family == 4 else 60)
    sent = packet(family, TCP, transport={"options": options})
    result = client.send("client_in", Ether(bytes(sent)))
    assert result.verdict == REDIRECT
    inner = unwrap(result.packet)[2]
    expected = [(name, min(value, most) if name == "MSS" else value) for name, value in options]
    found = [option for option in inner[Tcp].options if option[0] != "EOL"]
    assert [o for o in found if o[0] != "NOP"] == [o for o in expected if o[0] != "NOP"]
    assert not judge_ip(bytes(inner), "", True)


def test_garbage(client, family):
    """Cut packets are dropped where they would leave the cluster."""
    go_out(client, family)
    whole = bytes(packet(family, TCP, ip={"len": 60} if family == 4 else {}))
    result = client.send("client_in", whole[:ETHER + (24 if family == 4 else 44)])
    assert result.verdict == SHOT and client.drops() == {"malformed": 1}


def test_new_pods_and_a_stale_gateway(client, family):
    """A gateway that learns of no new clients gets nothing that a new pod begins; pods that it knows go
    on, with new flows too. What a new pod has sent it, unanswered, goes elsewhere at once."""
    number = go_out(client, family, [GATEWAY[family]])
    opening, asked = packet(family, TCP, flags="S"), packet(family, UDP)
    for sent in (opening, asked):
        check_tunnel(client.send("client_in", sent), sent, family)
    client.gateway(number, 1, OTHER_GATEWAY[family], GATEWAY_USED)
    client.maps["egress_sets"][number] = 1 | 2 << 8
    client.state(number, 0, GATEWAY_USED | GATEWAY_ACTIVE | GATEWAY_STALE)
    known = packet(family, TCP, sport=1001)
    for sent in (opening, asked, known):
        check_tunnel(client.send("client_in", sent), sent, family)
    client.state(number, 1, GATEWAY_USED | GATEWAY_ACTIVE)
    client.pod(POD1[family], new=True)
    for sent in (opening, asked, packet(family, TCP, sport=1002), packet(family, UDP, sport=1002)):
        check_tunnel(client.send("client_in", sent), sent, family, OTHER_GATEWAY)
    going_on = packet(family, TCP, sport=1001, flags="A")
    check_tunnel(client.send("client_in", going_on), going_on, family)
