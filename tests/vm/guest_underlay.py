# SPDX-License-Identifier: Apache-2.0
"""Egress over links that only stock kernels have: rows of tests/matrix.py without Ethernet header stand
between the rest of the world and a client's node, or a gateway. Runs inside the guest; test_nat.py
boots it. One lab serves all rows of an end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab import Lab, objects, wait, wait_equal  # noqa: E402
from lab.traffic import Connection, Datagrams, ask, serve  # noqa: E402
from matrix import AUTO, NODE4, NODE6, UP, UPLINK, ipip, ipip_by_route, run, wireguard  # noqa: E402

PORT, PATIENCE = 8080, 20
BULK = bytes(range(256)) * 800
ROWS = (wireguard, ipip, ipip_by_route)
SIZES = (100, 1372, 1400, 4000)


class World:
    """What rows of the matrix want: `node` is behind their device. A gateway's address is one of the
    device's; a client's pods are."""

    def __init__(self, lab, end):
        self.lab, self.tor, self.client = lab, lab.tor, lab.client
        first, second = lab.nodes
        self.node = first if end == "client" else second
        self.gateway = {4: second.address4, 6: second.address6}
        if end == "gateway":
            self.gateway = {4: NODE4, 6: NODE6}
        for host, name in ((self.tor, self.node.role), (self.node, "eth0")):
            host.set_sysctls({f"net/ipv4/conf/{what}/rp_filter": 0 for what in ("all", "default", name)})
        self.guest = lab.pod(first, "guest")
        lab.write("nodes.yaml", objects.node(first.role, [first.address4, first.address6]),
                  objects.node(second.role, list(self.gateway.values()), {"gateway": "yes"}),
                  *first.objects()[1:], *second.objects()[1:])
        lab.write("egress.yaml", objects.egress())
        lab.write("pods.yaml", objects.client_pod(self.guest))
        lab.agent(first, egress={"enabled": True}, services=AUTO)
        lab.agent(second, egress={"gateway": {}}, services=AUTO)
        lab.wait_sessions()
        serve(self.client, PORT)

    def addresses(self):
        """What the ToR sends to the node."""
        return [self.node.block4, self.node.block6]

    def hooks(self, name):
        items = self.node.agents[0].json("status")["nat"]["interfaces"]
        return next((item["hooks"] for item in items if item["name"] == name), None)

    def faults(self):
        return [(fault["place"], fault["message"]) for host in self.lab.nodes
                for fault in host.agents[0].json("faults")["items"]]

    def seen(self, family):
        """Whom the host outside sees; None: it can't be asked."""
        try:
            return ask(self.guest, self.outside(family), PORT, timeout=3).peer
        except OSError:
            return None

    def outside(self, family):
        return self.client.address4 if family == 4 else self.client.address6

    def check(self):
        """All kinds of packets come whole from a pod by the gateway, and back."""
        wait_equal(lambda: self.hooks(UP), UPLINK, f"the programs at {UP}")
        for family in (4, 6):
            target = self.outside(family)
            wait_equal(lambda: self.seen(family), self.gateway[family], "the pod leaves by the gateway")
            with Connection(self.guest, target, PORT, timeout=PATIENCE) as connection:
                assert connection.put(BULK) and connection.get(len(BULK))
            for size in SIZES:
                self.datagrams(target, size)
                wait(lambda: self.guest.ping(target, size, timeout=3), f"a ping of {size} bytes")
        wait_equal(self.faults, [], "no faults")

    def datagrams(self, target, size):
        """One each way; the first tells its sender what fits."""
        with Datagrams(self.guest, target, PORT, timeout=3) as datagrams:
            wait(lambda: datagrams.put(b"x" * size), f"a datagram of {size} bytes arrives")
            wait(lambda: datagrams.get(size), f"a datagram of {size} bytes comes back")


@pytest.fixture(name="world", scope="module", params=("client", "gateway"))
def world_fixture(request):
    with Lab(f"vm-underlay-{request.param}", nat=True) as lab:
        yield World(lab, request.param)
        lab.show_logs()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
def test_row(world, row):
    run(world, row)
