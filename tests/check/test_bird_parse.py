# SPDX-License-Identifier: Apache-2.0
"""BIRD accepts birdconf/ as it is, with the small files that its comments ask for, and each of its
files beside the files of an earlier release.

tests/check/birdconf/ has a folder for each release that is kept: its birdconf/ as it was. Files of
different releases meet on a machine, since an operator copies one and edits another."""

import itertools
import re
import subprocess

import pytest
from lab.agent import REPOSITORY
from lab.bird import BIRDCONF

KEPT = sorted((REPOSITORY / "tests" / "check" / "birdconf").iterdir())
RELEASE = re.compile(r'^define (FINGERPOST_RELEASE_\w+) = "([\d.]+)";.*\n', re.MULTILINE)

# What BIRD is started with: the file, and those that it includes.
MAINS = {
    "node.conf": ("fingerpost.conf", "classes.conf"),
    "node-egress.conf": ("fingerpost.conf", "classes.conf", "gateways.conf"),
    "tor.conf": (),
    "tor-gateways.conf": ("tor.conf",),
}


def example(text, file):
    """The lines that a comment shows for a file: the indented ones after its name."""
    words = text.split(file, 1)[1]
    block = re.search(r"((?:#     .*\n)+)", words)
    return re.sub(r"(?m)^#     ", "", block[1])


def shown(main):
    """(file, text) of each file of the operator's, as a main file's comment shows them."""
    return {"node.conf": [("local.conf", "local.conf")],
            "tor.conf": [("local.conf", "local.conf:"), ("nodes.conf", "nodes.conf,")],
            "node-egress.conf": [("local.conf", "two lines more")],
            "tor-gateways.conf": [("local.conf", "local.conf:"), ("nodes.conf", "nodes.conf:")]}[main]


def operators(folder, main):
    """The operator's files as the comments of a release's files show them."""
    basis = {"node-egress.conf": "node.conf", "tor-gateways.conf": "tor.conf"}.get(main)
    files = operators(folder, basis) if basis else {}
    source = folder if (folder / main).exists() else BIRDCONF
    text = (source / main).read_text()
    for file, words in shown(main):
        files[file] = example(text, words) + files.get(file, "")
    return files


def parse(folder, main, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    started = "tor.conf" if main == "tor-gateways.conf" else main
    return subprocess.run(["bird", "-p", "-c", str(folder / started)], capture_output=True, text=True)


def shipped(folder, main):
    return {name: (folder / name).read_text() for name in (main, *MAINS[main]) if (folder / name).exists()}


def mixtures(main, old):
    """Each file of this release or of an older one, in every combination; likewise the operator's."""
    new, kept = shipped(BIRDCONF, main), shipped(old, main)
    for chosen in itertools.product(*[[False, True] if name in kept else [False] for name in new]):
        names = [name for name, is_old in zip(new, chosen) if is_old]
        for own in (BIRDCONF, old):
            files = new | {name: kept[name] for name in names} | operators(own, main)
            yield f"of {old.name}: {names}; {own.name}'s local.conf", files


@pytest.mark.parametrize("main", MAINS)
def test_example(tmp_path, main):
    done = parse(tmp_path, main, shipped(BIRDCONF, main) | operators(BIRDCONF, main))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("old", KEPT, ids=lambda path: path.name)
@pytest.mark.parametrize("main", MAINS)
def test_files_of_two_releases_load_together(tmp_path, main, old):
    tried = {words: parse(tmp_path, main, files) for words, files in mixtures(main, old)}
    assert len(tried) > 1
    assert {words: done.stderr for words, done in tried.items() if done.returncode} == {}


@pytest.mark.parametrize("main", ["node.conf", "tor.conf"])
def test_missing_definitions_are_refused(tmp_path, main):
    done = parse(tmp_path, main, shipped(BIRDCONF, main) | {"local.conf": "", "nodes.conf": ""})
    assert done.returncode != 0


def release(text):
    """The release in which a file was changed last, as numbers; none before there were any."""
    found = RELEASE.search(text)
    return tuple(map(int, found[2].split("."))) if found else ()


@pytest.mark.parametrize("path", sorted(BIRDCONF.glob("*.conf")), ids=lambda path: path.name)
def test_a_file_tells_its_release(path):
    """The release that changed it: this one or an earlier one, and not the last one's if it differs from that."""
    text = path.read_text()
    [(symbol, words)] = RELEASE.findall(text)
    assert symbol == "FINGERPOST_RELEASE_" + path.stem.upper().replace("-", "_")
    assert f"# Fingerpost {words}: {path.name}\n" in text
    project = re.search(r"version: '([\d.]+)'", (REPOSITORY / "meson.build").read_text())[1]
    assert release(text) <= tuple(map(int, project.split(".")))
    last = KEPT[-1] / path.name
    if last.exists() and text != last.read_text():
        assert release(text) > release(last.read_text())


def test_the_receive_buffer_is_set_wherever_routes_are_learned():
    """Without it BIRD loses events; see netns/test_birdconf.py."""
    text = (BIRDCONF / "fingerpost.conf").read_text()
    blocks = re.findall(r"protocol kernel \w+ \{.*?\n\}", text, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert "netlink rx buffer 67108864;" in block and "learn;" in block
