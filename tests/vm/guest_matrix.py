# SPDX-License-Identifier: Apache-2.0
"""Service NAT by devices that only stock kernels have: the rows of tests/matrix.py. Runs inside the
guest; test_nat.py boots it. One lab serves all rows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab import Lab  # noqa: E402
from matrix import GUEST, World, run  # noqa: E402


@pytest.fixture(name="world", scope="module")
def world_fixture():
    with Lab("vm-matrix", nat=True) as lab:
        yield World(lab, patience=20)
        lab.show_logs()


@pytest.mark.parametrize("row", GUEST, ids=lambda row: row.__name__)
def test_row(world, row):
    run(world, row)
