# SPDX-License-Identifier: Apache-2.0
"""Under attack, and at the end of its room: whom it costs. Short; the soak does the same for long
and in numbers (tests/siege.py)."""

import contextlib
import time

import pytest
import siege
from lab import wait, wait_equal
from lab.traffic import Connection, ask

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.busy]
SMALL = {"maps": {"flows": 1024}}


def fill_ports(client, where):
    """Connections from ports that no client keeps, until the next one is refused."""
    held = []
    with contextlib.suppress(TimeoutError):
        while len(held) < 16:
            held.append(Connection(client, *where, source_port=700 + len(held), timeout=0.5))
    return held


def test_an_endpoint_hangs_and_recovers(lab):
    """More half-open flows than there are ports: the first client after it is served at once."""
    world = siege.build(lab, snatPorts="20000-20007")
    said = siege.hang(world, seconds=4, rate=200)
    assert said["firstAfterSeconds"] < 1 and said["served"] > 200, said
    assert (said["refused"], said["broken"]) == (0, 0), said
    assert siege.tells_of_loss(world.agent_here) == []

    # With ports that all have somebody who lives, clients are lost; and it says so.
    agent = world.agent_here
    where = world.web.address("loadBalancer", 4)
    held = fill_ports(world.client, where)
    assert len(held) == 8
    [told] = wait(lambda: siege.tells_of_loss(agent), "a fault")
    assert world.pods["one1"].address4 in told and agent.json("status")["health"] != "healthy"
    until = time.monotonic() + 12  # a fault that knows of refusals alone goes ten seconds after the last
    wait(lambda: not siege.tells_of_loss(agent) or time.monotonic() > until, "nobody asks meanwhile")
    assert siege.tells_of_loss(agent) == [told]
    assert siege.broken(held) == 0
    held.pop().close()
    wait(lambda: ask(world.client, *where, source_port=800, timeout=0.5), "a port that is free again")
    wait_equal(lambda: siege.tells_of_loss(agent), [], "there is a port again", timeout=40)


def test_clients_that_are_not_there(lab):
    """Twelve times as many SYNs as there may be flows, each answered by the endpoint."""
    world = siege.build(lab, **SMALL, timeouts={"tcpOpening": "2s", "tcpClosed": "1s"})
    said, held = siege.syns(world, count=12000, rate=10000)
    assert (said["errors"], said["broken"]) == ([], 0), said
    wait_equal(lambda: siege.flows(world.agent_here), {"established": len(held)}, "the rest to end")
    assert siege.broken(held) == 0
    assert siege.tells_of_loss(world.agent_here) == []


@pytest.mark.parametrize("agent", ("alive", "dead"))
def test_questions_from_ever_new_ports(lab, agent):
    """Many times as many as there may be flows, through one address; whoever expires them."""
    world = siege.build(lab, maps={"flows": 4096})
    held = siege.hold(world, 10)
    if agent == "dead":
        world.agent_here.kill()
    said = siege.questions(world, seconds=2)
    assert said["asked"] > 2 * 4096 and said["lost"] == 0, said
    assert siege.broken(held) == 0
    if agent == "dead":
        world.agent_here.start()
    assert siege.tells_of_loss(world.agent_here) == []
    assert world.agent_here.json("status")["nat"]["flows"]["refused"] == 0


def test_segments_of_who_guesses(lab):
    """Nothing ends, and no endpoint's own packets are seen, though what was ended would be over."""
    world = siege.build(lab, timeouts={"tcpClosed": "1s", "tcpHalfClosed": "1s"})
    said = siege.guesses(world, connections=100, count=40000, idle_s=3)
    assert (said["broken"], said["untranslated"]) == (0, 0), said
