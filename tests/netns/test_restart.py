# SPDX-License-Identifier: Apache-2.0
"""The network outlives the agent: it may stop, die or start at any moment."""

import random
import signal

import pytest
from cluster import VIP, VIP6, announced_by, exported, start, tables, write_service, write_web
from lab import wait, wait_equal

KILLS = 10


def test_a_clean_stop_leaves_the_routes(lab):
    agents = start(lab)
    monitor = lab.monitor()
    for agent in agents:
        agent.stop()
        wait(lambda: "STOPPING=1" in agent.notified, "STOPPING=1")
    for node, agent in zip(lab.nodes, agents):
        assert tables(node) == exported(node, VIP, VIP6)
        agent.start()
        agent.settled()
        assert agent.json("status")["routes"]["added"] == 0
    assert monitor.losses() == []


@pytest.mark.lab(nodes=1)
def test_what_changed_meanwhile_is_caught_up(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    agent.kill()
    write_web(lab, False)
    both = {node: True}
    write_service(lab, "other", ["203.0.113.11"], both)
    agent.start()
    wait_equal(lambda: tables(node), exported(node, "203.0.113.11"), "table 119")


@pytest.mark.lab(nodes=1)
def test_nothing_is_removed_before_the_source_has_synced(lab):
    """Started with its folder missing, as after a mount that failed."""
    [agent] = start(lab)
    [node] = lab.nodes
    agent.stop()
    away = lab.folder / "away"
    lab.manifests.rename(away)
    agent.start(ready=False)
    wait(agent.faults, "a fault about the missing folder")
    assert tables(node) == exported(node, VIP, VIP6)
    away.rename(lab.manifests)
    wait(agent.ready, "READY once the folder is there")
    assert tables(node) == exported(node, VIP, VIP6)


def test_kills_under_churn_withdraw_nothing_undue(lab):
    """Objects change all the time, one agent is killed again and again. Some addresses are never
    touched; the others lose no more than their objects asked for."""
    agents = start(lab, routes={"holdDown": {"initial": "0s", "max": "0s"}})
    node1, node2 = lab.nodes
    chance = random.Random("churn")
    names = [f"churn{number}" for number in range(8)]
    vips = {name: f"203.0.113.{100 + number}" for number, name in enumerate(names)}
    ready = {name: {node1: True, node2: True} for name in names}
    for name in names:
        write_service(lab, name, [vips[name]], ready[name])
    announced_by(lab, *lab.nodes, addresses=vips.values())
    monitor = lab.monitor()
    asked = dict.fromkeys(names, 0)

    def churn():
        name, node = chance.choice(names), chance.choice(lab.nodes)
        ready[name] = {**ready[name], node: not ready[name][node]}
        asked[name] += not ready[name][node]
        write_service(lab, name, [vips[name]], ready[name])

    for _ in range(KILLS):
        # How many files are written before and after is what makes the moment a random one.
        for _ in range(chance.randrange(12)):
            churn()
        victim = chance.choice(agents)
        victim.kill()
        for _ in range(chance.randrange(12)):
            churn()
        victim.start(ready=chance.random() < 0.5)

    for node, agent in zip(lab.nodes, agents):
        wanted = [vips[name] for name in names if ready[name][node]]
        wait_equal(lambda: tables(node), exported(node, VIP, VIP6, *wanted), f"tables of {node}")
        wait(agent.ready, "READY")
        agent.settled()
        assert agent.ctl("diff").code == 0
    for name in names:
        serving = {node.role for node in lab.nodes if ready[name][node]}
        wait_equal(lambda: lab.tor.via(vips[name]), serving, f"{name} on the ToR")
    undue = [loss for loss in monitor.losses() if loss[1] not in vips.values()]
    assert undue == []
    for name in names:
        assert len(monitor.losses(vips[name])) <= asked[name]


@pytest.mark.lab(nodes=1)
def test_a_second_agent_refuses(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    second = lab.agent(node, ready=False, name="second", paths=agent.settings["paths"])
    assert second.wait_exit() not in (0, -signal.SIGSEGV, 99)
    said = second.log_tail()
    assert "another agentd" in said and str(agent.process.pid) in said
    assert agent.running() and agent.settled()["health"] == "healthy"
    assert tables(node) == exported(node, VIP, VIP6)


@pytest.mark.lab(nodes=1)
def test_the_lock_of_a_killed_agent_is_free(lab):
    [agent] = start(lab)
    agent.kill()
    agent.start()
    assert agent.settled()["health"] == "healthy"
