# SPDX-License-Identifier: Apache-2.0
"""Agents of clients and of gateways are killed again and again while flows go on: none of them notices.
`tools/bench --soak --part gateway_kills` does it a hundred times with each kind of gateway."""

import pytest
from gateways import Kills, World

TIMES = 6


def check(world):
    kills = Kills(world, seed=1)
    for _ in range(TIMES):
        kills.kill()
    assert kills.stop() == []
    world.at_home()


@pytest.mark.busy
@pytest.mark.lab(nat=True, nodes=4)
def test_gateways_on_nodes(lab):
    check(World(lab))


@pytest.mark.busy
@pytest.mark.lab(nat=True, nodes=2)
def test_gateways_in_pods(lab):
    check(World(lab, in_pods=True))
