# SPDX-License-Identifier: Apache-2.0
"""BIRD accepts birdconf/ as it is, with the small files that its comments ask for."""

import re
import subprocess

import pytest
from lab.bird import BIRDCONF


def example(text, file):
    """The definitions that a comment shows for a file: the indented lines after its name."""
    words = text.split(file, 1)[1]
    block = re.search(r"((?:#     .*\n)+)", words)
    return re.sub(r"(?m)^#     ", "", block[1])


def parse(folder, main, **files):
    for source in BIRDCONF.glob("*.conf"):
        (folder / source.name).symlink_to(source)
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(text)
    return subprocess.run(
        ["bird", "-p", "-c", str(folder / main)], capture_output=True, text=True
    )


def test_node_example(tmp_path):
    text = (BIRDCONF / "node.conf").read_text()
    done = parse(tmp_path, "node.conf", local=example(text, "local.conf"))
    assert done.returncode == 0, done.stderr


def test_tor_example(tmp_path):
    text = (BIRDCONF / "tor.conf").read_text()
    local, nodes = example(text, "local.conf:"), example(text, "nodes.conf,")
    done = parse(tmp_path, "tor.conf", local=local, nodes=nodes)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("main", ["node.conf", "tor.conf"])
def test_missing_definitions_are_refused(tmp_path, main):
    done = parse(tmp_path, main, local="", nodes="")
    assert done.returncode != 0


def test_the_receive_buffer_is_set_wherever_routes_are_learned():
    """Without it BIRD loses events; see netns/test_birdconf.py."""
    text = (BIRDCONF / "fingerpost.conf").read_text()
    blocks = re.findall(r"protocol kernel \w+ \{.*?\n\}", text, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert "netlink rx buffer 67108864;" in block and "learn;" in block
