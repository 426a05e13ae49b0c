# SPDX-License-Identifier: Apache-2.0
"""The fault table, rules, routes and firewalls that keep what pods answer, or all, from its way: found by going through a list
of what can go wrong in a node's kernel, one by one, and silent then. What harms nothing stands between."""

import re

import pytest
from faults import Table, check
from lab import wait
from moments import log_size
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
ANSWERS = ("routes", "what pods of this node answer to clients is refused by a rule or a route: a packet from")
FIREWALL = """table inet firewall {
    chain forward { type filter hook forward priority 0; %s; }
}"""
DROPPED = ("firewall, IPv4", "netfilter on this node drops what its pods answer")


def rule(world, *words):
    """A rule of somebody's, and its end."""
    world.node.ip("rule", "add", *words, "pref", "500")
    yield
    world.node.ip("rule", "del", "pref", "500")


def firewall(world, words):
    world.node.run("nft", "-f", "-", text=FIREWALL % words)
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows(1001, cause=(*ANSWERS, "10.224.0."), remedy=("ip rule", "from 10.224.0."))
def a_rule_prohibits_what_comes_from_pods(world):
    return rule(world, "from", "10.224.0.0/16", "prohibit")


@rows(1002, cause=ANSWERS, remedy="ip rule")
def a_rule_leads_pods_to_a_table_that_drops(world):
    world.node.ip("route", "add", "blackhole", "default", "table", "77")
    yield from rule(world, "from", "10.224.0.0/16", "lookup", "77")
    world.node.ip("route", "flush", "table", "77")


@rows(1003, cause=(*ANSWERS, "fd00:224::"), remedy=("ip -6 rule", "from fd00:224::"))
def only_one_family_is_prohibited(world):
    """Rules of the other one lead pods by a table with a way, and prohibit a network of no clients."""
    node = world.node
    node.ip("route", "add", "default", "via", node.gateway4, "table", "77")
    node.ip("rule", "add", "from", "10.224.0.0/16", "to", "198.18.0.0/15", "prohibit", "pref", "400")
    node.ip("rule", "add", "from", "10.224.0.0/16", "lookup", "77", "pref", "500")
    node.ip("-6", "rule", "add", "from", "fd00:224::/64", "prohibit", "pref", "500")
    yield
    node.ip("-6", "rule", "del", "pref", "500")
    node.ip("rule", "del", "pref", "400")
    node.ip("rule", "del", "pref", "500")
    node.ip("route", "flush", "table", "77")


@rows(1005, cause=("routes", "no rule looks up table main (IPv4)"), remedy="ip rule add pref 32766 lookup main", beside=FOLLOWS)
def somebody_flushed_the_rules(world):
    world.node.ip("rule", "del", "pref", "32766")
    yield
    world.node.ip("rule", "add", "pref", "32766", "lookup", "main")
    world.announced(world.web, world.single)


@rows(1006, cause=("interface eth0", "its address 10.0.1.2 is not this node's by the kernel's routes"),
      remedy="ip route add local 10.0.1.2 dev eth0 table local", beside=FOLLOWS)
def the_route_of_the_own_address_is_gone(world):
    local = ("local", world.node.address4, "table", "local", "dev", "eth0")
    world.node.ip("route", "del", *local)
    yield
    world.node.ip("route", "add", *local, "proto", "kernel", "scope", "host", "src", world.node.address4)
    world.announced(world.web, world.single)


@rows(1007, cause=("routes", "the default route of IPv4, which led to 10.0.1.1 by eth0, is gone"),
      remedy="ip route add default via 10.0.1.1 dev eth0")
def one_family_s_default_route_is_gone(world):
    world.node.ip("-4", "route", "del", "default")
    yield
    world.node.ip("route", "replace", "default", "via", world.node.gateway4)


@rows(1008, cause=("routes", "the default route of IPv6", "is gone"), remedy="net.ipv6.conf.eth0.accept_ra=2")
def the_default_route_of_advertisements_is_gone(world):
    world.sysctl("net.ipv6.conf.eth0.accept_ra", 1)
    world.node.ip("-6", "route", "del", "default")
    yield
    world.node.ip("route", "replace", "default", "via", world.node.gateway6)
    world.sysctl("net.ipv6.conf.eth0.accept_ra", 0)


@rows(1009, cause=(*DROPPED, "port 8080/TCP"), remedy="established,related accept")
def the_firewall_drops_what_comes_from_pods(world):
    return firewall(world, "ip saddr 10.224.0.0/16 drop")


@rows(1010)
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


@rows(1011, cause=("firewall, IPv4", "a policy of XFRM, or netfilter, on this node drops what Services forward"),
      remedy="ip xfrm policy")
def a_policy_of_ipsec_blocks_pods(world):
    world.node.ip("xfrm", "policy", "add", "src", "0.0.0.0/0", "dst", "10.224.0.0/16", "dir", "fwd", "action", "block")
    yield
    world.node.ip("xfrm", "policy", "flush")


@rows(1012, cause=("interface lo", "lo is down"), remedy="ip link set lo up", beside=FOLLOWS)
def the_loopback_is_down(world):
    world.node.ip("link", "set", "lo", "down")
    yield
    world.node.ip("link", "set", "lo", "up")
    world.announced(world.web, world.single)


@rows(1013, cause=("interface eth0", "its MTU of 1000 is below 1280"), remedy="ip link set eth0 mtu 1500",
      beside=(*FOLLOWS, "InternalIP", "is gone"))
def the_uplink_is_too_narrow_for_ipv6(world):
    world.node.ip("link", "set", "eth0", "mtu", "1000")
    yield
    world.node.ip("link", "set", "eth0", "mtu", "1500")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows(1014, cause=("net.ipv4.ip_local_port_range", "is 20000-60999 and has node port 300"),
      remedy="sysctl -w net.ipv4.ip_local_reserved_ports=30000-32767")
def the_kernel_gives_node_ports_away(world):
    world.sysctl("net.ipv4.ip_local_port_range", "20000 60999")
    yield
    world.sysctl("net.ipv4.ip_local_reserved_ports", "8080,30000-32767")
    yield
    world.sysctl("net.ipv4.ip_local_port_range", "32768 60999")
    world.node.set_sysctls({"net/ipv4/ip_local_reserved_ports": "\n"})


@rows(1015, cause=("net.netfilter.nf_conntrack_max", "is nearly full"), remedy="sysctl -w net.netfilter.nf_conntrack_max=N")
def connection_tracking_is_full(world):
    """By files in place of the kernel's, since no namespace may change how large the table is."""
    agent, count = world.agent, world.agent.folder / "nf_conntrack_count"
    count.write_text("960\n", encoding="ascii")
    (agent.folder / "nf_conntrack_max").write_text("1000\n", encoding="ascii")
    mounts = "".join(f'mount --bind "$0/{name}" /proc/sys/net/netfilter/{name} && '
                     for name in ("nf_conntrack_count", "nf_conntrack_max"))
    agent.stop()
    agent.wrapper = ("unshare", "-m", "sh", "-c", mounts + 'exec "$@"', str(agent.folder))
    agent.start()
    yield
    count.write_text("890\n", encoding="ascii")
    yield
    agent.stop()
    agent.wrapper = ()
    agent.start()
    world.announced(world.web, world.single)


@rows(1016)
def an_address_of_ipv6_is_probed(world):
    """For two seconds or three it is not local: nobody has taken anything away."""
    node, said = world.node, log_size(world.agent)
    node.set_sysctls({f"net/ipv6/conf/{name}/accept_dad": 1 for name in ("all", "eth0")})
    world.sysctl("net.ipv6.conf.eth0.dad_transmits", 2)
    node.ip("addr", "del", f"{node.address6}/64", "dev", "eth0")
    node.ip("addr", "add", f"{node.address6}/64", "dev", "eth0")
    assert node.address6 in node.ip("-6", "addr", "show", "dev", "eth0", "tentative")
    wait(lambda: node.address6 not in node.ip("-6", "addr", "show", "dev", "eth0", "tentative"), "the end of the probes")
    node.ip("route", "replace", "default", "via", node.gateway6)
    yield
    told = world.agent.log.read_text(encoding="utf-8")[said:]
    assert "is not this node's by the kernel's routes" not in told
    assert "Invalid source address" not in told
    node.set_sysctls({f"net/ipv6/conf/{name}/accept_dad": 0 for name in ("all", "eth0")})
    world.announced(world.web, world.single)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
