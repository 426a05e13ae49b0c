# SPDX-License-Identifier: Apache-2.0
"""Whoever builds the agent compiles the programs with the clang that they have: what the oldest and
the newest of Debian 12 and 13 make of them is loaded, and does the same."""

import re
import shlex
import shutil
import subprocess

import abi
import pytest
from lab.agent import build_folder
from maps import Nat
from test_flows import answered, web
from test_verdicts import POD1
from test_verifier import LIMIT, SHARE

OLDEST, NEWEST = "clang-13", "clang-19"
OBJECT = "agent/bpf/nat.bpf.o"


def compiled(compiler):
    """The object, by the build's own command but for the compiler; kept while it is up to date."""
    build = build_folder()
    made, by_build = build / OBJECT, build / "bpf-compilers" / f"{compiler}.o"
    if by_build.exists() and by_build.stat().st_mtime > made.stat().st_mtime:
        return by_build
    by_build.parent.mkdir(exist_ok=True)
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", OBJECT],
                          capture_output=True, text=True, check=True).stdout
    words = shlex.split(said.strip().splitlines()[-1])
    assert re.search(r"/clang(-\d+)?$", words[0]) and words.count(OBJECT) == 1, words
    draft = by_build.with_suffix(".draft")
    command = [compiler, *(str(draft) if word == OBJECT else word for word in words[1:])]
    command[command.index("-MF") + 1] = str(by_build.with_suffix(".d"))
    done = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    draft.rename(by_build)
    return by_build


@pytest.fixture(name="other", scope="module", params=[OLDEST, NEWEST])
def other_fixture(request, world, load_object):
    """The NAT program as another compiler makes it."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}")
    return Nat(load_object(request.param, compiled(request.param)), world)


def test_the_kernel_takes_it(other):
    for hook in abi.HOOKS:
        assert 1000 < other.live[hook].verified() < LIMIT / SHARE, hook


def test_it_does_the_same(other, family, protocol):
    """A flow there and back."""
    other.reset()
    web(other, family, protocol, POD1)
    answered(other, "outside", family, protocol)
    assert other.halves() == 2
