# SPDX-License-Identifier: Apache-2.0
"""Each row of kube-service-exporter's behaviour names tests that there are (tests/consul/rows.py), and
no setting and no annotation of it that the program knows is without a row."""

import re
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
AGENT = TESTS.parent / "agent"
sys.path.append(str(TESTS / "consul"))

from rows import ROWS  # noqa: E402


def is_there(test):
    file, name = test.split("::")
    text = (TESTS / file).read_text("utf-8")
    if file.endswith(".py"):
        return re.search(rf"^def {name}\(", text, re.MULTILINE)
    return (re.search(rf"^static void {name}\(void \*\*state\)", text, re.MULTILINE)
            and re.search(rf"\w\({name}[,)]", text))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_tests(row):
    assert ROWS[row] and [test for test in ROWS[row] if not is_there(test)] == []


def named(section):
    return {row.split(": ")[1] for row in ROWS if row.startswith(f"{section}: ")}


def test_every_variable_has_a_row():
    text = (AGENT / "config" / "export_environment.c").read_text("utf-8")
    known = set(re.findall(r'^    \{ "((?:KSE|CONSUL)_\w+)"', text, re.MULTILINE))
    assert len(known) > 20 and known - named(2) == set()


def test_every_annotation_has_a_row():
    text = (AGENT / "model" / "services" / "service_export.c").read_text("utf-8")
    known = set(re.findall(r'EXPORTER "([a-z-]+)"', text))
    assert len(known) > 10 and known - named(3) == set()
