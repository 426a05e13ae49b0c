# SPDX-License-Identifier: Apache-2.0
"""fingerpost-annotations(7) has every annotation and label that the code reads or writes, and no other."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "man" / "fingerpost-annotations.7.scd"
MARKS = REPOSITORY / "agent" / "model" / "fields" / "marks.c"
GROUPS = r"(?:fingerpost|kubernetes|service\.kubernetes|endpointslice\.kubernetes|node\.kubernetes|topology\.kubernetes|metallb)\.io" \
         r"|metallb\.universe\.tf|(?:egress\.)?coil\.cybozu\.com|kube-service-exporter\.github\.com"
VALUES = {"fingerpost.io/agentd", "fingerpost.io/agent-controller", "fingerpost.io/endpoints"}  # of other members


def marks_read():
    """By the table that warns of misspelt ones: the names, and the prefix alone where any name counts."""
    text = MARKS.read_text(encoding="utf-8")
    prefixes = dict(re.findall(r'^#define (\w+) +"([^"]+)"$', text, re.M))
    rows = re.findall(r'^    \{ (\w+|"[^"]+"), (NULL|"[^"]+"), "\w+" \},$', text, re.M)
    assert len(rows) > 30
    return {prefixes.get(prefix, prefix.strip('"')) + "/" + ("" if name == "NULL" else name.strip('"'))
            for prefix, name in rows}


def names_in_code():
    """Whole names that stand in the code: what is written only is in no table."""
    found = set()
    for path in (REPOSITORY / "agent").rglob("*.[ch]"):
        found |= set(re.findall(rf'"((?:{GROUPS})/[A-Za-z][\w.-]*)"', path.read_text(encoding="utf-8")))
    return {name for name in found if not re.search(r"/v\d\w*$", name)} - VALUES


def names_in_page():
    return set(re.findall(rf"\*((?:{GROUPS})/[\w.-]*)\*", PAGE.read_text(encoding="utf-8")))


def test_the_page_has_what_is_read_and_written():
    assert (marks_read() | names_in_code()) - names_in_page() == set()


def test_the_page_has_nothing_else():
    assert names_in_page() - (marks_read() | names_in_code()) == set()
