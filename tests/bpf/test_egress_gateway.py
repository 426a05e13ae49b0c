# SPDX-License-Identifier: Apache-2.0
"""An egress gateway: what leaves, under which address and port, and what goes back to whom."""

from pathlib import Path

import abi
import pytest
from abi import TCP, UDP, Tuple
from bpf import NEXT, REDIRECT, SHOT
from egress import CAUSES, DRAINING, OUTER, PORT, fou, unwrap
from packets import ETHER, ether, frame, judge, judge_ip, network
from scapy.layers.inet import ICMP, IP, Ether
from scapy.layers.inet import TCP as Tcp
from scapy.layers.inet import UDP as Udp
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6PacketTooBig,
    ICMPv6TimeExceeded, IPv6,
)
from scapy.packet import Raw
from test_egress_answers import pieces, uncuttable
from world import NODE

POD = {4: "10.244.2.5", 6: "fd00:244:2::5"}  # of another node
OTHER = {4: "10.244.2.6", 6: "fd00:244:2::6"}
SERVER = {4: "198.51.100.80", 6: "2001:db8:51::80"}
ROUTER = {4: "198.51.100.1", 6: "2001:db8:51::1"}
FIRST, SIZE = 20000, 8


def inside(family, protocol=UDP, sport=1000, dport=53, src=None, dst=None, **fields):
    """What a pod sends, as an IP packet."""
    sent = frame("uplink_in", (src or POD)[family], sport, (dst or SERVER)[family], dport, protocol,
                 **fields)
    return bytes(sent)[ETHER:]


def tunnel(family, inner, src=None, **fields):
    return fou((src or POD)[family], NODE[family], inner, **fields)


def head_of(packet, family):
    return packet[IP] if family == 4 else packet[IPv6]


def send(gateway, family, inner, **fields):
    return gateway.send(tunnel(family, inner, **fields))


def leaves(gateway, family, inner, **fields):
    """Sends a client's packet, which must leave; returns it as it leaves."""
    result = send(gateway, family, inner, **fields)
    assert result.verdict == REDIRECT and not judge(result.packet)
    head = head_of(result.packet, family)
    assert (head.src, head.dst) == (NODE[family], SERVER[family])
    return head


def answered(gateway, family, back):
    """Gives an answer of the server to the gateway; what the client gets."""
    result = gateway.send(ether() / back)
    assert result.verdict == REDIRECT
    outer, udp, inner = unwrap(result.packet)
    assert (outer.src, outer.dst) == (NODE[family], POD[family])
    assert (udp.sport, udp.dport, udp.chksum) == (PORT, PORT, 0)
    assert not judge_ip(bytes(inner), "", True)
    return inner


def reply(family, left, protocol, flags="SA", **fields):
    """The server's answer to what left."""
    upper = left[Tcp] if protocol == TCP else left[Udp]
    sent = frame("uplink_in", SERVER[family], upper.dport, NODE[family], upper.sport, protocol,
                 flags=flags, **fields)
    return head_of(Ether(bytes(sent)), family)


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_both_next_hops(gateway, family, protocol):
    client = gateway.client(POD[family])
    left = leaves(gateway, family, inside(family, protocol, payload=b"ask"))
    upper = left[Tcp] if protocol == TCP else left[Udp]
    assert FIRST <= upper.sport < FIRST + SIZE and upper.dport == 53
    assert bytes(upper.payload) == b"ask"
    assert (left.ttl if family == 4 else left.hlim) == 63
    inner = answered(gateway, family, reply(family, left, protocol, payload=b"tell"))
    assert (inner.src, inner.dst) == (SERVER[family], POD[family])
    upper = inner[Tcp] if protocol == TCP else inner[Udp]
    assert (upper.sport, upper.dport, bytes(upper.payload)) == (53, 1000, b"tell")
    ports = gateway.maps["egress_ports"][client]
    assert (ports.packets, ports.flows, ports.refused, ports.count) == (2, 1, 0, 1)
    again = leaves(gateway, family, inside(family, protocol, flags="A"))
    assert again[type(upper)].sport == (left[type(upper)]).sport
    assert gateway.drops() == {}


def test_echo(gateway, family):
    gateway.client(POD[family])
    request = ICMP(type=8, id=7, seq=3) if family == 4 else ICMPv6EchoRequest(id=7, seq=3)
    left = leaves(gateway, family, bytes(network(POD[family], SERVER[family]) / request / b"ping"))
    got = left[ICMP] if family == 4 else left[ICMPv6EchoRequest]
    assert FIRST <= got.id < FIRST + SIZE and got.seq == 3
    back = ICMP(type=0, id=got.id, seq=3) if family == 4 else ICMPv6EchoReply(id=got.id, seq=3)
    inner = answered(gateway, family, network(SERVER[family], NODE[family]) / back / b"ping")
    got = inner[ICMP] if family == 4 else inner[ICMPv6EchoReply]
    assert (inner.dst, got.id, got.seq) == (POD[family], 7, 3)


@pytest.fixture(name="unforwarding")
def unforwarding_fixture():
    """A kernel that forwards nothing, as in a pod."""
    files = [Path("/proc/sys/net/ipv4/ip_forward"), Path("/proc/sys/net/ipv6/conf/all/forwarding")]
    for file in files:
        file.write_text("0", encoding="ascii")
    yield
    for file in files:
        file.write_text("1", encoding="ascii")


@pytest.mark.usefixtures("unforwarding")
def test_in_a_pod(gateway, family):
    """It has one interface, and needs no forwarding: all leaves by where it came in."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family, TCP, payload=b"ask"))
    inner = answered(gateway, family, reply(family, left, TCP, payload=b"tell"))
    assert (inner.src, inner.dst) == (SERVER[family], POD[family])
    assert gateway.drops() == {}


def test_who_may(gateway, family):
    """Clients only, under their own address, and not to the gateway itself."""
    gateway.client(POD[family])
    assert send(gateway, family, inside(family, src=OTHER), src=OTHER).verdict == SHOT
    assert gateway.drops() == {"stranger": 1}
    assert send(gateway, family, inside(family, src=OTHER)).verdict == SHOT
    assert gateway.drops() == {"stranger": 1, "spoofed": 1}
    for inner in (inside(family, dst=NODE), inside(family, dport=PORT)):
        assert send(gateway, family, inner).verdict == SHOT
    assert gateway.drops() == {"stranger": 1, "spoofed": 1, "nested": 2}
    assert len(gateway.nat["flows"]) == 0


ALL = {4: "0.0.0.0/0", 6: "::/0"}
NARROW = {4: "198.51.100.0/24", 6: "2001:db8:51::/48"}
CLUSTER = {4: "10.0.0.0/8", 6: "fd00::/8"}
INSIDE = {4: "10.99.7.9", 6: "fd00:99:7::9"}
ELSEWHERE = {4: "192.88.99.7", 6: "2001:db8:77::7"}


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_where_to(gateway, family, protocol):
    """A client's Egresses have the destination, and it does not stay in the cluster: else the packet
    goes nowhere, whoever has wrapped it. The longer prefix wins, as on the client's side."""
    gateway.route(7, NARROW[family], 1)
    gateway.stay(CLUSTER[family])
    narrow, wide = POD, OTHER
    gateway.client(narrow[family], policy=7)
    gateway.client(wide[family])

    def goes(src, dst):
        inner = inside(family, protocol, src=src, dst=dst)
        verdict = send(gateway, family, inner, src=src).verdict
        found, cause, *_ = gateway.live_twin(tunnel(family, inner, src=src))
        assert (verdict, found) in ((REDIRECT, "sent"), (SHOT, "dropped"))
        assert found == "sent" or CAUSES[cause] == "destination"
        return verdict == REDIRECT

    assert goes(narrow, SERVER) and goes(wide, SERVER) and goes(wide, ELSEWHERE)
    assert not goes(narrow, ELSEWHERE)
    assert not goes(narrow, INSIDE) and not goes(wide, INSIDE)
    assert gateway.drops() == {"destination": 3} and len(gateway.nat["flows"]) == 6
    gateway.route(1, CLUSTER[family], 1)  # somebody has named just that range
    for src, count in ((wide, 3), (narrow, 4)):  # nothing leads there, but that is another matter
        send(gateway, family, inside(family, protocol, src=src, dst=INSIDE), src=src)
        assert gateway.drops()["destination"] == count


def test_a_flow_outlives_its_destination(gateway, family):
    """What has begun goes on where the Egress is narrowed; nothing more begins."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family, TCP, flags="S"))
    del gateway.maps["egress_routes"][gateway.route_key(1, ALL[family])]
    leaves(gateway, family, inside(family, TCP, flags="A"))
    answered(gateway, family, reply(family, left, TCP))
    assert send(gateway, family, inside(family, TCP, flags="S", sport=1001)).verdict == SHOT
    assert gateway.drops() == {"destination": 1}


def test_not_for_us(gateway, family):
    """What is no FoU, or not for the address where clients reach the gateway."""
    gateway.client(POD[family])
    elsewhere = fou(POD[family], SERVER[family], inside(family))
    other = tunnel(family, inside(family), dport=5556)
    plain = frame("uplink_in", POD[family], 1000, SERVER[family], 53, UDP)
    unasked = frame("uplink_in", SERVER[family], 53, NODE[family], FIRST, UDP)
    for sent in (elsewhere, other, plain, unasked):
        result = gateway.send(sent)
        assert result.verdict == NEXT and bytes(result.packet) == bytes(sent)
    assert gateway.drops() == {}


def test_plain_packets_of_a_client(gateway, family):
    """What does not come by the tunnel is not translated, even under the tuple of a flow."""
    gateway.client(POD[family])
    leaves(gateway, family, inside(family))
    plain = frame("uplink_in", POD[family], 1000, SERVER[family], 53, UDP)
    result = gateway.send(plain)
    assert result.verdict == NEXT and bytes(result.packet) == bytes(plain)


@pytest.mark.parametrize(
    "inner", (b"", b"\x45", b"\x00" * 60, b"\x45" + b"\0" * 19, b"\x60" + b"\0" * 39)
)
def test_garbage(gateway, family, inner):
    gateway.client(POD[family])
    assert send(gateway, family, inner).verdict == SHOT
    assert sum(gateway.drops().values()) == 1


def test_other_protocols(gateway, family):
    gateway.client(POD[family])
    for protocol in (132, 47):
        field = {"proto": protocol} if family == 4 else {"nh": protocol}
        inner = bytes(network(POD[family], SERVER[family], **field) / Raw(b"\0" * 40))
        assert send(gateway, family, inner).verdict == SHOT
    assert gateway.drops() == {"protocol": 2}


@pytest.mark.parametrize("flags", ("A", "PA", "FA"))
def test_unknown_connections(gateway, family, flags):
    """They are reset, so that the client connects again at once."""
    gateway.client(POD[family])
    inner = inside(family, TCP, flags=flags, transport={"seq": 1000, "ack": 5000}, payload=b"late")
    result = send(gateway, family, inner)
    assert result.verdict == REDIRECT
    outer, _, told = unwrap(result.packet)
    assert (outer.src, outer.dst) == (NODE[family], POD[family])
    assert (told.src, told.dst) == (SERVER[family], POD[family])
    tcp = told[Tcp]
    assert (tcp.sport, tcp.dport, str(tcp.flags), tcp.seq) == (53, 1000, "R", 5000)
    assert not judge_ip(bytes(told), "", True)
    assert gateway.drops() == {"unknown": 1}


def test_no_reset_for_a_reset(gateway, family):
    gateway.client(POD[family])
    assert send(gateway, family, inside(family, TCP, flags="R")).verdict == SHOT


def ask(gateway, family, number, dst=None):
    """A question of a flow of its own. Returns the port that it leaves from, or None."""
    result = send(gateway, family, inside(family, UDP, sport=3000 + number, dst=dst))
    if result.verdict == SHOT:
        return None
    return head_of(result.packet, family)[Udp].sport


def test_blocks(gateway, family):
    """A client gets as many blocks as it may have, and each port of them; then it is refused."""
    client = gateway.client(POD[family])
    ports = [ask(gateway, family, number) for number in range(4 * SIZE)]
    assert sorted(ports) == list(range(FIRST, FIRST + 4 * SIZE))
    # Nobody has answered these: the oldest give way before anybody is refused.
    assert ask(gateway, family, 100) in ports
    blocks = gateway.maps["egress_ports"][client]
    assert blocks.count == 4 and sorted(blocks.blocks)[-4:] == [1, 2, 3, 4]
    owners = [gateway.maps["egress_blocks"][number].value >> 32 for number in range(5)]
    assert owners == [client] * 4 + [0]


def establish(gateway, family, number):
    """A TCP connection. Returns its port, or None if it was refused."""
    syn = send(gateway, family, inside(family, TCP, sport=3000 + number))
    if syn.verdict == SHOT:
        return None
    left = head_of(syn.packet, family)
    answered(gateway, family, reply(family, left, TCP))
    leaves(gateway, family, inside(family, TCP, sport=3000 + number, flags="A",
                                   transport={"seq": 1, "ack": 1}))
    return left[Tcp].sport


def test_full(gateway, family):
    """As many connections to one place as there are ports; one more is refused by name; to another
    place each port is free. The longest search is the one that found none."""
    client = gateway.client(POD[family])
    ports = [establish(gateway, family, number) for number in range(4 * SIZE)]
    assert sorted(ports) == list(range(FIRST, FIRST + 4 * SIZE))
    assert establish(gateway, family, 100) is None
    assert gateway.drops() == {"ports": 1}
    assert gateway.maps["egress_ports"][client].refused == 1
    assert gateway.maps["egress_ports"][0].longest == 4 * SIZE
    assert ask(gateway, family, 101, dst=ROUTER) in ports


def test_the_port_of_tunnels(gateway, family):
    """What comes to the gateway's own address and FoU's port is taken for FoU: no datagram leaves
    from there, be the answers lost or not. Connections do."""
    gateway.control.snat_first, gateway.control.client_blocks = PORT - 3, 1
    gateway.write()
    gateway.client(POD[family])
    others = set(range(PORT - 3, PORT + 5)) - {PORT}
    assert {ask(gateway, family, number) for number in range(4 * SIZE)} == others
    assert PORT in [establish(gateway, family, number) for number in range(SIZE)]
    assert gateway.live_twin(tunnel(family, inside(family)))[2] == "given"
    assert gateway.drops() == {}


def grow_old(gateway, seconds):
    for key, half in list(gateway.nat["flows"].items()):
        half.seen_s -= seconds
        gateway.nat["flows"][key] = half


def test_own_timeouts(gateway, family):
    """Connections that were silent for longer than egress lets them be give their ports away, however
    long those of Services may be silent."""
    gateway.client(POD[family])
    control = gateway.nat["control"][0]
    control.egress_timeouts_s[list(abi.STATES).index("established")] = 300
    gateway.nat["control"][0] = control
    ports = [establish(gateway, family, number) for number in range(4 * SIZE)]
    grow_old(gateway, 200)
    assert establish(gateway, family, 100) is None
    grow_old(gateway, 150)
    assert establish(gateway, family, 101) in ports


def test_blocks_are_apart(gateway, family):
    """No client gets a port of another's blocks; who finds none left is refused by another name."""
    for which in (POD, OTHER):
        gateway.client(which[family])
    gateway.control.address_blocks = 2
    gateway.write()
    mine = {ask(gateway, family, number) for number in range(SIZE)}
    first = send(gateway, family, inside(family, src=OTHER), src=OTHER)
    theirs = head_of(first.packet, family)[Udp].sport
    assert theirs not in mine and FIRST + SIZE <= theirs < FIRST + 2 * SIZE
    third = {4: "10.244.2.7", 6: "fd00:244:2::7"}
    gateway.client(third[family])
    assert send(gateway, family, inside(family, src=third), src=third).verdict == SHOT
    assert gateway.drops() == {"blocks": 1}


def test_draining(gateway, family):
    """Flows go on, new ones are dropped by name."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family))
    gateway.control.flags = DRAINING
    gateway.write()
    again = leaves(gateway, family, inside(family))
    assert again[Udp].sport == left[Udp].sport
    assert send(gateway, family, inside(family, sport=1001)).verdict == SHOT
    assert gateway.drops() == {"draining": 1}


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_errors_from_outside(gateway, family, protocol):
    """A router's error about what left is the client's, about what the client has sent."""
    gateway.client(POD[family])
    inner = inside(family, protocol, payload=b"x" * 100)
    left = leaves(gateway, family, inner)
    error = ICMP(type=11, code=0) if family == 4 else ICMPv6TimeExceeded()
    error = network(ROUTER[family], NODE[family]) / error / Raw(bytes(left))
    told = answered(gateway, family, error)
    assert (told.src, told.dst) == (ROUTER[family], POD[family])
    quote = bytes(told)[(20 if family == 4 else 40) + 8:]
    quoted = (IP if family == 4 else IPv6)(quote)
    upper = quoted[Tcp] if protocol == TCP else quoted[Udp]
    assert (quoted.src, quoted.dst, upper.sport, upper.dport) == (
        POD[family], SERVER[family], 1000, 53)


def test_errors_from_clients(gateway, family):
    """A client's error about an answer goes to who sent the answer, about what that one sent."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family))
    answer = answered(gateway, family, reply(family, left, UDP))
    error = ICMP(type=3, code=3) if family == 4 else ICMPv6DestUnreach(code=4)
    inner = network(POD[family], SERVER[family]) / error / Raw(bytes(answer))
    result = send(gateway, family, bytes(inner))
    assert result.verdict == REDIRECT and not judge(result.packet)
    head = head_of(result.packet, family)
    assert (head.src, head.dst) == (NODE[family], SERVER[family])
    quote = bytes(head)[(20 if family == 4 else 40) + 8:]
    quoted = (IP if family == 4 else IPv6)(quote)
    assert (quoted.src, quoted.dst, quoted[Udp].dport) == (
        SERVER[family], NODE[family], left[Udp].sport)
    lone = bytes(network(POD[family], SERVER[family]) / error / Raw(inside(
        family, sport=53, dport=9, src=SERVER, dst=POD)))
    assert send(gateway, family, lone).verdict == SHOT, "an error about no flow"


def test_hop_limit(gateway, family):
    """Used up at the gateway: the client is told by the tunnel, the server plainly."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family))
    result = send(gateway, family, inside(family, ttl=1))
    assert result.verdict == REDIRECT
    outer, _, told = unwrap(result.packet)
    assert outer.dst == POD[family] and not judge_ip(bytes(told), "", True)
    assert (told[ICMP].type if family == 4 else told[ICMPv6TimeExceeded].type) == (
        11 if family == 4 else 3)
    back = gateway.send(ether() / reply(family, left, UDP, ttl=1))
    assert back.verdict == REDIRECT and head_of(back.packet, family).dst == SERVER[family]
    assert gateway.drops() == {"ttl": 2}


@pytest.mark.usefixtures("unforwarding")
def test_too_big_in_a_pod(gateway, family):
    test_too_big_for_the_tunnel(gateway, family)


def test_too_big_for_the_tunnel(gateway, family):
    """The server is told how large an answer may be."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family))
    fits = 1500 - OUTER[family] - (28 if family == 4 else 48)
    fields = uncuttable(family)
    answered(gateway, family, reply(family, left, UDP, payload=b"x" * fits, **fields))
    back = gateway.send(ether() / reply(family, left, UDP, payload=b"x" * (fits + 1), **fields))
    assert back.verdict == REDIRECT and not judge(back.packet)
    head = head_of(back.packet, family)
    assert (head.src, head.dst) == (NODE[family], SERVER[family])
    said = head[ICMP].nexthopmtu if family == 4 else head[ICMPv6PacketTooBig].mtu
    assert said == 1500 - OUTER[family]
    assert gateway.drops() == {"too-big": 1}


def test_path_mtu_of_the_tunnel(gateway, family):
    """A router between gateway and client: the server is told about its own packet."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family, TCP))
    back = reply(family, left, TCP, payload=b"x" * 1000, **uncuttable(family))
    sent = gateway.send(ether() / back)
    outer, _, _ = unwrap(sent.packet)
    error = ICMP(type=3, code=4, nexthopmtu=1400) if family == 4 else ICMPv6PacketTooBig(mtu=1400)
    between = {4: "192.0.2.1", 6: "2001:db8:2::1"}
    error = network(between[family], NODE[family]) / error / Raw(bytes(outer)[:500])
    result = gateway.send(ether() / error)
    assert result.verdict == REDIRECT and not judge(result.packet)
    head = head_of(result.packet, family)
    assert (head.src, head.dst) == (NODE[family], SERVER[family])
    body = bytes(head)[20 if family == 4 else 40:]
    assert int.from_bytes(body[4:8], "big") == 1400 - OUTER[family]
    quoted = (IP if family == 4 else IPv6)(body[8:])
    assert (quoted.src, quoted.dst, quoted[Tcp].dport) == (
        SERVER[family], NODE[family], left[Tcp].sport)


@pytest.mark.parametrize("side", ("client", "server"))
def test_segment_size(gateway, family, side):
    """What either side says of its segments is lowered to what the tunnel takes."""
    gateway.client(POD[family])
    most = 1500 - OUTER[family] - (40 if family == 4 else 60)
    syn = inside(family, TCP, transport={"options": [("MSS", 1460)]})
    syn = (IP if family == 4 else IPv6)(syn)
    left = leaves(gateway, family, bytes(syn))
    if side == "client":
        assert dict(left[Tcp].options)["MSS"] == most
        return
    back = reply(family, left, TCP, transport={"options": [("MSS", 1460)]})
    assert dict(answered(gateway, family, back)[Tcp].options)["MSS"] == most


def test_fragments(gateway, family):
    """A client's datagram in pieces leaves in pieces, and an answer in pieces comes back."""
    gateway.client(POD[family])
    port = None
    for piece in pieces(family, POD[family], SERVER[family]):
        head = leaves(gateway, family, bytes(piece)[ETHER:])
        if Udp in head and port is None:
            port = head[Udp].sport
    assert FIRST <= port < FIRST + SIZE
    for piece in pieces(family, SERVER[family], NODE[family], sport=53, dport=port):
        inner = answered(gateway, family, head_of(piece, family))
        assert (inner.src, inner.dst) == (SERVER[family], POD[family])
    lone = list(pieces(family, POD[family], SERVER[family], number=99))[1]
    assert send(gateway, family, bytes(lone)[ETHER:]).verdict == SHOT
    assert gateway.drops() == {"fragment": 1}


def test_a_flow_under_the_same_tuple(gateway, family):
    """The tuple of a flow is taken by nobody else, also by no other client's search."""
    gateway.client(POD[family])
    left = leaves(gateway, family, inside(family))
    key = Tuple.of(SERVER[family], 53, NODE[family], left[Udp].sport, UDP)
    flow = gateway.nat["flows"][key]
    assert (flow.half, flow.service, flow.port) == (2, 0, 1)
