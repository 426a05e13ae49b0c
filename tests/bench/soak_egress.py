# SPDX-License-Identifier: Apache-2.0
"""The soak of egress: a crowd of pods starts under load while everything else changes, and a host
outside may see no address but the gateways' (tests/crowd.py)."""

import time

from crowd import Crowd
from lab import Lab

SAID_EVERY = 100


def add_options(group):
    group.add_argument("--pods", type=int, default=1000, metavar="N",
                       help="that start while egress changes")


def crowd(options, seed, say):
    begin, said = time.monotonic(), 0
    with Lab("soak-crowd", nodes=3, nat=True) as lab:
        run = Crowd(lab, seed)
        while run.started < options.pods:
            run.round()
            if run.started >= said + SAID_EVERY:
                said = run.started
                say(f"crowd: {run.started} of {options.pods} pods, {run.judge.passed} packets outside, "
                    f"wrong: {dict(run.judge.wrong)}")
        reasons = sorted(run.drops())
        run.close()
    return {
        "passed": not run.judge.wrong,
        "pods": run.started,
        "podsASecond": round(run.started / (time.monotonic() - begin), 1),
        "packetsOutside": run.judge.passed,
        "wrong": dict(run.judge.wrong),
        "events": dict(sorted(run.done.items())),
        "dropped": reasons,
    }


PARTS = (crowd,)
