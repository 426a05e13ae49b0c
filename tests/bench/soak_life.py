# SPDX-License-Identifier: Apache-2.0
"""The soak of ordinary life: rollouts, scaling, deletions, drains, restarts of agents and nodes that boot on the
test cluster, of which nothing may be told as a fault, nor said above a notice (tests/life.py)."""

import time

from lab import Lab
from life import Life

ROUND = 10


def add_options(group):
    group.add_argument("--life-minutes", type=float, default=10, metavar="N",
                       help="minutes of ordinary life on the test cluster")


def life(options, seed, say):
    with Lab("soak-life", nodes=4, nat=True) as lab:
        run, end = Life(lab, seed), time.monotonic() + 60 * options.life_minutes
        while time.monotonic() < end:
            run.live(ROUND)
            say(f"life: {sum(run.done.values())} steps, {len(run.loud())} lines above a notice")
        loud = run.loud()
        run.end()
    return {"passed": not loud, "steps": dict(sorted(run.done.items())), "loud": loud[:100]}


PARTS = (life,)
