# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, BGP: each row was written down before it was tried (tests/sixth_list.txt). The
numbers before are of test_sixth_list_data.py, those behind of test_sixth_list_objects.py, _pods.py, _pools.py and
_egress.py, of tests/consul and of tests/kube."""

import pytest
from faults import Table, check
from test_fault_table_bgp import UNFILTERED, expect_peers, world_fixture  # noqa: F401
from test_fifth_list_bgp import up_in_bird
from test_third_list_bgp import NEIGHBOR, edit_router

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows, late = Table("sixth_list"), Table()
TAKES = "import filter from_node_v4;"


@rows(710, cause=("tor_v4", "Received: Administrative"), remedy="enable the session at the peer")
def the_routers_operator_disables_the_session(world):
    router = world.lab.tor.bird
    router.birdc("disable", f"{world.node.role}_v4")
    yield
    router.birdc("enable", f"{world.node.role}_v4")
    up_in_bird(world)
    yield
    world.up()


@rows(711, cause=("tor_v4", "Maximum number of prefixes"), remedy="peer's limit")
def the_router_takes_fewer_prefixes(world):
    back = edit_router(world, "tor.conf", TAKES, f"{TAKES} import limit 1 action disable;")
    yield
    back()
    world.lab.tor.bird.birdc("enable", f"{world.node.role}_v4")
    up_in_bird(world)
    yield
    world.up()


@rows(712, cause=("tor_v9", "which bird.expectPeers expects"), remedy="bird.expectPeers")
def a_session_is_expected_that_is_not_there(world):
    expect_peers(world, ["tor_v4", "tor_v9"])
    yield
    expect_peers(world, None)


@rows(713)
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


@late(713, cause=("tor_v4", "waits for the peer to connect (passive)"), remedy="take `passive` out of tor_v4")
def both_ends_are_passive(world):
    """As the row was tried first; a session may need ten seconds to come up before it is told."""
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " passive on;")
    yield
    world.restore()
    up_in_bird(world)
    yield
    world.up()


@rows(714, cause=("IPv6", "no session exports IPv6"), remedy="export")
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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@late.each
def test_told_late(world, row):
    check(row, world)
