# SPDX-License-Identifier: Apache-2.0
"""What a node's service NAT has to stand over time and under attack: for tests/siege in seconds, for
the soak as long as one likes. Each function does one thing to a world and returns its figures; what
they have to be is said there, by assertions.
"""

import json
import socket
import time

from lab import objects, wait
from lab.traffic import Connection, Load, ask, open_socket, tool, wait_answers
from served import FAMILIES, TARGET, Service, address_of, pods, start, steer

# Addresses of nobody that are routed to the client, who does not answer for them.
ABSENT = {4: "198.18.0.0", 6: "2001:db8:bad::"}
ABSENT_NETS = {4: "198.18.0.0/15", 6: "2001:db8:bad::/64"}
FIRST = 20000  # of the source ports whose connections are attacked
WATCH = """
table inet watch {
    counter foreign { }
    chain seen {
        type filter hook prerouting priority raw;
        ip saddr 10.224.0.0/16 ip daddr %s counter name foreign
        ip6 saddr fd00:224::/64 ip6 daddr %s counter name foreign
    }
}
"""
DEAF = """
table inet deaf {
    chain seen { type filter hook prerouting priority raw; meta l4proto tcp drop; }
}
"""


class Neighbour(Service):
    """A Service that is older than those of the hostile tenant."""

    def objects(self, slices=True):
        items = super().objects(slices)
        for item in items:
            item["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        return items


def build(lab, **services):
    """One node with two endpoints; `web` is served by both, `one` by the first, under Local."""
    [lab.node] = lab.nodes
    lab.pods = pods(lab, "one", "two")
    lab.guest = lab.pod(lab.node, "guest")
    lab.web, lab.one = Neighbour(lab), Neighbour(lab, "one", 11, externalTrafficPolicy="Local")
    lab.web.write(*lab.pods.values())
    lab.one.write(lab.pods["one1"])
    [lab.agent_here] = start(lab, lab.web, services=services)
    steer(lab, lab.node, *lab.web.announced(), *lab.one.announced())
    for family, net in ABSENT_NETS.items():
        lab.tor.ip("route", "add", net, "via", address_of(lab.client, family))
    return lab


def spoof(world, kind, source, sources, ports, where, count, rate=0):
    """Starts spoof.c on the client; `ports`: the first, and how many."""
    log = f"spoof-{len(world.client.processes)}.json"
    words = (kind, source, sources, *ports, *where, count, rate)
    process = world.client.start(tool("spoof"), *map(str, words), log=log)
    return process, world.client.folder / log


def spoofed(world, *words):
    """The same, to its end. Returns how many were sent."""
    process, log = spoof(world, *words)
    assert process.wait(600) == 0, log.read_text()
    said = json.loads(log.read_text())
    assert said["failed"] == 0, said
    return said["sent"]


def flows(agent):
    """How many flows the agent's last sweep counted, by state."""
    return {state: count for state, count in agent.json("status")["nat"]["flows"]["states"].items()
            if count}


def hold(world, number):
    """Connections of every way and family that stay."""
    ways = [(world.client, "loadBalancer"), (world.guest, "clusterIP"), (world.node, "clusterIP")]
    found = [Connection(client, *world.web.address(kind, family))
             for client, kind in ways for family in FAMILIES for _ in range(number)]
    assert all(connection.who() for connection in found)
    return found


def broken(found):
    """How many of the connections no longer answer, or another one does."""
    bad = 0
    for connection in found:
        try:
            connection.who()
        except OSError:
            bad += 1
    return bad


def tells_of_loss(agent):
    """What the agent says of clients that found no room."""
    return [fault["message"] for fault in agent.faults() if "new connections" in fault["message"]]


def hang(world, seconds, rate):
    """An endpoint hears nothing for a time, while new connections go on to come: from so many clients
    with the same ports that each needs a port of the node's, and there are fewer of these."""
    pod = world.pods["one1"]
    world.web.write(pod)
    world.agent_here.settled()
    held = hold(world, 1)
    pod.run("nft", "-f", "-", text=DEAF)
    count = int(rate * seconds)
    for family in FAMILIES:
        spoofed(world, "syn", ABSENT[family], 60000, (700, 1),
                world.web.address("loadBalancer", family), count, rate * len(FAMILIES))
    pod.run("nft", "delete", "table", "inet", "deaf")
    begin = time.monotonic()
    waited = {}
    for family in FAMILIES:
        where = world.web.address("loadBalancer", family)
        wait(lambda: ask(world.client, *where, source_port=600, timeout=0.2), "a new connection", 10)
        waited[family] = time.monotonic() - begin
    loads = [Load(world.client, "short", *world.web.address("loadBalancer", family), c=2, i=5)
             for family in FAMILIES]
    wait_answers(loads, 200)
    return {"syns": 2 * count, "firstAfterSeconds": round(max(waited.values()), 2),
            "refused": sum(sum(load.stop()["errors"].values()) for load in loads),
            "served": sum(load.result["done"] for load in loads), "broken": broken(held)}


def syns(world, count, rate):
    """SYNs of clients that are not there, which the endpoints answer; beside them clients that are."""
    held = hold(world, 10)
    loads = [Load(world.client, "short", *service.address("loadBalancer", family), c=1, i=5)
             for service in (world.web, world.one) for family in FAMILIES]
    for service in (world.web, world.one):
        for family in FAMILIES:
            spoofed(world, "syn", ABSENT[family], 60000, (1024, 60000),
                    service.address("loadBalancer", family), count // 4, rate)
    wait_answers(loads, 50)
    figures = {"syns": count, "served": sum(load.stop()["done"] for load in loads),
               "errors": [load.result["errors"] for load in loads if load.result["errors"]],
               "broken": broken(held), "held": len(held)}
    return figures, held


def ask_on(host, where, seconds):
    log = f"flood-{len(host.processes)}.json"
    return host.start(tool("flood"), "first", *map(str, where), str(seconds), log=log), host.folder / log


def questions(world, seconds):
    """One datagram and its answer from ever new ports, on every way at once."""
    ways = [(world.client, "loadBalancer"), (world.client, "nodePort"), (world.guest, "clusterIP"),
            (world.node, "clusterIP")]
    running = [ask_on(host, world.web.address(kind, family, world.node), seconds)
               for host, kind in ways for family in FAMILIES]
    said = []
    for process, log in running:
        process.wait(seconds + 60)
        said.append(json.loads(log.read_text()))
    return {"asked": sum(item["done"] + item["failed"] for item in said),
            "lost": sum(item["failed"] for item in said)}


def watch(host):
    """Counts what comes to a host from an endpoint's own address."""
    host.run("nft", "-f", "-", text=WATCH % (host.address4, host.address6))


def foreign(host):
    """What was counted. The host never spoke to an endpoint but by a Service."""
    said = json.loads(host.run("nft", "-j", "list", "counter", "inet", "watch", "foreign").stdout)
    return next(item["counter"]["packets"] for item in said["nftables"] if "counter" in item)


class Speaker:
    """An endpoint that speaks when it is told to: the test holds its ends of connections."""

    def __init__(self, world):
        self.world, self.pairs = world, []
        pod = world.pod(world.node, "late")
        with pod.entered():
            self.listener = socket.create_server(("::", TARGET), family=socket.AF_INET6, backlog=64,
                                                 dualstack_ipv6=True)
        self.service = Service(world, "late", 12)
        self.service.write(pod)
        world.agent_here.settled()
        steer(world, world.node, *self.service.announced())

    def connect(self, client, kind, family, source_port=0):
        """The ends of a new connection: (client's, server's)."""
        where = self.service.address(kind, family, self.world.node)
        end = open_socket(client, where[0], source_port=source_port)
        end.connect(where)
        self.listener.settimeout(5)
        other, _ = self.listener.accept()
        other.settimeout(5)
        self.pairs.append((end, other))
        return end, other


def is_heard(listening, speaking):
    """Whether what one end says comes to the other."""
    try:
        speaking.sendall(b"now")
        return listening.recv(3) == b"now"
    except OSError:
        return False


def wait_swept(agent):
    """Until the agent has looked at all flows, from now on."""
    def last():
        return agent.json("status")["nat"]["flows"]["lastSweepAt"]

    for _ in range(2):
        before = last()
        wait(lambda: last() != before, "a sweep", 90)


def guesses(world, connections, count, idle_s):
    """Segments in the name of clients whose connections are idle, with numbers that are guessed. Then
    it is the endpoints that speak first."""
    for host in (world.client, world.guest):
        watch(host)
    speaker, sent = Speaker(world), 0
    for family in FAMILIES:
        for at in range(connections // 2):
            speaker.connect(world.client, "loadBalancer", family, FIRST + at)
        speaker.connect(world.guest, "clusterIP", family)
    for family in FAMILIES:
        sent += spoofed(world, "guess", address_of(world.client, family), 1,
                        (FIRST, connections // 2),
                        speaker.service.address("loadBalancer", family), count // 2)
    end = time.monotonic() + idle_s
    wait(lambda: time.monotonic() > end, "connections to be idle", idle_s + 10)
    wait_swept(world.agent_here)
    alive = [is_heard(*pair) and is_heard(*reversed(pair)) for pair in speaker.pairs]
    return {"segments": sent, "connections": len(alive), "broken": alive.count(False),
            "untranslated": foreign(world.client) + foreign(world.guest)}


def of_tenant(namespace, *items):
    """The same objects in a namespace; the younger of two that want the same."""
    for item in items:
        item["metadata"] |= {"namespace": namespace, "creationTimestamp": "2030-01-01T00:00:00Z"}
    return items


def crowd(name, endpoints):
    """A Service with so many endpoints that nobody has."""
    at = [objects.endpoint(f"10.224.{128 + number // 250}.{number % 250 + 1}", "node9")
          for number in range(endpoints)]
    return of_tenant("hostile", objects.service(name), objects.slice_of(name, at))


def thefts(world):
    """Services that want addresses which are somebody else's: by status, and by externalIPs."""
    node, gateway = world.node, [world.node.gateway4, world.node.gateway6]
    wanted = {
        "node": [node.address4, node.address6], "gateway": gateway,
        "neighbour": [*world.web.of["loadBalancer"], *world.one.of["externalIP"]],
        "cluster": world.web.of["clusterIP"], "loopback": ["127.0.0.1", "::1"],
        "nobody": ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "169.254.1.1", "fe80::1"],
        "pod": [world.guest.address4, world.guest.address6],
    }
    thief = world.pods["one1"]
    for number, (name, addresses) in enumerate(wanted.items()):
        item = objects.service(f"thief-{name}", addresses, externalIPs=list(addresses))
        item["spec"]["clusterIP"] = f"10.96.7.{number}"
        item["spec"]["clusterIPs"] = [f"10.96.7.{number}"]
        item["spec"]["ipFamilies"] = ["IPv4"]
        yield from of_tenant("hostile", item, objects.slice_of(
            f"thief-{name}", [objects.endpoint(thief.address4, node.role)]))
    other = objects.service("thief-class", ["203.0.113.99"], loadBalancerClass="other.example/lb")
    yield from of_tenant("hostile", other, objects.slice_of(
        "thief-class", [objects.endpoint(thief.address4, node.role)]))


def announced_of(node):
    """All that the node's agent has for BGP."""
    return sorted(line.split()[1] for family in FAMILIES for line in node.table(119, family))


def change_of_neighbour(world, pod):
    """The seconds from when the neighbour's only endpoint is written to be another pod until a client
    has met that."""
    where = world.web.address("clusterIP", 4)
    world.web.write(pod)
    begin = time.monotonic()
    while ask(world.guest, *where).name != pod.role:
        if time.monotonic() - begin > 10:
            raise AssertionError(f"{pod} serves nobody")
    return time.monotonic() - begin
