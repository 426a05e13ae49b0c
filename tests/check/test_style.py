# SPDX-License-Identifier: Apache-2.0
"""House rules that a machine can judge, so that nobody argues about them in review."""

import re
import subprocess
from pathlib import Path

import pytest
from lab.agent import REPOSITORY

MAX_FUNCTION_LINES = 65
MAX_TEST_LINES = 80  # tests tell a story in order
MAX_PARTS_PROTOTYPES = 10
MAX_FILE_LINES = 500
LICENCE = "SPDX-License-Identifier: Apache-2.0"
KERNEL_LICENCE = "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"
UNFINISHED = re.compile("|".join((r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X\b")))


def files(*patterns, below=("agent", "birdconf", "deploy", "docs", "tests", "tools")):
    found = set()
    for folder in below:
        for pattern in patterns:
            found |= {path for path in (REPOSITORY / folder).rglob(pattern) if path.is_file()}
    return sorted(path for path in found if "__pycache__" not in path.parts)


def name(path):
    return str(path.relative_to(REPOSITORY))


CTAGS = ("--languages=C", "--langmap=C:.c.h")  # else headers are C++, and are left out
C_FILES = files("*.c", "*.h")
HEADERS = files("*.h", below=("agent",))


def essay(text):
    """The comment or docstring that opens a file."""
    pattern = r'\A(?:(?:#|//)[^\n]*\n|/\*[^*]*\*/\s*\n|\s*\n)*\s*(/\*.*?\*/|""".*?""")'
    match = re.match(pattern, text, re.DOTALL)
    return match[1] if match else ""


def test_there_are_files_to_judge():
    assert len(C_FILES) > 20 and HEADERS


def licence_of(path):
    """What runs in the kernel tells it that it is GPL's; that must be so."""
    runs_in_kernel = path.is_relative_to(REPOSITORY / "agent/bpf") or path.name.endswith(".bpf.c")
    return KERNEL_LICENCE if runs_in_kernel else LICENCE


def test_licence_line_comes_first():
    wrong = []
    for path in C_FILES + files("*.py", below=("tests", "tools")):
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        licence = licence_of(path)
        wanted = {".c": f"// {licence}", ".h": f"/* {licence} */", ".py": f"# {licence}"}
        if first != wanted[path.suffix]:
            wrong.append(name(path))
    assert wrong == []


def test_programs_tell_the_kernel_their_licence():
    programs = [path for path in C_FILES if path.name.endswith(".bpf.c")]
    assert REPOSITORY / "agent/bpf/nat.bpf.c" in programs
    for path in programs:
        said = re.findall(r'^char \w+\[\] SEC\("license"\) = "(.*)";$', path.read_text(), re.MULTILINE)
        assert said == ["Dual BSD/GPL"], name(path)


@pytest.mark.parametrize("licence", KERNEL_LICENCE.split(": ")[1].split(" OR "))
def test_licences_have_their_texts(licence):
    assert (REPOSITORY / "LICENSES" / f"{licence}.txt").stat().st_size > 1000


@pytest.mark.parametrize("header", HEADERS, ids=name)
def test_header_stands_alone(header):
    command = ["gcc", "-Wall", "-Wextra", "-Wpedantic"]
    if name(header).startswith("agent/bpf/") and header.name not in ("abi.h", "flow_abi.h"):  # the program's own
        multiarch = subprocess.check_output(["gcc", "-print-multiarch"], text=True).strip()
        command = ["clang-14", "-target", "bpf", "-Wall", "-Wextra", "-Wno-unused-function"]
        command += ["-isystem", f"/usr/include/{multiarch}"]
    command += ["-std=gnu11", "-D_GNU_SOURCE", "-Werror"]
    command += ["-fsyntax-only", "-x", "c", f"-I{REPOSITORY / 'agent'}"]
    # As a system would include it: by another file, so that #pragma once is not the main file's.
    done = subprocess.run(
        [*command, "-"],
        input=f'#include "{header.relative_to(REPOSITORY / "agent")}"\n',
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_formatting():
    done = subprocess.run(
        ["clang-format-14", "--dry-run", "-Werror", *map(str, C_FILES)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:3000]


# clang-format 14 reads C by the grammar of C++. A keyword of C++ that is used as a name is laid out
# as what it would be there: `new &&x`, `(uint8_t) class`, `return concept->a * 2`. `namespace` is
# misread in a cast only; it is a word of Kubernetes, always a string, and never cast.
MISREAD = set(
    "and and_eq bitand bitor catch class compl concept const_cast constexpr decltype delete"
    " dynamic_cast explicit export final friend mutable new noexcept not not_eq nullptr operator or"
    " or_eq override private protected public reinterpret_cast requires static_cast template"
    " thread_local throw typeid typename using virtual xor xor_eq".split()
)
NO_NAMES = re.compile(
    r'/\*.*?\*/|//[^\n]*|^[ \t]*#[ \t]*include[^\n]*|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'",
    re.DOTALL | re.MULTILINE,
)


def misread_names(text):
    return MISREAD & set(WORD.findall(NO_NAMES.sub(" ", text)))


def test_names_are_no_keywords_of_cplusplus():
    found = {name(path): misread_names(path.read_text(encoding="utf-8")) for path in C_FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_keyword_of_cplusplus_is_found():
    text = '#include "x/new.h"\n/* class */ int f(int new) { return g("//export"); } // delete\n'
    assert misread_names(text) == {"new"}


def layout(word):
    """A function that uses a word as a name in many ways, as clang-format lays it out."""
    text = (
        "int f(struct x *W)\n{\n    int a = W && b, c = W * 2, d = (uint8_t)W;\n"
        "    if (W)\n        return W->a * 2;\n    return g(x, *W) * W[0];\n}\n"
    )
    style = f"--style=file:{REPOSITORY / '.clang-format'}"
    command = ["clang-format-14", style, "--assume-filename=x.c"]
    return subprocess.check_output(command, input=text.replace("W", word), text=True)


@pytest.mark.parametrize("word", sorted(MISREAD))
def test_misread_names_are_misread(word):
    """Where this fails, clang-format has learnt C, and the rule can go."""
    assert layout(word) != layout("q" * len(word)).replace("q" * len(word), word)


def function_lengths(paths):
    """(lines, file, function), the longest first."""
    done = subprocess.run(
        ["ctags", *CTAGS, "--kinds-C=f", "--fields=+ne", "-o", "-", *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    lengths = []
    for line in done.stdout.splitlines():
        start, end = re.search(r"\tline:(\d+)", line), re.search(r"\tend:(\d+)", line)
        if start and end:
            function, file = line.split("\t")[:2]
            lengths.append((int(end[1]) - int(start[1]) + 1, file, function))
    return sorted(lengths, reverse=True)


def test_functions_are_short():
    lengths = function_lengths(C_FILES)
    assert len(lengths) > 50
    agent = str(REPOSITORY / "agent")
    assert [
        entry for entry in lengths
        if entry[0] > (MAX_FUNCTION_LINES if entry[1].startswith(agent) else MAX_TEST_LINES)
    ] == []


def prototypes(text):
    return len(re.findall(r"^[a-z][^;{}=()]*\([^{}]*?\)[^;{}]*;", text, re.MULTILINE))


def test_what_the_files_of_a_room_share_is_by_noun():
    """A header that serves "the parts" of something collects what has nothing to do with each
    other."""
    wide = [path for path in HEADERS if path.stem.endswith("_parts")]
    assert [name(p) for p in wide if prototypes(p.read_text("utf-8")) > MAX_PARTS_PROTOTYPES] == []


def test_prototypes_are_counted():
    text = "struct x { int a; };\nint f(int a,\n      int b);\nstatic inline int g(void)\n{\n}\n"
    assert prototypes(text + "void h(void) NORETURN;\n") == 2


def test_a_long_function_is_found(tmp_path):
    source = tmp_path / "x.c"
    source.write_text("int f(void)\n{\n" + "    ;\n" * 78 + "}\n")
    assert function_lengths([source]) == [(81, str(source), "f")]
    header = source.rename(tmp_path / "x.h")
    assert function_lengths([header]) == [(81, str(header), "f")]


# In a sentence of its own: that a file happens to have the word is no reason.
WHY_LONG = re.compile(r"(?:\A|[.:;!?)] )This file is long because \w[^.]{10,}\.")


def says_why_it_is_long(text):
    words = re.sub(r'/\*|\*/|"""|^[ \t]*\*', " ", essay(text), flags=re.MULTILINE)
    return bool(WHY_LONG.search(" ".join(words.split())))


def is_too_long(text):
    return text.count("\n") > MAX_FILE_LINES and not says_why_it_is_long(text)


def test_files_are_short_or_say_why_not():
    paths = C_FILES + files("*.py", below=("tests", "tools"))
    assert [name(path) for path in paths if is_too_long(path.read_text("utf-8"))] == []


REASON = "This file is long because it is one table that nobody reads in parts."


@pytest.mark.parametrize("words, good", [
    (REASON, True),
    (f"A table. {REASON}", True),
    (f"A table.\n *\n * {REASON}", True),
    ("This file is long because it is\n * one table that nobody reads in parts.", True),
    ("Words.", False),
    ("A table, therefore long.", False),
    ("A long file: every view is in it.", False),
    ("It is long because each case needs a server.", False),
    ("This file is long.", False),
    ("This file is long because.", False),
    ("This file is long because so.", False),
    ("Nobody says: this file is long because it is one table of words.", False),
])
def test_a_long_file_says_why_in_a_sentence_of_its_own(words, good):
    body = "int x;\n" * 501
    assert is_too_long(f"// {LICENCE}\n/*\n * {words}\n */\n" + body) != good
    assert is_too_long(f"/* {LICENCE} */\n/* {words} */\n" + body) != good
    python = words.replace("\n *", "\n")
    assert is_too_long(f'# {LICENCE}\n"""{python}"""\n' + body) != good


def test_a_reason_counts_at_the_top_of_a_long_file_alone():
    body = "int x;\n" * 501
    assert is_too_long(f'# {LICENCE}\n"""Words."""\n' + body + f"/* {REASON} */\n")
    assert not is_too_long(f"// {LICENCE}\n/* Words. */\n" + body[:-14 * 7])


WORD = re.compile(r"\w+")


def strip_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def lonely_declarations(headers, paths):
    """Functions that a header declares and that only one file, which has them, uses."""
    users = {}
    for path in paths:
        for word in WORD.findall(strip_comments(path.read_text(encoding="utf-8"))):
            users.setdefault(word, []).append(path)
    done = subprocess.run(
        ["ctags", *CTAGS, "--kinds-C=p", "-x", "--_xformat=%N\t%F", *map(str, headers)],
        capture_output=True,
        text=True,
        check=True,
    )
    lonely = []
    for row in done.stdout.splitlines():
        function, header = row.split("\t")
        # Macros of the header may be the way to it: DEFINE_CLEANUP(struct x *, x_free).
        found = users.get(function, [])
        if function.islower() and found.count(Path(header)) == 1 and len(set(found)) <= 2:
            lonely.append((header, function))
    return lonely


def test_headers_declare_what_others_use():
    assert lonely_declarations(HEADERS, C_FILES) == []


def test_a_declaration_for_nobody_is_found(tmp_path):
    header, source, user = tmp_path / "x.h", tmp_path / "x.c", tmp_path / "y.c"
    header.write_text("int f(void);\nint g(void);\nvoid h(void);\n#define H h()\n")
    source.write_text("int f(void) { return 1; }\nint g(void) { return f(); }\nvoid h(void) {}\n")
    user.write_text("int y = g(); /* and not f() */\n")
    assert lonely_declarations([header], [header, source, user]) == [(str(header), "f")]


TOP = ("agent", "birdconf", "deploy", "docs", "tests", "tools")
ROOMS = tuple(path.name for path in (REPOSITORY / "agent").iterdir() if path.is_dir())
NAMED = re.compile(rf"(?<![\w/.<])((?:{'|'.join(TOP + ROOMS)})/[\w/.-]*\.(?:c|h|py|md|conf|scd))\b")
EXAMPLE = REPOSITORY / "tests" / "example" / "tree" / "agent"  # a new engine, laid over agent/
MADE_BY_THE_BUILD = {"bpf/nat.skel.h", "bpf/egress_client.skel.h", "bpf/egress_gateway.skel.h",
                     "bpf/passage.skel.h", "doctor/fingerpost.conf.h", "doctor/classes.conf.h", "doctor/releases.h"}


def missing_files(text):
    """What is called a file of ours, and is none."""
    named = set(NAMED.findall(text)) - MADE_BY_THE_BUILD
    return {file for file in named
            if not any((folder / file).exists() for folder in (REPOSITORY, REPOSITORY / "agent", EXAMPLE))}


def test_files_that_are_named_exist():
    texts = C_FILES + files("*.md", "*.scd", "*.conf", "*.service") + [REPOSITORY / "README.md"]
    missing = {name(path): missing_files(path.read_text(encoding="utf-8")) for path in texts}
    assert {path: found for path, found in missing.items() if found} == {}


def test_a_file_that_is_missing_is_found():
    assert missing_files("see plan/routes/routes.h, docs/nothing.md and plan/nothing.h") == {
        "docs/nothing.md", "plan/nothing.h"
    }


def test_nothing_is_left_unfinished():
    found = []
    for path in files("*"):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # broken on purpose, as test data
        if UNFINISHED.search(text):
            found.append(name(path))
    assert found == []


def shell_scripts():
    candidates = [*files("*", below=("tools", "deploy", "tests")), REPOSITORY / ".ci" / "run"]
    scripts = []
    for path in candidates:
        with open(path, "rb") as file:
            first = file.readline()
        if re.match(rb"#!.*\b(ba)?sh\b", first):
            scripts.append(path)
    return scripts


@pytest.mark.parametrize("script", shell_scripts(), ids=name)
def test_shell_scripts(script):
    done = subprocess.run(
        ["shellcheck", "--external-sources", "--source-path=SCRIPTDIR", str(script)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert Path(script).stat().st_mode & 0o111, "not executable"


def test_the_pipeline_runs_what_people_run():
    lines = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    assert commands[-1] == 'exec "$(dirname "$0")/../tools/test"'


# A step that runs only while all is well, where an early return is plainer. What is left has to go on either way.
CONTINUES = re.compile(r"if \(r == 0\)\n +r = ")
MOST_CONTINUES = 48  # may only shrink


def test_a_failure_returns():
    count = sum(len(CONTINUES.findall(path.read_text("utf-8"))) for path in C_FILES
                if path.is_relative_to(REPOSITORY / "agent") and path.suffix == ".c")
    assert count <= MOST_CONTINUES


def test_a_step_that_continues_is_found():
    assert CONTINUES.search("    if (r == 0)\n        r = next();\n")
    assert not CONTINUES.search("    if (r < 0)\n        return r;\n    r = next();\n")
