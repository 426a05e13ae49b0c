# SPDX-License-Identifier: Apache-2.0
"""A short piece of a cluster's ordinary life; the soak has an hour of it (`--part life`)."""

from lab import Lab
from life import Life

STEPS = 4


def test_ordinary_life_is_no_fault(request):
    with Lab(request.node.nodeid, nodes=4, nat=True) as lab:
        life = Life(lab, 7)
        life.live(STEPS)
        assert life.loud() == []
        life.end()
