# SPDX-License-Identifier: Apache-2.0
"""The fourth list of the fault table, BGP: each row was written down before it was tried (tests/fourth_list.txt).

The numbers go on in test_fourth_list_data.py and test_fourth_list_objects.py, and in tests/kube/test_fourth_list_api.py.
"""

import pytest
from cluster import VIP
from faults import Table, check
from test_fault_table_bgp import UNFILTERED, world_fixture  # noqa: F401
from test_third_list_bgp import DOWN, NEIGHBOR

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()
KERNEL_V6 = "protocol kernel fingerpost_v6 {\n\tkernel table FINGERPOST_TABLE;\n\tnetlink rx buffer 67108864;\n"
SECOND = ("protocol bgp tor_b from tor { neighbor TOR_ADDRESS4 as TOR_ASN; "
          "ipv4 { table fingerpost4; import none; export filter fingerpost_export; next hop self; }; }\n")


@rows(501)
def bfd_is_on_at_one_end_only(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " bfd on;")
    yield
    world.restore()


@rows(502)
def the_hold_times_differ(world):
    world.edit("node.conf", "hold time 3;", "hold time 240;")
    yield
    world.restore()


@rows(503, cause=("tor_v4", DOWN), remedy="address", beside=("address", DOWN))
def the_node_loses_its_ipv4_address(world):
    node = world.node
    node.ip("addr", "del", f"{node.address4}/24", "dev", "eth0")
    yield
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    world.up()


@rows(504, cause=("tor_v4", DOWN), remedy="TCP port 179")
def the_router_has_another_machines_mac_address(world):
    node = world.node
    node.ip("neigh", "replace", node.gateway4, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
    yield
    node.ip("neigh", "del", node.gateway4, "dev", "eth0")
    world.up()


@rows(505, cause="BIRD has learned no IPv6 route of table 119", remedy="`learn`")
def bird_learns_one_family_only(world):
    world.edit("fingerpost.conf", KERNEL_V6 + "\tlearn;\n", KERNEL_V6)
    yield
    world.restore()


@rows(506)
def the_scan_time_is_an_hour(world):
    world.edit("fingerpost.conf", "scan time 60;", "scan time 3600;")
    yield
    world.restore()


@rows(507, cause=("tor_b", DOWN), remedy="tor_b")
def a_second_session_goes_to_the_same_router(world):
    world.edit("node.conf", "protocol bgp tor_v6", SECOND + "protocol bgp tor_v6")
    yield
    world.restore()
    world.up()


@rows(508, cause="BIRD does not run", remedy="systemctl status bird")
def bird_is_shut_down_by_birdc(world):
    world.bird.birdc("down")
    world.bird.process.wait()
    yield
    world.bird.start()
    world.up()


@rows(509, cause=("tor_v4", "is filtered", f"{VIP}/32"), remedy="look at the export filter of tor_v4", beside="is filtered")
def the_filter_forgets_the_service_addresses(world):
    world.edit("node.conf", UNFILTERED, "export filter { if krt_source = 31 then reject; if fingerpost_attributes() then accept; "
               "reject; };")
    yield
    world.restore()


@rows(510)
def graceful_restart_is_off(world):
    world.edit("node.conf", "graceful restart on;", "graceful restart off;")
    yield
    world.restore()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
