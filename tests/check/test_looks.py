# SPDX-License-Identifier: Apache-2.0
"""What no notification tells of is looked at in one way: by rows of loop/looks.h, each in the documentation."""

import re

from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"
TABLE = re.compile(r"static const struct look \w+\[\] = \{(.*?)\};", re.DOTALL)
ROW = re.compile(r'\{\s*"([^"]+)",\s*(\d+),')


def rows_of(text):
    return [(name, int(period)) for table in TABLE.findall(text) for name, period in ROW.findall(table)]


def rows():
    return [row for path in sorted(AGENT.rglob("*.c")) for row in rows_of(path.read_text("utf-8"))]


def test_every_look_has_a_name_of_its_own():
    names = [name for name, _ in rows()]
    assert names and sorted(names) == sorted(set(names))


def test_every_period_is_of_the_grid():
    header = (AGENT / "loop" / "looks.h").read_text("utf-8")
    grid = int(re.search(r"LOOKS_GRID_MS = (\d+)", header)[1])
    assert [row for row in rows() if row[1] % grid or not row[1]] == []


def test_the_documentation_has_every_look():
    text = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
    section = text.split("## What is polled", 1)[1].split("\n## ", 1)[0]
    told = [(name, int(ms)) for name, ms in re.findall(r"^\| `([^`]+)` \| (\d+) ms \|", section, re.MULTILINE)]
    assert sorted(told) == sorted(rows())


def test_rows_are_found_as_the_formatter_writes_them():
    text = 'static const struct look own[] = { { "one", 400, at_one, NULL },\n{ "two", 1000, at, wake } };\n'
    assert rows_of(text) == [("one", 400), ("two", 1000)]
    assert rows_of('static const struct book own[] = { { "one", 400 } };') == []
