# SPDX-License-Identifier: Apache-2.0
"""The network outlives the agent: it may stop, die or start at any moment."""

import signal

import pytest
from churn import Churn
from cluster import VIP, VIP6, exported, start, tables, write_service, write_web
from lab import wait, wait_equal

RESTARTS = 10


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


def test_restarts_under_churn_withdraw_nothing_undue(lab):
    """Objects change all the time, agents are killed again and again. Some addresses are never
    touched; the others lose no more than their objects asked for. `tools/bench --soak` does the
    same for longer."""
    churn = Churn(lab, "churn")
    churn.restart_some(RESTARTS)
    churn.settle()
    assert churn.undue() == {}


@pytest.mark.lab(nodes=1)
def test_a_second_agent_refuses(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    for name, paths in (("same", agent.settings["paths"]), ("other", {})):
        second = lab.agent(node, ready=False, name=name, paths=paths)
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
