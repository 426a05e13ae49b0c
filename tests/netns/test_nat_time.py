# SPDX-License-Identifier: Apache-2.0
"""Flows over time: what comes late, what is over, and whose it was. Hours pass by ageing a flow in
the table, as if nothing had been heard of it for so long."""

import socket
import sys
import time
from pathlib import Path

import pytest
import siege
from lab import wait, wait_equal
from lab.agent import REPOSITORY
from lab.traffic import Connection, ask
from served import FAMILIES, Service

sys.path.insert(0, str(REPOSITORY / "tests" / "bpf"))

import abi  # noqa: E402
from bpf import Map  # noqa: E402

pytestmark = pytest.mark.lab(nodes=1, nat=True)
MINUTE = 60
FIN_WAIT2 = 5  # net/tcp_states.h


def age(world, end, seconds):
    """Makes both halves of a client's flow as old as if they had been silent so long."""
    table = Map(Path(world.agent_here.settings["paths"]["bpf"], abi.LAYOUT, "flows"), abi.Tuple, abi.Flow)
    key = abi.Tuple.of(*end.getsockname()[:2], *end.getpeername()[:2])
    for half in (key, table[key].to.reversed()):
        value = table[half]
        value.seen_s -= seconds
        table[half] = value


def closes_its_side(speaker, client, kind, family):
    end, other = speaker.connect(client, kind, family)
    assert siege.is_heard(end, other) and siege.is_heard(other, end)
    end.shutdown(socket.SHUT_WR)
    assert other.recv(1) == b""
    # Its end acknowledged, nobody has anything to send any more.
    wait(lambda: end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == FIN_WAIT2, "FIN_WAIT2")
    return end, other


def test_who_has_closed_its_side_gets_the_rest(lab):
    """50 minutes later, with a sweep in between; not after the limit. What has closed both is over."""
    world = siege.build(lab)
    speaker = siege.Speaker(world)
    ways = [(client, kind, family) for client, kind in
            ((world.client, "loadBalancer"), (world.guest, "clusterIP"), (world.node, "clusterIP"))
            for family in FAMILIES]
    in_time = [closes_its_side(speaker, *way) for way in ways]
    too_late = [closes_its_side(speaker, *way) for way in ways[:2]]
    for end, _ in in_time:
        age(world, end, 50 * MINUTE)
    for end, _ in too_late:
        age(world, end, 70 * MINUTE)
    wait_equal(lambda: siege.flows(world.agent_here), {"half-closed": len(in_time)}, "a sweep", 90)
    assert all(siege.is_heard(*pair) for pair in in_time)
    for end, other in in_time:
        other.shutdown(socket.SHUT_WR)
        assert end.recv(1) == b""
    wait_equal(lambda: siege.flows(world.agent_here), {}, "what has ended to go", 60)


def test_ids_that_are_used_again(lab):
    """A connection outlives its Service. The next one, which is given the same ids, doesn't have it."""
    world = siege.build(lab)
    agent = world.agent_here
    world.one.delete()
    first = Service(world, "first", 21)
    first.write(world.pods["one1"])
    agent.settled()
    held = [Connection(world.guest, *first.address("clusterIP", family)) for family in FAMILIES]
    before = [connection.who() for connection in held]
    first.delete()
    agent.settled()
    assert agent.ctl("flows", "--service=default/first").code == 4  # no such Service
    # Ids rest for two seconds; then the next Services have them.
    for number in range(4):
        end = time.monotonic() + 0.7
        wait(lambda: time.monotonic() > end, "ids to rest")
        late = Service(world, f"next{number}", 30 + number)
        late.write(world.pods["one1"])
        agent.settled()
        assert agent.json("flows", f"--service=default/next{number}")["items"] == []
        ask(world.guest, *late.address("clusterIP", 4))
        flows = agent.json("flows", f"--service=default/next{number}")["items"]
        assert {flow["address"] for flow in flows} == {f"10.96.0.{30 + number}:80"}
    assert [connection.who() for connection in held] == before
    mine = [flow for flow in agent.json("flows")["items"] if ":21]" in flow["address"] or
            flow["address"].startswith("10.96.0.21:") or "::15]" in flow["address"]]
    assert [flow["service"] for flow in mine] == [None, None]
