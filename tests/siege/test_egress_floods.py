# SPDX-License-Identifier: Apache-2.0
"""Floods of flows from a pod, and from hosts outside: they cost no flow of another pod's, whoever
began it, idle or pushed by one end, and whoever speaks first afterwards. The tables have room for a
part of what comes: for half of it, or for one of SIEGE_TIMES, as in the soak."""

import json
import os
import time
from contextlib import ExitStack, contextmanager

import pytest
import siege_egress
from siege_egress import Kept, Pushed
from test_egress_abuse import BOTH, build, wait_serves

pytestmark = [pytest.mark.lab(nat=True, nodes=2), pytest.mark.busy]
TIMES = int(os.environ.get("SIEGE_TIMES", "2"))
EACH = 2  # times, in a turn: UDP that is idle for longer than 120 s is over, and a busy machine is slow
ENOUGH = 3 * siege_egress.PINS  # of which each bucket gets more than it has places


@pytest.fixture(name="world")
def world_fixture(lab):
    return build(lab, "allow", timeouts={"udp": "2m", "udpStream": "2m"})


@contextmanager
def nothing_lost(world, family):
    """Meanwhile no flow of the guest's is lost. Yields what looks at idle flows of UDP, which begin to be idle anew
    by that; TCP is idle from the begin to the end."""
    wait_serves(world, world.guest, family)
    with ExitStack() as stack:
        kept, pushed = ([stack.enter_context(kind(world.guest, world.client, family, first))
                         for first in ("pod", "outside")] for kind in (Kept, Pushed))

        def look(what, kind=""):
            assert [one.broken(kind) for one in kept] == [[], []], what

        look("before")
        yield look
        look("idle")
        assert [one.broken() for one in pushed] == [[], []], "pushed"
        assert all(all(one.sent.values()) for one in pushed)


def flooded(world, family, flood, *words):
    """By turns. The soak reads what is printed. Returns how many were sent."""
    sent, took = 0, []
    with nothing_lost(world, family) as look:
        for turn in range(TIMES // EACH):
            begin = time.monotonic()
            sent += flood(*words, turn)
            took.append(round(time.monotonic() - begin, 1))
            look(f"idle UDP after {took}", "udp")
    print("\n" + json.dumps({"flood": flood.__name__, "family": family, "sent": sent, "seconds": took}))
    return sent


@BOTH
def test_a_pod_scans(world, family):
    wait_serves(world, world.other, family)
    sent = flooded(world, family, siege_egress.scan, world.other, world.client, family,
                   EACH * siege_egress.PINS)
    assert sent > TIMES * siege_egress.PINS * 0.9


@BOTH
def test_hosts_outside_call(world, family):
    """Another pod, and the pod itself."""
    siege_egress.route_absent(world)
    flooded(world, family, siege_egress.call, world.client, (world.other, world.guest), family,
            EACH * siege_egress.PINS // 2)


def test_a_scan_hurts_its_own_pod(world):
    """The control, with the same scan: there the room is at its end, of both families, which share it."""
    wait_serves(world, world.guest, 4)
    with Kept(world.guest, world.client, 4, "pod") as kept:
        assert kept.broken() == [], "before"
        siege_egress.scan(world.guest, world.client, 4, ENOUGH)
        assert kept.broken("udp in")
