# SPDX-License-Identifier: Apache-2.0
"""What service NAT costs on a path: no NAT, nftables as kube-proxy writes it, and us, side by side.

Four labs stand at once, alike but for what serves on their two nodes. Rounds are interleaved and
each figure is compared within its round, so that what else the machine does hits all alike. There
are two ways. "path": a pod of one node asks a Service whose endpoint is a pod of the other; its
address stays, and its packets pass the stacks of both nodes. "outside": a client outside asks a
Service by the node of its endpoint and is masqueraded; past the stack ("ours"), or through it
("stack"). With no NAT the pods themselves are asked.
"""

import json
from contextlib import ExitStack

from lab import Lab, wait, wait_equal
from lab.traffic import ask, serve, tool
from served import FAMILIES, TARGET, address_of

from . import clusters
from .figures import PATH_PAIRS
from .kubeproxy import Ruleset

ROUNDS = 9
SECONDS = 0.7
SERVICES, ENDPOINTS = 1000, 10
RATE_PORT, FLOOD_PORT = 8081, 9
BATCH = 64  # of flood.c
POD_NETS = {4: "10.224.0.0/16", 6: "fd00:224::/64"}
# Of a round. What TCP connections take differs by a tenth from one time to the next, which is more
# than what is looked for.
KINDS = ("udp",) + 3 * ("rate",) + 5 * ("stream",)


def drop_flood(host, device="eth0"):
    """At its ingress: the flood is to cost the path, and nothing behind it."""
    host.run("nft", "-f", "-", text=(
        f"table netdev flood-{device} {{\n chain in {{\n type filter hook ingress device {device} priority 0\n"
        f"udp dport {FLOOD_PORT} drop\n }}\n}}\n"))


def announce_blocks(lab):
    """Of nodes without an agent."""
    for node in lab.nodes:
        for block in (node.block4, node.block6):
            node.ip("route", "add", "blackhole", block, "table", "119", "proto", "30")


def flood(client, kind, address, port, seconds=SECONDS):
    """ns per datagram, connections per second, or Gbit/s."""
    done = client.run("taskset", "-c", "0", tool("flood"), kind, address, str(port), str(seconds))
    said = json.loads(done.stdout)
    if kind == "udp":
        return said["p50Us"] * 1000 / BATCH
    if kind == "rate":
        return 1e6 / said["p50Us"]
    return said["done"] * 8 / said["seconds"] / 1e9


class Path:
    """A lab, a client and a server on each way."""

    def __init__(self, stack, variant):
        self.variant = variant
        self.lab = stack.enter_context(Lab(f"bench-{variant}", nat=variant in ("ours", "stack")))
        one, two = self.lab.nodes
        self.ways = {"path": (self.lab.pod(one, "client"), self.lab.pod(two, "far"), clusters.TARGET),
                     "outside": (self.lab.client, self.lab.pod(one, "near"), clusters.NEAR)}
        for _, server, _ in self.ways.values():
            self.start_server(server)
        getattr(self, f"set_up_{variant}")()
        for node in self.lab.nodes:
            for block in (node.block4, node.block6):
                wait_equal(lambda: self.lab.tor.via(block), {node.role}, f"{block} on the ToR")
        for family in FAMILIES:
            self.lab.tor.ip("route", "add", clusters.NEAR[family], "via", address_of(one, family))
            for way, (client, server, _) in self.ways.items():
                for port in (80, 81):
                    where = self.where(way, family, port)
                    wait(lambda: client.connect(*where).close() is None, f"{variant} {way}")
                assert ask(client, *self.where(way, family, 80)).name == server.role

    @staticmethod
    def start_server(server):
        serve(server, TARGET)
        for family in FAMILIES:
            server.start(tool("flood"), "accept", address_of(server, family),
                         str(RATE_PORT), "1000000", log=f"accept{family}.log")
        drop_flood(server)

    def set_up_none(self):
        announce_blocks(self.lab)

    def set_up_nft(self):
        announce_blocks(self.lab)
        for node in self.lab.nodes:
            for family in FAMILIES:
                ports = clusters.service_ports(SERVICES, ENDPOINTS, family)
                for way, (_, server, ips) in self.ways.items():
                    ports += clusters.target_ports(way, ips[family], address_of(server, family))
                rules = Ruleset(family, POD_NETS[family], [address_of(node, family)], ports)
                node.run("nft", "-f", "-", text=rules.text(), timeout=600)

    def set_up_stack(self):
        self.set_up_ours(services={"path": "stack"})

    def set_up_ours(self, **settings):
        self.lab.write_nodes()
        clusters.write(self.lab, SERVICES, ENDPOINTS)
        for way, (_, server, ips) in self.ways.items():
            clusters.write_target(self.lab, way, ips, server)
        for node in self.lab.nodes:
            self.lab.agent(node, **settings).settled(120)

    def where(self, way, family, port):
        """80: the echo server, 81: the one that accepts and closes, 9: what drops."""
        _, server, ips = self.ways[way]
        if self.variant == "none":
            return address_of(server, family), {80: TARGET, 81: RATE_PORT, 9: FLOOD_PORT}[port]
        return ips[family], port

    def measure(self, way, kind, family):
        """One round."""
        port = {"udp": 9, "rate": 81, "stream": 80}[kind]
        return flood(self.ways[way][0], kind, *self.where(way, family, port))


def measure_round(paths, way, kind, family, note):
    """One kind of traffic on one way, by all who are compared there."""
    pairs = [pair.split("/") for pair in PATH_PAIRS[way]]
    wanted = {variant for pair in pairs for variant in pair}
    seen = {path.variant: path.measure(way, kind, family) for path in paths if path.variant in wanted}
    name = f"{way}{family}-{kind}"
    for variant, value in seen.items():
        note(f"{name}-{variant}", value)
    for one, other in pairs:
        # Less is better of the one, more of the others: a ratio is always of costs.
        ratio = seen[one] / seen[other]
        note(f"{name}-cost-{one}/{other}", ratio if kind == "udp" else 1 / ratio)


def nat_path():
    samples = {}

    def note(name, value):
        samples.setdefault(name, []).append(value)

    with ExitStack() as stack:
        paths = [Path(stack, variant) for variant in ("none", "nft", "ours", "stack")]
        for number in range(ROUNDS):
            first = number % len(paths)
            for family in FAMILIES:
                for way in PATH_PAIRS:
                    for kind in KINDS:
                        measure_round(paths[first:] + paths[:first], way, kind, family, note)
    return samples
