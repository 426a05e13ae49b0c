# SPDX-License-Identifier: Apache-2.0
"""Faults of a node that serves by NAT: its uplinks, and the default routes by them.

An uplink that somebody puts into a VRF has no row: the lab's kernel has none.
"""

import pytest
from faults import Table, check
from lab import wait
from moments import log_size
from nat_world import FAMILIES, FOLLOWS, defaults, served, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows("nat-uplink-down", cause=("interface eth0", "eth0 is down: nothing comes in or leaves by this uplink"),
      remedy="ip link set eth0 up", beside=FOLLOWS)
def the_uplink_is_down(world):
    world.node.ip("link", "set", "eth0", "down")
    yield
    world.node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows("nat-uplink-without-arp", cause=("interface eth0", "eth0 has no ARP (NOARP)"), remedy="ip link set eth0 arp on",
      beside=(*FOLLOWS, "does not answer"))
def the_uplink_has_no_arp(world):
    world.node.ip("link", "set", "eth0", "arp", "off")
    yield
    world.node.ip("link", "set", "eth0", "arp", "on")
    world.announced(world.web, world.single)


@rows()
def the_mtu_of_the_uplink_is_small(world):
    """Expected: no harm, since "packet too big" finds its way."""
    world.node.ip("link", "set", "eth0", "mtu", "1400")
    yield
    world.announced(world.web, world.single)
    world.node.ip("link", "set", "eth0", "mtu", "1500")


@rows("nat-uplink-down", cause=("interface eth0", "is down"), remedy="ip link set eth0 up", beside=FOLLOWS)
def the_uplink_goes_down_and_up_and_down(world):
    """Expected: told each time; a link that flaps for a moment leaves nothing behind."""
    for state in ("down", "up", "down"):
        world.node.ip("link", "set", "eth0", state)
    yield
    world.node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows("nat-uplink-unmatched", cause=("services.uplinks", 'no interface matches "eth0"'),
      remedy="name one that is there (ip link)", beside=FOLLOWS)
def the_uplink_has_another_name(world):
    """Expected: as an uplink that is misnamed, at once."""
    world.node.ip("link", "set", "eth0", "down")
    world.node.ip("link", "set", "eth0", "name", "ens3")
    world.node.ip("link", "set", "ens3", "up")
    yield
    world.node.ip("link", "set", "ens3", "down")
    world.node.ip("link", "set", "ens3", "name", "eth0")
    world.node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows("nat-node-address-missing", cause=("Node node1", "no interface of this machine has 10.0.1.2"), remedy="mend the Node",
      beside=FOLLOWS)
def the_node_has_another_address(world):
    """Expected: the Node says 10.0.1.2, which no interface has any more: told with both."""
    node = world.node
    node.ip("addr", "del", f"{node.address4}/24", "dev", "eth0")
    node.ip("addr", "add", "10.0.1.77/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    yield
    node.ip("addr", "del", "10.0.1.77/24", "dev", "eth0")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    world.announced(world.web, world.single)


@rows("nat-router-missing", cause=("routes", "no route leads to another router"), remedy="ip route add default",
      beside=FOLLOWS)
def the_default_routes_are_gone(world):
    for family in ("-4", "-6"):
        world.node.ip(family, "route", "del", "default")
    yield
    defaults(world)
    served(world)


@rows("nat-interface-enslaved", cause=("interface eth0", "it is a port of bridge br0"), remedy="name br0 instead",
      beside=FOLLOWS)
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


@rows("nat-uplink-unplugged", cause=("interface eth0", "eth0 has no carrier"),
      remedy="see to the cable, and to the switch's port at its other end", beside=FOLLOWS)
def the_cable_is_pulled(world):
    tor = world.lab.tor
    tor.ip("link", "set", world.node.role, "down")
    yield
    tor.ip("link", "set", world.node.role, "up")
    tor.ip("addr", "add", f"{world.node.gateway6}/64", "dev", world.node.role, "nodad")
    defaults(world)
    served(world)


@rows()
def the_uplink_has_one_more_address(world):
    world.node.ip("addr", "add", "10.0.1.77/24", "dev", "eth0")
    yield
    world.node.ip("addr", "del", "10.0.1.77/24", "dev", "eth0")
    served(world)


@rows("nat-default-route-unserved", cause=("services.uplinks", "the default route leads by eth1, which no pattern matches"),
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


@rows()
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


@rows("nat-router-silent", within=5,
      cause=("interface eth0", "the router 10.0.1.9, to which a default route leads by eth0, does not answer"),
      remedy="ip neigh", beside=FOLLOWS)
def the_default_route_leads_to_a_router_that_is_not_there(world):
    world.node.ip("route", "replace", "default", "via", "10.0.1.9")
    yield
    defaults(world)
    served(world)


@rows("nat-router-silent", within=5, cause=("interface eth0", "the router 10.0.1.9", "does not answer"), remedy="ip neigh",
      beside=FOLLOWS)
def one_of_two_next_hops_is_not_there(world):
    world.node.ip("route", "replace", "default", "nexthop", "via", world.node.gateway4, "nexthop", "via", "10.0.1.9")
    yield
    defaults(world)
    yield
    served(world)


@rows(within=1)
def a_vlan_comes_with_a_default_route(world):
    node = world.node
    node.ip("link", "add", "eth0.7", "type", "veth", "peer", "name", "trunk")  # the lab's kernel has no VLANs
    node.ip("link", "set", "trunk", "up")
    node.configure("addr add 10.7.0.2/24 dev eth0.7", "link set eth0.7 up")
    node.ip("route", "add", "default", "via", "10.7.0.1", "metric", "400")
    yield
    served(world)
    node.ip("link", "del", "eth0.7")
    yield


@rows("nat-default-route-barred", within=1, cause=("routes", "no route leads to another router"), remedy="ip route del",
      beside=FOLLOWS)
def a_kill_switch_stands_before_the_default_route(world):
    node = world.node
    defaults(world, "metric", "2000")
    node.ip("route", "del", "default", "via", node.gateway4, "metric", "0")
    node.ip("route", "del", "default", "via", node.gateway6, "metric", "1024")
    wait(lambda: world.agent.faults() == [], "no fault with routes of a higher metric")
    for family in ("-4", "-6"):
        node.ip(family, "route", "add", "unreachable", "default", "metric", "50")
    yield
    for family in ("-4", "-6"):
        node.ip(family, "route", "del", "unreachable", "default", "metric", "50")
    yield
    defaults(world)
    for gateway in (node.gateway4, node.gateway6):
        node.ip("route", "del", "default", "via", gateway, "metric", "2000")
    served(world)


@rows("nat-address-duplicate", within=1, cause=("interface eth0", "fd00:0:0:1::2 is another machine's, too"),
      remedy="who has it", beside=(*FOLLOWS, "Invalid source address", "its InternalIP"))
def another_machine_has_the_nodes_ipv6_address(world):
    node, tor = world.node, world.lab.tor
    address = f"{node.address6}/64"
    tor.ip("addr", "add", address, "dev", node.role, "nodad")
    world.sysctl("net.ipv6.conf.eth0.accept_dad", 1)
    world.sysctl("net.ipv6.conf.eth0.dad_transmits", 1)
    node.ip("addr", "del", address, "dev", "eth0")
    node.ip("addr", "add", address, "dev", "eth0")
    wait(lambda: "dadfailed" in node.ip("-6", "addr", "show", "dev", "eth0"), "the detection to fail")
    yield
    tor.ip("addr", "del", address, "dev", node.role)
    node.ip("addr", "del", address, "dev", "eth0")
    node.ip("addr", "add", address, "dev", "eth0", "nodad")
    defaults(world)
    yield
    served(world)


@rows(within=1)
def a_macvlan_is_made_on_the_uplink(world):
    node = world.node
    node.ip("link", "add", "macvtap7", "link", "eth0", "type", "macvlan", "mode", "bridge")
    node.ip("link", "set", "macvtap7", "up")
    yield
    served(world)
    node.ip("link", "del", "macvtap7")
    yield


@rows("nat-uplink-unmatched", within=1, cause=("services.uplinks", "eth0"), remedy="name one that is there",
      beside=(*FOLLOWS, "uplink"))
def the_uplink_has_another_name_than_the_configuration(world):
    node = world.node
    world.agent.settings["services"]["uplinks"] = ["eth0"]
    world.reload()
    node.ip("link", "set", "eth0", "down")
    node.ip("link", "set", "eth0", "name", "ens3")
    node.ip("link", "set", "ens3", "up")
    node.ip("addr", "replace", f"{node.address6}/64", "dev", "ens3", "nodad")
    defaults(world)
    yield
    node.ip("link", "set", "ens3", "down")
    node.ip("link", "set", "ens3", "name", "eth0")
    node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    yield
    del world.agent.settings["services"]["uplinks"]
    world.reload()
    served(world)


@rows(within=2)
def the_uplink_is_set_up_again(world):
    node = world.node
    node.ip("addr", "flush", "dev", "eth0")
    node.ip("link", "set", "eth0", "down")
    node.ip("link", "set", "eth0", "up")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    world.restore_uplink()
    yield
    served(world)


@rows("nat-default-route-gone", within=1, cause="IPv6", remedy="default", beside=FOLLOWS)
def the_default_route_of_ipv6_is_gone(world):
    world.node.ip("-6", "route", "del", "default")
    yield
    world.node.ip("-6", "route", "replace", "default", "via", world.node.gateway6)
    yield
    served(world)


@rows("nat-default-route-gone", cause=("routes", "the default route of IPv4, which led to 10.0.1.1 by eth0, is gone"),
      remedy="ip route add default via 10.0.1.1 dev eth0")
def one_family_s_default_route_is_gone(world):
    world.node.ip("-4", "route", "del", "default")
    yield
    world.node.ip("route", "replace", "default", "via", world.node.gateway4)


@rows("nat-default-route-gone", cause=("routes", "the default route of IPv6", "is gone"),
      remedy="net.ipv6.conf.eth0.accept_ra=2")
def the_default_route_of_advertisements_is_gone(world):
    world.sysctl("net.ipv6.conf.eth0.accept_ra", 1)
    world.node.ip("-6", "route", "del", "default")
    yield
    world.node.ip("route", "replace", "default", "via", world.node.gateway6)
    world.sysctl("net.ipv6.conf.eth0.accept_ra", 0)


@rows("nat-mtu-below-ipv6", cause=("interface eth0", "its MTU of 1000 is below 1280"), remedy="ip link set eth0 mtu 1500",
      beside=(*FOLLOWS, "InternalIP", "is gone"))
def the_uplink_is_too_narrow_for_ipv6(world):
    world.node.ip("link", "set", "eth0", "mtu", "1000")
    yield
    world.node.ip("link", "set", "eth0", "mtu", "1500")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows()
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


@rows("nat-arp-ignored", cause=("net.ipv4.conf.eth0.arp_ignore", "is 8"), remedy="sysctl -w net.ipv4.conf.eth0.arp_ignore=0",
      beside="does not answer")
def the_uplink_answers_no_arp(world):
    world.sysctl("net.ipv4.conf.eth0.arp_ignore", 8)
    yield
    world.sysctl("net.ipv4.conf.eth0.arp_ignore", 0)


@rows()
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
