# SPDX-License-Identifier: Apache-2.0
"""The second list of the fault table, BGP: forty faults, of which each was written down before it was tried.

The numbers go on in test_second_list_data.py, test_second_list_objects.py and test_second_list_start.py.
"""

import pytest
from cluster import VIP, tables
from faults import Table, check
from lab import wait
from test_fault_table_bgp import EXPLAIN, UNHEARD, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows(201, cause="BIRD has no BGP session: nothing is announced", health="failed",
      remedy="give BIRD a BGP protocol with `table fingerpost4;")
def an_upgrade_brings_the_distribution_s_configuration(world):
    """Expected: as a BIRD without sessions; the agent does not mistake its main table for ours."""
    world.edit("node.conf", world.texts["node.conf"],
               "router id 10.0.0.1; protocol device {} protocol kernel { ipv4 { export all; }; }")
    yield
    world.restore()


@rows(202, cause=("IPv4", "its kernel protocol fingerpost_v4 is disabled in BIRD"), remedy="birdc enable fingerpost_v4")
def the_kernel_protocol_is_disabled(world):
    """Expected: the protocol by its name, since `learn` and the table are right."""
    world.bird.birdc("disable", "fingerpost_v4")
    yield
    world.bird.birdc("enable", "fingerpost_v4")


@rows(203, cause="there is no socket any more", remedy="restart BIRD")
def the_control_socket_is_deleted(world):
    """Expected: BIRD can't be asked, told at the next question; a start of BIRD makes it anew."""
    world.bird.socket.unlink()
    yield
    world.restart()


@rows(204, cause=("tor_v4", "capabilit"), remedy="tor_v4")
def the_router_speaks_another_family_on_the_session(world):
    """Expected: nothing of IPv4 can be sent there, whatever state the session has: told with the peer's or BIRD's word."""
    tor = world.lab.tor
    file = tor.bird.folder / "nodes.conf"
    text = file.read_text(encoding="ascii")
    file.write_text(text.replace("_v4 from node_v4 {", "_v4 from node_v6 {", 1), encoding="ascii")
    assert "Reconfigur" in tor.bird.birdc("configure")
    yield
    file.write_text(text, encoding="ascii")
    tor.bird.birdc("configure")


@rows(205, cause=("tor_v4", "the session with AS 64600 is down", "Maximum number of prefixes"), remedy="raise the peer's limit",
      says={EXPLAIN: UNHEARD + ": tor_v4: the session is down"})
def the_router_takes_no_more_prefixes(world):
    """Expected: the peer's own word, that the maximum number of prefixes is reached."""
    tor = world.lab.tor
    file = tor.bird.folder / "tor.conf"
    text = file.read_text(encoding="ascii")
    file.write_text(text.replace("import filter from_node_v4;",
                                 "import filter from_node_v4; import limit 1 action disable;", 1), encoding="ascii")
    tor.bird.birdc("configure")
    yield
    file.write_text(text, encoding="ascii")
    tor.bird.birdc("configure")
    tor.bird.birdc("enable", "node1_v4")


@rows(206, cause=("tor_v4", "does not get 1 route of table 119: BIRD has better routes"),
      remedy="lower their preference", says={EXPLAIN: "not known: BIRD has not said, or sends only some"})
def a_static_route_of_bird_stands_before_ours(world):
    """Expected: the address is not sent as ours, and the session and the address are named."""
    world.edit("node.conf", "protocol device",
               "protocol static rival { ipv4 { table fingerpost4; }; route %s/32 unreachable "
               "{ preference = 900; }; }\nprotocol device" % VIP)
    yield
    world.restore()


@rows(207, cause=("tor_v4", "its export limit is reached"), remedy="raise `export limit` of tor_v4")
def the_export_limit_is_reached(world):
    """Expected: one of two routes is kept back by the limit of the session's channel."""
    world.edit("node.conf", "table fingerpost4; import none; export filter fingerpost_export;",
               "table fingerpost4; import none; export filter fingerpost_export; export limit 1 action block;")
    yield
    world.restore()


@rows(208, cause=("tor_v6", "the session with AS 64600 is down"), remedy="ip route get",
      beside="the session with AS 64600 is down")
def the_node_loses_its_ipv6_address(world):
    """Expected: the session of this family is down with its reason; IPv4 goes on."""
    node = world.node
    node.ip("-6", "addr", "flush", "dev", "eth0", "scope", "global")
    yield
    node.ip("addr", "add", f"{node.address6}/64", "dev", "eth0", "nodad")
    node.ip("route", "replace", "default", "via", node.gateway6)


@rows(209, cause=("tor_v6", "the session is disabled in BIRD"), remedy="birdc enable tor_v6",
      beside=("disabled in BIRD", "device protocol is disabled"))
def everything_is_disabled(world):
    """Expected: each session and each kernel protocol is told to be disabled."""
    world.bird.birdc("disable", "all")
    yield
    world.bird.birdc("enable", "all")


@rows(210)
def bird_is_started_anew(world):
    """Expected: no fault is left, and no route of the kernel's was touched for it."""
    before = tables(world.node)
    world.restart()
    world.up()
    yield
    wait(lambda: tables(world.node) == before, "the same routes")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
