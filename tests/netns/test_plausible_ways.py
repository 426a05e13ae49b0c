# SPDX-License-Identifier: Apache-2.0
"""The fault table, routes, rules and neighbours that somebody left on a node: what they take away is told, by the way that takes
it, and what they leave alone is not."""

import pytest
from faults import Table, check
from served import Service
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
CLUSTER = ("10.96.0.10", "fd00:96::a")


def way(world, *words):
    """A route or rule of somebody's, and its end."""
    world.node.ip(*words)
    yield
    world.node.ip(*(word if word != "add" else "del" for word in words))


@rows(921, cause=("Service default/more", "10.96.0.30", "led away from svc0", "via 10.0.1.1 dev eth0", "table 254"),
      remedy="ip route del")
def a_service_comes_that_a_static_route_takes(world):
    world.node.ip("route", "add", "10.96.0.30", "via", world.node.gateway4)
    more = Service(world.lab, "more", 30)
    more.write(world.one)
    yield
    world.node.ip("route", "del", "10.96.0.30")
    yield
    more.delete()


@rows(922, cause=("Service default/web", "fd00:96::a", "led away from svc0"), remedy="ip route del")
def a_static_route_takes_a_clusterip_of_ipv6(world):
    return way(world, "-6", "route", "add", f"{CLUSTER[1]}/128", "via", world.node.gateway6)


@rows(923, cause=("Service default/", "10.96.0.", "refused by a route or a rule"), remedy="ip route del")
def a_blackhole_takes_clusterips(world):
    return way(world, "route", "add", "blackhole", "10.96.0.0/24")


@rows(924, cause=("Service default/", "led away from svc0", "table 77"), remedy="ip rule",
      beside=("led away", "refused", "no way to", "not announced"))
def a_rule_leads_clusterips_elsewhere(world):
    world.node.ip("route", "add", "default", "via", world.node.gateway4, "table", "77")
    world.node.ip("rule", "add", "to", "10.96.0.0/16", "lookup", "77", "pref", "500")
    yield
    world.node.ip("rule", "del", "pref", "500")
    world.node.ip("route", "flush", "table", "77")


@rows(925)
def a_route_goes_to_where_no_service_is(world):
    return way(world, "route", "add", "10.96.77.0/24", "via", world.node.gateway4)


@rows(927, cause=("net.ipv6.conf.svc0.disable_ipv6", "is 1"), remedy="sysctl -w net.ipv6.conf.svc0.disable_ipv6=0",
      beside=("the kernel refuses to add", "led away from svc0"))
def ipv6_is_off_at_svc0(world):
    world.sysctl("net.ipv6.conf.svc0.disable_ipv6", 1)
    yield
    world.sysctl("net.ipv6.conf.svc0.disable_ipv6", 0)


@rows(928, cause=("net.ipv4.conf.eth0.arp_ignore", "is 8"), remedy="sysctl -w net.ipv4.conf.eth0.arp_ignore=0",
      beside="does not answer")
def the_uplink_answers_no_arp(world):
    world.sysctl("net.ipv4.conf.eth0.arp_ignore", 8)
    yield
    world.sysctl("net.ipv4.conf.eth0.arp_ignore", 0)


@rows(929)
def the_uplink_answers_for_its_own_addresses_only(world):
    """As guides for load balancers have it."""
    world.sysctl("net.ipv4.conf.all.arp_ignore", 1)
    world.sysctl("net.ipv4.conf.all.arp_announce", 2)
    yield
    world.sysctl("net.ipv4.conf.all.arp_ignore", 0)
    world.sysctl("net.ipv4.conf.all.arp_announce", 0)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
