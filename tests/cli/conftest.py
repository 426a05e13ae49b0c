# SPDX-License-Identifier: Apache-2.0
"""How tests call agentctl: with an environment of their own, against an agent of their own."""

import os
import pathlib
import pty
import struct
import subprocess
import fcntl
import termios

import pytest

from scripted_agent import ScriptedAgent

ROOT = pathlib.Path(__file__).parents[2]
AGENTCTL = os.environ.get("AGENTCTL", str(ROOT / "build/agent/agentctl/agentctl"))


def environment(**changes):
    keep = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS") or k == "PATH"}
    return {**keep, "LC_ALL": "C.UTF-8", "TERM": "xterm", **changes}


class Ctl:
    def __init__(self, socket):
        self.socket = socket

    def command(self, *words):
        return [AGENTCTL, "--socket", str(self.socket), *words]

    def complete(self, *words):
        """What completion offers for the last word: (word, meaning) each."""
        command = [AGENTCTL, "__complete", "--socket", str(self.socket), *words]
        done = subprocess.run(command, env=environment(), capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        return [tuple(line.split("\t")) for line in done.stdout.decode().splitlines()]

    def run(self, *words, env=None, **options):
        options = {"capture_output": True, "timeout": 60, **options}
        result = subprocess.run(self.command(*words), env=env or environment(), **options)
        return result.returncode, result.stdout.decode(), result.stderr.decode()

    def on_terminal(self, *words, columns=80, env=None, cwd=None):
        """The output on a terminal of that width; line ends as the program wrote them."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen(
            self.command(*words), stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd,
            env=env or environment(),
        ) as process:
            os.close(theirs)
            output = b""
            while True:
                try:
                    chunk = os.read(ours, 65536)
                except OSError:  # EIO: the last writer is gone
                    break
                if not chunk:
                    break
                output += chunk
        os.close(ours)
        return process.returncode, output.decode().replace("\r\n", "\n")


@pytest.fixture
def ctl(tmp_path):
    return Ctl(tmp_path / "agentd.sock")


@pytest.fixture
def agent(ctl):
    """serve({path: document or (status, document) or function}) starts the agent."""
    running = []

    def serve(replies):
        replies = {
            path: reply if callable(reply) or isinstance(reply, tuple) else (200, reply)
            for path, reply in replies.items()
        }
        running.append(ScriptedAgent(ctl.socket, replies))
        return running[-1]

    yield serve
    for server in running:
        server.__exit__()
