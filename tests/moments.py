# SPDX-License-Identifier: Apache-2.0
"""How long an agent took to say something, by its own log, whose lines begin with the time.

Whoever asks again and again measures himself as well: on a busy machine each answer takes long. The log has when the
agent raised a fault, and when it let it go. For how long the kernel kept the agent waiting for a processor meanwhile
(/proc/PID/schedstat) is known too, and is not the agent's time.
"""

import math
import re
import time
from datetime import datetime, timezone
from pathlib import Path

LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z (.*)")
GONE = ": no longer: "


FIGURE = re.compile(r"(?<![^\s(])\d+(\.\d+)?(ms|s|m|h|%)?(?![^\s,;)])")  # of what is counted or measured, and no part of a name
STARTED = re.compile(r"agentd \S+ for node ")  # the first line of an agent, which tells of no fault
WORDS = 0.2  # seconds between one fault going and another of the same cause coming: it was said in other words


def seconds_of(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def kept_waiting(pid):
    """Seconds for which a process was ready to run, and others ran."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0  # it has ended


def all_kept_waiting(pid):
    """The same of each of its threads, one beside the other."""
    try:
        threads = [each.name for each in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return 0.0
    return sum(kept_waiting(f"{pid}/task/{thread}") for thread in threads)


class Stopwatch:
    """The clock, less the time for which the kernel kept these processes waiting for a processor. On a machine with
    nothing else to do that is next to nothing."""

    def __init__(self, *pids):
        self.pids, self.waits = pids, [all_kept_waiting(pid) for pid in pids]
        self.at = time.monotonic()

    def waited(self):
        """For how long they were kept waiting since its start."""
        return sum(max(all_kept_waiting(pid) - before, 0.0) for pid, before in zip(self.pids, self.waits))

    def seconds(self, at):
        """From its start to that time by the monotonic clock."""
        return max(at - self.at - self.waited(), 0.0)


def flaps(lines, cause):
    """What was let go and told again, of (time, line): a fault in the same words but for figures, at whatever moment;
    or one of the cause, in whatever words, after a time in which none was told."""
    gone, held, quiet, found = set(), set(), None, []
    for at, line in lines:
        if STARTED.match(line):
            continue
        said = FIGURE.sub("N", line.replace(GONE, ": ", 1))
        is_cause = bool(cause) and all(word in line for word in cause)
        if GONE in line:
            gone.add(said)
            held.discard(said)
            quiet = at if is_cause and not held else quiet
            continue
        if said in gone or (is_cause and quiet and at > quiet + WORDS):
            found.append(line)
        if is_cause:
            held.add(said)
            quiet = None
    return found


def log_size(agent):
    return agent.log.stat().st_size


class Moment:
    """Now, as something is done to an agent; the times are seconds from here, 0 for what was before.

    `begin`: how long its log was when nothing was wrong (log_size()).
    """

    def __init__(self, agent, begin):
        self.agent, self.begin, self.at, self.pid = agent, begin, time.time(), agent.process.pid
        self.kept_waiting = kept_waiting(self.pid)

    def until(self, at):
        waited = max(kept_waiting(self.pid) - self.kept_waiting, 0.0)
        return max(at - self.at - waited, 0.0)

    def until_now(self):
        return self.until(time.time())

    def lines(self):
        """(time, line) of what the agent has written since the beginning."""
        with open(self.agent.log, "rb") as log:
            log.seek(self.begin)
            text = log.read().decode("utf-8", "replace")
        return [(seconds_of(found[1]), found[2]) for found in map(LINE.match, text.splitlines()) if found]

    def until_told(self, cause):
        """When it told a fault with all these words: the first since then, unless one holds from before."""
        held = set()
        for at, line in self.lines():
            if at >= self.at and held:
                break
            if not all(word in line for word in cause):
                continue
            if GONE in line:
                held.discard(line.replace(GONE, ": ", 1))
            elif at >= self.at:
                return self.until(at)
            else:
                held.add(line)
        assert held, f"no line of {self.agent.log} has {cause}"
        return 0.0

    def flaps(self, cause, until=math.inf):
        """What it let go since then, and told again, up to a later time."""
        return flaps([(at, line) for at, line in self.lines() if self.at <= at < until], cause)

    def until_gone(self):
        """When it let the last fault go."""
        return self.until(max([at for at, line in self.lines() if GONE in line], default=self.at))
