# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md lists the engines that engine/engines.c has, in its order."""

import re

from lab.agent import REPOSITORY

ENGINES = REPOSITORY / "agent" / "engine"
OPS = re.compile(r"^const struct engine_ops (\w+) = \{\n    \.name = \"(\w+)\"", re.MULTILINE)
LISTED = re.compile(r"^\| `(\w+)` \(`(engine/[\w/]+\.c)`\) \|", re.MULTILINE)


def table_of(text):
    """The names of the operations, in the order of the table."""
    body = re.search(r"own_table\[\] = \{(.*?)\n\};", text, re.DOTALL)[1]
    return re.findall(r"^    &(\w+),", body, re.MULTILINE)


def engines():
    """(name, file) of each engine, in the order of the table."""
    found = {
        variable: (name, str(path.relative_to(REPOSITORY / "agent")))
        for path in ENGINES.rglob("*.c")
        for variable, name in OPS.findall(path.read_text("utf-8"))
    }
    return [found[variable] for variable in table_of((ENGINES / "engines.c").read_text("utf-8"))]


def test_the_document_lists_the_engines_in_their_order():
    text = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
    section = text.split("## Passes and engines", 1)[1].split("\n## ", 1)[0]
    assert engines() and LISTED.findall(section) == engines()


def test_rows_are_found_as_the_formatter_writes_them():
    assert table_of("t own_table[] = {\n    &a_ops, /* first */\n    &b_ops,\n    NULL,\n};\n") == ["a_ops", "b_ops"]
    assert LISTED.findall("| `nat` (`engine/nat/nat_engine.c`) | Service |\n") == [("nat", "engine/nat/nat_engine.c")]
