# SPDX-License-Identifier: Apache-2.0
"""What became of suites, and how it is printed; see suites.py."""

import os
import time
from dataclasses import dataclass, field

SHOWN_LINES = 150
LONGEST = 10  # tests that are named at the end
PROCESSORS = os.cpu_count() or 1
HIDDEN = {"gcc": "build"}  # jobs that belong to a suite of another name


def suite_of(job):
    return HIDDEN.get(job.name, job.name.split("/")[0])


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    not_run: list = field(default_factory=list)  # reasons
    unsteady: list = field(default_factory=list)  # passed, but not the first time
    output: str = ""  # shown if something failed
    again: list = field(default_factory=list)  # (folder, case) of failures that may be the machine's
    times: list = field(default_factory=list)  # (seconds, name) of tests

    @property
    def good(self):
        return not self.failed and not self.not_run

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        for name in ("not_run", "unsteady", "again", "times"):
            getattr(self, name).extend(getattr(other, name))
        if other.failed or other.unsteady:
            self.output += other.output


class Report:
    """What is printed: a line for each suite that has come to its end, what failed, and the sum."""

    def __init__(self, jobs):
        self.jobs = jobs
        self.results = {}  # by suite
        self.begin = time.monotonic()

    def jobs_of(self, suite):
        return [job for job in self.jobs if suite_of(job) == suite]

    def ended(self, job):
        """Prints the job's suite if this was the last of it."""
        if job.result is None:
            job.result = Result(failed=1, output=f"{job.name} broke, see above")
        result = self.results.setdefault(suite_of(job), Result())
        result.add(job.result)
        if job.result.failed:
            show_output(job.name, job.result.output)
        if all(other.ended for other in self.jobs_of(suite_of(job))) and not result.again:
            self.line(suite_of(job))

    def line(self, suite):
        result, jobs = self.results[suite], self.jobs_of(suite)
        counts = f"{result.passed:5} passed, {result.failed} failed"
        wall = max(job.ended for job in jobs) - min(job.began for job in jobs)
        processor = sum(job.processor for job in jobs)
        print(f"{suite:10} {counts:26} {wall:6.1f} s {processor:7.1f} s of processors", flush=True)
        for reason in result.not_run:
            print(f"NOT RUN: {suite}: {reason}", flush=True)
        for test in result.unsteady:
            print(f"UNSTEADY: {suite}: {test}", flush=True)

    def try_alone(self, again):
        """Nothing else runs any more: `again` has the failures of a suite that may be the machine's."""
        for suite, result in self.results.items():
            if result.again:
                again(result)
                self.line(suite)

    def times(self, schedule):
        """Where the time went."""
        wall = time.monotonic() - self.begin
        processor = sum(job.processor for job in self.jobs)
        print(f"\n{wall:.0f} s, {processor:.0f} s of {PROCESSORS} processors in all")
        chain = [f"{job.name} {job.wall:.0f} s" for job in schedule.last_chain() if job.wall >= 1]
        print("One after the other to the end: " + ", ".join(chain))
        longest = sorted(((seconds, f"{job.name}: {test}") for job in self.jobs
                          for seconds, test in job.result.times), reverse=True)
        for seconds, test in longest[:LONGEST]:
            print(f"{seconds:7.1f} s  {test}")
        print("", flush=True)

    def sum(self):
        """Prints it, and answers how many failed."""
        total = Result()
        for result in self.results.values():
            total.add(result)
        for word, found in (("NOT RUN", total.not_run), ("UNSTEADY", total.unsteady)):
            if found:
                print(f"{word}: {len(found)} in all, see above")
        print(f"{total.passed} passed, {total.failed} failed")
        return total.failed


def show_output(name, output):
    print(f"---- {name}")
    print("\n".join(output.splitlines()[-SHOWN_LINES:]), flush=True)
