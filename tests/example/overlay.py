# SPDX-License-Identifier: Apache-2.0
"""The engine of the Beacons, laid over a copy of this tree, and built there.

tree/ has its new files, rows.diff the rows that it adds to tables that are there: the whole of what
an engine takes. The copy is kept in the build folder, so that only what changed is built again.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from lab.agent import REPOSITORY, build_folder

HERE = Path(__file__).resolve().parent
NEEDED = ("agent", "birdconf", "deploy", "docs", "meson.build", "meson_options.txt", "tools")
PROGRAMS = ("agent/agentd/agentd", "agent/agentctl/agentctl")


class DoesNotApply(Exception):
    """A table is not what rows.diff takes it for."""


def new_files():
    """The path of each new file in the tree, and the text of it."""
    tree = HERE / "tree"
    return {
        str(path.relative_to(tree)): path.read_text(encoding="utf-8")
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


def rows(text=None):
    """What is put where: (path, the line before it, the lines)."""
    text = text or (HERE / "rows.diff").read_text(encoding="utf-8")
    found, path, before = [], None, None
    for line in text.splitlines():
        if line.startswith("+++ "):
            path = line[4:]
        elif path and line.startswith("+"):
            if found and found[-1][:2] == (path, before):
                found[-1][2].append(line[1:])
            else:
                found.append((path, before, [line[1:]]))
        elif line.startswith(" "):
            before = line[1:]
    return found


def squeezed(line):
    return " ".join(line.split())


def put(text, before, lines):
    """The text with the lines behind the only one that says `before`."""
    old = text.splitlines()
    places = [i for i, line in enumerate(old) if squeezed(line) == squeezed(before)]
    if len(places) != 1:
        raise DoesNotApply(f"{before.strip()!r} is there {len(places)} times")
    at = places[0] + 1
    return "\n".join(old[:at] + lines + old[at:]) + "\n"


def laid_over(tree):
    """The files of a tree ({path: text}) with all that the engine takes."""
    result = dict(tree)
    for path, before, lines in rows():
        try:
            result[path] = put(result[path], before, lines)
        except (KeyError, DoesNotApply) as error:
            raise DoesNotApply(f"tests/example/rows.diff: {path}: {error}") from error
    for path, text in new_files().items():
        if path in result:
            raise DoesNotApply(f"tests/example/tree: {path} is there already")
        result[path] = text
    return result


def sources():
    """The files of this checkout that a build without tests needs."""
    found = {}
    for name in NEEDED:
        top = REPOSITORY / name
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found[str(path.relative_to(REPOSITORY))] = path.read_text(encoding="utf-8")
    return found


def write_tree(folder, files):
    """Makes a folder hold these files and no others; what has not changed is not touched."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if str(path.relative_to(folder)) not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def build():
    """Builds agentd and agentctl with the engine; returns the build folder."""
    folder = build_folder() / "example"
    tree, output = folder / "tree", folder / "build"
    write_tree(tree, laid_over(sources()))
    environment = dict(os.environ)
    if shutil.which("ccache"):
        environment["CC"] = "ccache gcc"
    if not (output / "build.ninja").exists():
        run(environment, "meson", "setup", str(output), str(tree), "--werror", "-Dtests=false",
            "--buildtype=plain")
    run(environment, "ninja", "-C", str(output), *PROGRAMS)
    return output


def run(environment, *command):
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout[-8000:]}{done.stderr}")


def code_lines(text):
    """Lines of C that are neither blank, comment nor #include."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#include")]
