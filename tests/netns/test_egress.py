# SPDX-License-Identifier: Apache-2.0
"""Egress, end to end: a pod on the first node leaves the cluster by gateways on the others, and the
host outside sees no address but theirs."""

import re
import socket

import pytest
import schema
from lab import objects, wait, wait_equal
from lab.features import CUTTING, switch
from lab.traffic import UDP_SEGMENT, Connection, Datagrams, ask, serve
from test_documents import METRICS_PAGE, metric_names

pytestmark = pytest.mark.lab(nat=True, nodes=3)
BOTH = pytest.mark.parametrize("family", (4, 6))
PROTOCOLS = pytest.mark.parametrize("protocol", ("TCP", "UDP"))
PORT = 8080
BULK = 1 << 20


def address(host, family):
    return getattr(host, f"address{family}")


def egress(name="nat", destinations=("0.0.0.0/0", "::/0"), **annotations):
    return {
        "apiVersion": "coil.cybozu.com/v2",
        "kind": "Egress",
        "metadata": objects.metadata(
            name, "internet",
            annotations={"fingerpost.io/gateway-nodes": "gateway=yes", **annotations}),
        "spec": {"destinations": list(destinations)},
    }


def pod_object(pod, annotation="nat"):
    annotations = {"egress.coil.cybozu.com/internet": annotation} if annotation else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": objects.metadata(pod.role, "default", annotations=annotations),
        "spec": {"nodeName": pod.node.role},
        "status": {"phase": "Running",
                   "podIPs": [{"ip": pod.address4}, {"ip": pod.address6}]},
    }


def write_nodes(lab, *gateways):
    lab.write("nodes.yaml", *(
        item for node in lab.nodes for item in [
            objects.node(node.role, [node.address4, node.address6],
                         {"gateway": "yes"} if node in gateways else {}),
            *node.objects()[1:],
        ]))


@pytest.fixture(name="world", params=["nat"])
def world_fixture(lab, request):
    if hasattr(lab, "guest"):  # shared
        return lab
    services = {"enabled": request.param == "nat"}
    lab.first, *lab.gateways = lab.nodes
    write_nodes(lab, *lab.gateways)
    lab.guest = lab.pod(lab.first, "guest")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.agent(lab.first, egress={"enabled": True}, services=services)
    for node in lab.gateways:
        lab.agent(node, egress={"gateway": {}}, services=services)
    lab.wait_sessions()
    for block in (lab.first.block4, lab.first.block6):
        wait_equal(lambda: lab.tor.via(block), {lab.first.role}, "the pods' block on the ToR")
    serve(lab.client, PORT)
    return lab


def seen(world, family, protocol="TCP", pod=None, **more):
    """The address under which the host outside sees a pod; None: it can't be asked."""
    try:
        return ask(pod or world.guest, address(world.client, family), PORT, protocol, timeout=1,
                   **more).peer
    except OSError:
        return None


def wait_seen(world, family, hosts, protocol="TCP"):
    wanted = {address(host, family) for host in hosts}
    wait(lambda: seen(world, family, protocol) in wanted, f"the pod is seen as one of {wanted}")


@pytest.mark.shared
@BOTH
@PROTOCOLS
def test_leaves_by_a_gateway(world, family, protocol):
    wait_seen(world, family, world.gateways, protocol)
    assert {seen(world, family, protocol) for _ in range(8)} <= {
        address(host, family) for host in world.gateways}


@BOTH
@pytest.mark.parametrize("world", ["nat", "beside another proxy"], indirect=True)
def test_transfers(world, family):
    wait_seen(world, family, world.gateways)
    with Connection(world.guest, address(world.client, family), PORT, timeout=20) as connection:
        assert connection.put(b"0123456789abcdef" * (BULK // 16)) and connection.get(BULK)
    with Datagrams(world.guest, address(world.client, family), PORT) as datagrams:
        assert datagrams.put(b"x" * 1400) and datagrams.get(1400)


def cut(hosts, state):
    """Whether the hosts' uplinks cut up large packets themselves, as a wire wants it."""
    for host in hosts:
        with host.entered():
            switch("eth0", CUTTING, not state)


def burst(datagrams, server, peer, count=24, size=1000):
    """Datagrams that are one packet for the kernel; those that came, and those that were sent."""
    server.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size)
    data = b"".join(bytes([at]) * size for at in range(count))
    server.sendto(data, peer)
    server.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
    server.sendto(b"the end", peer)
    got = []
    while (came := datagrams.socket.recv(65536)) != b"the end":
        got.append(came)
    return got, [data[at * size:(at + 1) * size] for at in range(count)]


@BOTH
@pytest.mark.parametrize("world", ["nat", "beside another proxy"], indirect=True)
def test_answers_come_in_bursts(world, family):
    """As GRO makes them of what an uplink receives (rx-udp-gro-forwarding), and as servers of QUIC send
    them: each arrives, and as it was. Where nothing between gateway and client cuts them up again, as
    between nodes on one machine, the kernel can't unwrap them: dropped by name."""
    wait_seen(world, family, world.gateways, "UDP")
    with world.client.entered():
        server = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    with server, Datagrams(world.guest, address(world.client, family), PORT + 1) as datagrams:
        server.bind((address(world.client, family), PORT + 1))
        server.settimeout(5)
        datagrams.socket.send(b"go")
        _, peer = server.recvfrom(16)
        assert peer[0] in {address(host, family) for host in world.gateways}
        cut(world.gateways, True)
        got, sent = burst(datagrams, server, peer)
        assert sorted(got) == sent
        cut(world.gateways, False)
        got, sent = burst(datagrams, server, peer)
        assert got == []
        assert {item["reason"] for item in told(world.first.agents[0])["refusals"]} == {"offload"}


@BOTH
def test_annotation_and_gateways_live(world, family):
    """The annotation and the set of gateways change, and flows that they don't concern go on."""
    wait_seen(world, family, world.gateways)
    second, third = world.gateways
    with Connection(world.guest, address(world.client, family), PORT) as connection:
        before = connection.who().peer
        staying = second if before == address(second, family) else third
        write_nodes(world, staying)
        wait_seen(world, family, [staying])
        assert connection.who().peer == before
        world.write("pods.yaml", pod_object(world.guest, annotation=None))
        wait_seen(world, family, [world.guest])
    world.write("pods.yaml", pod_object(world.guest))
    wait_seen(world, family, [staying])


@BOTH
@pytest.mark.parametrize("world", ["nat", "beside another proxy"], indirect=True)
def test_agents_die(world, family):
    """Maps and programs stay: connections go on without agents, and with new ones."""
    wait_seen(world, family, world.gateways)
    with Connection(world.guest, address(world.client, family), PORT) as connection:
        before = connection.who().peer
        for agent in [agent for node in world.nodes for agent in node.agents]:
            agent.kill()
        assert connection.who().peer == before
        assert seen(world, family) == before
        for agent in [agent for node in world.nodes for agent in node.agents]:
            agent.start()
        assert connection.who().peer == before
        assert seen(world, family) == before


def in_use(world):
    """Connections of the pod in both families: their gateways keep its blocks of ports until it closes them."""
    return [Connection(world.guest, address(world.client, family), PORT, timeout=20) for family in (4, 6)]


def told(agent):
    document = agent.json("egress")
    schema.check(document)
    return document


def explained(host, ip):
    document = host.agents[0].json("explain", ip)
    schema.check(document)
    return document["egress"]


@pytest.mark.parametrize("world", ["beside another proxy"], indirect=True)
def test_what_is_told(world):
    """Both sides tell what they do: gateways and packets, clients, their ports, and drops by name."""
    for family in (4, 6):
        wait_seen(world, family, world.gateways)
    used_ports = in_use(world)
    here = told(world.first.agents[0])
    assert here["gateway"] is None and [item["family"] for item in here["items"]] == [4, 6]
    for item in here["items"]:
        assert (item["egress"], item["pods"], item["affinity"]) == ("internet/nat", 1, "client")
        assert [gateway["address"] for gateway in item["gateways"]] == sorted(
            address(host, item["family"]) for host in world.gateways)
        assert any(gateway["packets"] for gateway in item["gateways"])
    assert world.first.agents[0].json("status")["egress"] == {"pods": 1, "gateways": 2, "gateway": False, "clients": 0}
    assert [host.agents[0].json("status")["egress"]["clients"] for host in world.gateways] == [1, 1]
    sides = [told(host.agents[0])["gateway"] for host in world.gateways]
    used = [client for side in sides for client in side["clients"]
            if client["address"] == world.guest.address4 and client["flows"]]
    assert len(used) == 1 and used[0]["name"] == world.guest.role and used[0]["bytes"] > 100
    [block] = used[0]["blocks"]
    assert block["last"] - block["first"] + 1 == sides[0]["ports"]["block"]
    assert sum(side["ports"]["blocksUsed"] for side in sides) == 2  # one for each family

    names = set()
    for host in world.nodes:
        names |= {name for name in metric_names(host.agents[0].get("/metrics"))
                  if name.startswith(("fingerpost_egress_", "coil_"))}
    page = METRICS_PAGE.read_text(encoding="utf-8")
    assert names == set(re.findall(r"\*((?:fingerpost_egress|coil)_[a-z_]+)\*", page))

    pod = explained(world.first, world.guest.address4)["pod"]
    assert (pod["name"], pod["egresses"]) == (world.guest.role, ["internet/nat"])
    [way] = pod["destinations"]
    assert {found["state"] for found in way["gateways"]} == {"active"} and len(way["gateways"]) == 2
    [known] = explained(world.first, world.gateways[0].address6)["gatewayOf"]
    assert (known["egress"], known["state"]) == ("internet/nat", "active")
    clients = [explained(host, world.guest.address4)["client"] for host in world.gateways]
    assert f"{block['address']}:{block['first']}-{block['last']}" in {port for client in clients for port in client["ports"]}

    [gateway] = [host.agents[0] for host, side in zip(world.gateways, sides) if used[0] in side["clients"]]
    line = (f"ports {block['first']}-{block['last']} are %s {world.guest.address4} "
            f"(Pod default/{world.guest.role}) since 20")
    wait(lambda: line % "given to" in gateway.log.read_text(), "the journal has who got the ports")
    for connection in used_ports:
        connection.close()
    world.write("pods.yaml")
    wait(lambda: line % "taken back from, given to" in gateway.log.read_text(), "and that they are free")
    world.write("pods.yaml", pod_object(world.guest))
    wait_seen(world, 4, world.gateways)

    world.write("egress.yaml")
    wait(lambda: seen(world, 4) is None and told(world.first.agents[0])["refusals"], "the pod is held")
    [held] = told(world.first.agents[0])["refusals"]
    assert (held["side"], held["reason"]) == ("client", "held") and held["count"] > 0
    assert held["last"]["source"].startswith(world.guest.address4)


def states(world):
    """What the client's node says of each gateway: {address: state}."""
    return {gateway["address"]: gateway["state"]
            for item in told(world.first.agents[0])["items"] for gateway in item["gateways"]}


@BOTH
def test_a_gateway_without_a_route(world, family):
    """It is left as soon as no route leads to it, whatever the API says, and taken again; flows of the
    other go on."""
    wait_seen(world, family, world.gateways)
    used = seen(world, family)
    [host] = [host for host in world.gateways if address(host, family) == used]
    [other] = [gateway for gateway in world.gateways if gateway is not host]
    world.first.ip(f"-{family}", "route", "add", "unreachable", address(host, family), "metric", "1")
    wait_seen(world, family, [other])
    assert states(world)[used] == "away"
    [fault] = [fault for fault in world.first.agents[0].json("faults")["items"]
               if used in fault["message"]]
    assert (fault["code"], fault["place"]) == ("egress-gateway-unreachable", "Egress internet/nat")
    with Connection(world.guest, address(world.client, family), PORT, timeout=20) as connection:
        assert connection.put(b"x" * 1000)
        world.first.ip(f"-{family}", "route", "del", "unreachable", address(host, family),
                       "metric", "1")
        wait(lambda: states(world)[used] == "active", "the gateway is taken again")
        assert connection.put(b"x" * 1000)
    wait(lambda: not world.first.agents[0].json("faults")["items"], "no fault is left")


@BOTH
def test_no_gateway_has_a_route(world, family):
    """Nothing leaves by another way."""
    wait_seen(world, family, world.gateways)
    for host in world.gateways:
        world.first.ip(f"-{family}", "route", "add", "unreachable", address(host, family), "metric",
                       "1")
    wait(lambda: any(fault["code"] == "egress-gateways-unreachable"
                     for fault in world.first.agents[0].json("faults")["items"]), "a fault says so")
    assert seen(world, family) is None
    assert {refusal["reason"] for refusal in told(world.first.agents[0])["refusals"]} >= {"no-gateway"}


@BOTH
@pytest.mark.parametrize("world", ["beside another proxy", "nat"], indirect=True)
def test_pings(world, family):
    """Of any size: whole, cut for the tunnel, and in fragments both ways."""
    wait_seen(world, family, world.gateways)
    for host in (world.guest, world.client):
        host.set_sysctls({"net/ipv4/ip_no_pmtu_disc": 1})
    target = address(world.client, family)
    # IPv6 is not cut on its way: the pod is told what fits, and so is the host outside.
    wait(lambda: world.guest.ping(target, 1440), "a ping that the tunnel has no room for")
    for size in (0, 56, 1443, 1444, 1445, 1472, 1473, 4000, 20000):
        assert world.guest.ping(target, size), size
    assert not any(told(host.agents[0])["refusals"] for host in world.nodes if family == 4)


@pytest.mark.parametrize("world", ["beside another proxy"], indirect=True)
def test_cut_datagrams(world):
    """Datagrams that routers may cut arrive whole, both ways, also those that come as fragments."""
    for host in (world.guest, world.client):
        host.set_sysctls({"net/ipv4/ip_no_pmtu_disc": 1})
    serve(world.client, PORT + 1)
    wait_seen(world, 4, world.gateways)
    with Datagrams(world.guest, world.client.address4, PORT + 1) as datagrams:
        for size in (1444, 1445, 1472, 1473, 2904, 4000, 9000):
            assert datagrams.put(bytes(range(256)) * (size // 256) + b"x" * (size % 256)), size
            assert datagrams.get(size), size
        world.first.ip("link", "set", world.guest.host_end, "mtu", "9000")
        world.guest.ip("link", "set", "eth0", "mtu", "9000")
        assert datagrams.put(b"y" * 8900), "of one packet, cut several times"
    assert not any(told(host.agents[0])["refusals"] for host in world.nodes)
