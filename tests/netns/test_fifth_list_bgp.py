# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, clocks and BGP: each row was written down before it was tried
(tests/fifth_list.txt). The numbers go on in test_fifth_list_data.py; those before are of test_fifth_list_egress.py,
_pods.py and _pools.py, of tests/kube and of tests/consul."""

import pytest
from faults import Table, check
from lab import wait
from lab.wall_clock import WallClock
from test_fault_table_bgp import world_fixture  # noqa: F401
from test_third_list_bgp import edit_router

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("fifth_list")
TO_NODE = "export none; };"
GIVES = "export all; };"
DEVICE = "protocol device { scan time 10; }"
ROUTES = """
protocol static { ipv4; route 198.18.0.0/24 blackhole; route 198.18.1.0/24 blackhole; route 198.18.2.0/24 blackhole; }
"""


def up_in_bird(world):
    """Before the agent can know it."""
    wait(lambda: world.bird.birdc("show", "protocols").count("Established") == 2, "both sessions, by BIRD")


@rows(632)
def the_wall_clock_jumps(world):
    agent, clock = world.agent, WallClock(world.node)
    agent.stop()
    agent.wrapper = ("env", *[f"{key}={value}" for key, value in clock.environment.items()])
    agent.start()
    world.up()
    for days in (1, 0):
        clock.set(days)
        before = agent.json("status")
        wait(lambda before=before: agent.json("status") != before, "the agent to see it")
        assert agent.faults() == []
    yield
    agent.stop()
    agent.wrapper = ()
    agent.start()
    world.up()


@rows(633, cause=("tor_v4", "Route limit exceeded"), remedy="import limit", beside="tor_v4")
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


@rows(634)
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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
