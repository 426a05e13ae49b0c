# SPDX-License-Identifier: Apache-2.0
"""Folders of a room: each has one subject, which docs/architecture.md names, and not many files."""

import re

from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"
MOST_FILES = 40
CATALOGUE = AGENT / "faults"  # a table and a header for each subsystem


def folders(top):
    return sorted(path for path in top.rglob("*") if path.is_dir() and any(child.is_file() for child in path.iterdir()))


def flat(top, most):
    """Folders with more than so many files, and how many."""
    counts = {path: sum(child.is_file() for child in path.iterdir()) for path in folders(top)}
    return {str(path.relative_to(top)): count for path, count in counts.items() if count > most and path != CATALOGUE}


def without_a_subject(top, text):
    """Folders of rooms that the section names neither by their path nor as a subject of every room."""
    section = text.split("### Folders of a room\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`([\w/]+)/`", section))
    return [str(path.relative_to(top)) for path in folders(top)
            if path.parent != top and not {path.name, str(path.relative_to(top))} & named]


def named_but_missing(top, text):
    section = text.split("### Folders of a room\n")[1].split("\n## ")[0]
    return [folder for folder in re.findall(r"`(\w+/[\w/]+)/`", section)
            if folder != "tests/unit" and not (top / folder).is_dir()]


DOCUMENT = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_no_folder_is_flat():
    assert flat(AGENT, MOST_FILES) == {}


def test_every_folder_has_a_subject():
    assert without_a_subject(AGENT, DOCUMENT) == []
    assert named_but_missing(AGENT, DOCUMENT) == []


def test_what_breaks_the_rules_is_found(tmp_path):
    (tmp_path / "plan" / "odds").mkdir(parents=True)
    for name in ("a.c", "b.c", "c.c"):
        (tmp_path / "plan" / "odds" / name).write_text("")
    text = "### Folders of a room\n`nat/`, `plan/ends/`\n## Next\n`odds/`\n"
    assert flat(tmp_path, 2) == {"plan/odds": 3} and flat(tmp_path, 3) == {}
    assert without_a_subject(tmp_path, text) == ["plan/odds"]
    assert named_but_missing(tmp_path, text) == ["plan/ends"]
