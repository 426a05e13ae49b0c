# SPDX-License-Identifier: Apache-2.0
"""The example of docs/adding-an-engine.md: an engine that is added as a kind, a plan, an engine, a
view and a verb, and by rows in tables. Its agent is one that is built with it (tests/example/).

Its routes stand in table 177 with protocol 77: numbers that nobody else has here.
"""

import json

import pytest
from example import overlay
from lab import wait, wait_equal
from lab.monitor import RouteMonitor

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.busy]

OURS = ["blackhole 198.51.100.0/24 proto 77"]
OURS6 = ["blackhole 2001:db8:100::/48 proto 77"]


@pytest.fixture(scope="module")
def built():
    return overlay.build()


@pytest.fixture(name="agent")
def agent_fixture(lab, built, monkeypatch):
    """An agent with the engine, and Beacons of both families."""
    monkeypatch.setenv("FINGERPOST_BUILD", str(built))
    write(lab, "198.51.100.0/24", "2001:db8:100::/48")
    agent = lab.agent(lab.nodes[0])
    agent.settled()
    assert routes(lab) == (OURS, OURS6)
    return agent


def write(lab, *prefixes):
    """A Beacon for each, of a name by its place."""
    lab.write("beacons.yaml", *[
        {
            "apiVersion": "example.fingerpost.io/v1",
            "kind": "Beacon",
            "metadata": {"name": f"beacon-{index}"},
            "spec": {"prefix": prefix},
        }
        for index, prefix in enumerate(prefixes)
    ])


def routes(lab):
    [node] = lab.nodes
    return node.table(177, 4), node.table(177, 6)


def beacons(agent):
    return {item["prefix"]: item["state"] for item in agent.json("beacons")["items"]}


def test_routes_follow_their_objects(lab, agent):
    write(lab, "198.51.100.128/25", "2001:db8:100::/48")
    wait_equal(lambda: routes(lab), (["blackhole 198.51.100.128/25 proto 77"], OURS6), "a move")
    write(lab, "198.51.100.128/25")
    wait_equal(lambda: routes(lab), (["blackhole 198.51.100.128/25 proto 77"], []), "one less")
    (lab.manifests / "beacons.yaml").unlink()
    wait_equal(lambda: routes(lab), ([], []), "none")
    assert agent.settled()["routes"]["installed"] == 0


def test_what_others_delete_comes_back_on_the_event(lab, agent):
    [node] = lab.nodes
    passes = agent.json("status")["routes"]["fullPasses"]
    # Not `flush`, which deletes what has just been repaired, again and again.
    for family, prefix in (("-4", "198.51.100.0/24"), ("-6", "2001:db8:100::/48")):
        node.ip(family, "route", "del", "blackhole", prefix, "table", "177")
        wait_equal(lambda: routes(lab), (OURS, OURS6), "table 177")
    assert agent.json("status")["routes"]["fullPasses"] == passes
    wait(lambda: agent.log.read_text().count("repaired 1 routes or rules") == 2, "both repairs")


def test_a_foreign_route_is_left_alone(lab, agent):
    [node] = lab.nodes
    node.ip("route", "add", "blackhole", "192.0.2.0/24", "table", "177", "proto", "99")
    write(lab, "198.51.100.0/24", "2001:db8:100::/48", "192.0.2.0/24")
    wait(agent.faults, "a fault for what the kernel refuses")
    [fault] = agent.faults()
    assert fault["subsystem"] == "beacons" and "File exists" in fault["message"]
    assert beacons(agent)["192.0.2.0/24"] == "missing"
    node.ip("route", "del", "blackhole", "192.0.2.0/24", "table", "177")
    write(lab, "198.51.100.0/24", "192.0.2.0/24")
    wait_equal(lambda: routes(lab)[0], ["blackhole 192.0.2.0/24 proto 77", *OURS], "table 177")
    wait_equal(agent.faults, [], "faults")


def test_a_restart_changes_nothing(lab, agent):
    [node] = lab.nodes
    monitor = RouteMonitor(node)
    agent.stop()
    agent.start()
    agent.settled()
    assert routes(lab) == (OURS, OURS6)
    assert [event for event in monitor.events() if "table 177" in event.rest] == []
    node.ip("route", "del", "blackhole", "198.51.100.0/24", "table", "177")
    wait_equal(lambda: routes(lab), (OURS, OURS6), "table 177")
    seen = [event.deleted for event in monitor.events() if "table 177" in event.rest]
    assert seen == [True, False]


def test_nothing_goes_before_the_source_has_synced(lab, agent):
    """Started with its folder missing; a Beacon was deleted, and a pass runs meanwhile."""
    [node] = lab.nodes
    agent.stop()
    write(lab, "198.51.100.0/24")
    away = lab.folder / "away"
    lab.manifests.rename(away)
    agent.start(ready=False)
    wait(agent.faults, "a fault about the missing folder")
    passes = agent.json("status")["routes"]["passes"]
    node.ip("-6", "route", "add", "blackhole", "2001:db8:200::/48", "table", "177", "proto", "77")
    wait(lambda: agent.json("status")["routes"]["passes"] > passes, "a pass")
    assert beacons(agent) == {
        "198.51.100.0/24": "leftover", "2001:db8:100::/48": "leftover",
        "2001:db8:200::/48": "leftover",
    }
    assert routes(lab) == (OURS, [*OURS6, "blackhole 2001:db8:200::/48 proto 77"])
    away.rename(lab.manifests)
    wait(agent.ready, "READY once the folder is there")
    wait_equal(lambda: routes(lab), (OURS, []), "table 177")


def test_view_and_verb_show_wanted_beside_actual(lab, agent):
    document = json.loads(agent.get("/v1/beacons"))
    assert document == agent.json("beacons")
    assert document["apiVersion"] == "v1" and document["kind"] == "BeaconList"
    first = document["items"][0]
    assert {key: first[key] for key in ("name", "prefix", "state", "table", "protocol", "file")} == {
        "name": "beacon-0", "prefix": "198.51.100.0/24", "state": "installed", "table": 177,
        "protocol": 77, "file": "beacons.yaml",
    }
    shown = agent.ctl("beacons")
    assert shown.code == 0
    lines = [line.split() for line in shown.out.splitlines()]
    assert lines[0] == ["PREFIX", "STATE", "NAME"]
    assert lines[1] == ["198.51.100.0/24", "installed", "beacon-0"]
    assert lines[2] == ["2001:db8:100::/48", "installed", "beacon-1"]
    assert lines[-1] == ["2", "beacons."]
    assert agent.ctl("beacons", "-o", "name").out.split() == [
        "198.51.100.0/24", "2001:db8:100::/48",
    ]
