# SPDX-License-Identifier: Apache-2.0
"""`agentctl --watch` that runs for long beside an agent; for tests/netns and the soak."""

import itertools
import time
from pathlib import Path

from lab.agent import program

LASTING = 1.0  # seconds; a question is over in a few milliseconds

numbers = itertools.count()


def connections(agent):
    """The agent's connections, by inode; each is of the network namespace that it was made from."""
    table = "/proc/net/unix"
    lines = Path(table).read_text("ascii") + agent.node.run("cat", table).stdout
    rows = [line.split() for line in lines.splitlines()]
    return {row[6] for row in rows if row[-1] == str(agent.socket) and row[5] == "03"}


class Watch:
    """What it has printed is in a file, errors among it."""

    def __init__(self, agent, *words):
        self.agent = agent
        log = f"watch-{next(numbers)}.log"
        self.log = agent.node.folder / log
        self.process = agent.node.start(
            program("agentctl"), "--socket", str(agent.socket), "--watch", *words, log=log
        )
        self.seen = {}

    def output(self):
        assert self.process.poll() is None, self.log.read_text("utf-8")
        return self.log.read_text("utf-8")

    def forget(self):
        """From here on its output begins anew."""
        with open(self.log, "r+", encoding="utf-8") as file:
            file.truncate(0)

    def follows(self):
        """Whether somebody is connected to the agent for longer than a question takes."""
        now = time.monotonic()
        self.seen = {inode: self.seen.get(inode, now) for inode in connections(self.agent)}
        return any(now - since >= LASTING for since in self.seen.values())

    def end(self):
        self.process.terminate()
        self.process.wait()
