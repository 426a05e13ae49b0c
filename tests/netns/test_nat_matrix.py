# SPDX-License-Identifier: Apache-2.0
"""Service NAT by devices of many kinds, those that each kernel has: matrix.py. The others run in
guests: tests/vm/test_nat.py."""

import pytest
from lab import Lab
from matrix import HERE, World, run


pytestmark = pytest.mark.xdist_group("matrix")  # one lab for all rows


@pytest.fixture(name="world", scope="module")
def world_fixture():
    with Lab("nat-matrix", nat=True) as lab:
        yield World(lab)


@pytest.mark.parametrize("row", HERE, ids=lambda row: row.__name__)
def test_row(world, row):
    run(world, row)
