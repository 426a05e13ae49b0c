# SPDX-License-Identifier: Apache-2.0
"""Changes of a live agent, as `agentctl --watch` and readers of its stream hear of them."""

import json
import signal

import pytest
import schema
from cluster import VIP, start, write_service
from lab import wait, wait_equal
from lab.agent import Connection
from watching import Watch

pytestmark = pytest.mark.lab(nodes=1)

OTHERS = [f"203.0.113.{number}" for number in range(60, 70)]


def put(lab, address, ready=True):
    [node] = lab.nodes
    write_service(lab, f"s{address.rsplit('.', 1)[1]}", [address], {node: ready})


def test_changes_are_shown_and_a_restart_is_outlived(lab):
    [agent] = start(lab)
    watch = Watch(agent, "routes", "-o", "name")
    wait(lambda: VIP in watch.output(), "the first output")
    wait(watch.follows, "a stream")
    for address in OTHERS[:5]:
        put(lab, address)
        wait(lambda: address in watch.output(), f"{address} to be shown")

    for end in (agent.kill, agent.stop):
        watch.forget()
        end()
        wait(lambda: "cannot reach the agent" in watch.output(), "that it is away")
        agent.start()
        wait(lambda: VIP in watch.output(), "the agent's new list")
        wait(watch.follows, "a stream of the new agent")
        address = OTHERS[5] if end == agent.kill else OTHERS[6]
        put(lab, address)
        wait(lambda: address in watch.output(), f"{address} to be shown")
    watch.end()


def test_an_agent_that_hangs_is_noticed(lab):
    [agent] = start(lab)
    watch = Watch(agent, "routes", "-o", "name")
    wait(watch.follows, "a stream")
    agent.process.send_signal(signal.SIGSTOP)
    wait(lambda: "no answer within 5s" in watch.output(), "that it does not answer", 60)
    agent.process.send_signal(signal.SIGCONT)
    put(lab, OTHERS[0])
    wait(lambda: OTHERS[0] in watch.output(), "what has changed meanwhile")
    watch.end()


def test_the_stream_tells_of_changes_and_that_it_lives(lab):
    [agent] = start(lab)
    connection = Connection(agent.socket)
    connection.request("GET", "/v1/changes")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "application/x-ndjson"

    def line():
        document = json.loads(answer.readline())
        schema.check(document)
        return document

    first = line()
    assert first["health"] == "healthy" and first["faults"] == 0
    lab.write_text("broken.yaml", "kind: [\n")
    while (now := line())["faults"] == 0:
        pass
    assert now["change"] > first["change"] and now["health"] == "degraded"
    (lab.manifests / "broken.yaml").unlink()
    while line()["faults"]:
        pass
    last = line()
    while (now := line())["change"] != last["change"]:  # two lines of one change: a heartbeat
        last = now
    assert now == last
    connection.close()


def test_streams_are_few_and_end_with_the_agent(lab):
    [agent] = start(lab)
    connections = [Connection(agent.socket) for _ in range(32)]
    for connection in connections:
        connection.request("GET", "/v1/changes")
        assert connection.getresponse().readline()
    late = Connection(agent.socket)
    late.request("GET", "/v1/changes")
    answer = late.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]) == (503, "too many wait already")
    connections.pop().close()

    def there_is_room():
        late.request("GET", "/v1/changes")
        answer = late.getresponse()
        return answer.status == 200 or answer.read() is None

    wait(there_is_room, "room for another")
    agent.stop()


def test_wait_returns_as_soon_as_it_is_applied(lab):
    [agent] = start(lab)
    for address in OTHERS:
        put(lab, address)
        agent.settled()
        wait_equal(lambda: agent.ctl("explain", address).code, 0, "the address")
