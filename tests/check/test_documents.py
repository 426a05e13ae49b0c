# SPDX-License-Identifier: Apache-2.0
"""What the documents for developers name is there: files, functions, structs, words.

A name in backticks is a claim about the tree. Paths are looked up from the top, from agent/ and from
docs/; `name()` has to be defined in C, Python or a macro (in that file, where a text says "`name()` in
`file`"), `struct name` and `enum name` declared.
"""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"
DOCUMENTS = ("architecture.md", "contributing.md", "glossary.md")
PLACED = re.compile(r"`(\w+)\(\)`\s+in\s+`([\w./-]+\.[ch])`")
QUOTED = re.compile(r"`([^`\n]+)`")
FOLDERS = {"agent", "birdconf", "deploy", "docs", "tests", "tools"} | {
    path.name for path in AGENT.iterdir() if path.is_dir()
}
MADE_BY_THE_BUILD = {"bpf/nat.skel.h", "bpf/egress_client.skel.h", "bpf/egress_gateway.skel.h",
                     "bpf/passage.skel.h", "doctor/fingerpost.conf.h", "doctor/classes.conf.h", "doctor/releases.h"}
CTAGS = ("--languages=C,Python", "--langmap=C:.c.h", "--kinds-C=fdsegtm", "--kinds-Python=fm")

# Names that were given up since they misled, or meant something else elsewhere, and what is said now.
# Names only: a word of a sentence is not judged.
GIVEN_UP = {
    r"\binheritance(?:_\w+|\.[ch]\b)": "kept_routes",
    r"\btrace_way\b": "story",
    r"\bway_moved\b": "svc0_moved",
    r"(?:->|\.)drift\b": "foreign_changes",
    r"\bnat_ground\w*": "nat_node",
    r"\bnat_stand\w*": "probe_origins",
    r"\bnat_held\w*": "nat_installed",
    r"\bnat_wish\w*": "nat_desired",
    r"\bheld_fault\b": "known_fault",
    r"\bstruct held\b": "offer",
    r"\bnat_engine_stand\b": "an operation of engine.h",
    r"\b(?:pool_)?desk(?:_\w+|\.[ch]\b)": "allocator",
    r"\btenure\w*": "lease",
    r"\bscouting\w*": "address_probe",
    r"\bstruct tenant\b": "pod_interface",
    r"\bpod_stay\b": "pod_attachment",
    r"\bnat_leaver\b": "nat_retired",
    r"\bstruct lead\b": "svc0_route",
    r"\baddress_wish\b": "address_request",
    r"\b(?:nat|egress)_plane\w*": "datapath",
    r"\bnat_hand\b|\bNAT_HAND_\w+": "nat_delivery",
    r"\bstruct way\b": "next_hop",
    r"\blink_way\w*|\bnat_ways?\w*": "link_path, nat_paths",
    r"\bnat_turns?\b": "nat_update",
}


def without_blocks(text):
    """Without what is fenced or indented as code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4,}.*$", "", text, flags=re.MULTILINE)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def dead_links(path, text):
    """Links of a page to what is not there: a file of the repository, or a heading of a page."""
    found = []
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        there = (path.parent / target).resolve() if target else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            found.append(f"{target}#{anchor}")
    return found


def c_files():
    return sorted(path for path in AGENT.rglob("*") if path.suffix in (".c", ".h"))


@cache
def tags():
    """All that is defined in the sources and tests, by its ctags kind."""
    files = c_files() + sorted((REPOSITORY / "tests").rglob("*.py"))
    done = subprocess.run(
        ["ctags", *CTAGS, "-x", "--_xformat=%K\t%N", *map(str, files)],
        capture_output=True, text=True, check=True,
    )
    found = {}
    for row in done.stdout.splitlines():
        kind, name = row.split("\t")
        found.setdefault(kind, set()).add(name)
    return found


def is_function(name):
    return any(name in tags()[kind] for kind in ("function", "macro", "method") if kind in tags())


def misplaced(text):
    """Functions that a text says are in a file, and that are not defined there."""
    found = []
    for function, file in PLACED.findall(text):
        path = AGENT / file
        defined = rf"^(?!#)[^\n;]*\b{function}\([^;]*?\)\n{{"
        if path.is_file() and not re.search(defined, path.read_text("utf-8"), re.MULTILINE):
            found.append(f"{function}() is not in {file}")
    return found


def is_path(name):
    """A path below one of our folders: as it is, and not a pattern, a route or a JSON type."""
    return re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*/?", name) and (
        ("/" in name and name.split("/")[0] in FOLDERS)
        or Path(name).suffix in (".c", ".h", ".py", ".md")
    )


def exists(name):
    return name in MADE_BY_THE_BUILD or any((folder / name).exists() for folder in (REPOSITORY, AGENT, REPOSITORY / "docs"))


def false_names(text):
    """What a text names and is not there."""
    found = []
    for quoted in QUOTED.findall(without_blocks(text)):
        function = re.fullmatch(r"(\w+)\(\)", quoted)
        kind = re.fullmatch(r"(struct|enum) (\w+)", quoted)
        if function and not is_function(function[1]):
            found.append(f"{quoted} is defined nowhere")
        elif kind and kind[2] not in tags()[kind[1]]:
            found.append(f"{quoted} is declared nowhere")
        elif is_path(quoted) and not exists(quoted):
            found.append(f"{quoted} does not exist")
    return found + misplaced(text)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_names_is_there(document):
    text = (REPOSITORY / "docs" / document).read_text(encoding="utf-8")
    assert len(QUOTED.findall(text)) > 20
    assert false_names(text) == []


@pytest.mark.parametrize("line, wrong", [
    ("`plan/routes/routes.c` and `docs/testing.md`, in `tests/golden/`", []),
    ("see `plan/nothing.c`", ["plan/nothing.c does not exist"]),
    ("see `nothing.md`", ["nothing.md does not exist"]),
    ("in `plan/nothing/`", ["plan/nothing/ does not exist"]),
    ("`plan_address()` and `vec_push()`", []),
    ("`plan_nothing()`", ["plan_nothing() is defined nowhere"]),
    ("`object_decode()` in `model/object.c`", []),
    ("`vec_push()` in\n`model/services/service.c`", ["vec_push() is not in model/services/service.c"]),
    ("`struct node_facts`, `enum nat_act`", []),
    ("`struct nothing`", ["struct nothing is declared nowhere"]),
    ("`enum node_facts`", ["enum node_facts is declared nowhere"]),
    ("`/healthz`, `routes.table`, `default/web`, `N/M`", []),
    ("```\n`plan/nothing.c`\n```\n\n    `plan_nothing()`\n", []),
])
def test_a_false_name_is_found(line, wrong):
    assert false_names(line) == wrong


def entries(text):
    """The words that a glossary explains, in order of its tables."""
    rows = re.findall(r"^\| ([a-z][\w -]*) \| [^|]+ \|$", text, re.MULTILINE)
    return [word for word in rows if word != "word"]  # the heads of the tables


def spellings(word):
    """A word as prose and names write it: "hold-down" is hold_down, too, and "row" is "rows"."""
    parts = [re.escape(part) for part in re.split(r"[ -]", word)]
    stem = r"[-_ ]?".join(parts)
    return re.compile(rf"(?<![a-z]){stem}(?:e?s|d|ed)?(?![a-z])", re.IGNORECASE)


def unused_words(words, text):
    return [word for word in words if not spellings(word).search(text)]


def source_text():
    return "\n".join(path.read_text(encoding="utf-8") for path in c_files())


@pytest.mark.parametrize("path", [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))],
                         ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    assert dead_links(path, path.read_text(encoding="utf-8")) == []


def test_a_dead_link_is_found():
    path = REPOSITORY / "docs/operations.md"
    assert dead_links(path, "[a](gone.md) [b](egress.md#gone) [c](egress.md#gateways-in-pods) [d](#operations)") == [
        "gone.md#", "egress.md#gone"]


def test_what_the_programs_say_leads_to_the_page_that_has_it():
    """docs/operations.md is an index: a remedy names the page itself."""
    paths = [*c_files(), *(REPOSITORY / "agent/faults").glob("*.def")]
    literals = [literal for path in paths for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"', path.read_text(encoding="utf-8"))]
    named = {page for literal in literals for page in re.findall(r"docs/[\w-]+\.md", literal)}
    assert named and "docs/operations.md" not in named
    assert sorted(page for page in named if not (REPOSITORY / page).exists()) == []


def test_every_word_of_the_glossary_is_in_the_code():
    page = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = entries(page)
    assert len(words) > 60
    private = entries(re.search(r"^## Private words$.*?(?=^## )", page, re.MULTILINE | re.DOTALL)[0])
    assert 20 < len(private) <= 40, "take the field's word"
    assert sorted({word for word in words if words.count(word) > 1}) == []
    assert unused_words(words, source_text()) == []


def test_a_word_that_nothing_uses_is_found():
    text = "struct hold_down *held; /* three rows */ int twin_tell(void);"
    assert unused_words(["hold-down", "row", "twin", "win", "lead"], text) == ["win", "lead"]


def test_the_changelog_of_what_is_not_released_is_short():
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0]
    assert "unreleased" not in first.splitlines()[0] or len(first.splitlines()) <= 60


def returned_names(text):
    return [f"{found[0]}: say {now}" for was, now in GIVEN_UP.items()
            for found in re.finditer(was, text)]


def test_names_that_were_given_up_stay_away():
    wrong = {str(path.relative_to(REPOSITORY)): returned_names(path.read_text(encoding="utf-8"))
             for path in c_files()}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_name_that_comes_back_is_found():
    assert returned_names('"inheritance" is a group; work->drift is not') == [
        "->drift: say foreign_changes"
    ]
    assert returned_names("inheritance_init(); #include \"inheritance.h\"; struct nat_held x;") == [
        "inheritance_init: say kept_routes", "inheritance.h: say kept_routes",
        "nat_held: say nat_installed",
    ]
