# SPDX-License-Identifier: Apache-2.0
"""Floods of flows from a pod, and from hosts outside: they cost no flow of another pod's, whoever
began it, and whoever speaks first afterwards. The tables have room for a part of what comes."""

from contextlib import contextmanager

import pytest
import siege_egress
from test_egress_abuse import BOTH, wait_serves, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nat=True, nodes=2), pytest.mark.busy]
TUPLES = 2 * siege_egress.PINS


@contextmanager
def nothing_lost(world, family):
    """Meanwhile no flow of the guest's is lost."""
    wait_serves(world, world.guest, family)
    kept = [siege_egress.Kept(world.guest, world.client, family, first)
            for first in ("pod", "outside")]
    assert [one.broken() for one in kept] == [[], []], "before"
    yield
    assert [one.broken() for one in kept] == [[], []]
    for one in kept:
        one.close()


@BOTH
def test_a_pod_scans(world, family):
    wait_serves(world, world.other, family)
    with nothing_lost(world, family):
        assert siege_egress.scan(world.other, world.client, family, TUPLES) > TUPLES * 0.9


@BOTH
def test_hosts_outside_call(world, family):
    """Another pod, and the pod itself."""
    siege_egress.route_absent(world)
    with nothing_lost(world, family):
        siege_egress.call(world.client, (world.other, world.guest), family, TUPLES // 2)
