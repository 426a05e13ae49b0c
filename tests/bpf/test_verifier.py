# SPDX-License-Identifier: Apache-2.0
"""The kernel gives up on a program after a million instructions, and each kernel counts otherwise:
what one loads easily another refuses."""

import os
import re

import abi
import pytest

LIMIT = 1_000_000  # BPF_COMPLEXITY_LIMIT_INSNS
KERNEL = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
# Linux 6.1 went through all of it where 6.18 counted 243,000.
SHARE = 2 if KERNEL < (6, 6) else 5


@pytest.mark.parametrize("hook", abi.HOOKS)
def test_the_verifier_has_room(nat, hook):
    assert 1000 < nat.live[hook].verified() < LIMIT / SHARE


def test_the_verifier_has_room_for_egress(client, gateway):
    for name, program in {**client.hooks, **gateway.hooks}.items():
        assert 1000 < program.verified() < LIMIT / SHARE, name
