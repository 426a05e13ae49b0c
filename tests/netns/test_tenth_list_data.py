# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, the data plane: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from lab import wait
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401
from test_third_list_data import served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("tenth_list")
NO_PINGS = """
table inet quiet {
    chain input {
        type filter hook input priority filter
        icmp type echo-request drop
        icmpv6 type echo-request drop
    }
}
"""


@rows(1120, cause="main", remedy="ip rule add", beside=(*FOLLOWS, "route"))
def somebody_flushes_the_rules(world):
    node = world.node
    node.ip("-4", "rule", "flush")
    yield
    node.ip("-4", "rule", "add", "pref", "32766", "lookup", "main")
    node.ip("-4", "rule", "add", "pref", "32767", "lookup", "default")
    yield
    served(world)


@rows(1121, cause="IPv6", remedy="default", beside=FOLLOWS)
def the_default_route_of_ipv6_is_gone(world):
    world.node.ip("-6", "route", "del", "default")
    yield
    world.node.ip("-6", "route", "replace", "default", "via", world.node.gateway6)
    yield
    served(world)


@rows(1122)
def a_web_server_listens_at_port_80(world):
    daemon = world.node.start("python3", "-m", "http.server", "80", "--bind", "::", log="daemon.log")
    wait(lambda: world.node.run("ss", "-Hltn", "sport = :80").stdout, "the web server")
    yield
    served(world)
    daemon.kill()
    daemon.wait()


@rows(1123)
def a_firewall_drops_pings(world):
    world.node.run("nft", "-f", "-", text=NO_PINGS)
    yield
    served(world)
    world.node.run("nft", "delete", "table", "inet", "quiet")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
