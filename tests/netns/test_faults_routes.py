# SPDX-License-Identifier: Apache-2.0
"""Faults of a node that serves by NAT: routes and rules of the host."""

import pytest
from faults import Table, check
from lab import wait
from nat_world import FAMILIES, FOLLOWS, asks, served, world_fixture  # noqa: F401
from served import Service

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows("nat-endpoint-unreachable", cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside="no way to")
def the_route_to_a_ready_pod_goes(world):
    route = (f"{world.one.address4}/32", "dev", world.one.host_end)
    world.node.ip("route", "del", *route)
    yield
    world.announced(world.web)  # another endpoint serves it
    world.node.ip("route", "add", *route)
    world.announced(world.single)


@rows("nat-endpoint-unreachable", cause=("Service default/web", "no way to", "a blackhole route"),
      remedy="see: ip route get ADDRESS", beside="no way to")
def a_blackhole_covers_a_pod(world):
    """Expected before it was tried: told as what it is, and the address served by the other pod."""
    world.node.ip("route", "add", "blackhole", f"{world.one.address4}/32", "metric", "1")
    world.node.ip("route", "del", f"{world.one.address4}/32", "dev", world.one.host_end)
    yield
    world.node.ip("route", "add", f"{world.one.address4}/32", "dev", world.one.host_end)
    world.node.ip("route", "del", "blackhole", f"{world.one.address4}/32", "metric", "1")
    world.announced(world.web, world.single)


@rows("nat-endpoint-unreachable", cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
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


@rows("route-slot-taken", cause=("203.0.113.10/32", "the kernel refuses to add 203.0.113.10/32", "File exists"),
      remedy="another program has a route there: find out who wrote it")
def another_route_takes_an_address_from_svc0(world):
    """Expected: a route of somebody else's to the same address is named, and not overwritten."""
    node = world.node
    node.ip("route", "replace", "203.0.113.10/32", "via", node.gateway4)
    yield
    node.ip("route", "del", "203.0.113.10/32", "via", node.gateway4)
    world.announced(world.web)


@rows("nat-endpoint-unreachable", cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside=FOLLOWS)
def a_rule_makes_a_pod_unreachable(world):
    """Expected: as a route that is gone: a rule is followed as the kernel does."""
    words = ("to", f"{world.one.address4}/32", "unreachable", "pref", "90")
    world.node.ip("rule", "add", *words)
    yield
    world.node.ip("rule", "del", *words)
    world.announced(world.web, world.single)


@rows()
def networkd_removes_foreign_routes(world):
    for family in ("-4", "-6"):
        for words in (("table", "119"), ("table", "120"), ("proto", "33")):
            world.node.run("ip", family, "route", "flush", *words, check=False)
        world.node.run("ip", family, "rule", "del", "pref", "1990", check=False)
    yield
    served(world)


RULES = (("not", "fwmark", "51820", "table", "51820", "pref", "32764"),
         ("table", "main", "suppress_prefixlength", "0", "pref", "32763"))


@rows()
def wg_quick_has_set_its_rules(world):
    for family in FAMILIES:
        for rule in RULES:
            world.node.ip(family, "rule", "add", *rule)
    yield
    for family in FAMILIES:
        for rule in RULES:
            world.node.ip(family, "rule", "del", *rule)
    served(world)


@rows("nat-endpoint-unreachable", cause=("no way to", "a route leads by eth0, and not to the pod"), remedy="ip route",
      beside=FOLLOWS)
def a_pods_host_route_leads_by_the_uplink(world):
    route = (f"{world.one.address4}/32", "dev", world.one.host_end)
    world.node.ip("route", "replace", route[0], "via", world.node.gateway4)
    yield
    world.node.ip("route", "replace", *route)
    served(world)


@rows("nat-endpoint-unreachable", within=2, cause=("Service default/web", "no way to"), remedy="ip route get",
      beside=(*FOLLOWS, "no way", "refuses all", "before they come to svc0"))
def a_rule_leads_to_a_blackhole(world):
    world.node.ip("route", "add", "blackhole", "default", "table", "100")
    world.node.ip("rule", "add", "pref", "100", "lookup", "100")
    yield
    world.node.ip("rule", "del", "pref", "100")
    world.node.ip("route", "del", "blackhole", "default", "table", "100")
    yield
    served(world)


@rows(within=1)
def a_blackhole_is_behind_the_pods_routes(world):
    world.node.ip("route", "add", "blackhole", "10.224.0.0/16")
    yield
    served(world)
    world.node.ip("route", "del", "blackhole", "10.224.0.0/16")


@rows("address-led-away", within=1,
      cause=("Service default/web", "10.96.0.10", "led away from svc0", "via 10.0.1.1 dev eth0", "table 254"),
      remedy="ip route del")
def a_static_route_takes_a_clusterip(world):
    world.node.ip("route", "add", "10.96.0.10", "via", world.node.gateway4)
    yield
    world.node.ip("route", "del", "10.96.0.10")


@rows("nat-pod-silent", within=5, cause=("nobody answers for 10.224.",), remedy="ip route get", beside=FOLLOWS)
def the_route_leads_to_another_pod(world):
    one, two = world.one, world.two
    world.node.ip("route", "replace", f"{one.address4}/32", "dev", two.host_end)
    asks(world, world.single)
    yield
    world.node.ip("route", "replace", f"{one.address4}/32", "dev", one.host_end)
    yield
    served(world)


@rows("nat-main-table-unused", within=1, cause="main", remedy="ip rule add", beside=(*FOLLOWS, "route"))
def somebody_flushes_the_rules(world):
    node = world.node
    node.ip("-4", "rule", "flush")
    yield
    node.ip("-4", "rule", "add", "pref", "32766", "lookup", "main")
    node.ip("-4", "rule", "add", "pref", "32767", "lookup", "default")
    yield
    served(world)


ANSWERS = ("routes", "what pods of this node answer to clients is refused by a rule or a route: a packet from")


def rule(world, *words):
    """A rule of somebody's, and its end."""
    world.node.ip("rule", "add", *words, "pref", "500")
    yield
    world.node.ip("rule", "del", "pref", "500")


@rows("nat-replies-refused", cause=(*ANSWERS, "10.224.0."), remedy=("ip rule", "from 10.224.0."))
def a_rule_prohibits_what_comes_from_pods(world):
    return rule(world, "from", "10.224.0.0/16", "prohibit")


@rows("nat-replies-refused", cause=ANSWERS, remedy="ip rule")
def a_rule_leads_pods_to_a_table_that_drops(world):
    world.node.ip("route", "add", "blackhole", "default", "table", "77")
    yield from rule(world, "from", "10.224.0.0/16", "lookup", "77")
    world.node.ip("route", "flush", "table", "77")


@rows("nat-replies-refused", cause=(*ANSWERS, "fd00:224::"), remedy=("ip -6 rule", "from fd00:224::"))
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


@rows("nat-main-table-unused", cause=("routes", "no rule looks up table main (IPv4)"),
      remedy="ip rule add pref 32766 lookup main", beside=FOLLOWS)
def somebody_flushed_the_rules(world):
    world.node.ip("rule", "del", "pref", "32766")
    yield
    world.node.ip("rule", "add", "pref", "32766", "lookup", "main")
    world.announced(world.web, world.single)


@rows("nat-own-address-unrouted", cause=("interface eth0", "its address 10.0.1.2 is not this node's by the kernel's routes"),
      remedy="ip route add local 10.0.1.2 dev eth0 table local", beside=FOLLOWS)
def the_route_of_the_own_address_is_gone(world):
    local = ("local", world.node.address4, "table", "local", "dev", "eth0")
    world.node.ip("route", "del", *local)
    yield
    world.node.ip("route", "add", *local, "proto", "kernel", "scope", "host", "src", world.node.address4)
    world.announced(world.web, world.single)


CLUSTER = ("10.96.0.10", "fd00:96::a")


def way(world, *words):
    """A route or rule of somebody's, and its end."""
    world.node.ip(*words)
    yield
    world.node.ip(*(word if word != "add" else "del" for word in words))


@rows("address-led-away",
      cause=("Service default/more", "10.96.0.30", "led away from svc0", "via 10.0.1.1 dev eth0", "table 254"),
      remedy="ip route del")
def a_service_comes_that_a_static_route_takes(world):
    world.node.ip("route", "add", "10.96.0.30", "via", world.node.gateway4)
    more = Service(world.lab, "more", 30)
    more.write(world.one)
    yield
    world.node.ip("route", "del", "10.96.0.30")
    yield
    more.delete()


@rows("address-led-away", cause=("Service default/web", "fd00:96::a", "led away from svc0"), remedy="ip route del")
def a_static_route_takes_a_clusterip_of_ipv6(world):
    return way(world, "-6", "route", "add", f"{CLUSTER[1]}/128", "via", world.node.gateway6)


@rows("address-way-refused", cause=("Service default/", "10.96.0.", "refused by a route or a rule"), remedy="ip route del")
def a_blackhole_takes_clusterips(world):
    return way(world, "route", "add", "blackhole", "10.96.0.0/24")


@rows("address-led-away", cause=("Service default/", "led away from svc0", "table 77"), remedy="ip rule",
      beside=("led away", "refused", "no way to", "not announced"))
def a_rule_leads_clusterips_elsewhere(world):
    world.node.ip("route", "add", "default", "via", world.node.gateway4, "table", "77")
    world.node.ip("rule", "add", "to", "10.96.0.0/16", "lookup", "77", "pref", "500")
    yield
    world.node.ip("rule", "del", "pref", "500")
    world.node.ip("route", "flush", "table", "77")


@rows()
def a_route_goes_to_where_no_service_is(world):
    return way(world, "route", "add", "10.96.77.0/24", "via", world.node.gateway4)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
