# SPDX-License-Identifier: Apache-2.0
"""
What a person sees of every verb that asks, when nobody answers as he should: a socket that a dead agent has left,
somebody who says nothing, who hangs up, who is another version, who is no agent at all. golden/away/WHO.txt has what was
said, once, with all the verbs that say it, in a narrow and in a wide view; GOLDEN_UPDATE=1 writes it anew. The
state without any socket is among the goldens of test_screens.py.
"""

import os
import socket
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

import controller_documents
import documents
from conftest import Ctl, environment
from scripted_agent import ScriptedAgent
from test_screens import GOLDEN, INPUTS, SCREENS, VIEWS, written

NOBODY_ASKED = {"cleanup", "version", "help", "help-flows", *INPUTS}
ONCE = {" ".join(words[:2] if words[0] == "controller" else words[:1]): words for name, words in reversed(SCREENS.items())
        if name not in NOBODY_ASKED}
ASKING = [*reversed(ONCE.values()), ["status", "--brief"], ["status", "--wait=0s"], ["routes", "--json"]]
SEEN = (VIEWS[0], ("160 columns, colour, locale C", 160, "always", "C"))
LIMIT = "--timeout=100ms"


class Listener:
    """At the socket: takes who comes, and does nothing more, or hangs up."""

    def __init__(self, path, hang_up):
        self.socket, self.hang_up, self.taken = socket.socket(socket.AF_UNIX), hang_up, []
        self.socket.bind(str(path))
        self.socket.listen(256)
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                asker, _ = self.socket.accept()
            except OSError:
                return  # the test has ended
            if self.hang_up:
                asker.recv(65536)
                asker.close()
            else:
                self.taken.append(asker)

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def left_over(path):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))


def older(path):
    """It has a status, and none of what has come since."""
    return ScriptedAgent(path, {
        "/v1/status": (200, documents.status(version="0.0.9")),
        "/v1/controller": (200, {**controller_documents.controller(), "version": "0.0.9"}),
    })


class Page(dict):
    """Whatever is asked for."""

    def get(self, *_):
        return 200, b"<html>\n"


STATES = {
    "left-over": left_over,
    "silent": lambda path: Listener(path, False),
    "hangs-up": lambda path: Listener(path, True),
    "older": older,
    "stranger": lambda path: ScriptedAgent(path, Page()),
}
# By who is older, too.
ANSWERED = (["status"], ["status", "--brief"], ["status", "--wait=0s"], ["controller"], ["controller", "-v"],
            ["controller", "--brief"])


def seen(words, state, folder):
    """What one verb says in each view, and how it ends."""
    text = ""
    for shown, columns, color, locale in SEEN:
        limit = [LIMIT] if state == "silent" else []
        code, output = Ctl("agentd.sock").on_terminal(
            *words, f"--color={color}", *limit, columns=columns, cwd=folder, env=environment(LC_ALL=locale))
        text += f"# {shown}, exit {code}\n{written(output)}"
    return text


@pytest.mark.parametrize("state", STATES)
def test_what_is_said(state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = STATES[state]("agentd.sock")
    verbs = [words for words in ASKING if state != "older" or words not in ANSWERED]
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda words: seen(words, state, tmp_path), verbs))
    if server:
        server.__exit__()
    groups = defaultdict(list)
    for words, text in zip(verbs, said):
        groups[text].append("agentctl " + " ".join(words))
    got = "\n".join("$ " + "\n$ ".join(alike) + "\n" + text for text, alike in groups.items())
    golden = GOLDEN / "away" / f"{state}.txt"
    if os.environ.get("GOLDEN_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(got, encoding="utf-8")
    assert got == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("state", STATES)
def test_it_is_short_and_leads_further(state):
    """At most three lines, of which one names what to look at."""
    text = (GOLDEN / "away" / f"{state}.txt").read_text(encoding="utf-8")
    for part in text.split("\n# ")[1:]:
        lines = [line for line in part.split("\n$ ")[0].strip().splitlines()[1:] if line.startswith("agentctl: ")]
        assert 1 <= len(lines) <= 3 and any("see" in line for line in lines), part
