# SPDX-License-Identifier: Apache-2.0
"""The third list of the fault table, data plane: each row was written down before it was tried (tests/third_list.txt)."""

import pytest
from faults import Table, check
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
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


def served(world):
    world.announced(world.web, world.single)


def defaults(world, *how):
    node = world.node
    for gateway in (node.gateway4, node.gateway6):
        node.ip("route", "replace", "default", "via", gateway, *how)


@rows(311, cause=("routes", "no route leads to another router"), remedy="ip route add default", beside=FOLLOWS)
def the_default_routes_are_gone(world):
    for family in ("-4", "-6"):
        world.node.ip(family, "route", "del", "default")
    yield
    defaults(world)
    served(world)


@rows(312, cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains", beside="netfilter on this node drops")
def firewalld_rejects_what_is_forwarded(world):
    world.node.run("nft", "-f", "-", text=FIREWALLD)
    yield
    world.node.run("nft", "delete", "table", "inet", "firewalld")


@rows(313, cause=("interface eth0", "it is a port of bridge br0"), remedy="name br0 instead", beside=FOLLOWS)
def the_uplink_is_a_port_of_a_bridge(world):
    node = world.node
    node.ip("link", "add", "br0", "type", "bridge")
    node.ip("addr", "flush", "dev", "eth0", "scope", "global")
    node.ip("link", "set", "eth0", "master", "br0")
    node.ip("link", "set", "br0", "up")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "br0")
    node.ip("addr", "add", f"{node.address6}/64", "dev", "br0", "nodad")
    defaults(world)
    yield
    node.ip("link", "del", "br0")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    world.restore_uplink()
    served(world)


@rows(314, health="healthy")
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


@rows(315, cause=("Service default/web", "is an address of interface nodelocaldns, too"), remedy="ip addr del")
def a_cache_has_a_cluster_ip_on_an_interface(world):
    address, _ = world.web.address("clusterIP", 4)
    world.node.ip("link", "add", "nodelocaldns", "type", "bridge")
    world.node.ip("addr", "add", f"{address}/32", "dev", "nodelocaldns")
    yield
    world.node.ip("link", "del", "nodelocaldns")
    served(world)


@rows(316, health="healthy")
def networkd_removes_foreign_routes(world):
    for family in ("-4", "-6"):
        for words in (("table", "119"), ("table", "120"), ("proto", "33")):
            world.node.run("ip", family, "route", "flush", *words, check=False)
        world.node.run("ip", family, "rule", "del", "pref", "1990", check=False)
    yield
    served(world)


@rows(317, cause=("interface eth0", "eth0 has no carrier"), remedy="see to the cable, and to the switch's port at its other end", beside=FOLLOWS)
def the_cable_is_pulled(world):
    tor = world.lab.tor
    tor.ip("link", "set", world.node.role, "down")
    yield
    tor.ip("link", "set", world.node.role, "up")
    tor.ip("addr", "add", f"{world.node.gateway6}/64", "dev", world.node.role, "nodad")
    defaults(world)
    served(world)


@rows(318, health="healthy")
def the_uplink_has_one_more_address(world):
    world.node.ip("addr", "add", "10.0.1.77/24", "dev", "eth0")
    yield
    world.node.ip("addr", "del", "10.0.1.77/24", "dev", "eth0")
    served(world)


@rows(319, cause=("net.ipv6.conf.", "disable_ipv6"), remedy="sysctl -w net.ipv6.conf.",
      beside=(*FOLLOWS, "IPv6", "fd00:", "disable_ipv6"))
def ipv6_is_off_on_all_interfaces(world):
    world.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
    yield
    world.sysctl("net.ipv6.conf.all.disable_ipv6", 0)
    world.restore_uplink()
    for pod in (world.one, world.two):
        world.restore_pod(pod)
    served(world)


@rows(320, cause=("services.uplinks", "the default route leads by eth1, which no pattern matches"),
      remedy="name it, or let them be found: auto", beside=(*FOLLOWS, "does not answer"))
def the_default_route_leads_by_an_interface_without_a_name(world):
    node = world.node
    node.ip("link", "add", "eth1", "type", "veth", "peer", "name", "wan")
    for link in ("eth1", "wan"):
        node.ip("link", "set", link, "up")
    node.ip("addr", "add", "10.0.77.2/24", "dev", "eth1")
    node.ip("route", "replace", "default", "via", "10.0.77.1")
    yield
    node.ip("link", "del", "eth1")
    defaults(world)
    served(world)


@rows(321, health="healthy")
def networkmanager_touches_svc0(world):
    world.node.ip("addr", "add", "192.168.1.7/24", "dev", "svc0")
    world.node.ip("link", "set", "svc0", "mtu", "1280")
    yield
    world.node.ip("addr", "flush", "dev", "svc0", "scope", "global")
    served(world)


@rows(322, health="healthy")
def ufw_drops_what_comes_in(world):
    world.node.run("nft", "-f", "-", text=UFW)
    yield
    world.node.run("nft", "delete", "table", "inet", "ufw")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
