# SPDX-License-Identifier: Apache-2.0
"""The parts of the soak: `--part` names one each, and docs/testing.md says what it does."""

import re
from collections import Counter

import pytest
from bench import soak
from lab.agent import REPOSITORY

NAMES = [part.__name__ for part in soak.parts()]


def test_each_has_a_name_of_its_own():
    assert [name for name, count in Counter(NAMES).items() if count > 1] == []


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_each_is_described(name):
    text = (REPOSITORY / "docs/testing.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", text)
