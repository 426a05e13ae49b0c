# SPDX-License-Identifier: Apache-2.0
"""What it costs to leave the cluster by a gateway: without one, by the kernel's own Foo-over-UDP with
nftables' masquerade, and by us, side by side; and what it costs pods that use none.

Labs stand at once, alike but for who wraps on the first node and unwraps on the second. A pod of the
first sends to the host outside. Rounds are interleaved and each figure is compared within its round,
so that what else the machine does hits all alike. "idle" is a pod that names no Egress,
beside one that does. "detour" has as many hops as the way by a gateway, but no tunnel and no translation: what is
above it is what both ends do.

Kernels for containers often lack the kernel's way: that is said, and the rest measured;
egress_guest.py has it all, in an emulated machine.
"""

import itertools
import sys
from contextlib import ExitStack

from lab import Lab, coil, objects, wait_equal
from lab.namespace import Namespace
from lab.traffic import ask, serve
from served import FAMILIES, TARGET, address_of

from .figures import EGRESS_PAIRS
from .nat_path import FLOOD_PORT, SECONDS, announce_blocks, drop_flood, flood

ROUNDS = 9
KINDS = ("udp", "stream")


class Path:
    """A lab, and a pod that sends to the host outside."""

    def __init__(self, stack, variant, name=None):
        self.variant = variant
        self.lab = stack.enter_context(Lab(name or f"bench-egress-{variant}",
                                           nat=variant in ("ours", "idle")))
        self.one, self.two = self.lab.nodes
        self.pod = self.lab.pod(self.one, "client")
        serve(self.lab.client, TARGET)
        drop_flood(self.lab.client)
        getattr(self, f"set_up_{variant}")()
        for node in self.lab.nodes:
            for block in (node.block4, node.block6):
                wait_equal(lambda: self.lab.tor.via(block), {node.role}, f"{block} on the ToR")
        seen_as = self.two if variant in ("ours", "fou") else self.pod
        for family in FAMILIES:
            wait_equal(lambda: ask(self.pod, address_of(self.lab.client, family), TARGET).peer,
                       address_of(seen_as, family), f"{variant}: as whom the pod is seen")

    def set_up_none(self):
        announce_blocks(self.lab)

    def set_up_detour(self):
        """Both ways: pod, node1, ToR, node2, and another router in place of the ToR."""
        announce_blocks(self.lab)
        client, far = self.lab.client, Namespace(self.lab.label, "far", self.lab.folder)
        far.create(forwarding=True)
        for host, device, net in ((self.two, "far", 200), (client, "eth1", 201)):
            far.configure(f"link add {host} type veth peer name {device} netns {host.name}")
            for end, own, last in ((far, host, 1), (host, device, 2)):
                end.configure(f"addr add 10.0.{net}.{last}/24 dev {own}",
                              f"addr add fd00:0:0:{net}::{last}/64 dev {own} nodad",
                              f"link set {own} up")
        for host, via, addresses in (
                (self.lab.tor, (self.two.address4, self.two.address6), (client.address4, client.address6)),
                (self.two, ("10.0.200.1", "fd00:0:0:200::1"), (client.address4, client.address6)),
                (far, ("10.0.201.2", "fd00:0:0:201::2"), (client.address4, client.address6)),
                (far, ("10.0.200.2", "fd00:0:0:200::2"), (self.one.block4, self.one.block6)),
                (client, ("10.0.201.1", "fd00:0:0:201::1"), (self.one.block4, self.one.block6))):
            host.configure(*(f"route add {to} via {hop}" for to, hop in zip(addresses, via)))
        drop_flood(client, "eth1")

    def set_up_fou(self):
        announce_blocks(self.lab)
        coil.initialise(self.pod)
        coil.rules(self.pod)
        coil.initialise(self.two)
        coil.masquerade(self.two)
        for family in FAMILIES:
            coil.lead(self.pod, address_of(self.two, family))
            coil.accept(self.two, address_of(self.pod, family))

    def set_up_ours(self, *clients):
        """`clients`: who leaves by the gateway; the pod, if nobody is named."""
        one, two = self.lab.nodes
        self.lab.write("egress.yaml", objects.egress(), *map(objects.client_pod, clients or (self.pod,)),
                       objects.node("node1", [one.address4, one.address6]),
                       objects.node("node2", [two.address4, two.address6], {"gateway": "yes"}),
                       *one.objects()[1:], *two.objects()[1:])
        off = {"enabled": False}
        self.lab.agent(one, services=off, egress={"enabled": True}).settled(120)
        self.lab.agent(two, services=off, egress={"gateway": {}}).settled(120)

    def set_up_idle(self):
        """Another pod is the client: the programs are there, also at the pod that is none."""
        other = self.lab.pod(self.one, "other")
        self.set_up_ours(other)
        wait_equal(lambda: ask(other, self.lab.client.address4, TARGET).peer, self.two.address4,
                   "the other pod leaves by the gateway")

    def measure(self, kind, family, seconds):
        port = {"udp": FLOOD_PORT, "stream": TARGET}[kind]
        return flood(self.pod, kind, address_of(self.lab.client, family), port, seconds)


def variants(stack):
    """Those that this kernel can do."""
    with Lab("bench-egress-try", nodes=1) as lab:
        able = coil.has_fou(lab.nodes[0])
    if not able:
        print("NO FOU: this kernel has no ipip devices with encap fou; what is left is measured without "
              "the comparison that counts", file=sys.stderr, flush=True)
    return [Path(stack, name) for name in ("none", "idle", "detour", "ours", *(("fou",) if able else ()))]


def note_round(samples, name, kind, seen):
    """What a round has seen of each variant, and of each pair."""
    for variant, value in seen.items():
        samples.setdefault(f"{name}-{variant}", []).append(value)
    for one, other in EGRESS_PAIRS:
        if {one, other} <= seen.keys():
            ratio = seen[one] / seen[other]
            samples.setdefault(f"{name}-cost-{one}/{other}", []).append(
                ratio if kind == "udp" else 1 / ratio)
    if kind == "udp" and "fou" in seen:
        ends = [seen[variant] - seen["detour"] for variant in ("ours", "fou")]
        samples.setdefault(f"{name}-ends-ours/fou", []).append(ends[0] / ends[1])


def measure(rounds, seconds, prefix="egress"):
    """Samples by name of figure; `seconds`: of each flood."""
    samples = {}
    with ExitStack() as stack:
        paths = variants(stack)
        for number, family, kind in itertools.product(range(rounds), FAMILIES, KINDS):
            first = number % len(paths)
            seen = {path.variant: path.measure(kind, family, seconds)
                    for path in paths[first:] + paths[:first]}
            note_round(samples, f"{prefix}{family}-{kind}", kind, seen)
    return samples


def egress_path():
    return measure(ROUNDS, SECONDS)
