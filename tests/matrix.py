# SPDX-License-Identifier: Apache-2.0
"""Links as other networks have them: each row puts another kind of device between the first node and
the rest of the world. It is found, nothing is complained of, and every client reaches every kind of
address and both endpoints by it; or the proof says why not.

The rows named in HERE run on this machine (tests/netns/test_nat_matrix.py), those in GUEST need
kinds of devices that only stock kernels have (tests/vm/guest_matrix.py; some of them with egress in
tests/vm/guest_underlay.py). Pods on bridges have tests
of their own, with and without br_netfilter: tests/netns/test_nat_bridge.py.
"""

import contextlib

from lab import wait, wait_equal
from lab.capture import UDP, Capture, is_of_the_link
from lab.traffic import ask, outcome
from lab.tunnels import PORT, Tun, join_wireguard
from served import FAMILIES, PROTOCOLS, Service, address_of, pods, start, steer

UP = "up.1"  # the device of the row on the first node
TOR4, NODE4, TOR6, NODE6 = "10.9.1.1", "10.9.1.2", "fd09:1::1", "fd09:1::2"
KINDS = ("clusterIP", "loadBalancer", "nodePort")
AUTO = {"uplinks": "auto", "podInterfaces": "auto"}
UPLINK = ["uplink-in", "uplink-out"]
PATIENCE = 5


class World:
    """Agents on both nodes; three Services, with an endpoint on the first node, one on the second,
    and none. `patience`: seconds for an answer, in a slow guest more."""

    def __init__(self, lab, patience=PATIENCE):
        self.lab, self.patience = lab, patience
        self.tor, self.client, (self.node, self.other) = lab.tor, lab.client, lab.nodes
        # What comes to a node port by one way is answered by another: fabrics allow it.
        self.tor.set_sysctls({f"net/ipv4/conf/{what}/rp_filter": 0 for what in
                              ("all", "default", *map(str, lab.nodes))})
        found = pods(lab, "one")
        self.guest = lab.pod(self.node, "guest")
        self.near, self.far, self.none = (
            Service(lab, name, number) for name, number in (("near", 10), ("far", 11), ("none", 12))
        )
        self.ends = {self.near: found["one1"], self.far: found["one2"]}
        for service, endpoint in self.ends.items():
            service.write(endpoint)
        self.none.write()
        self.agent = start(lab, services=AUTO)[0]
        steer(lab, self.node, *self.addresses())

    def addresses(self):
        """What the ToR sends to the first node."""
        return [self.node.block4, self.node.block6, *(
            address for service in (*self.ends, self.none) for address in service.announced())]

    def hooks(self, name):
        items = self.agent.json("status")["nat"]["interfaces"]
        return next((item["hooks"] for item in items if item["name"] == name), None)

    def asked(self):
        """Each client, address, port and protocol, and who has to answer."""
        for service, endpoint in self.ends.items():
            for client in (self.client, self.node, self.guest):
                for kind in KINDS[1:] if client is self.client else KINDS:
                    for family in FAMILIES:
                        for protocol in PROTOCOLS:
                            where = service.address(kind, family, self.node)
                            yield client, where, protocol, endpoint.role

    def served(self):
        """All of it, and the ICMP errors of what is refused."""
        for client, where, protocol, name in self.asked():
            try:
                got = ask(client, *where, protocol, timeout=self.patience).name
            except OSError as error:
                got = repr(error)
            assert got == name, (client, where, protocol)
        for family in FAMILIES:
            where = self.none.address("loadBalancer", family)
            for protocol in PROTOCOLS:
                got = outcome(self.client, *where, protocol, timeout=self.patience)
                assert got == "reject", (where, protocol)

    def check(self, name=UP):
        """All is served by the device, and nothing is complained of."""
        wait_equal(lambda: (self.hooks(name), self.agent.faults()), (UPLINK, []),
                   f"the programs at {name}, and no faults")
        self.agent.settled()
        self.served()
        assert self.agent.json("verify")["differences"] == 0


def veth(world, tor="up1", node=UP):
    """A second cable."""
    world.tor.configure(f"link add {tor} type veth peer name {node} netns {world.node.name}",
                        f"link set {tor} up")
    world.node.configure(f"link set {node} up")


def both(world, kind, tor="up1", node=UP):
    """A device of a kind on both: `{local}`, `{remote}` and their IPv6 kin are the outer addresses."""
    here, there = world.node, {"local": world.node.gateway4, "remote": world.node.address4,
                               "local6": world.node.gateway6, "remote6": world.node.address6}
    back = {"local": there["remote"], "remote": there["local"], "local6": there["remote6"],
            "remote6": there["local6"]}
    world.tor.configure(f"link add {tor} {kind.format(**there)}", f"link set {tor} up")
    here.configure(f"link add {node} {kind.format(**back)}", f"link set {node} up")


def routes(world, tor="up1", node=UP, families=FAMILIES, table="", hop4="", hop6=""):
    """Addresses on the device, and the routes by it: both hosts send all there that they can."""
    if 4 in families:
        world.tor.configure(f"addr add {TOR4}/24 dev {tor}")
        world.node.configure(f"addr add {NODE4}/24 dev {node}",
                             hop4 or f"route replace default via {TOR4} dev {node} {table}")
    if 6 in families:
        world.tor.configure(f"addr add {TOR6}/64 dev {tor} nodad")
        world.node.configure(f"addr add {NODE6}/64 dev {node} nodad",
                             hop6 or f"route replace default via {TOR6} dev {node} {table}")
    for address in world.addresses():
        family = 6 if ":" in address else 4
        if family in families:
            world.tor.ip("route", "replace", address, "via", NODE6 if family == 6 else NODE4,
                         "metric", "1")


def restore(world, tor=("up1",), node=(UP,)):
    """As it was, but for addresses that the ToR still sends by the device."""
    world.node.configure(f"route replace default via {world.node.gateway4} dev eth0",
                         f"route replace default via {world.node.gateway6} dev eth0")
    steer(world.lab, world.node, *world.addresses())
    for host, names in ((world.tor, tor), (world.node, node)):
        for name in names:
            host.run("ip", "link", "del", name, check=False)
    wait(lambda: world.hooks(UP) is None, f"{UP} to be forgotten")


# ---- the rows


def two_uplinks(world):
    """What comes by one may leave by the other."""
    veth(world)
    gateways = {4: (world.node.gateway4, TOR4), 6: (world.node.gateway6, TOR6)}
    hops = {family: f"route replace default nexthop via {one} dev eth0 nexthop via {two} dev {UP}"
            for family, (one, two) in gateways.items()}
    routes(world, hop4=hops[4], hop6=hops[6])
    world.check()


def vxlan(world):
    both(world, "type vxlan id 5 dstport 4789 local {local} remote {remote}")
    routes(world)
    world.check()


def tun(world):
    """As OpenVPN and flannel's UDP mode have them."""
    wire = Tun(UP, world.tor, world.node)
    try:
        for host in (world.tor, world.node):
            host.configure(f"link set {UP} mtu 1400 up")
        routes(world, tor=UP)
        world.check()
    finally:
        wire.close()


def geneve(world):
    both(world, "type geneve id 5 remote {remote}")
    routes(world)
    world.check()


def bond(world):
    veth(world, node="cable1")
    world.node.configure(f"link add {UP} type bond mode active-backup miimon 100",
                         "link set cable1 down", f"link set cable1 master {UP}",
                         f"link set {UP} up")
    routes(world)
    world.check()
    assert world.hooks("cable1") is None


def vlan(world):
    veth(world, tor="cable", node="cable1")
    world.tor.configure("link add link cable name up1 type vlan id 7", "link set up1 up")
    world.node.configure(f"link add link cable1 name {UP} type vlan id 7", f"link set {UP} up")
    routes(world)
    world.check()


def priority(world):
    """Frames with a priority tag (VID 0) come to a device that knows of no VLAN."""
    veth(world)
    world.tor.run("tc", "qdisc", "add", "dev", "up1", "clsact")
    world.tor.run("tc", "filter", "add", "dev", "up1", "egress", "matchall", "action", "vlan",
                  "push", "id", "0", "priority", "5")
    routes(world)
    world.check()
    count = world.tor.run("tc", "-s", "filter", "show", "dev", "up1", "egress").stdout
    assert " 0 pkt" not in count, count


def wireguard(world):
    """Nothing leaves the node but within it."""
    both(world, "mtu 1400 type wireguard")
    join_wireguard((world.tor, "up1", world.node.gateway4),
                   (world.node, UP, world.node.address4))
    routes(world)
    with Capture(world.tor, world.node.role) as cable:
        world.check()
        left = [packet for packet in cable.packets() if not packet.sent and not is_of_the_link(packet)]
    assert left and all(packet[3:] == (UDP, (PORT, PORT)) for packet in left), left


def ipip(world):
    """With a fixed other end."""
    both(world, "type ipip local {local} remote {remote}")
    both(world, "type ip6tnl mode ip6ip6 local {local6} remote {remote6}", "up6", "up.6")
    routes(world, families=(4,))
    routes(world, "up6", "up.6", families=(6,))
    world.check()


def ipip_by_route(world):
    """One device for all other ends, which are the next hops of routes: Calico's tunl0."""
    both(world, "type ipip local {local}")
    both(world, "type ip6tnl mode ip6ip6 local {local6} remote {remote6}", "up6", "up.6")
    routes(world, "up6", "up.6", families=(6,))
    world.tor.configure("addr add 10.9.1.1/32 dev up1",
                        f"route add {NODE4} via {world.node.address4} dev up1 onlink")
    world.node.configure(f"addr add {NODE4}/32 dev {UP}",
                         f"route replace default via {world.node.gateway4} dev {UP} onlink",
                         f"route add {world.node.gateway4}/32 dev eth0")
    for address in world.addresses():
        if ":" not in address:
            world.tor.ip("route", "replace", address, "via", world.node.address4, "dev", "up1",
                         "onlink", "metric", "1")
    world.check()


def gre(world):
    both(world, "type gre local {local} remote {remote}")
    routes(world)
    world.check()


def vrf(world):
    """The uplink is in a VRF, the pods are not: each table has the routes to the other's."""
    veth(world)
    world.node.configure("link add blue type vrf table 77", "link set blue up",
                         f"link set {UP} master blue")
    routes(world)
    for family, hop in ((4, TOR4), (6, TOR6)):
        world.node.configure(f"route add default via {hop} dev {UP} table 77")
        for pod in world.node.pods.values():
            address = address_of(pod, family)
            world.node.configure(f"route add {address} dev {pod.host_end} table 77")
    world.check()


HERE = (two_uplinks, vxlan, tun)
GUEST = (geneve, bond, vlan, priority, wireguard, ipip, ipip_by_route, gre, vrf)
EXTRA = ("up6", "cable")  # what rows make besides; on the node: up.6, cable1, blue


@contextlib.contextmanager
def cleaned(world):
    try:
        yield
    finally:
        restore(world, ("up1", UP, *EXTRA), (UP, "up.6", "cable1", "blue"))


def run(world, row):
    with cleaned(world):
        row(world)
