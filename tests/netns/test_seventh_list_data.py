# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, data plane: each row was written down before it was tried
(tests/seventh_list.txt)."""

import subprocess
from contextlib import suppress

import pytest
import siege
from faults import Table, check
from lab import wait
from lab.lab import mount_bpffs
from lab.traffic import Connection
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401
from test_third_list_data import defaults, served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows, small = Table("seventh_list"), Table("seventh_list")
HARDENED = {"log_martians": 1, "accept_redirects": 0, "secure_redirects": 0, "send_redirects": 0, "accept_source_route": 0,
            "rp_filter": 2}
OLD = {"log_martians": 0, "accept_redirects": 1, "secure_redirects": 1, "send_redirects": 1, "accept_source_route": 0,
       "rp_filter": 0}


@rows(823, cause=("Service default/web", "10.96.0.10", "led away from svc0", "via 10.0.1.1 dev eth0", "table 254"),
      remedy="ip route del")
def a_static_route_takes_a_clusterip(world):
    world.node.ip("route", "add", "10.96.0.10", "via", world.node.gateway4)
    yield
    world.node.ip("route", "del", "10.96.0.10")


@rows(824)
def somebody_renames_a_pods_interface(world):
    world.node.ip("link", "set", world.one.host_end, "name", "vethcalix7")
    yield
    served(world)
    world.node.ip("link", "set", "vethcalix7", "name", world.one.host_end)
    yield
    served(world)


@rows(825)
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


@rows(826, cause=("/bpf", "is not on a bpf file system"), remedy="mount -t bpf")
def somebody_unmounts_the_bpf_file_system(world):
    folder = world.agent.settings["paths"]["bpf"]
    subprocess.run(["umount", "-l", folder], check=True)
    yield
    mount_bpffs(folder)
    yield
    served(world)


@rows(828, cause=("routes", "no route leads to another router"), remedy="ip route del", beside=FOLLOWS)
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


@rows(829, cause=("interface eth0", "fd00:0:0:1::2 is another machine's, too"), remedy="who has it",
      beside=(*FOLLOWS, "Invalid source address", "its InternalIP"))
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


@rows(830)
def a_hardening_guide_is_followed(world):
    def write(values):
        for where in ("all", "default", "eth0"):
            for key, value in values.items():
                world.sysctl(f"net.ipv4.conf.{where}.{key}", value)
    write(HARDENED)
    world.sysctl("net.ipv4.icmp_echo_ignore_broadcasts", 1)
    yield
    served(world)
    write(OLD)
    yield


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


class Small:
    """A node that has room for few connections."""

    def __init__(self, lab):
        self.lab = siege.build(lab, maps={"flows": 1024})
        self.agent = lab.agent_here


@small(827, cause=("services.maps.flows", "full"), remedy="raise services.maps.flows", lingers=10)
def the_table_of_flows_is_full(world):
    where = world.lab.web.address("loadBalancer", 4)
    held = []
    with suppress(OSError):
        while len(held) < 1200:
            held.append(Connection(world.lab.client, *where, timeout=0.5))
    yield
    for connection in held:
        connection.close()
    yield


@small.each
def test_full(lab, row):
    check(row, Small(lab))
