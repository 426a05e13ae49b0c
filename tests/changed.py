# SPDX-License-Identifier: Apache-2.0
"""Which tests a change can touch, for tools/test --changed; suites.py runs them.

What a program is made of is asked of ninja, which wrote down the headers of each object when it was
compiled. What a test module is made of are its imports. Which suites run which programs, and read
which folders, is said here. Of a file that nobody knows everything is taken to depend.
"""

import ast
import json
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = REPOSITORY / "tests"
# What each suite of pytest runs, as ninja knows it.
AGENT, CTL, CNI = "agent/agentd/agentd", "agent/agentctl/agentctl", "agent/cni/agent-cni"
PROGRAMS = {
    "golden": (CTL,),
    "property": (AGENT, CTL),
    "cli": (AGENT, CTL),
    "bpf": ("agent/bpf/nat.bpf.o", "tests/bpf/icmp.bpf.o", "tests/bpf/load"),
    "cni": (AGENT, CTL, CNI),
    "netns": (AGENT, CTL),
    "siege": (AGENT, CTL),
    "install": (AGENT, CTL),
    "kube": (AGENT, CTL),
    "consul": ("agent/controller/agent-controller",),
    "vm": (AGENT, CTL),
}
LAB = ("property", "cni", "netns", "siege", "install", "kube", "consul", "vm")
# Folders and files that no program is made of, with the suites that read them, the longest path
# counting. "check" reads everything and always runs.
READERS = {
    "": None,  # everything
    "agent": ("cli",),  # tables of faults and the like; what is compiled is known to ninja
    "birdconf": ("cni", "netns", "siege", "install", "kube"),
    "deploy": ("install", "kube", "vm"),
    "deploy/cni": ("cni", "install"),
    "deploy/completions": ("cli",),
    "docs": (),
    "docs/documents.md": ("cli",),
    "findings": (),
    "tests/bench": (),
    "tests/bpf": ("bpf", "vm"),
    "tests/check": (),
    "tests/cli": ("cli",),
    "tests/cni": ("cni",),
    "tests/consul": ("consul",),
    "tests/fuzz": ("fuzz",),
    "tests/golden": ("golden", "fuzz", "kube"),
    "tests/install": ("install",),
    "tests/kube": ("kube",),
    "tests/lab": LAB,
    "tests/netns": ("netns",),
    "tests/property": ("property",),
    "tests/siege": ("siege",),
    "tests/unit": ("unit", "fuzz"),
    "tests/vm": ("vm",),
    "tools": (), "tools/schemas.py": ("cli",), "tools/deb": ("install",), "tools/demo": ("netns", "kube"),
    ".ci": (), "README.md": ("install",), "CHANGELOG.md": (), "LICENSE": (), ".gitignore": (),
    ".clang-format": (), ".editorconfig": (), ".gitattributes": (),
}
ALL = None  # of a suite: no part of it, but the whole


def git(*words):
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return done.stdout


def changed_files(revision=None):
    """Paths that differ from a revision, with what is not committed and what git does not know yet. By
    default from where this branch left main."""
    if not revision:
        try:
            revision = git("merge-base", "HEAD", "main").strip()
        except ValueError:
            revision = "HEAD"
    # A file that was renamed is gone under its old name, and new under the other.
    paths = git("diff", "--name-only", "--no-renames", "-z", revision, "--")
    paths += git("ls-files", "--others", "--exclude-standard", "-z")
    return {path for path in paths.split("\0") if path}


class Built:
    """What ninja knows of a build folder."""

    def __init__(self, folder):
        self.folder = folder
        self.recorded = {}  # by output: the files it was made of
        self.asked = {}  # by program
        output = None
        for line in self.tool("deps").splitlines():
            if line.startswith("    "):
                self.recorded[output].add(self.path(line.strip()))
            elif ": #deps" in line:
                output = line.split(": #deps")[0]
                self.recorded[output] = set()

    def tool(self, *words):
        return subprocess.run(["ninja", "-C", str(self.folder), "-t", *words],
                              capture_output=True, text=True, check=True).stdout

    def path(self, name):
        """As git calls it; None if it is none of the repository's."""
        path = os.path.relpath(os.path.normpath(self.folder / name), REPOSITORY)
        return None if path.startswith("..") else path

    def files_of(self, target):
        """What a program is made of, headers included."""
        if target not in self.asked:
            self.asked[target] = files = set()
            for line in [target, *self.tool("inputs", target).splitlines()]:
                files.add(self.path(line.strip()))
                files |= self.recorded.get(line.strip(), set())
        return set(self.asked[target])

    def tests(self):
        """(suite, name, program, arguments) of each test that meson runs."""
        done = subprocess.run(["meson", "introspect", "--tests", str(self.folder)],
                              capture_output=True, text=True, check=True)
        for test in json.loads(done.stdout):
            program, *arguments = test["cmd"]
            suite = test["suite"][0].split(":")[-1]
            yield suite, test["name"], os.path.relpath(program, self.folder), arguments


class Modules:
    """What test modules import, directly or not, below tests/."""

    def __init__(self):
        self.places = [TESTS, *(TESTS / name for name in ("bpf", "kube", "netns", "property", "vm"))]
        self.found = {}

    def file_of(self, name, folder):
        parts = name.split(".")
        for place in [folder, *self.places]:
            for path in (place.joinpath(*parts).with_suffix(".py"), place.joinpath(*parts, "__init__.py")):
                if path.is_file():
                    return path
        return None

    def imported(self, path):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                yield base
                yield from (f"{base}.{alias.name}".strip(".") for alias in node.names)

    def of(self, path):
        """The file itself and all that it imports."""
        if path not in self.found:
            self.found[path] = files = {path}
            for name in self.imported(path):
                other = self.file_of(name, path.parent) if name else None
                if other:
                    files |= self.of(other)
        return self.found[path]

    def of_test(self, path):
        """With what pytest reads for it."""
        files = set(self.of(path))
        for folder in (path.parent, TESTS):
            if (folder / "conftest.py").exists():
                files |= self.of(folder / "conftest.py")
        return {str(file.relative_to(REPOSITORY)) for file in files}


def readers(path):
    """The suites that READERS has for a path; ALL for every one."""
    while path not in READERS:
        path = path.rpartition("/")[0]
    return READERS[path]


def touched(changed, built, suites):
    """{suite: parts} that the changed files can touch: names of meson's tests, paths of test modules,
    or ALL. `suites` are all there are."""
    parts = {"check": ALL}
    seen = {None}  # files that something was made of

    def add(suite, part):
        if parts.get(suite, ()) is not ALL:
            parts[suite] = ALL if part is ALL else [*parts.get(suite, ()), part]

    for suite, name, program, arguments in built.tests():
        files = built.files_of(program)
        files |= {path for path in changed for word in arguments
                  if f"{REPOSITORY / path}".startswith(f"{word}/")}
        if files & changed:
            add(suite, name)
        seen |= files
    for suite, programs in PROGRAMS.items():
        for program in programs:
            files = built.files_of(program)
            if files & changed:
                add(suite, ALL)
            seen |= files
    modules = Modules()
    for suite in PROGRAMS:
        for path in sorted((TESTS / suite).rglob("test_*.py")):
            files = modules.of_test(path)
            if files & changed:
                add(suite, ALL if suite == "vm" else path)
            seen |= files
    for path in sorted((TESTS / "vm").glob("guest_*.py")):
        files = {str(file.relative_to(REPOSITORY)) for file in modules.of(path)}
        if files & changed:
            add("vm", ALL)
        seen |= files
    if any(path.startswith("tests/bpf/") for path in changed):
        add("vm", ALL)
    # Goldens are samples of fuzz targets, and more than that.
    for path in changed - {path for path in seen if path and not path.startswith("tests/golden/")}:
        suites_of_path = readers(path)
        for suite in suites if suites_of_path is None or path.endswith("meson.build") else suites_of_path:
            add(suite, ALL)
    if seen & changed and any(path.endswith((".c", ".h")) for path in changed):
        parts["build"] = ALL
    return parts
