# SPDX-License-Identifier: Apache-2.0
"""Faults of BGP sessions: neighbors, AS numbers, passwords, limits, and who is expected."""

import re

import pytest
from bgp_world import (  # noqa: F401
    DOWN, EXPLAIN, NEIGHBOR, UNFILTERED, UNHEARD, UP, edit_router, expect_peers, up_in_bird, world_fixture,
)
from faults import Table, check
from lab import wait, wait_equal

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows, late = Table(), Table()


@rows("bgp-session-disabled", cause=("tor_v4 10.0.1.1", "the session is disabled in BIRD"), remedy="birdc enable tor_v4",
      says={EXPLAIN: UNHEARD + ": tor_v4: the session is down",
            "explain fd00:203::10": "fd00:203::10 is announced to 1/1 peer"})
def a_session_is_disabled(world):
    world.bird.birdc("disable", "tor_v4")
    yield
    world.bird.birdc("enable", "tor_v4")


@rows("bgp-session-missing", cause="BIRD has no BGP session of this name, which bird.expectPeers expects",
      remedy="correct bird.expectPeers")
def a_session_is_missing(world):
    expect_peers(world, ["tor_v4", "tor_v6", "spine"])
    yield
    expect_peers(world, None)


@rows("bgp-sessions-few", cause="BIRD has 2 of 3 BGP sessions that bird.expectPeers expects",
      remedy="give BIRD the sessions that it lacks")
def there_are_too_few_sessions(world):
    expect_peers(world, 3)
    yield
    expect_peers(world, None)


@rows("bgp-session-down", cause=("tor_v4", "Route limit exceeded"), remedy=("`export limit`", "birdc enable tor_v4"),
      beside=("is reached", "Route limit exceeded"))
def the_export_limit_disables_the_session(world):
    world.edit("node.conf", UNFILTERED, f"{UNFILTERED} export limit 1 action disable;")
    yield
    world.restore()
    for name in UP:
        world.bird.birdc("enable", name)
    world.up()


@rows("bgp-session-down", cause=("the session with AS 64600 is down: Received: Bad peer AS", "this node's is 64999"),
      remedy="the AS that the peer expects of this node", beside="the session with AS 64600 is down")
def the_node_s_as_is_wrong(world):
    world.edit("node.conf", "local as NODE_ASN", "local as 64999")
    yield
    world.restore()


@rows("bgp-session-down", cause=("tor_v4", "the session with AS 64600 is down"), remedy="passwords")
def the_password_is_at_one_end_only(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4 as TOR_ASN;",
               'neighbor TOR_ADDRESS4 as TOR_ASN; password "secret";')
    yield
    world.restore()


@rows("bgp-session-down", cause=("tor_v4", "the session with AS 64601 is down: BGP Error: Bad peer AS"),
      remedy="give tor_v4 the peer's own AS")
def the_router_has_another_as(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4 as TOR_ASN", "neighbor TOR_ADDRESS4 as 64601")
    yield
    world.restore()


@rows()
def the_router_id_is_the_router_s(world):
    """No harm between two ASes (RFC 6286)."""
    world.edit_sessions("node.conf", "router id ROUTER_ID", "router id 10.0.0.1")
    assert "10.0.0.1" in world.bird.birdc("show", "status")
    yield
    world.restore()


@rows("bgp-export-limited", cause=("tor_v4", "its export limit is reached"), remedy="raise `export limit` of tor_v4")
def the_export_limit_is_reached(world):
    """Expected: one of two routes is kept back by the limit of the session's channel."""
    world.edit("node.conf", "table fingerpost4; import none; export filter fingerpost_export;",
               "table fingerpost4; import none; export filter fingerpost_export; export limit 1 action block;")
    yield
    world.restore()


@rows("bird-device-disabled", cause=("device1", "BIRD's device protocol is disabled"), remedy="birdc enable device1",
      beside="disabled in BIRD", says={"faults": ("tor_v4", "tor_v6", "birdc enable tor_v6")})
def everything_is_disabled(world):
    """Each session and each kernel protocol is told to be disabled; the screen has room for three."""
    world.bird.birdc("disable", "all")
    yield
    world.bird.birdc("enable", "all")


@rows()
def a_session_of_no_concern_is_down(world):
    expect_peers(world, ["tor_v4", "tor_v6"])
    world.edit("node.conf", "protocol bgp tor_v6", "protocol bgp storage { local as NODE_ASN; neighbor 10.0.1.250 as 65001; "
               "ipv4 { import none; export none; }; }\nprotocol bgp tor_v6")
    yield
    world.restore()
    expect_peers(world, None)


@rows("bgp-session-down", cause=("tor_v4", DOWN), remedy="passwords")
def the_passwords_differ(world):
    undo = edit_router(world, "nodes.conf", "protocol bgp node1_v4 from node_v4 {", 'protocol bgp node1_v4 from node_v4 { password "b";')
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + ' password "a";')
    yield
    undo()
    world.restore()


SECOND = ("protocol bgp tor_b from tor { neighbor TOR_ADDRESS4 as TOR_ASN; "
          "ipv4 { table fingerpost4; import none; export filter fingerpost_export; next hop self; }; }\n")


@rows("bgp-session-down", cause=("tor_b", DOWN), remedy="tor_b")
def a_second_session_goes_to_the_same_router(world):
    world.edit("node.conf", "protocol bgp tor_v6", SECOND + "protocol bgp tor_v6")
    yield
    world.restore()
    world.up()


@rows()
def graceful_restart_is_off(world):
    world.edit("node.conf", "graceful restart on;", "graceful restart off;")
    yield
    world.restore()


TO_NODE = "export none; };"
GIVES = "export all; };"
DEVICE = "protocol device { scan time 10; }"
ROUTES = """
protocol static { ipv4; route 198.18.0.0/24 blackhole; route 198.18.1.0/24 blackhole; route 198.18.2.0/24 blackhole; }
"""


@rows("bgp-session-down", within=2, cause=("tor_v4", "Route limit exceeded"), remedy="import limit", beside="tor_v4")
def the_import_limit_is_reached(world):
    backs = [edit_router(world, "tor.conf", *edit) for edit in ((DEVICE, DEVICE + ROUTES), (TO_NODE, GIVES))]
    world.edit("node.conf", "ipv4 { table fingerpost4; import none;",
               "ipv4 { table fingerpost4; import all; import limit 1 action disable;")
    yield
    for back in reversed(backs):
        back()
    world.restore()
    world.bird.birdc("enable", "tor_v4")
    up_in_bird(world)
    yield
    world.up()


@rows(within=2)
def the_machine_was_cloned(world):
    """Between two AS a router id may be there twice (RFC 6286): sessions come up."""
    text = (world.lab.tor.bird.folder / "local.conf").read_text(encoding="ascii")
    [id_of_tor] = [line for line in text.splitlines() if "ROUTER_ID" in line]
    [own] = [line for line in world.texts["local.conf"].splitlines() if "ROUTER_ID" in line]
    world.edit("local.conf", own, id_of_tor)
    up_in_bird(world)
    yield
    world.restore()
    up_in_bird(world)
    yield
    world.up()


@rows("bgp-session-missing", within=2, cause=("tor_v9", "which bird.expectPeers expects"), remedy="bird.expectPeers")
def a_session_is_expected_that_is_not_there(world):
    expect_peers(world, ["tor_v4", "tor_v9"])
    yield
    expect_peers(world, None)


@rows(within=2)
def this_end_is_passive(world):
    """The router of the lab is passive by itself."""
    back = edit_router(world, "tor.conf", "passive on;", "passive off; connect delay time 1; connect retry time 1;")
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " passive on;")
    up_in_bird(world)
    yield
    world.restore()
    back()
    up_in_bird(world)
    yield
    world.up()


@late("bgp-session-down", cause=("tor_v4", "waits for the peer to connect (passive)"), remedy="take `passive` out of tor_v4")
def both_ends_are_passive(world):
    """As the row was tried first; a session may need ten seconds to come up before it is told."""
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " passive on;")
    yield
    world.restore()
    up_in_bird(world)
    yield
    world.up()


def renamed(world):
    return {name.replace("tor", "leaf"): state for name, state in UP.items()}


@rows(within=2)
def the_sessions_have_other_names(world):
    world.edit("node.conf", "protocol bgp tor_", "protocol bgp leaf_")
    up_in_bird(world)
    yield
    wait_equal(lambda: world.peers("state"), renamed(world), "the sessions by their new names")
    world.restore()
    up_in_bird(world)
    yield
    world.up()


@rows("bgp-session-down", within=2, cause=("tor_v4", "AS"), remedy="AS", beside="tor_v")
def the_router_expects_another_as(world):
    """The first of the two lines is that of IPv4."""
    text = world.lab.tor.bird.folder.joinpath("nodes.conf").read_text(encoding="ascii")
    line = re.search(r"neighbor [^:;]*as \d+;", text)[0]
    back = edit_router(world, "nodes.conf", line, re.sub(r"as \d+", "as 64999", line))
    yield
    back()
    yield
    world.up()


BOTH = '"tor_*"'


@rows(within=5, heals=True)
def somebody_restarts_the_sessions(world):
    before = world.peers("since")
    world.bird.birdc("restart", BOTH)
    yield
    wait(lambda: not before.items() & world.peers("since").items() and world.peers("state") == UP, "other sessions")
    yield


@rows("bgp-session-disabled", within=2, cause="disabled", remedy="birdc enable", beside=("session", "announced"))
def all_sessions_are_disabled(world):
    world.bird.birdc("disable", BOTH)
    yield
    world.bird.birdc("enable", BOTH)
    yield
    world.up()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@late.each
def test_told_late(world, row):
    check(row, world)
