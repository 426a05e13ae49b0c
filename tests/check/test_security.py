# SPDX-License-Identifier: Apache-2.0
"""docs/security.md says of every input who may write it, what it could do and what bounds it. Here: that
no kind, annotation, request or listener is missing from the table, and that each test it names is there.
"""

import re
from functools import cache

import pytest
from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"
ROW = re.compile(r"^\|(.+)\|$", re.MULTILINE)
CELLS, OF_ACCOUNTS = 5, 3
SHOWN = re.compile(r"`(tests/[\w./-]+)(?:::(\w+))?`")


def source(name):
    return (AGENT / name).read_text(encoding="utf-8")


@cache
def rows():
    """The cells of each row, heads and lines left out."""
    text = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8").split("\n## The table\n", 1)[1]
    found = [[cell.strip() for cell in row.split(" | ")] for row in ROW.findall(text)]
    return [row for row in found if not row[0].startswith(("--", "what is written")) and row[0] != "account"]


@cache
def inputs():
    return "\n".join(row[0] for row in rows())


def kinds():
    """What the API is asked for, as its path ends: `addressblocks`."""
    paths = re.findall(r'"/apis?/[\w./]*?/(\w+)"', source("source/kube_resource.c") + source("controller/resources.c"))
    assert len(set(paths)) > 10
    return sorted(set(paths))


def annotations():
    """Names of the table of marks that we read; prefixes that take any name are their own row."""
    names = re.findall(r'^\s+\{ [\w"./]+, "([\w./-]+)", "\w+" \},$', source("model/fields/marks.c"), re.MULTILINE)
    assert len(names) > 30
    return sorted(set(names))


def requests():
    pattern = r'\{ \{ "(?:GET|POST|DELETE)", "/v1/([\w-]+)'
    paths = re.findall(pattern, source("api/api.c") + source("api/controller_api.c"))
    assert len(set(paths)) > 20
    return sorted(set(paths))


def test_rows_have_all_cells():
    assert len(rows()) > 30
    assert [row[0] for row in rows() if len(row) not in (OF_ACCOUNTS, CELLS)] == []
    assert [row[0] for row in rows() if len(row) == CELLS and not SHOWN.search(row[4])] == []


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_has_a_row(kind):
    singular = re.sub(r"(?<=ss)es$|s$", "", kind)
    assert singular in inputs().lower(), f"who may write {kind}, and what bounds it?"


@pytest.mark.parametrize("name", annotations())
def test_each_mark_has_a_row(name):
    """A family of names is named by its beginning, in words."""
    begins = [word for word in re.findall(r"`([\w-]+-)`", inputs()) if name.startswith(word)]
    assert begins or re.search(rf"\b{re.escape(name)}\b", inputs()), f"who may write {name}, and what bounds it?"


@pytest.mark.parametrize("path", requests())
def test_each_request_has_a_row(path):
    assert re.search(rf"`(/v1/)?{path}/?`", inputs()), f"who may ask for /v1/{path}?"


@pytest.mark.parametrize("listener", ["api.listen", "services.healthz", "healthCheckNodePort", "port 5555"])
def test_each_listener_has_a_row(listener):
    assert listener in inputs()


def missing(row):
    """Tests of a row that are not there."""
    found = []
    for path, function in SHOWN.findall(row[-1]):
        file = REPOSITORY / path
        if not file.exists():
            found.append(path)
        elif function and not re.search(rf"^\s*def {function}\(", file.read_text(encoding="utf-8"), re.MULTILINE):
            found.append(f"{path}::{function}")
    return found


def test_each_test_is_there():
    assert [name for row in rows() for name in missing(row)] == []


def test_a_test_that_is_not_there_is_found():
    assert missing(["`tests/check/test_security.py::test_nothing`"]) == ["tests/check/test_security.py::test_nothing"]
    assert missing(["`tests/check/test_nowhere.py`"]) == ["tests/check/test_nowhere.py"]
