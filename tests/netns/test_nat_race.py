# SPDX-License-Identifier: Apache-2.0
"""An address is announced if and only if it is served, at every moment. FINGERPOST_RACES says how
often it is tried; `tools/bench --soak` tries 200 times."""

import os

import pytest
from races import Race

RACES = int(os.environ.get("FINGERPOST_RACES", "20"))


@pytest.mark.lab(nodes=1, nat=True)
@pytest.mark.parametrize("policy", ["Local", "Cluster"])
def test_no_client_comes_too_early_or_too_late(lab, policy):
    race = Race(lab, policy)
    for _ in range(RACES):
        race.round()
    assert race.violations == []
