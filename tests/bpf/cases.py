# SPDX-License-Identifier: Apache-2.0
"""How much of these tests runs: all of it on the machine's own kernel; in guests, where each takes
ten times as long, one case of each test, family, hook and compiler, and a quarter of what is drawn
by chance (the soak has all there, too)."""

import os

APART = ("family", "hook", "compiler")
FEW = os.environ.get("FINGERPOST_BPF_CASES") == "few"


def draws(number):
    return number // 4 if FEW else number


def keep_few(config, items):
    """Leaves out cases that differ from an earlier one in none of test and what is named here."""
    seen, kept, left_out = set(), [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        key = item.module.__name__, item.originalname, *map(params.get, APART)
        (left_out if key in seen else kept).append(item)
        seen.add(key)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
