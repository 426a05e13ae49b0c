# SPDX-License-Identifier: Apache-2.0
"""Addresses and neighbours that change in masses, faster than an agent can read of it: the kernel drops notifications
(ENOBUFS), and the agent finds out by itself what is so."""

import signal
from pathlib import Path

import pytest
from cluster import VIP, announced_by, start
from lab import wait, wait_equal

pytestmark = pytest.mark.lab(nodes=1)
ADDRESSES = 4000
ROUNDS = 30


def dropped(node):
    """Notifications that no socket of the node's namespace had room for."""
    with node.entered():
        rows = [line.split() for line in Path("/proc/net/netlink").read_text("ascii").splitlines()]
    column = rows[0].index("Drops")
    return sum(int(row[column]) for row in rows[1:])


def flood(node, verb):
    """Many addresses, and a neighbour for each of the first."""
    places = [(number // 250, number % 250 + 1) for number in range(ADDRESSES)]
    neighbours = [f"neigh {verb} 198.19.0.{low} lladdr 02:00:00:00:00:01 dev flood0" for _, low in places[:250]]
    lines = [f"addr {verb} 198.18.{high}.{low}/32 dev flood0" for high, low in places]
    # With its last address an interface loses its neighbours.
    lines = lines + neighbours if verb == "add" else neighbours + lines
    node.run("ip", "-batch", "-", text="\n".join(lines) + "\n")


def row(agent):
    [found] = [item for item in agent.json("routes")["items"] if item["prefix"] == f"{VIP}/32"]
    return found["state"], found["reason"]


def test_lost_notifications_are_made_good(lab):
    """While it can't read, an address of a Service becomes the node's own; then it is another's again."""
    [agent], [node] = start(lab), lab.nodes
    node.configure("link add flood0 type bridge", "link set flood0 up")
    before = dropped(node)
    agent.process.send_signal(signal.SIGSTOP)
    for _ in range(ROUNDS):
        flood(node, "add")
        flood(node, "del")
        if dropped(node) > before:
            break
    node.configure(f"addr add {VIP}/32 dev flood0")
    lost = dropped(node) - before
    agent.process.send_signal(signal.SIGCONT)
    assert lost > 0, "nothing was lost"
    wait_equal(lambda: row(agent)[0], "withheld", "what is the node's own to be withheld", 30)
    wait(lambda: not lab.tor.via(VIP), "its end on the ToR", 10)
    assert ["flood0" in fault["message"] for fault in agent.faults()] == [True]
    node.configure(f"addr del {VIP}/32 dev flood0")
    wait_equal(agent.faults, [], "no fault", 30)
    announced_by(lab, node)


def test_a_flood_that_an_agent_reads(lab):
    """It keeps up, tells nothing, and what it has installed stays."""
    [agent], [node] = start(lab), lab.nodes
    monitor = lab.monitor()
    node.configure("link add flood0 type bridge", "link set flood0 up")
    flood(node, "add")
    flood(node, "del")
    agent.settled(60)
    assert agent.faults() == [] and row(agent)[0] == "announced"
    assert monitor.losses() == [], "nothing was away"
