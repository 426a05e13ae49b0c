# SPDX-License-Identifier: Apache-2.0
"""Faults of a node that serves by NAT: what the host's firewall drops, and what it does not."""

import re

import pytest
from faults import Table, check
from lab import wait, wait_equal
from lab.capture import Capture
from nat_world import served, world_fixture  # noqa: F401
from test_firewall import table

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows, walls = Table(), Table()
FIREWALL = """table inet firewall {
    chain forward { type filter hook forward priority 0; policy drop; %s }
}"""
# The probe's own port: what passes is counted, by the counter's name.
PASSES = "iifname eth0 tcp sport 50000 counter accept; accept;"


@rows("firewall-drops-requests", cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
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


@rows("firewall-drops-requests", cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
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


@rows("firewall-drops-requests", cause=("firewall, IPv6", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains")
def the_firewall_drops_what_is_forwarded_of_one_family(world):
    world.node.run("nft", "-f", "-", text=FIREWALL % "meta nfproto ipv4 accept;")
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows("firewall-drops-early", cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy=("accept in nftables chain netdev wall in what is for pods", "before all chains at forward"),
      beside="netfilter on this node drops")
def a_chain_at_netdev_ingress_drops(world):
    """The chain is named: none at forward has anything to do with it."""
    world.node.run("nft", "-f", "-", text="""table netdev wall {
        chain in { type filter hook ingress device eth0 priority 0; policy accept; ip daddr 10.224.0.0/16 drop; }
    }""")
    yield
    world.node.run("nft", "delete", "table", "netdev", "wall")


@rows("firewall-drops-requests", cause=("firewall, IPv4", "packets of ours by eth0 none came through", "/UDP"),
      remedy="accept in the host's forward chains", beside="netfilter on this node drops")
def the_firewall_drops_udp_alone(world):
    world.node.run("nft", "-f", "-", text=FIREWALL % "meta l4proto != udp accept;")
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows("firewall-drops-requests", cause=("firewall, IPv4", "packets of ours by eth1 none came through"),
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


@rows()
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


@rows("firewall-drops-requests", cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains")
def docker_makes_the_forward_chain_drop(world):
    """Expected: its table `ip filter` with policy drop is as any other firewall."""
    world.node.run("nft", "-f", "-", text="table ip filter {\nchain FORWARD {\ntype filter hook forward "
                                          "priority 0; policy drop;\nct state related,established accept\n}\n}\n")
    yield
    world.node.run("nft", "delete", "table", "ip", "filter")


FIREWALLD = """
table inet firewalld {
    chain filter_FORWARD {
        type filter hook forward priority filter + 10
        ct state established,related accept
        reject with icmpx admin-prohibited
    }
}
"""
UFW = """
table inet ufw {
    chain input {
        type filter hook input priority filter; policy drop
        iif lo accept
        ct state established,related accept
        meta l4proto { icmp, icmpv6 } accept
        tcp dport { 22, 179 } accept
    }
}
"""


@rows("firewall-drops-requests", cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains", beside="netfilter on this node drops")
def firewalld_rejects_what_is_forwarded(world):
    world.node.run("nft", "-f", "-", text=FIREWALLD)
    yield
    world.node.run("nft", "delete", "table", "inet", "firewalld")


@rows()
def docker_is_installed(world):
    node = world.node
    node.ip("link", "add", "docker0", "type", "bridge")
    node.ip("addr", "add", "172.17.0.1/16", "dev", "docker0")
    node.ip("link", "set", "docker0", "up")
    node.ip("link", "add", "veth1a2b3c4", "type", "veth", "peer", "name", "c0")
    node.ip("link", "set", "veth1a2b3c4", "master", "docker0", "up")
    yield
    node.ip("link", "del", "veth1a2b3c4")
    node.ip("link", "del", "docker0")
    served(world)


@rows()
def ufw_drops_what_comes_in(world):
    world.node.run("nft", "-f", "-", text=UFW)
    yield
    world.node.run("nft", "delete", "table", "inet", "ufw")


LEFT_OVER = """
table ip kube-proxy {
    chain services { }
    chain nat-prerouting { type nat hook prerouting priority dstnat; jump services; }
}
"""
TRANSLATES = """
table ip other {
    chain before { type nat hook prerouting priority dstnat; ip daddr %s dnat to 192.0.2.99; }
}
"""


@rows()
def kube_proxy_has_left_a_table(world):
    world.node.run("nft", "-f", "-", text=LEFT_OVER)
    yield
    world.node.run("nft", "delete", "table", "ip", "kube-proxy")


@rows()
def nftables_translates_the_address_behind_us(world):
    address, _ = world.web.address("loadBalancer", 4)
    world.node.run("nft", "-f", "-", text=TRANSLATES % address)
    yield
    world.node.run("nft", "delete", "table", "ip", "other")


@walls(within=1, heals=True)
def somebody_flushes_the_ruleset(world):
    before = table(world.node)
    world.node.run("nft", "flush", "ruleset")
    yield
    wait_equal(lambda: table(world.node), before, "the table")
    yield


@walls(within=1, heals=True)
def somebody_empties_our_sets(world):
    before = table(world.node)
    for line in before.splitlines():
        if line.strip().startswith("set "):
            world.node.run("nft", "flush", "set", "inet", "fingerpost", line.split()[1])
    yield
    wait_equal(lambda: table(world.node), before, "the elements")
    yield


BEFORE_ROUTING = """
table inet wall {
    chain prerouting { type filter hook prerouting priority raw; ip daddr 10.224.0.0/16 drop; }
}
"""


@rows("firewall-drops-requests", within=5,
      cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"), remedy="nft list ruleset",
      beside="netfilter on this node drops")
def a_firewall_drops_before_routing(world):
    world.node.run("nft", "-f", "-", text=BEFORE_ROUTING)
    yield
    world.node.run("nft", "delete", "table", "inet", "wall")


NO_PINGS = """
table inet quiet {
    chain input {
        type filter hook input priority filter
        icmp type echo-request drop
        icmpv6 type echo-request drop
    }
}
"""


@rows(within=5)
def a_firewall_drops_pings(world):
    world.node.run("nft", "-f", "-", text=NO_PINGS)
    yield
    served(world)
    world.node.run("nft", "delete", "table", "inet", "quiet")


CHAIN = """table inet firewall {
    chain forward { type filter hook forward priority 0; %s; }
}"""
DROPPED = ("firewall, IPv4", "netfilter on this node drops what its pods answer")


def firewall(world, words):
    world.node.run("nft", "-f", "-", text=CHAIN % words)
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows("firewall-drops-replies", cause=(*DROPPED, "port 8080/TCP"), remedy="established,related accept")
def the_firewall_drops_what_comes_from_pods(world):
    return firewall(world, "ip saddr 10.224.0.0/16 drop")


@rows()
def the_firewall_drops_what_pods_begin(world):
    """Answers of both families and protocols are established: those of two looks pass, and nothing is told."""
    def answered():
        return int(re.search(r"counter packets (\d+)", world.node.run("nft", "list", "ruleset").stdout)[1])

    begun = firewall(world, "iifname != eth0 ct state established counter accept; iifname != eth0 drop")
    next(begun)
    yield
    wait(lambda: answered() >= 8, "answers of ours that pass, twice")
    assert world.agent.faults() == []
    next(begun, None)


@rows("firewall-or-xfrm-drops-requests",
      cause=("firewall, IPv4", "a policy of XFRM, or netfilter, on this node drops what Services forward"),
      remedy="ip xfrm policy")
def a_policy_of_ipsec_blocks_pods(world):
    world.node.ip("xfrm", "policy", "add", "src", "0.0.0.0/0", "dst", "10.224.0.0/16", "dir", "fwd", "action", "block")
    yield
    world.node.ip("xfrm", "policy", "flush")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@walls.each
def test_firewall(world, row):
    if "firewall" not in world.agent.settings["services"]:
        world.agent.settings["services"]["firewall"] = {"mode": "mark"}
        world.agent.write_config()
        world.agent.reload()
    wait(lambda: world.agent.json("status")["firewall"]["there"], "the table")
    check(row, world)
