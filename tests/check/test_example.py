# SPDX-License-Identifier: Apache-2.0
"""What a new engine touches: the example of docs/adding-an-engine.md adds a kind, a plan, an
engine, a view and a verb, and rows in the tables that list these. tests/netns/ runs it."""

import re

import pytest
from example import overlay
from lab.agent import REPOSITORY

# A new file or a row may go there, and nowhere else.
NEW = re.compile(
    r"agent/(model/\w+|source/\w+|plan/\w+|engine/(\w+)/\w+|api/view_\w+|agentctl/verb_\w+)\.[ch]"
)
TABLES = {
    "agent/model/object.h",  # KINDS
    "agent/source/kube_resource.c",  # where the API has it
    "agent/engine/engines.c",  # own_table
    "agent/api/view.h", "agent/api/api.c",  # documents
    "agent/agentctl/ctl.h", "agent/agentctl/tables.h", "agent/agentctl/verbs/verbs.c",  # verbs
    *(f"agent/{room}/meson.build" for room in ("model", "plan", "engine", "api", "agentctl")),
}
MOST_ENGINE_LINES = 110  # "a new engine of 100 lines"
ENGINE = "agent/engine/beacons/beacon_engine.c"


def test_an_engine_takes_no_more_than_files_of_its_own():
    assert [path for path in overlay.new_files() if not NEW.fullmatch(path)] == []
    assert len(overlay.code_lines(overlay.new_files()[ENGINE])) <= MOST_ENGINE_LINES


def test_and_rows_in_tables():
    rows = overlay.rows()
    assert {path for path, _, _ in rows} == TABLES
    assert max(len(lines) for _, _, lines in rows) <= 2


def test_the_rows_fit_the_tables():
    before, after = overlay.sources(), overlay.laid_over(overlay.sources())
    changed = {path for path in before if before[path] != after[path]}
    assert changed == TABLES and set(after) - set(before) == set(overlay.new_files())
    # One kind, one row: behind what is there, in the order of the enum.
    assert "KIND(KIND_BEACON, beacon_kind)" in after["agent/model/object.h"]


def test_a_row_that_does_not_fit_is_told():
    text = "a,\nb,\n"
    assert overlay.put(text, "  a,", ["c,"]) == "a,\nc,\nb,\n"
    for wrong in ("a", "d,", ""):
        with pytest.raises(overlay.DoesNotApply):
            overlay.put(text, wrong, ["c,"])
    with pytest.raises(overlay.DoesNotApply):
        overlay.put("a,\na,\n", "a,", ["c,"])
    tree = overlay.sources()
    del tree["agent/api/api.c"]
    with pytest.raises(overlay.DoesNotApply, match="agent/api/api.c"):
        overlay.laid_over(tree)
    with pytest.raises(overlay.DoesNotApply, match="is there already"):
        overlay.laid_over({**overlay.sources(), ENGINE: ""})


def test_the_page_names_each_file():
    page = (REPOSITORY / "docs" / "adding-an-engine.md").read_text(encoding="utf-8")
    sources = [path for path in (*overlay.new_files(), *TABLES) if not path.endswith("meson.build")]
    assert [path for path in sources if path.removeprefix("agent/") not in page] == []
