# SPDX-License-Identifier: Apache-2.0
"""Answers that come later, of a live agent: a thousand wait for the Kubernetes API to be read."""

import json
import resource

import pytest
from lab import wait, wait_equal
from lab.agent import Connection, program
from test_troubles import lab_fixture, setting_fixture  # noqa: F401  fixtures
from watching import connections

WAITING = 1000
PATH = "/v1/status?applied=1"  # the first change is the API's first list


@pytest.fixture(name="descriptors", autouse=True)
def descriptors_fixture():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def ask(agent):
    connection = Connection(agent.socket)
    connection.request("GET", PATH)
    return connection


def refused(agent):
    """Whether one more is told that too many wait."""
    answer = ask(agent).getresponse()
    return answer.status == 503 and json.loads(answer.read())["error"] == "too many wait already"


def start_unread(setting):
    """The agent, while its API is away."""
    setting.start()
    wait(setting.agent.socket.exists, "the agent's socket")
    wait(lambda: setting.agent.json("status")["sources"][0]["observedGeneration"], "its source")
    return setting.agent


def test_a_thousand_wait_at_once(setting):
    agent = start_unread(setting)
    waiting = [ask(agent) for _ in range(WAITING)]
    wait_equal(lambda: len(connections(agent)), WAITING, "all of them")
    assert refused(agent)
    assert agent.json("status")["phase"] == "starting"  # others are answered

    for connection in waiting[:10]:  # who goes away gives a place to another
        connection.close()
    wait_equal(lambda: len(connections(agent)), WAITING - 10, "some to be gone")
    waiting = waiting[10:] + [ask(agent) for _ in range(10)]
    wait(lambda: refused(agent), "all places to be taken again")

    setting.api.start()
    for connection in waiting:
        answer = connection.getresponse()
        status = json.loads(answer.read())
        assert answer.status == 200 and status["routes"]["complete"]
        assert status["sources"][0]["appliedGeneration"] >= 1
        connection.close()
    wait_equal(lambda: len(connections(agent)), 0, "all to be gone")


def test_the_end_of_the_agent_answers_those_who_wait(setting):
    agent = start_unread(setting)
    waiting = [ask(agent) for _ in range(100)]
    wait_equal(lambda: len(connections(agent)), 100, "all of them")
    agent.stop()
    assert {connection.getresponse().status for connection in waiting} == {503}


def test_a_restart_is_no_end_of_a_wait_by_agentctl(setting):
    """The command begins again with the next agent, and ends when that has read the API."""
    agent = start_unread(setting)
    process = agent.node.start(program("agentctl"), "--socket", str(agent.socket), "status",
                               "--wait=120s", log="wait.log")
    wait_equal(lambda: len(connections(agent)), 1, "the question that waits")
    agent.kill()
    agent.start(ready=False)
    wait_equal(lambda: len(connections(agent)), 1, "the question that waits for the next agent")
    assert process.poll() is None
    setting.api.start()
    wait(lambda: process.poll() is not None, "its end", 60)
    assert process.returncode in (0, 1)  # as the health is
