# SPDX-License-Identifier: Apache-2.0
"""What a node's service NAT has to stand over time and under attack: for tests/netns in seconds, for
the soak as long as one likes. Each function does one thing to a world and returns its figures; what
they have to be is said there, by assertions.
"""

import json
import time

from lab import wait
from lab.traffic import Connection, Load, ask, outcome, serve, tool
from served import FAMILIES, PORT, TARGET, Service, address_of, pods, start, steer

# Addresses of nobody that are routed to the client, who does not answer for them.
ABSENT = {4: "198.18.0.0", 6: "2001:db8:bad::"}
ABSENT_NETS = {4: "198.18.0.0/15", 6: "2001:db8:bad::/64"}
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


def build(lab, **services):
    """One node with two endpoints; `web` is served by both, `one` by the first, under Local."""
    [lab.node] = lab.nodes
    lab.pods = pods(lab, "one", "two")
    lab.guest = lab.pod(lab.node, "guest")
    lab.web, lab.one = Service(lab), Service(lab, "one", 11, externalTrafficPolicy="Local")
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
    for load in loads:
        load.more()
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
    for load in loads:
        load.more(50)
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


def guesses(world, connections, count, idle_s):
    """Segments in the name of clients whose connections are idle, with numbers that are guessed."""
    ways = {(4, world.client): "loadBalancer", (6, world.client): "loadBalancer"}
    watch(world.client)
    watch(world.guest)
    held, ports = [], {}
    for (family, client), kind in ways.items():
        where = world.web.address(kind, family)
        mine = [Connection(client, *where, source_port=20000 + at) for at in range(connections // 2)]
        assert all(connection.who() for connection in mine)
        held += mine
        ports[family] = (20000, len(mine))
    quiet = hold(world, 2)
    sent = sum(
        spoofed(world, "guess", address_of(world.client, family), 1, ports[family],
                world.web.address("loadBalancer", family), count // 2)
        for family in FAMILIES
    )
    end = time.monotonic() + idle_s
    wait(lambda: time.monotonic() > end, "connections to be idle", idle_s + 10)
    return {"segments": sent, "connections": len(held) + len(quiet), "broken": broken(held + quiet),
            "untranslated": foreign(world.client) + foreign(world.guest)}
