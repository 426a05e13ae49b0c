# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, BGP: each row was written down before it was tried
(tests/ninth_list.txt)."""

import re

import pytest
from cluster import VIP
from faults import Table, check
from lab import wait, wait_equal
from test_fault_table_bgp import UNFILTERED, world_fixture  # noqa: F401
from test_third_list_bgp import edit_router

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("ninth_list")
MARKED = ("export filter { if ! fingerpost_attributes() then reject; bgp_community.add((64600, 77)); "
          "bgp_path.prepend(NODE_ASN); accept; };")
SENT = 'protocol static there { ipv4; route %s/32 unreachable; }\n%s ipv4 { export filter { if proto = "there" then accept; reject; }; };'


@rows(1015, cause="bird.conf", remedy="bird.socket")
def the_socket_is_the_configuration(world):
    agent = world.agent
    path = agent.settings["bird"]["socket"]
    conf = world.bird.folder / "bird.conf"
    if not conf.exists():
        conf.write_text("# BIRD's configuration\n", encoding="ascii")

    def reload(socket):
        agent.settings["bird"]["socket"] = socket
        agent.write_config()
        agent.reload()
    reload(str(conf))
    yield
    reload(path)


@rows(1016, heals=True)
def somebody_flushes_the_table(world):
    before = world.node.table(119)
    assert before
    for family in ("-4", "-6"):
        world.node.ip(family, "route", "flush", "table", "119")
    yield
    wait_equal(lambda: world.node.table(119), before, "the routes to be back")
    yield


@rows(1017)
def the_filter_adds_and_prepends(world):
    world.edit("node.conf", UNFILTERED, MARKED)
    wait(lambda: "64600,77" in world.lab.tor.bird.birdc("show", "route", "for", VIP, "all").replace(" ", ""), "the community")
    yield
    world.restore()


@rows(1018, cause=("tor_v4", "does not get 1 route of table 119: BIRD has better routes"), remedy="lower their preference")
def the_router_sends_our_address(world):
    """The list expects the address; the remedy's command shows it."""
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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
