# SPDX-License-Identifier: Apache-2.0
"""Runs jobs beside each other, so that processors have work while tests wait; suites.py uses it.

A job says what it needs. `load` is how many processors it keeps busy: jobs start while the sum fits
the machine, and beside one whose load is the whole machine are only those of load 0. These wait for
a network now and then, and run one after the other with those of their `lane`. What is in a `hurry`
when something came runs at the usual priority; all others at a lower one: they get what is left.

Jobs that want the whole machine begin first, then the one with the most work behind it, its own
included. While one waits for room only jobs of load 0 begin, or it would wait for ever.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

LOW = 5  # the niceness of a job that burns: a third of what a process of the usual one gets
SHARE_OF_MEMORY = 0.8


@dataclass(eq=False)
class Job:
    name: str
    work: Callable  # is given a Runner; answers a result, whose `good` counts
    needs: tuple = ()  # names of jobs that have to end well before it can begin
    follows: tuple = ()  # names of jobs that have to end before, be it as it may
    load: int = 1
    hurry: bool = False  # time counts in it
    lane: str = ""  # one at a time of those with the same one
    memory: int = 300  # MiB
    seconds: float = 30  # what it takes on two processors, or took the last time

    result: object = None
    began: float = 0
    ended: float = 0
    processor: float = 0  # seconds that its processes and those they waited for had
    behind: "Job" = None  # whose end it began with

    @property
    def wall(self):
        return self.ended - self.began

    def good(self):
        return self.result is not None and self.result.good


class Processes:
    """All that run, to be ended with this program."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.over = False

    def begin(self, *command, **options):
        with self.lock:
            if self.over:
                raise InterruptedError
            process = subprocess.Popen(command, start_new_session=True, **options)
            self.running.add(process)
            return process

    def end(self, process):
        """Its exit status, and the processor time of it and all that it waited for."""
        _, status, usage = os.wait4(process.pid, 0)
        with self.lock:
            self.running.discard(process)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def kill(self):
        """As the terminal does it: what has to be cleaned up, cleans up."""
        with self.lock:
            self.over = True
            for process in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGINT)


PROCESSES = Processes()


def lower(pid):
    """Where Linux groups processes by session, niceness counts within a session only, and the
    session has its own."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(LOW), encoding="ascii")


@dataclass
class Runner:
    """Runs commands for a job, and adds up what they cost."""

    folder: Path
    low: bool = False
    processor: float = 0

    def __call__(self, *command, log=None, **environment):
        """Runs a command; returns its exit status and all it said, which also goes to a log."""
        if self.low:
            command = ("nice", "-n", str(LOW), *command)
        with contextlib.ExitStack() as stack:
            if log:
                output = stack.enter_context(open(log, "w+b"))
            else:
                output = stack.enter_context(tempfile.TemporaryFile())
            process = PROCESSES.begin(
                *command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env={**os.environ, **environment},
            )
            if self.low:
                lower(process.pid)
            code, seconds = PROCESSES.end(process)
            self.processor += seconds
            output.seek(0)
            return code, output.read().decode(errors="replace")


def memory_of_machine():
    """MiB that jobs may have."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024 * SHARE_OF_MEMORY
    return float("inf")


@dataclass
class Schedule:
    jobs: list
    folder: Path
    processors: int = os.cpu_count() or 1
    memory: float = field(default_factory=memory_of_machine)
    done: Callable = lambda job: None  # told of each job that ended
    skipped: Callable = lambda job, missing: None  # the result of a job that can't begin

    def __post_init__(self):
        self.names = {job.name: job for job in self.jobs}
        self.waiting = sorted(self.jobs, key=self.rank, reverse=True)
        self.running = []
        self.ended = []
        self.change = threading.Condition()

    def before(self, job):
        """The jobs of this run that have to end before it begins."""
        return [self.names[name] for name in (*job.needs, *job.follows) if name in self.names]

    def work_behind(self, job):
        """Seconds from its begin to the end of all that waits for it."""
        after = [other for other in self.jobs if job in self.before(other)]
        return job.seconds + max(map(self.work_behind, after), default=0)

    def rank(self, job):
        return job.load >= self.processors, self.work_behind(job)

    def lane_is_free(self, job):
        return not job.lane or all(other.lane != job.lane for other in self.running)

    def fits(self, job):
        if not self.running:
            return True
        if not self.lane_is_free(job):
            return False
        if sum(other.memory for other in self.running) + job.memory > self.memory:
            return False
        return not job.load or sum(other.load for other in self.running) + job.load <= max(
            self.processors, 1)

    def next(self):
        """A job that can begin; None if there is none now."""
        blocked = False  # by one that waits for room, not for its lane
        for job in self.waiting:
            if any(other not in self.ended for other in self.before(job)):
                continue
            if blocked and job.load:
                continue
            if self.fits(job):
                return job
            blocked = blocked or bool(job.load) and self.lane_is_free(job)
        return None

    def missing(self, job):
        """The jobs that it needs and that did not end well."""
        return [name for name in job.needs if name in self.names and not self.names[name].good()]

    def perform(self, job):
        runner = Runner(self.folder, low=not job.hurry)
        try:
            job.result = job.work(runner)
        except Exception:  # a defect of the job's own: said, and counted as a failure
            traceback.print_exc()
        finally:
            with self.change:
                job.ended, job.processor = time.monotonic(), runner.processor
                self.running.remove(job)
                self.ended.append(job)
                self.change.notify()

    def begin(self, job):
        self.waiting.remove(job)
        job.began = time.monotonic()
        job.behind = self.ended[-1] if self.ended else None
        if missing := self.missing(job):
            job.result, job.ended = self.skipped(job, missing), job.began
            self.ended.append(job)
            return
        self.running.append(job)
        threading.Thread(target=self.perform, args=(job,), daemon=True).start()

    def run(self):
        """Until all are over. A job whose work raised has no result."""
        told = 0
        while told < len(self.jobs):
            with self.change:
                while job := self.next():
                    self.begin(job)
                if told == len(self.ended):
                    self.change.wait()
                news = self.ended[told:]
            for job in news:
                self.done(job)
            told += len(news)

    def last_chain(self):
        """What the end waited for: each job and, before it, the one whose end it began with."""
        chain = []
        job = max(self.jobs, key=lambda one: one.ended, default=None)
        while job:
            chain.append(job)
            job = job.behind
        return chain[::-1]
