# SPDX-License-Identifier: Apache-2.0
"""What service NAT costs on a path: no NAT, nftables as kube-proxy writes it, and us, side by side.

Three labs stand at once, alike but for what serves on their two nodes. Rounds are interleaved and
each figure is compared within its round, so that what else the machine does hits all three alike. A
pod of one node asks a Service whose endpoint is a pod of the other; with no NAT it asks that pod.
"""

import json
from contextlib import ExitStack

from lab import Lab, wait, wait_equal
from lab.traffic import ask, serve, tool
from served import FAMILIES, TARGET, address_of

from . import clusters
from .kubeproxy import Ruleset

ROUNDS = 9
SECONDS = 0.7
SERVICES, ENDPOINTS = 1000, 10
RATE_PORT, FLOOD_PORT = 8081, 9
BATCH = 64  # of flood.c
POD_NETS = {4: "10.224.0.0/16", 6: "fd00:224::/64"}
KINDS = ("udp", "rate", "stream")
RATIOS = (("nft", "none"), ("ours", "none"), ("ours", "nft"))


class Path:
    """A lab, a client pod on its first node, a server pod on its second."""

    def __init__(self, stack, variant):
        self.variant = variant
        self.lab = stack.enter_context(Lab(f"bench-path-{variant}", nat=variant == "ours"))
        one, two = self.lab.nodes
        self.client, self.server = self.lab.pod(one, "client"), self.lab.pod(two, "server")
        serve(self.server, TARGET)
        for family in FAMILIES:
            self.server.start(tool("flood"), "accept", address_of(self.server, family),
                              str(RATE_PORT), "1000000", log=f"accept{family}.log")
        self.drop_floods()
        getattr(self, f"set_up_{variant}")()
        for node in self.lab.nodes:
            for block in (node.block4, node.block6):
                wait_equal(lambda: self.lab.tor.via(block), {node.role}, f"{block} on the ToR")
        for family in FAMILIES:
            for port in (80, 81):
                address, number = self.where(family, port)
                wait(lambda: self.client.connect(address, number).close() is None, f"{variant}")
            assert ask(self.client, *self.where(family, 80)).name == self.server.role

    def drop_floods(self):
        """At the server's ingress: the flood is to cost the path, and nothing behind it."""
        self.server.run("nft", "-f", "-", text=(
            "table netdev flood {\n chain in {\n type filter hook ingress device eth0 priority 0\n"
            f"udp dport {FLOOD_PORT} drop\n }}\n}}\n"))

    def announce_blocks(self):
        for node in self.lab.nodes:
            for block in (node.block4, node.block6):
                node.ip("route", "add", "blackhole", block, "table", "119", "proto", "30")

    def set_up_none(self):
        self.announce_blocks()

    def set_up_nft(self):
        self.announce_blocks()
        for node in self.lab.nodes:
            for family in FAMILIES:
                ports = clusters.service_ports(SERVICES, ENDPOINTS, family)
                ports += clusters.target_ports(address_of(self.server, family), family)
                rules = Ruleset(family, POD_NETS[family], [address_of(node, family)], ports)
                node.run("nft", "-f", "-", text=rules.text(), timeout=600)

    def set_up_ours(self):
        self.lab.write_nodes()
        clusters.write(self.lab, SERVICES, ENDPOINTS)
        clusters.write_target(self.lab, self.server)
        for node in self.lab.nodes:
            self.lab.agent(node).settled(120)

    def where(self, family, port):
        """80: the echo server, 81: the one that accepts and closes, 9: what drops."""
        if self.variant == "none":
            return address_of(self.server, family), {80: TARGET, 81: RATE_PORT, 9: FLOOD_PORT}[port]
        return clusters.TARGET[family], port

    def measure(self, kind, family):
        """One round: ns per datagram, connections per second, or Gbit/s."""
        port = {"udp": 9, "rate": 81, "stream": 80}[kind]
        done = self.client.run("taskset", "-c", "0", tool("flood"), kind,
                               *map(str, self.where(family, port)), str(SECONDS))
        said = json.loads(done.stdout)
        if kind == "udp":
            return said["p50Us"] * 1000 / BATCH
        if kind == "rate":
            return 1e6 / said["p50Us"]
        return said["done"] * 8 / said["seconds"] / 1e9


def nat_path():
    samples = {}
    with ExitStack() as stack:
        paths = [Path(stack, variant) for variant in ("none", "nft", "ours")]
        for number in range(ROUNDS):
            order = paths[number % 3 :] + paths[: number % 3]
            for family in FAMILIES:
                for kind in KINDS:
                    seen = {path.variant: path.measure(kind, family) for path in order}
                    name = f"path{family}-{kind}"
                    for variant, value in seen.items():
                        samples.setdefault(f"{name}-{variant}", []).append(value)
                    for one, other in RATIOS:
                        # Less is better of the one, more of the others: a ratio is always of costs.
                        ratio = seen[one] / seen[other]
                        samples.setdefault(f"{name}-cost-{one}/{other}", []).append(
                            ratio if kind == "udp" else 1 / ratio)
    return samples

