# SPDX-License-Identifier: Apache-2.0
"""A running agent says of random packets in random clusters what the model says of them.

A cluster is a seed; a run takes the seeds from PROPERTY_SEED (0 by default) on, PROPERTY_LIVE of
them, with PROPERTY_PACKETS packets each. The agent is asked by GET /v1/trace, which runs the
program on the live maps.
"""

import os
import random

import clusters
import judge
import live
import meaning
import model
import pytest
from lab import objects

FIRST = int(os.environ.get("PROPERTY_SEED", "0"))
COUNT = int(os.environ.get("PROPERTY_LIVE", "320"))
PACKETS = int(os.environ.get("PROPERTY_PACKETS", "40"))
BATCHES = 2
COMPARED = ("verdict", "reason", "service", "endpoints", "masquerade")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

OUTSIDERS = {
    4: ("198.18.0.9", "10.1.2.3", "10.2.3.4", "192.0.2.99", "192.0.2.2"),
    6: ("2001:db8::9", "fd00:1::9", "fd00:192::99", "fd00:192::2"),
}
STRANGE_PORTS = (1, 81, 8080, 30080, 32766, 65535)
UNALLOCATED = {4: "10.96.0.200", 6: "fd00:96::c8"}
ODD_PLACES = {
    4: ("198.51.100.3", "203.0.113.77", "192.0.2.2", "8.8.8.8", "10.244.1.1", "10.244.2.2"),
    6: ("fd00:198::3", "fd00:203::77", "fd00:192::2", "2001:db8::77", "fd00:244:1::1"),
}


class Drawer:
    """Draws packets of a cluster."""

    def __init__(self, chance, things, settings, found):
        self.chance = chance
        self.found = list(found)
        services = model.of_kind(things, "Service")
        self.addresses = {place[0] for place in found}
        self.addresses |= {ip for service in services for ip in model.cluster_ips(service)}
        for service in services:
            status = (service.get("status") or {}).get("loadBalancer") or {}
            texts = [entry.get("ip") for entry in status.get("ingress") or []]
            texts += service["spec"].get("externalIPs") or []
            self.addresses |= set(model.read_addresses(texts))
        self.addresses = sorted(self.addresses, key=lambda a: (a.version, a))

    def destination(self):
        """(address, protocol, port)"""
        chance = self.chance
        if self.found and chance.random() < 0.6:
            return chance.choice(self.found)
        family = chance.choice((4, 6))
        places = [*ODD_PLACES[family], UNALLOCATED[family], *live.OWN_ADDRESSES[family]]
        address = model.read_address(chance.choice(places))
        if self.addresses and chance.random() < 0.6:
            address = chance.choice(self.addresses)
        ports = clusters.PORTS + clusters.NODE_PORTS + STRANGE_PORTS
        return address, chance.choice(("TCP", "UDP")), chance.choice(ports)

    def source(self, family):
        """(address, origin, where it comes in if that must be told, where it is routed if that is
        elsewhere)"""
        chance = self.chance
        [kind] = chance.choices(("outside", "pod", "node", "service", "odd"), (4, 6, 4, 2, 2))
        outsider = chance.choice(OUTSIDERS[family])
        host = chance.choice((1, 1, 2, 3))
        pod = live.pod_addresses(chance.choice(live.PODS), host)[family == 6]
        if kind == "outside":
            return outsider, judge.OUTSIDE, None, None
        if kind == "pod":
            return pod, judge.POD if host == 1 else judge.OUTSIDE, None, None
        if kind == "node":
            return chance.choice(live.OWN_ADDRESSES[family]), judge.HERE, None, None
        served = [str(a) for a in self.addresses if a.version == family
                  and str(a) not in live.OWN_ADDRESSES[family]]
        if kind == "service" and served:
            where = chance.choice(((judge.HERE, "host"), (judge.OUTSIDE, "eth0")))
            return chance.choice(served), *where, None
        # Who claims to be someone else, or comes by an interface that the agent was not told.
        return chance.choice((
            (outsider, judge.POD, chance.choice(("veth1", "veth2")), judge.OUTSIDE),
            (pod, judge.OUTSIDE, "eth0", judge.POD if host == 1 else None),
            (live.NEIGHBOUR[family], judge.ELSEWHERE, "other0", None),
        ))

    def packet(self):
        address, protocol, port = self.destination()
        source, origin, where, behind = self.source(address.version)
        if origin == judge.ELSEWHERE and str(address) in live.OWN_ADDRESSES[address.version]:
            where = origin = None  # no way there leads by a program
        packet = judge.Packet(source, str(address), port, protocol, origin or judge.OUTSIDE, behind)
        return packet, where


def bracketed(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def ask(site, packet, where):
    arguments = {"in": where} if where else {}
    code, document = site.get(
        "trace", source=packet.source, destination=bracketed(packet.destination, packet.port),
        protocol=packet.protocol, **arguments)
    assert code == 200, f"{packet}: {document}"
    return document


def agrees(name, got, expected):
    if name == "endpoints":
        return sorted(got[name]) == expected[name]
    if name == "reason" and got["hook"] is None:
        return got[name] == "none"  # the stack's own affair
    if name == "masquerade" and len(expected["endpoints"]) == 1 and expected[name] == "hairpin":
        return got[name] in (True, "hairpin")  # 14.10
    return got[name] == expected[name]


def difference(site, packet, where, expected):
    """Lines of what the agent says otherwise."""
    got = ask(site, packet, where)
    lines = [f"  {name}: traced {got[name]}, modelled {expected[name]}"
             for name in COMPARED if not agrees(name, got, expected)]
    if lines:
        lines += [f"  {step['step']}: {step['text']}" for step in got["steps"]]
        lines.insert(0, f"{packet} in={where}")
    return lines


def seeds(batch):
    return range(FIRST + batch, FIRST + COUNT, BATCHES)


def check_maps(site, things, settings):
    """All frontends, from everywhere."""
    expected = meaning.modelled(things, settings, clusters.NODE)
    return list(meaning.differences(meaning.of(site.pins()), expected))


def check_sources(site, things):
    """The node's own packets to Services have its primary address."""
    node = model.this_node(things, clusters.NODE)
    found = site.own_sources()
    for family in (4, 6):
        expected = {str(address) for address in model.primary_addresses(node, family)}
        if found[family] - expected:
            yield f"the node's own packets have {found[family]}, {expected} expected"


def check_announced(site, things, settings):
    """The table that BGP speaks from has what is served and to be announced; the agent's own proof
    and comparison find nothing to say."""
    got, expected = site.announced(), judge.announced(things, settings, clusters.NODE)
    lines = [f"{address} is announced" for address in sorted(got - expected)]
    lines += [f"{address} is not announced" for address in sorted(expected - got)]
    faults = site.get("faults")[1]["items"]
    lines += [f"fault: {f['place']} {f['message']}" for f in faults
              if (f["subsystem"], f["group"].split()[0]) == ("services", "proof")]
    lines += [f"verify: {item}" for item in site.get("verify")[1]["items"]]
    return lines


def check_packets(site, seed, things, settings):
    chance = random.Random(seed)
    found = model.all_frontends(things, settings, clusters.NODE)
    drawer = Drawer(chance, things, settings, found)
    lines = []
    for _ in range(PACKETS):
        packet, where = drawer.packet()
        expected = judge.judge(things, settings, clusters.NODE, packet, found)
        lines += difference(site, packet, where, expected)
    return lines


def check(site, seed):
    """Lines of what is wrong in one cluster, led by its seed."""
    things, settings = clusters.cluster(random.Random(seed))
    site.feed(things, settings)
    seen = live.as_seen(things)
    try:
        lines = [
            *check_maps(site, seen, settings),
            *check_announced(site, seen, settings),
            *check_sources(site, seen),
            *check_packets(site, seed, seen, settings),
        ]
    except AssertionError as error:
        lines = [str(error)]
    return [f"PROPERTY_SEED={seed} PROPERTY_LIVE=1, {settings}:", *lines] if lines else []


@pytest.mark.timeout(900)  # a batch takes minutes where others want the processors, too
@pytest.mark.parametrize("batch", [batch for batch in range(BATCHES) if seeds(batch)])
def test_the_live_program_agrees_with_the_model(batch, request):
    """What only goes wrong after the clusters before it needs these as well: the whole batch."""
    with live.Site(request.node.nodeid) as site:
        site.start({})
        wrong = [line for seed in seeds(batch) for line in check(site, seed)]
        assert not wrong, "\n".join(wrong)


def test_the_nodes_own_address(request):
    """It is followed from its object to the routes, also to one that counts as a pod's, of which
    nothing can be proved then."""
    web = [objects.service("web", ["203.0.113.1"]),
           objects.slice_of("web", [objects.endpoint("10.244.1.1", clusters.NODE)])]
    with live.Site(request.node.nodeid) as site:
        settings = {"clusterCIDRs": ["10.244.0.0/16", "192.0.2.11/32"]}
        site.start(settings)
        for address in ("192.0.2.21", "192.0.2.11", "192.0.2.1"):
            site.feed([objects.node(clusters.NODE, [address]), *web], settings)
            assert site.own_sources()[4] == {address}
            assert site.get("faults")[1]["items"] == [] and site.announced() == {"203.0.113.1"}
