# SPDX-License-Identifier: Apache-2.0
"""The fault table, data plane: interfaces, routes and settings of a node that serves by NAT."""

import re
import signal

import pytest
from faults import Table, check
from lab import objects, wait
from lab.capture import Capture
from served import NO_HOLD, Service, announced, pods, start

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


class World:
    """One node that serves `web` by the pods one and two, and `single` by the pod one alone."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        self.pods = pods(lab, "one", "two")
        self.one, self.two = self.pods["one1"], self.pods["two1"]
        self.web, self.single = Service(lab), Service(lab, "single", 20)
        self.web.write(self.one, self.two)
        self.single.write(self.one)
        [self.agent] = start(lab, self.web, self.single, routes=NO_HOLD)

    def sysctl(self, name, value):
        self.node.run("sysctl", "-qw", f"{name}={value}")

    def reload(self, **services):
        kept = dict(self.agent.settings["services"])
        self.agent.settings["services"].update(services)
        self.agent.write_config()
        self.agent.process.send_signal(signal.SIGHUP)
        self.agent.settings["services"] = kept

    def restore_uplink(self):
        """What an interface loses when it is set down."""
        node = self.node
        node.ip("addr", "add", f"{node.address6}/64", "dev", "eth0", "nodad")
        node.ip("route", "replace", "default", "via", node.gateway4)
        node.ip("route", "replace", "default", "via", node.gateway6)

    def restore_pod(self, pod):
        self.node.ip("link", "set", pod.host_end, "up")
        self.node.ip("addr", "replace", "fe80::1/64", "dev", pod.host_end, "nodad")
        for address in (pod.address4, pod.address6):
            self.node.ip("route", "replace", address, "dev", pod.host_end)

    def announced(self, *services):
        for service in services:
            announced(self.lab, service, self.node)


def pinned(folder):
    """What an agent has pinned there."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if not path.is_dir() and not path.name.endswith(".debug")}


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


# What follows from a cause at an endpoint, and is told beside it.
FOLLOWS = ("no way to", "not announced")


@rows(14, cause=("interface eth0", "eth0 is down: nothing comes in or leaves by this uplink"),
      remedy="ip link set eth0 up", beside=FOLLOWS)
def the_uplink_is_down(world):
    world.node.ip("link", "set", "eth0", "down")
    yield
    world.node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows(123, cause=("interface eth0", "eth0 has no ARP (NOARP)"), remedy="ip link set eth0 arp on",
      beside=(*FOLLOWS, "does not answer"))
def the_uplink_has_no_arp(world):
    world.node.ip("link", "set", "eth0", "arp", "off")
    yield
    world.node.ip("link", "set", "eth0", "arp", "on")
    world.announced(world.web, world.single)


@rows(24, cause=("services.uplinks", 'no interface matches "eno1"'),
      remedy="name one that is there (ip link), or let them be found: auto")
def an_uplink_is_misnamed(world):
    world.reload(uplinks=["eth0", "eno1"])
    yield
    world.reload()


@rows(26, cause=("services.podInterfaces", "routes lead to pods by", "which no pattern matches"),
      remedy="name it, or let them be found: auto",
      beside="is reached by")
def pod_interfaces_match_nothing(world):
    world.reload(podInterfaces=["cali*"])
    yield
    world.reload()
    world.announced(world.web, world.single)


@rows(32, health="failed", cause=("net.ipv4.ip_forward", "is 0: no packet reaches a pod"),
      remedy="sysctl -w net.ipv4.ip_forward=1", beside=FOLLOWS)
def forwarding_is_off(world):
    world.sysctl("net.ipv4.ip_forward", 0)
    yield
    world.sysctl("net.ipv4.ip_forward", 1)
    world.announced(world.web, world.single)


@rows(33, cause=("net.ipv4.conf.lo.accept_local", "does not reach its own node ports"),
      remedy="sysctl -w net.ipv4.conf.lo.accept_local=1")
def the_node_does_not_accept_its_own_packets(world):
    world.sysctl("net.ipv4.conf.lo.accept_local", 0)
    yield
    world.sysctl("net.ipv4.conf.lo.accept_local", 1)


@rows(105, cause=("Service default/web", "its nodePort", "/TCP has a socket of this host behind it"),
      remedy="give the Service another nodePort")
def a_daemon_listens_on_a_node_port(world):
    """Expected before it was tried: told with port and user, gone when the daemon is."""
    port = str(world.web.node_port)
    daemon = world.node.start("python3", "-m", "http.server", port, log="daemon.log")
    yield
    daemon.kill()
    daemon.wait()


@rows(106, health="healthy")
def a_daemon_listens_on_the_loopback_alone(world):
    """Expected: nobody from outside was to reach it."""
    port = str(world.web.node_port)
    daemon = world.node.start("python3", "-m", "http.server", port, "--bind", "127.0.0.1",
                              log="daemon.log")
    wait(lambda: port in world.node.run("ss", "-Hltn").stdout, "the daemon")
    yield
    daemon.kill()
    daemon.wait()


@rows(34, health="healthy")
def rp_filter_is_strict(world):
    world.sysctl("net.ipv4.conf.eth0.rp_filter", 1)
    yield
    world.announced(world.web, world.single)
    world.sysctl("net.ipv4.conf.eth0.rp_filter", 0)


@rows(35, health="healthy")
def svc0_is_down(world):
    world.node.ip("link", "set", "svc0", "down")
    yield


@rows(35, health="healthy")
def svc0_is_deleted(world):
    world.node.ip("link", "del", "svc0")
    yield


@rows(37, cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside="no way to")
def the_route_to_a_ready_pod_goes(world):
    route = (f"{world.one.address4}/32", "dev", world.one.host_end)
    world.node.ip("route", "del", *route)
    yield
    world.announced(world.web)  # another endpoint serves it
    world.node.ip("route", "add", *route)
    world.announced(world.single)


@rows(38, health="healthy", says={"explain 203.0.113.20": "no usable endpoint"})
def all_endpoints_are_unready(world):
    world.single.write((world.one, {"ready": False}))
    yield
    world.single.write(world.one)
    world.announced(world.single)


FIREWALL = """table inet firewall {
    chain forward { type filter hook forward priority 0; policy drop; %s }
}"""
# The probe's own port: what passes is counted, by the counter's name.
PASSES = "iifname eth0 tcp sport 50000 counter accept; accept;"


@rows(43, cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains", beside="netfilter on this node drops",
      says={"explain 203.0.113.20": ("announced", "fault     firewall, IPv4: netfilter on this node drops"),
            "explain default/web": "fault     firewall, IPv4: netfilter on this node drops",
            "trace 198.51.100.1:4000 203.0.113.20:80": ("forward", "firewall, IPv4: netfilter on this node drops"),
            "services": "fault: firewall, IPv4", "routes": "fault: firewall, IPv4"},
      silent={"routes": "fault: firewall, IPv6  203.0.113.20"})
def the_firewall_drops_what_is_forwarded(world):
    world.node.run("nft", "-f", "-", text=FIREWALL % "")
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows(43, cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains", beside="netfilter on this node drops",
      says={"explain 203.0.113.20": ("withheld", "not proved: netfilter on this node drops what Services forward")})
def the_firewall_drops_what_is_forwarded_and_that_withdraws(world):
    """services.firewallFault: withdraw: what fails the self-test through netfilter is not announced, and comes back."""
    world.reload(firewallFault="withdraw")
    world.node.run("nft", "-f", "-", text=FIREWALL % "meta nfproto ipv6 accept;")
    wait(lambda: "withheld" in world.agent.ctl("explain", "203.0.113.20").out, "the address to be withheld")
    yield
    routes = world.agent.json("routes")["items"]
    states = {item["prefix"]: item["state"] for item in routes if item["kind"] == "service"}
    assert states["203.0.113.10/32"] == states["203.0.113.20/32"] == "withheld", states
    assert states["fd00:203::a/128"] == states["fd00:203::14/128"] == "announced", states
    world.node.run("nft", "delete", "table", "inet", "firewall")
    world.announced(world.web, world.single)
    world.reload()


@rows(43, cause=("firewall, IPv6", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains")
def the_firewall_drops_what_is_forwarded_of_one_family(world):
    world.node.run("nft", "-f", "-", text=FIREWALL % "meta nfproto ipv4 accept;")
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows(43, cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy=("accept in nftables chain netdev wall in what is for pods", "before all chains at forward"),
      beside="netfilter on this node drops")
def a_chain_at_netdev_ingress_drops(world):
    """The chain is named: none at forward has anything to do with it."""
    world.node.run("nft", "-f", "-", text="""table netdev wall {
        chain in { type filter hook ingress device eth0 priority 0; policy accept; ip daddr 10.224.0.0/16 drop; }
    }""")
    yield
    world.node.run("nft", "delete", "table", "netdev", "wall")


@rows(43, cause=("firewall, IPv4", "packets of ours by eth0 none came through", "/UDP"),
      remedy="accept in the host's forward chains", beside="netfilter on this node drops")
def the_firewall_drops_udp_alone(world):
    world.node.run("nft", "-f", "-", text=FIREWALL % "meta l4proto != udp accept;")
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows(43, cause=("firewall, IPv4", "packets of ours by eth1 none came through"),
      remedy="accept in the host's forward chains")
def the_firewall_drops_what_comes_by_another_uplink(world):
    """One that leads to other routers: a closed network of storage is no fault."""
    node = world.node
    node.ip("link", "add", "eth1", "type", "veth", "peer", "name", "wan")
    for link in ("eth1", "wan"):
        node.ip("link", "set", link, "up")
    node.ip("addr", "add", "10.0.77.2/24", "dev", "eth1")
    node.ip("route", "add", "198.18.0.0/15", "via", "10.0.77.1")
    for name in ("all", "eth1"):
        world.sysctl(f"net.ipv4.conf.{name}.rp_filter", 0)
    world.reload(uplinks=["eth0", "eth1"])
    node.run("nft", "-f", "-", text=FIREWALL % "iifname != eth1 accept;")
    yield
    node.run("nft", "delete", "table", "inet", "firewall")
    world.reload()
    world.sysctl("net.ipv4.conf.all.rp_filter", 1)
    node.ip("link", "del", "eth1")


@rows(43, health="healthy")
def the_firewall_lets_pods_be_reached(world):
    """The packets that tell so pass the firewall, and no pod receives one."""
    def passed():
        return int(re.search(r"counter packets (\d+)", world.node.run("nft", "list", "ruleset").stdout)[1])

    with Capture(world.one, "eth0") as one, Capture(world.two, "eth0") as two:
        world.node.run("nft", "-f", "-", text=FIREWALL % PASSES)
        yield
        wait(lambda: passed() >= 4, "packets of ours that pass, twice")
        world.node.run("nft", "delete", "table", "inet", "firewall")
        got = [packet for capture in (one, two) for packet in capture.packets()]
        assert [packet for packet in got if {50000, 50001} & set(packet.ports)] == []


@rows(57, cause="its IPv6 addresses are open to all", remedy="give a range of each family")
def source_ranges_have_one_family(world):
    world.single.write(world.one, loadBalancerSourceRanges=["198.51.100.0/24"])
    yield
    world.single.spec.pop("loadBalancerSourceRanges")
    world.single.write(world.one)


@rows(58, cause=("Service default/near", "10.0.1.200 is not announced: this node is connected"),
      remedy="give the Service an address of its own")
def an_address_is_in_the_nodes_own_network(world):
    world.lab.write("near.yaml", objects.service("near", ["10.0.1.200"]),
                    objects.slice_of("near", [objects.endpoint(world.one.address4,
                                                               world.node.role)]))
    yield
    (world.lab.manifests / "near.yaml").unlink()


@rows(101, cause=("Service default/web", "no way to", "a blackhole route"),
      remedy="see: ip route get ADDRESS", beside="no way to")
def a_blackhole_covers_a_pod(world):
    """Expected before it was tried: told as what it is, and the address served by the other pod."""
    world.node.ip("route", "add", "blackhole", f"{world.one.address4}/32", "metric", "1")
    world.node.ip("route", "del", f"{world.one.address4}/32", "dev", world.one.host_end)
    yield
    world.node.ip("route", "add", f"{world.one.address4}/32", "dev", world.one.host_end)
    world.node.ip("route", "del", "blackhole", f"{world.one.address4}/32", "metric", "1")
    world.announced(world.web, world.single)


@rows(102, cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside="no way to")
def a_pods_interface_is_down(world):
    """Expected: as a route that is gone, since the kernel drops the route with it."""
    world.node.ip("link", "set", world.one.host_end, "down")
    yield
    world.restore_pod(world.one)
    world.announced(world.web, world.single)


@rows(103, health="failed", cause=("net.ipv6.conf.all.forwarding", "is 0: no packet reaches a pod"),
      remedy="sysctl -w net.ipv6.conf.all.forwarding=1", beside=FOLLOWS)
def forwarding_of_ipv6_is_off(world):
    """Expected: as row 32, of the other family."""
    world.sysctl("net.ipv6.conf.all.forwarding", 0)
    yield
    world.sysctl("net.ipv6.conf.all.forwarding", 1)
    world.announced(world.web, world.single)


@rows(104, health="healthy")
def a_pods_interface_goes_and_the_slice_follows(world):
    """Expected: no fault, as a pod's deletion is none; the other pod serves on."""
    pod = world.lab.pod(world.node, "third")
    world.web.write(world.two, pod)
    yield
    world.lab.remove_pod(pod)
    world.web.write(world.one, world.two)


@rows(107, cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside=FOLLOWS)
def no_endpoint_has_a_way(world):
    """Expected before it was tried: told, and the address is withdrawn, for nobody here serves it."""
    for pod in (world.one, world.two):
        world.node.ip("route", "del", f"{pod.address4}/32", "dev", pod.host_end)
    wait(lambda: world.lab.tor.via(world.web.of["loadBalancer"][0]) == set(), "the withdrawal")
    yield
    for pod in (world.one, world.two):
        world.node.ip("route", "add", f"{pod.address4}/32", "dev", pod.host_end)
    world.announced(world.web, world.single)


@rows(108, cause=("203.0.113.10/32", "the kernel refuses to add 203.0.113.10/32", "File exists"),
      remedy="another program has a route there: find out who wrote it")
def another_route_takes_an_address_from_svc0(world):
    """Expected: a route of somebody else's to the same address is named, and not overwritten."""
    node = world.node
    node.ip("route", "replace", "203.0.113.10/32", "via", node.gateway4)
    yield
    node.ip("route", "del", "203.0.113.10/32", "via", node.gateway4)
    world.announced(world.web)


@rows(109, health="healthy")
def the_mtu_of_the_uplink_is_small(world):
    """Expected: no harm, since "packet too big" finds its way."""
    world.node.ip("link", "set", "eth0", "mtu", "1400")
    yield
    world.announced(world.web, world.single)
    world.node.ip("link", "set", "eth0", "mtu", "1500")


@rows(110, cause=("interface eth0", "is down"), remedy="ip link set eth0 up", beside=FOLLOWS)
def the_uplink_goes_down_and_up_and_down(world):
    """Expected: told each time; a link that flaps for a moment leaves nothing behind."""
    for state in ("down", "up", "down"):
        world.node.ip("link", "set", "eth0", state)
    yield
    world.node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
