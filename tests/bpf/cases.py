# SPDX-License-Identifier: Apache-2.0
"""How much of these tests runs: all of it on the machine's own kernel; in guests, where each takes
ten times as long, one case of each test, hook and compiler, in turn of IPv4 and of IPv6, and a quarter
of what is drawn by chance (the soak has all there, too)."""

import os
from itertools import count

APART = ("hook", "compiler")
FAMILIES = (4, 6)
FEW = os.environ.get("FINGERPOST_BPF_CASES") == "few"


def draws(number):
    return number // 4 if FEW else number


def params_of(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def few(items):
    """One case of each test and of what is named above. Every second has IPv6 if there is such a one."""
    cases = {}
    for item in items:
        key = item.module.__name__, item.originalname, *map(params_of(item).get, APART)
        cases.setdefault(key, []).append(item)
    for number, same in zip(count(), cases.values()):
        wanted = [item for item in same if params_of(item).get("family") == FAMILIES[number % 2]]
        yield (wanted or same)[0]


def keep_few(config, items):
    kept = list(few(items))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
