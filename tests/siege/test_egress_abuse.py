# SPDX-License-Identifier: Apache-2.0
"""Who abuses a gateway, or a pod's tunnel: nothing gets through, and the reason has a name. And
the end of the room: ports of clients."""

import socket
import struct

import pytest
from lab import wait, wait_equal
from lab.traffic import Connection, ask, open_socket, serve
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from siege_forged import wire
from test_egress import BOTH, PORT, address, egress, pod_object, told, write_nodes

pytestmark = pytest.mark.lab(nat=True, nodes=2)
FOU, SECRET, BLOCK = 5555, 7777, 32


@pytest.fixture(name="world")
def world_fixture(lab):
    return build(lab, "allow")


def build(lab, tunnels, **gateway):
    """`tunnels`: what becomes of FoU that a pod itself sends to a gateway; `gateway`: more settings of that."""
    first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    lab.guest, lab.other, lab.plain = (lab.pod(first, name) for name in ("guest", "other", "plain"))
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest), pod_object(lab.other),
              pod_object(lab.plain, annotation=None))
    lab.agent(first, egress={"enabled": True, "podTunnels": tunnels}, services={"enabled": False})
    lab.agent(lab.gateway, services={"enabled": False}, egress={"gateway": {
        "ports": f"20000-{20000 + 4 * BLOCK - 1}", "portBlock": BLOCK, "blocksPerClient": 1, **gateway}})
    lab.wait_sessions()
    for block in (first.block4, first.block6):
        wait_equal(lambda: lab.tor.via(block), {first.role}, "the pods' block on the ToR")
    serve(lab.client, PORT)
    return lab


def wait_serves(world, pod, family):
    def served():
        try:
            seen = ask(pod, address(world.client, family), PORT, "UDP", timeout=1)
        except OSError:
            return False
        return seen.peer == address(world.gateway, family)

    wait(served, f"{pod} leaves by the gateway")


def inner(source, target, port=SECRET, text=b"secret"):
    head = IPv6(src=source, dst=target) if ":" in source else IP(src=source, dst=target)
    return bytes(head / UDP(sport=1000, dport=port) / text)


def counts(host):
    return {item["reason"]: item["count"] for item in told(host.agents[0])["refusals"]}


def abuse(host, target, packet, times=3):
    """Sends FoU from a host's own address."""
    with open_socket(host, target, socket.SOCK_DGRAM) as sock:
        for _ in range(times):
            sock.sendto(packet, (target, FOU))


def listen(host, family, port):
    """A socket that gets what comes to a port."""
    with host.entered():
        sock = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("::" if family == 6 else "0.0.0.0", port))
    sock.settimeout(5)
    return sock


@BOTH
def test_gateway_is_abused(world, family):
    guest, other, plain, outside, gate = (address(host, family) for host in (
        world.guest, world.other, world.plain, world.client, world.gateway))
    for pod in (world.guest, world.other):
        wait_serves(world, pod, family)
    before = counts(world.gateway)
    cases = (
        ("spoofed", world.guest, inner(other, outside)),  # of another client
        ("spoofed", world.guest, inner(plain, outside)),
        ("spoofed", world.guest, inner(outside, guest)),
        ("stranger", world.plain, inner(plain, outside)),  # no client
        ("stranger", world.plain, inner(guest, outside)),
        ("stranger", world.client, inner(guest, outside)),  # from outside
        ("stranger", world.client, inner(outside, guest)),
        ("nested", world.guest, inner(guest, outside, FOU)),
        ("nested", world.guest, inner(guest, gate)),  # the gateway is to feed itself
        ("nested", world.guest, inner(guest, gate, FOU)),
        ("malformed", world.guest, b"\\x45" + bytes(7)),
    )
    with listen(world.client, family, SECRET) as heard:
        for _, host, packet in cases:
            abuse(host, gate, packet)
        abuse(world.guest, gate, inner(guest, outside, text=b"lawful"), times=1)
        assert heard.recv(100) == b"lawful", "what is allowed comes, and nothing came before it"
    after = counts(world.gateway)
    rises = {name: after[name] - before.get(name, 0) for name in after}
    wanted = {name: 3 * sum(case[0] == name for case in cases) for name, *_ in cases}
    assert {name: rise for name, rise in rises.items() if rise} == wanted
    for pod in (world.guest, world.other):
        wait_serves(world, pod, family)


def forge(host, target, packet, times=3):
    """Sends an IP packet as it is, as who has CAP_NET_RAW may."""
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    with host.entered():
        sock = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    with sock:
        for _ in range(times):
            sock.sendto(packet, (target, 0))


@BOTH
def test_a_neighbour_takes_an_address(world, family):
    """What a pod sends under another's address does not leave as that one's, and costs it no port.
    The last packet shows that what is heard is heard."""
    guest, outside = address(world.guest, family), address(world.client, family)
    for pod in (world.guest, world.other):
        wait_serves(world, pod, family)
    before = counts(world.guest.node).get("source", 0)
    with listen(world.client, family, SECRET) as heard:
        for host in (world.other, world.plain):
            forge(host, outside, inner(guest, outside))
        forge(world.guest, outside, inner(guest, outside, text=b"lawful"), times=1)
        assert heard.recv(100) == b"lawful", "what is allowed comes, and nothing came before it"
    assert counts(world.guest.node)["source"] == before + 6
    [told_of] = [item for item in told(world.guest.node.agents[0])["refusals"]
                 if item["reason"] == "source"]
    assert told_of["side"] == "client"


CHECK = """table ip6 sources {
    chain prerouting {
        type filter hook prerouting priority raw;
        iifname "%s*" ip6 saddr != :: fib saddr . iif oif missing drop
    }
}"""


def test_what_checks_sources_of_ipv6(world):
    """A pod without an Egress leaves as whom it likes: Linux has no rp_filter for IPv6. The rule of
    docs/egress.md closes that, and no lawful packet is lost by it."""
    outside, plain, host_end = address(world.client, 6), address(world.plain, 6), world.plain.host_end
    wait_serves(world, world.guest, 6)
    with listen(world.client, 6, SECRET) as heard:
        for source in ("2001:db8:bad::7", address(world.nodes[0], 6)):
            forge(world.plain, outside, inner(source, outside), times=1)
            assert heard.recvfrom(100)[1][0] == source, "if this is gone, mend egress.md"
        world.nodes[0].run("nft", "-f", "-", text=CHECK % host_end[:3])
        for source in ("2001:db8:bad::7", address(world.nodes[0], 6)):
            forge(world.plain, outside, inner(source, outside))
        forge(world.plain, outside, inner(plain, outside, text=b"lawful"), times=1)
        assert heard.recvfrom(100)[:1] == (b"lawful",)
    wait_serves(world, world.guest, 6)


@BOTH
def test_a_pod_wraps_by_itself(world, family):
    """A plain UDP socket needs no privilege: another pod, a node and what its Egress has not are not
    reached under the gateway's address; a destination of the Egress is."""
    narrow = {4: "203.0.113.0/24", 6: "2001:db8:ff::/48"}[family]
    wait_serves(world, world.guest, family)
    guest, gate = address(world.guest, family), address(world.gateway, family)
    inside = [world.other, world.plain, world.nodes[0]]
    sockets = [listen(host, family, SECRET) for host in (*inside, world.client)]
    *kept, outside = sockets
    before = counts(world.gateway).get("destination", 0)
    for host in inside:
        abuse(world.guest, gate, inner(guest, address(host, family)))
    abuse(world.guest, gate, inner(guest, address(world.client, family), text=b"lawful"), times=1)
    assert outside.recv(100) == b"lawful"
    assert counts(world.gateway)["destination"] == before + 3 * len(inside)
    other = "::/0" if family == 4 else "0.0.0.0/0"
    world.write("egress.yaml", egress(destinations=[narrow, other]))

    def is_dropped():
        was = counts(world.gateway)["destination"]
        abuse(world.guest, gate, inner(guest, address(world.client, family), port=SECRET + 1), times=1)
        return counts(world.gateway)["destination"] == was + 1

    wait(is_dropped, "what the Egress has no more is dropped")
    for sock in kept:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(100)
    for sock in sockets:
        sock.close()


@BOTH
def test_what_a_pod_wraps_stays_there(lab, family):
    """It does not come to the gateway, whatever the Egress is; test_gateway_is_abused shows that it would
    where it is let."""
    world = build(lab, "drop")
    wait_serves(world, world.guest, family)
    guest, outside, gate = (address(host, family) for host in (
        world.guest, world.client, world.gateway))
    with listen(world.client, family, SECRET) as heard:
        for host in (world.guest, world.plain):
            abuse(host, gate, inner(address(host, family), outside))
        forge(world.guest, outside, inner(guest, outside, text=b"lawful"), times=1)
        assert heard.recv(100) == b"lawful"
    assert counts(world.guest.node)["pod-tunnel"] == 6
    assert "stranger" not in counts(world.gateway)


def send_tagged(pod, packet, *kinds):
    """Sends a packet behind tags of VLAN 0."""
    frames = wire(pod)
    frames.macs += b"".join(struct.pack("!HH", kind, 0) for kind in kinds)
    frames.send(packet)
    frames.socket.close()


@BOTH
def test_a_pod_tags_its_frames(lab, family):
    """Linux takes off every tag of VLAN 0, and all but the first one behind our programs: what has several goes
    nowhere. What has one leaves by the gateway."""
    world = build(lab, "drop")
    wait_serves(world, world.guest, family)
    guest, outside, gate = (address(host, family) for host in (world.guest, world.client, world.gateway))
    head = IPv6(src=guest, dst=gate) if family == 6 else IP(src=guest, dst=gate)
    fou = bytes(head / UDP(sport=4000, dport=FOU) / inner(guest, outside))
    with listen(world.client, family, SECRET) as heard:
        for kinds in ((0x8100, 0x8100), (0x88A8, 0x8100), (0x8100, 0x88A8), (0x8100,) * 3):
            send_tagged(world.guest, fou, *kinds)
            send_tagged(world.guest, inner(guest, outside), *kinds)
        send_tagged(world.guest, inner(guest, outside, text=b"lawful"), 0x8100)
        text, (sender, *_) = heard.recvfrom(100)
        assert (text, sender) == (b"lawful", gate), "what is allowed comes, and nothing came before it"
    assert counts(world.guest.node)["malformed"] == 8


def test_a_pod_where_nobody_is_a_client(lab):
    """No pod of this node has an Egress: a pod forges no tunnel of another node's client all the same.
    What the node itself sends shows that the gateway would take it."""
    first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    guest, plain = lab.pod(lab.gateway, "guest"), lab.pod(first, "plain")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(guest), pod_object(plain, annotation=None))
    lab.agent(first, egress={"enabled": True}, services={"enabled": False})
    lab.agent(lab.gateway, services={"enabled": False}, egress={"gateway": {}})
    lab.wait_sessions()
    source, gate, outside = (address(host, 6) for host in (guest, lab.gateway, lab.client))
    forged = bytes(IPv6(src=source, dst=gate) / UDP(sport=4000, dport=FOU) / inner(source, outside))
    with listen(lab.client, 6, SECRET) as heard:
        heard.settimeout(0.2)

        def is_taken():
            forge(first, gate, forged, times=1)
            try:
                return heard.recv(100) == b"secret"
            except TimeoutError:
                return False

        wait(is_taken, "the gateway takes what has its client's address")
        wait(lambda: not first.agents[0].faults(), "the node has settled")
        forge(plain, gate, forged)
        wait_equal(lambda: counts(first).get("pod-tunnel"), 3, "dropped at the pod's interface")
        with pytest.raises(TimeoutError):
            heard.recv(100)


@BOTH
def test_pods_are_abused(world, family):
    """FoU is taken out of its tunnel if it comes from a gateway of the pod's, and from nobody else."""
    wait_serves(world, world.guest, family)
    outside = address(world.client, family)
    for pod in (world.guest, world.plain):
        target = address(pod, family)
        packet = inner(outside, target)
        with listen(pod, family, FOU) as tunnel, listen(pod, family, SECRET) as secret:
            for host in (world.client, world.gateway)[:2 if pod is world.plain else 1]:
                abuse(host, target, packet, times=1)
                assert tunnel.recv(2000) == packet, "it is the pod's own affair"
            if pod is world.guest:
                abuse(world.gateway, target, inner(outside, target, text=b"lawful"), times=1)
                assert secret.recv(100) == b"lawful"
            secret.setblocking(False)
            with pytest.raises(BlockingIOError):
                secret.recv(100)


def connect(world, pod, family):
    """A connection to the host outside, and whom that sees; None: there is none. One SYN."""
    try:
        connection = Connection(pod, address(world.client, family), PORT, timeout=0.8)
    except TimeoutError:
        return None
    connection.socket.settimeout(5)
    return connection, connection.who()


@BOTH
def test_ports_run_out(world, family):
    """Each client may have one block: as many connections to one destination as that has ports come
    about. One more is refused by name, and another client's ports are its own."""
    used, held = {}, []
    for pod in (world.guest, world.other):
        wait_serves(world, pod, family)
        made = [connect(world, pod, family) for _ in range(BLOCK)]
        assert all(made) and {seen.peer for _, seen in made} == {address(world.gateway, family)}
        held += [connection for connection, _ in made]
        used[pod] = {seen.port for _, seen in made}
        assert len(used[pod]) == BLOCK
        refused = counts(world.gateway).get("ports", 0)
        assert connect(world, pod, family) is None
        assert counts(world.gateway)["ports"] == refused + 1
    assert not used[world.guest] & used[world.other]
    clients = {item["address"]: item for item in told(world.gateway.agents[0])["gateway"]["clients"]}
    for pod in (world.guest, world.other):
        [block] = clients[address(pod, family)]["blocks"]
        assert used[pod] == set(range(block["first"], block["last"] + 1))
    for connection in held:
        assert connection.who().peer == address(world.gateway, family)
        connection.close()


def listener(gateway, family, port):
    with gateway.entered():
        sock = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET)
    sock.bind((address(gateway, family), port))
    sock.listen()
    return sock


@BOTH
def test_own_sockets_keep_their_ports(world, family):
    """Ports that sockets of the gateway have in a client's block are not the client's."""
    wait_serves(world, world.guest, family)
    first, seen = connect(world, world.guest, family)
    start = 20000 + (seen.port - 20000) // BLOCK * BLOCK
    taken = [port for port in range(start, start + BLOCK) if port != seen.port][:8]
    own = [Connection(world.gateway, address(world.client, family), PORT, source_port=port,
                      source=address(world.gateway, family)) for port in taken[:4]]
    own += [listener(world.gateway, family, port) for port in taken[4:]]
    made = [connect(world, world.guest, family) for _ in range(BLOCK - 1 - len(own))]
    assert all(made)
    used = {who.port for _, who in made} | {seen.port}
    assert used == set(range(start, start + BLOCK)) - set(taken)
    assert connect(world, world.guest, family) is None
    assert [connection.who().port for connection in own[:4]] == taken[:4], "they go on"
    for connection in (first, *(connection for connection, _ in made)):
        assert connection.who().peer == address(world.gateway, family)
        connection.close()
    for sock in own:
        sock.close()


def test_egresses_without_end(lab):
    """More than the maps hold: a pod whose Egress has no place there leaves by no other way, all else goes on.
    When they are gone, the pod leaves. No pass fails, in which this node's routes would be written."""
    world = build(lab, "drop")
    wait_serves(world, world.guest, 4)
    agent = world.nodes[0].agents[0]
    world.write("crowd.yaml", *(
        egress(f"x{at:03}", destinations=["198.18.0.0/24", "2001:db8:9::/64"]) for at in range(300)))
    world.write("late.yaml", egress("zlate"))
    world.write("pods.yaml", pod_object(world.guest), pod_object(world.other, "zlate"),
                pod_object(world.plain, annotation=None))
    wait(lambda: any("than the maps hold" in fault["message"] for fault in agent.faults()), "it is told")
    assert not [fault for fault in agent.faults() if fault["place"] == "pass"]
    with listen(world.client, 4, SECRET) as heard, listen(world.nodes[1], 4, SECRET + 1) as inside:
        for target, port in ((world.client.address4, SECRET), (world.nodes[1].address4, SECRET + 1)):
            with open_socket(world.other, target, socket.SOCK_DGRAM) as sock:
                sock.sendto(b"late", (target, port))
        assert inside.recv(100) == b"late", "what stays in the cluster arrives"
        heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            heard.recv(100)
    refusals = agent.json("egress")["refusals"]  # of so many Egresses, checking the schema takes minutes
    assert {item["reason"]: item["count"] for item in refusals}["held"] == 1
    wait_serves(world, world.guest, 4)
    (world.manifests / "crowd.yaml").unlink()
    wait_serves(world, world.other, 4)
    wait_equal(agent.faults, [], "no fault is left", timeout=70)
