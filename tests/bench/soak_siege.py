# SPDX-License-Identifier: Apache-2.0
"""The soak's siege of egress: tests/siege/test_egress_floods.py with ten times as many flows as a node's
pods share room for, from a pod and from hosts outside."""

from .soak_kube import tests

TIMES = 10


def egress_floods(options, _, say):
    times = max(2, round(TIMES * options.siege))
    say(f"egress_floods: {times} times the size of the table")
    found = tests("test_egress_floods", {"SIEGE_TIMES": str(times)}, "--timeout", "1800", suite="siege")
    return {**found, "timesTheTable": times}


PARTS = (egress_floods,)
