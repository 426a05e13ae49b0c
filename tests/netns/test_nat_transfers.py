# SPDX-License-Identifier: Apache-2.0
"""Much at once: large transfers through a smaller MTU, fragments, and many connections."""

import errno
import socket

import pytest
from lab.traffic import Connection, Datagrams, Load, serve
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from served import FAMILIES, KINDS, PROTOCOLS, TARGET, Service, node_of, pods, start, steer

pytestmark = pytest.mark.lab(nat=True)
BOTH = pytest.mark.parametrize("family", FAMILIES)
SMALL_MTU = 1300
BULK = 1 << 20
PARALLEL = 400


@pytest.fixture(name="world")
def world_fixture(lab):
    """One endpoint, on the second node; everything of outside comes by way of the first."""
    if hasattr(lab, "web"):  # shared
        return lab
    lab.pods = pods(lab, "one")
    lab.guest = lab.pod(lab.nodes[0], "guest")
    lab.web = Service(lab)
    lab.web.write(lab.pods["one2"])
    lab.agents = start(lab, lab.web)
    steer(lab, lab.nodes[0], *lab.web.announced(), *lab.web.of["clusterIP"])
    return lab


def ways(world, family):
    """(client, address, port) of every kind: masqueraded and not, by the stack and past it."""
    node = world.nodes[0]
    return [(client, *world.web.address(kind, family, node))
            for client in (world.client, world.guest, node) for kind in KINDS]


def narrow(world):
    """A smaller MTU on the way to the second node, which neither client nor endpoint knows of."""
    second = world.nodes[1]
    world.tor.ip("link", "set", second.role, "mtu", str(SMALL_MTU))
    second.ip("link", "set", "eth0", "mtu", str(SMALL_MTU))


def transfer(client, address, port):
    """What did not come through, of both directions."""
    with Connection(client, address, port, timeout=20) as connection:
        wrong = [] if connection.put(b"0123456789abcdef" * (BULK // 16)) else ["put"]
        return wrong + ([] if connection.get(BULK) else ["get"])


@pytest.mark.shared
@pytest.mark.busy
@BOTH
@pytest.mark.parametrize("mtu", ["even", "narrow"])
def test_large_transfers(world, family, mtu):
    """The kernel's "too big" is about the translated packet, and has to reach the client about its
    own: else nothing more comes through."""
    if mtu == "narrow":
        narrow(world)
    for client, address, port in ways(world, family):
        assert transfer(client, address, port) == [], f"{client} -> {address}:{port}"


def error_of(flow):
    """What comes of one datagram that is larger than the narrow link."""
    try:
        flow.exchange(b"x" * 1400)
    except OSError as error:
        return error.errno
    return None


@pytest.mark.shared
@BOTH
def test_a_client_learns_the_mtu_of_the_way(world, family):
    """By name: the error says the MTU of the narrow link, for the address that the client knows. (Of
    a node's own address the kernel remembers none; the socket is told all the same.)"""
    narrow(world)
    level, option, ask, do = (
        (socket.IPPROTO_IP, 14, 10, 2) if family == 4 else (socket.IPPROTO_IPV6, 24, 23, 2)
    )
    for client, address, port in ways(world, family):
        with Datagrams(client, address, port, timeout=0.3) as flow:
            flow.socket.setsockopt(level, ask, do)  # IP_MTU_DISCOVER: fragments are not for us
            told = [error_of(flow) for _ in range(4)]
            assert errno.EMSGSIZE in told, f"{client} -> {address}: {told}"
            if client is not world.nodes[0] or port != world.web.node_port:
                assert flow.socket.getsockopt(level, option) == SMALL_MTU, f"{client} -> {address}"


@pytest.mark.shared
@pytest.mark.parametrize("length", (1400, 1450, 9000, 40000))
def test_what_may_be_cut_is_cut(world, length):
    """Many who send datagrams (bind, RADIUS, SIP) want to hear nothing of MTUs, and don't set DF."""
    narrow(world)
    for client, address, port in ways(world, 4):
        with Datagrams(client, address, port) as flow:
            flow.socket.setsockopt(socket.IPPROTO_IP, 10, 5)  # IP_MTU_DISCOVER: omit
            data = bytes(range(200)) * (length // 200)
            assert flow.put(data), f"{client} -> {address}:{port}"


def cut(flow, family, data, number):
    """The fragments of a datagram of this flow, in order."""
    (source, sport, *_), (target, dport, *_) = flow.socket.getsockname(), flow.socket.getpeername()
    upper = UDP(sport=sport, dport=dport) / data
    if family == 4:
        return [bytes(piece) for piece in fragment(IP(src=source, dst=target, id=number) / upper, 1200)]
    whole = IPv6(src=source, dst=target) / IPv6ExtHdrFragment(id=number) / upper
    return [bytes(piece) for piece in fragment6(whole, 1280)]


def send_raw(client, family, target, pieces):
    level, option = {4: (socket.IPPROTO_IP, 3), 6: (socket.IPPROTO_IPV6, 36)}[family]  # HDRINCL
    with client.entered():
        raw = socket.socket({4: socket.AF_INET, 6: socket.AF_INET6}[family], socket.SOCK_RAW,
                            socket.IPPROTO_RAW)
    with raw:
        raw.setsockopt(level, option, 1)
        for piece in pieces:
            raw.sendto(piece, (target, 0))


@pytest.mark.shared
@BOTH
@pytest.mark.parametrize("order", [(2, 0, 1), (3, 2, 1, 0), (1, 0, 2, 3)], ids=str)
def test_fragments_in_disorder(world, family, order):
    """Joined by the stack, which the agent has asked for that, and brought back by svc0."""
    data = bytes(range(250)) * (len(order) * 1100 // 250)
    for client, address, port in ways(world, family):
        if client is world.nodes[0] or port == world.web.node_port:
            continue
        with Datagrams(client, address, port) as flow:
            for number in (77, 77 if family == 4 else 78):  # IPv4 soon has no others left
                pieces = cut(flow, family, data, number)
                assert len(pieces) == len(order)
                send_raw(client, family, address, [pieces[index] for index in order])
                words = flow.socket.recv(65536).decode().split()
                assert int(words[5]) == len(data), f"{client} -> {address}:{port}"


@pytest.mark.shared
@BOTH
@pytest.mark.parametrize("mtu", ["even", "narrow"])
def test_fragments(world, family, mtu):
    """Datagrams of more than a packet, in both directions; the sockets count the bytes.

    A node to its own node port is left out: lo takes 64 KiB in one piece, with DF, so that the
    socket is told "message too long".
    """
    if mtu == "narrow":
        narrow(world)
        # Whoever sends has to know: a router does not fragment IPv6, nor what must not be.
        for client in (world.client, world.guest, world.nodes[0], world.pods["one2"]):
            client.ip("link", "set", "eth0", "mtu", str(SMALL_MTU))
    for client, address, port in ways(world, family):
        if (client, port) == (world.nodes[0], world.web.node_port):
            continue
        with Datagrams(client, address, port) as flow:
            for length in (1500, 4000, 9000, 40000):
                data = bytes(range(250)) * (length // 250)
                assert flow.put(data), f"{client} -> {address}:{port}, {length} there"
                assert flow.get(length), f"{client} -> {address}:{port}, {length} back"


@pytest.mark.shared
@BOTH
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_many_at_once(world, family, protocol):
    """Connections that are all open together; each is answered by its own server to the last."""
    kind = Connection if protocol == "TCP" else Datagrams
    for client, address, port in ways(world, family):
        if node_of(client) and address not in world.web.of["clusterIP"]:
            continue
        flows = [kind(client, address, port) for _ in range(PARALLEL)]
        seen = {flow.who()[1:3] for flow in flows}
        assert len(seen) == PARALLEL, "two of them were taken for one"
        assert {flow.who()[1:3] for flow in flows} == seen
        for flow in flows:
            flow.close()


@pytest.mark.shared
@pytest.mark.busy
@BOTH
def test_short_connections_as_fast_as_they_go(world, family):
    world.web.write(*world.pods.values())
    for client, address, port in ways(world, family):
        with Load(client, "short", address, port, c=4) as load:
            load.more(500)
        load.unhurt()


@pytest.mark.shared
@BOTH
def test_a_pod_that_serves_itself(world, family):
    """Hairpin in bulk: a pod to itself by every address."""
    pod = world.pods["one1"]
    world.web.write(pod)
    world.agents[0].settled()
    for kind in KINDS:
        address, port = world.web.address(kind, family, world.nodes[0])
        assert transfer(pod, address, port) == [], kind
        with Datagrams(pod, address, port) as flow:
            assert flow.put(b"x" * 4000) and flow.get(4000), kind


@BOTH
def test_the_hosts_own_network_in_bulk(world, family):
    """Endpoints that are processes of the nodes."""
    for node in world.nodes:
        serve(node, TARGET)
    for backend in world.nodes:
        world.web.write(backend)
        for agent in world.agents:
            agent.settled()
        for client, address, port in ways(world, family):
            assert transfer(client, address, port) == [], f"{client} -> {address} of {backend}"
