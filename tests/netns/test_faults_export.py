# SPDX-License-Identifier: Apache-2.0
"""Faults between the agent's table and a peer: what BIRD learns, and what its filters pass."""

import re

import pytest
from bgp_world import (  # noqa: F401
    EXPLAIN, ROUTES, UNFILTERED, UNHEARD, edit_router, expect_peers, up_in_bird, world_fixture,
)
from cluster import VIP
from faults import Table, check
from lab import wait, wait_equal

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()
FILTERED = (
    "export filter { if net = %s/32 then reject; if fingerpost_attributes() then accept; reject; };"
)


@rows("bgp-routes-filtered", cause=f"tor_v4: 1 route of table 119 is filtered, this peer does not get it: {VIP}/32",
      remedy="look at the export filter of tor_v4", says={EXPLAIN: (UNHEARD + ": tor_v4: BIRD's filters keep it back",)},
      silent={EXPLAIN: "is announced"})
def an_export_filter_drops_an_address(world):
    world.edit("node.conf", UNFILTERED, FILTERED % VIP)
    yield
    world.restore()


@rows("bgp-family-not-exported", cause="no session exports IPv4: the routes of table 119 are announced to nobody",
      remedy="export filter fingerpost_export;`", beside="no session exports IPv6",
      says={EXPLAIN: UNHEARD + ": no session exports IPv4", ROUTES: ("unheard", "0 announced")},
      silent={EXPLAIN: "is announced"})
def nothing_is_exported(world):
    world.edit("node.conf", UNFILTERED, "export none;")
    yield
    world.restore()


@rows("bgp-no-session", health="failed", cause="BIRD has no BGP session: nothing is announced",
      remedy="give BIRD a BGP protocol with `table fingerpost4;", says={"status": "BGP         FAIL  0/0 peers established",
                                                       EXPLAIN: UNHEARD + ": BIRD has no BGP session"})
def there_is_no_session(world):
    text = world.texts["node.conf"]
    world.edit("node.conf", text[text.index("protocol bgp"):], "")
    yield
    world.restore()


@rows("bird-learned-none", cause="BIRD has learned no IPv4 route of table 119",
      remedy="a kernel protocol with this table, this family and `learn`",
      beside="BIRD has learned no IPv6 route of table 119",
      says={EXPLAIN: UNHEARD + ": tor_v4: BIRD has learned no route of this family"})
def bird_does_not_learn(world):
    world.edit("fingerpost.conf", "learn;", "")
    yield
    world.restore()


@rows("bird-learned-none", cause="BIRD has learned no IPv4 route of table 119",
      remedy="a kernel protocol with this table, this family and `learn`",
      beside="BIRD has learned no IPv6 route of table 119")
def bird_reads_another_table(world):
    world.edit("node.conf", "FINGERPOST_TABLE = 119", "FINGERPOST_TABLE = 118")
    yield
    world.restore()


@rows()
def nothing_is_exported_as_configured(world):
    expect_peers(world, 0)
    wait(lambda: "expects none" in world.agent.ctl("status").out, "the reload")
    world.edit("node.conf", UNFILTERED, "export none;")
    wait(lambda: UNHEARD in world.agent.ctl(*EXPLAIN.split()).out, "nobody to get it")
    yield
    world.restore()
    expect_peers(world, None)


@rows("bgp-family-not-exported", cause="no session exports IPv4", remedy="table fingerpost4; export filter",
      says={EXPLAIN: UNHEARD + ": no session exports IPv4"})
def the_session_has_another_table(world):
    world.edit("node.conf", "table fingerpost4; import none; export filter fingerpost_export;",
               "table master4; import none; export all;")
    yield
    world.restore()


@rows("bird-imports-none",
      cause=("BIRD has learned no IPv4 route of table 119: its kernel protocol fingerpost_v4", "import none"),
      remedy="give fingerpost_v4 `import all`")
def the_kernel_protocol_imports_nothing(world):
    world.edit("fingerpost.conf", "ipv4 { table fingerpost4; import all;", "ipv4 { table fingerpost4; import none;")
    yield
    world.restore()


@rows("bird-kernel-disabled", cause=("BIRD has learned no IPv4 route of table 119", "its kernel protocol fingerpost_v4 is disabled in BIRD"),
      remedy="birdc enable fingerpost_v4")
def the_kernel_protocol_is_disabled(world):
    world.bird.birdc("disable", "fingerpost_v4")
    yield
    world.bird.birdc("enable", "fingerpost_v4")


@rows("bgp-routes-filtered", cause="tor_v6: 1 route of table 119 is filtered, this peer does not get it: fd00:203::10/128",
      remedy="look at the export filter of tor_v6")
def a_filter_drops_an_ipv6_address(world):
    world.edit("node.conf", UNFILTERED, "export filter { if net = fd00:203::10/128 then reject; "
                                        "if fingerpost_attributes() then accept; reject; };")
    yield
    world.restore()


@rows("bird-learned-part", cause="BIRD has not learned all IPv4 routes of table 119", remedy="import all")
def the_kernel_protocol_imports_not_all(world):
    world.edit("fingerpost.conf", "ipv4 { table fingerpost4; import all;",
               "ipv4 { table fingerpost4; import where net != %s/32;" % VIP)
    yield
    world.restore()


@rows("bird-learned-none", cause="BIRD has learned no IPv6 route of table 119", remedy="a kernel protocol with this table")
def one_family_is_read_from_another_table(world):
    text = world.texts["fingerpost.conf"]
    half = text[text.index("protocol kernel fingerpost_v6"):]
    world.edit("fingerpost.conf", half, half.replace("FINGERPOST_TABLE", "120", 1))
    yield
    world.restore()


@rows("bgp-routes-filtered", cause=("tor_v4", "2 routes of table 119 are filtered, this peer does not get them"),
      remedy="look at the export filter of tor_v4")
def the_filter_is_one_for_other_routes(world):
    world.edit("node.conf", "table fingerpost4; import none; export filter fingerpost_export;",
               "table fingerpost4; import none; export where source = RTS_STATIC;")
    yield
    world.restore()


@rows("bgp-no-session", health="failed", cause="BIRD has no BGP session: nothing is announced",
      remedy="give BIRD a BGP protocol with `table fingerpost4;")
def an_upgrade_brings_the_distribution_s_configuration(world):
    """Expected: as a BIRD without sessions; the agent does not mistake its main table for ours."""
    world.edit("node.conf", world.texts["node.conf"],
               "router id 10.0.0.1; protocol device {} protocol kernel { ipv4 { export all; }; }")
    yield
    world.restore()


@rows("bgp-routes-hidden", cause=("tor_v4", "does not get 1 route of table 119: BIRD has better routes"),
      remedy="lower their preference", says={EXPLAIN: "not known: BIRD has not said, or sends only some"})
def a_static_route_of_bird_stands_before_ours(world):
    """Expected: the address is not sent as ours, and the session and the address are named."""
    world.edit("node.conf", "protocol device",
               "protocol static rival { ipv4 { table fingerpost4; }; route %s/32 unreachable "
               "{ preference = 900; }; }\nprotocol device" % VIP)
    yield
    world.restore()


@rows("bgp-routes-filtered", cause=("tor_v4", "1 route of table 119 is filtered", "10.224.0.0/27"),
      remedy="look at the export filter of tor_v4", beside="1 route of table 119 is filtered")
def the_filter_forgets_the_blocks_of_pods(world):
    world.edit("node.conf", UNFILTERED, "export filter { if krt_source = 30 then reject; if fingerpost_attributes() then accept; "
               "reject; };")
    yield
    world.restore()


@rows("routes-blackholed-by-bird", cause=("main", f"this node's own packets to {VIP} are dropped", f"blackhole {VIP}/32"),
      remedy="protocol pipe")
def a_pipe_takes_blackholes_to_main(world):
    world.edit("node.conf", "protocol device", "protocol kernel main_v4 { ipv4 { import none; export all; }; }\n"
               "protocol pipe leak { table fingerpost4; peer table master4; import none; export all; }\nprotocol device")
    yield
    world.restore()


KERNEL_V6 = "protocol kernel fingerpost_v6 {\n\tkernel table FINGERPOST_TABLE;\n\tnetlink rx buffer 67108864;\n"


@rows("bird-learned-none", cause="BIRD has learned no IPv6 route of table 119", remedy="`learn`")
def bird_learns_one_family_only(world):
    world.edit("fingerpost.conf", KERNEL_V6 + "\tlearn;\n", KERNEL_V6)
    yield
    world.restore()


@rows()
def the_scan_time_is_an_hour(world):
    world.edit("fingerpost.conf", "scan time 60;", "scan time 3600;")
    yield
    world.restore()


@rows("bgp-routes-filtered", cause=("tor_v4", "is filtered", f"{VIP}/32"), remedy="look at the export filter of tor_v4",
      beside="is filtered")
def the_filter_forgets_the_service_addresses(world):
    world.edit("node.conf", UNFILTERED, "export filter { if krt_source = 31 then reject; if fingerpost_attributes() then accept; "
               "reject; };")
    yield
    world.restore()


@rows("bgp-family-not-exported", within=2, cause=("IPv6", "no session exports IPv6"), remedy="export")
def ipv6_alone_is_exported_to_nobody(world):
    kept = world.texts["node.conf"]
    at = kept.index("ipv6 {")
    old = kept[at:]
    world.edit("node.conf", old, old.replace(UNFILTERED, "export none;"))
    yield
    world.restore()
    up_in_bird(world)
    yield
    world.up()


TAKEN = "protocol static taken { ipv4 { table fingerpost4; }; route 198.51.100.0/24 via TOR_ADDRESS4; }\n\n"


@rows("routes-of-bird", within=2, cause=("198.51.100.0/24", "foreign"), remedy="kernel protocol", beside="foreign")
def a_kernel_protocol_exports_into_our_table(world):
    """BIRD has one kernel protocol for each table: it is that of fingerpost.conf."""
    world.write("node.conf", world.texts["node.conf"].replace("protocol device", TAKEN + "protocol device"))
    world.edit("fingerpost.conf", "import all; export none;", "import all; export all;")
    yield
    world.restore()


MARKED = ("export filter { if ! fingerpost_attributes() then reject; bgp_community.add((64600, 77)); "
          "bgp_path.prepend(NODE_ASN); accept; };")
SENT = 'protocol static there { ipv4; route %s/32 unreachable; }\n%s ipv4 { export filter { if proto = "there" then accept; reject; }; };'


@rows(within=1, heals=True)
def somebody_flushes_the_table(world):
    before = world.node.table(119)
    assert before
    for family in ("-4", "-6"):
        world.node.ip(family, "route", "flush", "table", "119")
    yield
    wait_equal(lambda: world.node.table(119), before, "the routes to be back")
    yield


@rows(within=2)
def the_filter_adds_and_prepends(world):
    world.edit("node.conf", UNFILTERED, MARKED)
    wait(lambda: "64600,77" in world.lab.tor.bird.birdc("show", "route", "for", VIP, "all").replace(" ", ""), "the community")
    yield
    world.restore()


@rows("bgp-routes-hidden", within=2, cause=("tor_v4", "does not get 1 route of table 119: BIRD has better routes"),
      remedy="lower their preference")
def the_router_sends_our_address(world):
    """The address was expected; the remedy's command shows it."""
    text = world.lab.tor.bird.folder.joinpath("nodes.conf").read_text(encoding="ascii")
    [old] = re.findall(r"protocol bgp \S+_v4 from \S+_v4 \{", text)
    back = edit_router(world, "nodes.conf", old, SENT % (VIP, old))
    world.edit("node.conf", "ipv4 { table fingerpost4; import none;", "ipv4 { table fingerpost4; import all;")
    wait(lambda: "tor_v4" in world.bird.birdc("show", "route", f"{VIP}/32", "table", "fingerpost4"), "the router's route")
    yield
    world.restore()
    back()
    yield
    world.up()


LEARNS = "ipv4 { table fingerpost4; import all;"


@rows("bird-import-limited", cause=("IPv4", "its kernel protocol fingerpost_v4 has reached its import limit"),
      remedy=("`import limit`", "birdc restart fingerpost_v4"))
def the_kernel_protocol_has_an_import_limit(world):
    world.edit("fingerpost.conf", LEARNS, f"{LEARNS} import limit 1 action block;")
    world.bird.birdc("restart", "fingerpost_v4")
    yield
    world.restore()
    world.bird.birdc("restart", "fingerpost_v4")
    world.up()


@rows("bird-import-limited", cause=("IPv4", "its kernel protocol fingerpost_v4 has reached its import limit"),
      remedy="birdc restart fingerpost_v4", beside="route")
def the_import_limit_disables_the_kernel_protocol(world):
    world.edit("fingerpost.conf", LEARNS, f"{LEARNS} import limit 1 action disable;")
    world.bird.birdc("restart", "fingerpost_v4")
    yield
    world.restore()
    world.bird.birdc("restart", "fingerpost_v4")
    world.bird.birdc("enable", "fingerpost_v4")
    world.up()


@rows()
def an_export_limit_only_warns(world):
    """And keeps nothing back."""
    world.edit("node.conf", UNFILTERED, f"{UNFILTERED} export limit 1 action warn;")
    for name in ("tor_v4", "tor_v6"):
        assert "[HIT]" in world.bird.birdc("show", "protocols", "all", name)
    world.agent.settled()
    yield
    world.restore()


@rows("bgp-next-hop-strange", cause=("tor_v4", "routes that lead to 10.0.1.77, which no interface of this node has"),
      remedy=("next hop self", "birdc restart tor_v4"), beside="the session")
def routes_lead_elsewhere(world):
    """BIRD takes another next hop with the next session."""
    world.edit("node.conf", f"fingerpost4; import none; {UNFILTERED} next hop self;",
               f"fingerpost4; import none; {UNFILTERED} next hop address 10.0.1.77;")
    world.bird.birdc("restart", "tor_v4")
    yield
    world.restore()
    world.bird.birdc("restart", "tor_v4")
    world.up()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
