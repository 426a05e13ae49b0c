# SPDX-License-Identifier: Apache-2.0
"""The fourth list of the fault table, data plane: each row was written down before it was tried (tests/fourth_list.txt)."""

import pytest
from faults import Table, check
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401
from test_third_list_data import defaults, served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
FAMILIES = ("-4", "-6")
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
RULES = (("not", "fwmark", "51820", "table", "51820", "pref", "32764"),
         ("table", "main", "suppress_prefixlength", "0", "pref", "32763"))


@rows(511)
def rp_filter_is_loose(world):
    names = [f"net.ipv4.conf.{name}.rp_filter" for name in ("all", "eth0")]
    before = [world.node.run("sysctl", "-n", name).stdout.strip() for name in names]
    for name in names:
        world.sysctl(name, 2)
    yield
    for name, value in zip(names, before):
        world.sysctl(name, value)


@rows(513)
def wg_quick_has_set_its_rules(world):
    for family in FAMILIES:
        for rule in RULES:
            world.node.ip(family, "rule", "add", *rule)
    yield
    for family in FAMILIES:
        for rule in RULES:
            world.node.ip(family, "rule", "del", *rule)
    served(world)


@rows(515)
def networkmanager_gives_the_default_routes_a_metric(world):
    node = world.node
    for family, gateway, metric in (("-4", node.gateway4, "0"), ("-6", node.gateway6, "1024")):
        node.ip(family, "route", "add", "default", "via", gateway, "dev", "eth0", "metric", "100")
        node.ip(family, "route", "del", "default", "via", gateway, "metric", metric)
    yield
    defaults(world)
    for family in FAMILIES:
        node.ip(family, "route", "del", "default", "metric", "100")
    served(world)


@rows(516, cause=("no way to", "it is an address of lo, too"), remedy="ip addr del", beside=FOLLOWS)
def a_pods_address_stands_on_lo(world):
    world.node.ip("addr", "add", f"{world.one.address4}/32", "dev", "lo")
    yield
    world.node.ip("addr", "del", f"{world.one.address4}/32", "dev", "lo")
    served(world)


@rows(517, cause=("no way to", "a route leads by eth0, and not to the pod"), remedy="ip route", beside=FOLLOWS)
def a_pods_host_route_leads_by_the_uplink(world):
    route = (f"{world.one.address4}/32", "dev", world.one.host_end)
    world.node.ip("route", "replace", route[0], "via", world.node.gateway4)
    yield
    world.node.ip("route", "replace", *route)
    served(world)


@rows(518, cause=("no way to", "has no carrier"), remedy="ip -br link", beside=FOLLOWS)
def a_pods_own_end_is_down(world):
    pod = world.one
    pod.ip("link", "set", "eth0", "down")
    yield
    traced = world.agent.json("trace", world.lab.client.address4, f"{world.single.announced()[0]}:80/TCP")
    assert "which has no carrier: it is lost" in str(traced), traced
    pod.ip("link", "set", "eth0", "up")
    pod.configure(f"addr replace {pod.address6}/128 dev eth0 nodad",
                  f"route replace default via {world.node.address4} dev eth0 onlink",
                  "route replace default via fe80::1 dev eth0")
    served(world)


@rows(519)
def svc0p_is_set_down(world):
    world.node.ip("link", "set", "svc0p", "down")
    yield
    served(world)


@rows(520)
def somebody_deletes_the_qdisc_of_the_uplink(world):
    world.node.run("tc", "qdisc", "add", "dev", "eth0", "clsact", check=False)
    world.node.run("tc", "qdisc", "del", "dev", "eth0", "clsact")
    yield
    served(world)


@rows(521)
def kube_proxy_has_left_a_table(world):
    world.node.run("nft", "-f", "-", text=LEFT_OVER)
    yield
    world.node.run("nft", "delete", "table", "ip", "kube-proxy")


@rows(522)
def nftables_translates_the_address_behind_us(world):
    address, _ = world.web.address("loadBalancer", 4)
    world.node.run("nft", "-f", "-", text=TRANSLATES % address)
    yield
    world.node.run("nft", "delete", "table", "ip", "other")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
