# SPDX-License-Identifier: Apache-2.0
"""What others do to our tables is undone on the event; what is not ours is left alone."""

import pytest
from cluster import (
    GUARD_METRIC,
    GUARD_RULES,
    VIP,
    VIP6,
    announced_by,
    exported,
    guard_rules,
    guards,
    start,
    tables,
    write_web,
)
from lab import wait, wait_equal

pytestmark = pytest.mark.lab(nodes=1)


def repairs(agent):
    return agent.json("status")["routes"]["repairs"]


def test_a_flushed_table_is_filled_again(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    for family in ("-4", "-6"):
        node.ip(family, "route", "flush", "table", "119")
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6), "table 119")
    announced_by(lab, node)
    assert repairs(agent) >= 4
    assert agent.ctl("diff").code == 0


def test_deleted_rules_come_back(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    for family in ("-4", "-6"):
        node.ip(family, "rule", "del", "pref", "1990")
    wait_equal(lambda: guard_rules(node), GUARD_RULES, "the guard's rules")
    wait(lambda: repairs(agent) >= 2, "both repairs to be counted")


def test_deleted_guards_come_back(lab):
    start(lab)
    [node] = lab.nodes
    for family in ("-4", "-6"):
        node.ip(family, "route", "flush", "table", "120")
    for block in (node.block4, node.block6):
        node.ip("route", "del", "unreachable", block, "metric", str(GUARD_METRIC))
    wait_equal(lambda: tables(node, 120), guards(VIP, VIP6), "table 120")
    for family in (4, 6):
        guard = f"unreachable {getattr(node, f'block{family}')} proto 33 metric {GUARD_METRIC}"
        wait(lambda: guard in node.table("main", family), "the block's guard")


def test_a_changed_meaning_is_put_right(lab):
    """Someone drains by hand: the number is ours, so is the route."""
    start(lab)
    [node] = lab.nodes
    node.ip("route", "replace", "blackhole", VIP, "table", "119", "proto", "32")
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6), "table 119")


def test_foreign_routes_are_reported_and_left_alone(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    foreign = "blackhole 198.51.100.0/24 proto static"
    node.ip("route", "add", *foreign.split(), "table", "119")
    wait(lambda: agent.json("status")["routes"]["foreign"] == 1, "the foreign route in status")
    items = [i for i in agent.json("diff")["items"] if i["change"] == "foreign"]
    assert [(item["table"], item["entry"]) for item in items] == [(119, foreign)]
    node.ip("route", "del", VIP, "table", "119")
    both = exported(node, VIP, VIP6)
    both[4] = sorted([*both[4], foreign])
    wait_equal(lambda: tables(node), both, "table 119 with the foreign route")
    write_web(lab, False)
    both = exported(node)
    both[4] = sorted([*both[4], foreign])
    wait_equal(lambda: tables(node), both, "the foreign route to stay")


def test_a_foreign_route_in_our_place_is_not_overwritten(lab):
    """Whoever wrote it is told of; when it goes, ours comes."""
    [node] = lab.nodes
    lab.write_nodes()
    node.ip("route", "add", "blackhole", VIP, "table", "119", "proto", "static")
    write_web(lab)
    agent = lab.agent(node)
    announced_by(lab, node, addresses=[VIP6])
    assert f"blackhole {VIP} proto static" in node.table(119)
    assert agent.json("status")["routes"]["blocked"] == 1
    assert agent.ctl("status").code == 1
    assert any(VIP in fault["place"] for fault in agent.faults())
    changes = [item["change"] for item in agent.json("diff")["items"]]
    assert "blocked" in changes
    node.ip("route", "del", VIP, "table", "119")
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6), "table 119")
    wait(lambda: agent.ctl("status").code == 0, "health to return")
