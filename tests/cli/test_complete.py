# SPDX-License-Identifier: Apache-2.0
"""Completion: what `agentctl __complete` offers, and that bash and zsh come to the same."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

import documents
from conftest import AGENTCTL, ROOT, environment
from documents import items

COMPLETION = ROOT / "deploy" / "completion"


def words(offered):
    return [word for word, *_ in offered]


def test_verbs(ctl):
    assert words(ctl.complete("")) == words(ctl.complete("-v", ""))
    assert words(ctl.complete("s")) == ["status", "services", "setup"]
    assert ctl.complete("stat") == [("status", "health on one screen; the default")]
    assert ctl.complete("config", "") and words(ctl.complete("config", "sh")) == ["show"]
    assert ctl.complete("routes", "") == [] and ctl.complete("nonsense", "") == []


def test_options(ctl):
    assert words(ctl.complete("routes", "--no")) == ["--no-header"]
    assert words(ctl.complete("plan", "--no")) == ["--node=", "--no-header"]
    assert {"-w", "--watch", "-c", "--columns="} <= set(words(ctl.complete("routes", "-")))
    assert not {"-f", "--wait=", "--brief"} & set(words(ctl.complete("routes", "-")))
    assert "--brief" in words(ctl.complete("status", "--"))
    assert ctl.complete("routes", "--", "-") == []


def test_values(ctl):
    assert words(ctl.complete("routes", "-o", "")) == ["wide", "json", "name"]
    assert words(ctl.complete("routes", "-oj")) == ["-ojson"]
    assert words(ctl.complete("routes", "--output=")) == [
        "--output=wide", "--output=json", "--output=name"
    ]
    assert words(ctl.complete("--color", "n")) == ["never"]
    assert words(ctl.complete("routes", "-c", "p")) == ["prefix", "protocol"]
    assert words(ctl.complete("routes", "--columns=state,h")) == ["--columns=state,held-for"]
    assert ctl.complete("plan", "-f", "/e") == [(":folders",)]
    assert ctl.complete("config", "check", "") == [(":files",)]
    assert ctl.complete("config", "check", "x", "") == []
    assert ctl.complete("--timeout", "") == []


def test_names_are_asked_from_the_agent(ctl, agent):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    assert ctl.complete("explain", "") == [
        ("10.224.0.0/27", "announced"), ("10.0.0.1", "announced"), ("fd00::2", "withheld")
    ]
    assert words(ctl.complete("explain", "10.0")) == ["10.0.0.1"]
    assert ctl.complete("explain", "10.0.0.1", "") == []


def test_no_agent_means_no_names(ctl):
    assert ctl.complete("explain", "") == []


def test_a_silent_agent_is_not_waited_for(ctl):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(ctl.socket))
        silent.listen()
        begin = time.monotonic()
        assert ctl.complete("explain", "") == []
        assert 0.2 <= time.monotonic() - begin < 5


@pytest.fixture
def path(tmp_path):
    """Where a shell finds the command."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agentctl").symlink_to(pathlib.Path(AGENTCTL).resolve())
    return f"{tmp_path / 'bin'}:{os.environ['PATH']}"


# What is typed after "agentctl ", and what the last word becomes.
TYPED = [
    ("stat", ["status"]),
    ("config ch", ["check"]),
    ("routes --no-h", ["--no-header"]),
    ("routes --color=n", ["never"]),
    ("routes -c pref", ["prefix"]),
    ("--socket {socket} explain fd00::", ["fd00::2"]),
    ("--socket {socket} explain 10.", ["10.224.0.0/27", "10.0.0.1"]),
    ("config check {folder}/agentd.y", ["{folder}/agentd.yaml"]),
    ("plan -f {folder}/man", ["{folder}/manifests"]),
]

BASH = """
source /usr/share/bash-completion/bash_completion
source {script}
compopt() {{ :; }}
COMP_LINE={line}
COMP_POINT=${{#COMP_LINE}}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_agentctl agentctl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def readline_words(line):
    """A line cut as readline does: at spaces, and around = and :."""
    found = []
    for word in line.split(" "):
        part = ""
        for char in word:
            if (char in "=:") != (part[-1:] in ("=", ":")) and part:
                found.append(part)
                part = ""
            part += char
        found.append(part)
        if part and part[-1] in "=:":
            found.append("")
    return found


@pytest.fixture
def typed(ctl, agent, tmp_path):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    (tmp_path / "agentd.yaml").touch()
    (tmp_path / "manifests").mkdir()
    return lambda text: text.format(socket=ctl.socket, folder=tmp_path)


@pytest.mark.parametrize("text, expected", TYPED)
def test_bash(typed, path, text, expected):
    line = f"agentctl {typed(text)}"
    script = BASH.format(
        script=COMPLETION / "agentctl.bash",
        line=json.dumps(line),
        words=" ".join(map(json.dumps, readline_words(line))),
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment(PATH=path), capture_output=True, text=True
    )
    wanted = [typed(word) for word in expected]
    if "::" in text:  # readline has the rest already
        wanted = [word.rsplit(":", 1)[1] for word in wanted]
    assert done.stdout.splitlines() == wanted, done.stderr


# zsh completes in a terminal only; what it would add is caught where it hands it to compadd.
ZSH = """
autoload -Uz compinit && compinit -u -D
fpath=({folder} $fpath)
autoload -Uz _agentctl
typeset -a caught
compset() {{ : }}
_describe() {{ local -a a=("${{(@P)3}}"); caught+=("${{(@)${{(@)a//\\\\:/#}}%%:*}}") }}
_files() {{ caught+=(files $@) }}
words=({words})
CURRENT=${{#words}}
_agentctl
print -l -- "${{(@)caught//\\#/:}}"
"""


@pytest.mark.parametrize("text, expected", TYPED)
def test_zsh(typed, path, text, expected):
    if not shutil.which("zsh"):
        pytest.fail("zsh is not installed")
    script = ZSH.format(
        folder=COMPLETION,
        words=" ".join(json.dumps(word) for word in f"agentctl {typed(text)}".split(" ")),
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", script], env=environment(PATH=path), capture_output=True, text=True
    )
    if "{folder}" in text:
        wanted = ["files", "-/"] if text.startswith("plan") else ["files"]
    else:
        wanted = [f"--color={word}" if "--color=" in text else word for word in expected]
    assert done.stdout.split() == wanted, done.stderr
