# SPDX-License-Identifier: Apache-2.0
"""Builds Fingerpost and runs its test suites; tools/test is the way to call it.

Each suite is one line with its counts and its time. What fails is shown with its output. What
cannot run is said, and never counts as passed. The last line is "N passed, N failed".

Where the network is real a machine that stands still for a second can fail a test. The few that
failed run again, alone, and have to pass twice in a row; what they said the first time is shown and
they are listed as UNSTEADY, since one failure in a thousand may be the agent's.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from lab import kube_programs

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = REPOSITORY / "build-test"
BUILD_CLANG = REPOSITORY / "build-clang"
TESTS = REPOSITORY / "tests"
SHOWN_LINES = 150
ALONE_TIMES = 2
MOST_ALONE = 3  # more failures are no accident
ONE_CHANCE = ("test_packets",)  # of tests/vm: no network, and CPUs that race
TESTS_FAILED = 1  # pytest's exit status; others say that it did not come to its end


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    not_run: list = field(default_factory=list)  # reasons
    unsteady: list = field(default_factory=list)  # passed, but not the first time
    output: str = ""  # shown if something failed


def run(*command, log=None, **environment):
    """Runs a command; returns its exit status and all it said, which also goes to a log."""
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **environment},
    )
    if log:
        log.write_text(done.stdout, encoding="utf-8")
    return done.returncode, done.stdout


def compile_with(compiler, folder, *options):
    if not (folder / "build.ninja").exists():
        code, output = run(
            "meson", "setup", str(folder), "--werror", *options, CC=compiler
        )
        if code != 0:
            return Result(failed=1, output=output)
    code, output = run("ninja", "-C", str(folder), log=folder / "ninja.log")
    return Result(passed=int(code == 0), failed=int(code != 0), output=output)


def compile_gcc():
    options = ("--buildtype=debug", "-Db_sanitize=address,undefined")
    return compile_with("gcc", BUILD, *options)


def compile_clang():
    return compile_with("clang-14", BUILD_CLANG)


def count_tap(test):
    """(passed, failed, skipped) of one program of meson's log: its TAP lines, or itself as one."""
    lines = test.get("stdout", "").splitlines()
    skipped = sum(1 for line in lines if re.match(r"ok\b.*# *SKIP", line, re.IGNORECASE))
    passed = sum(1 for line in lines if re.match(r"ok\b", line)) - skipped
    failed = sum(1 for line in lines if re.match(r"not ok\b", line))
    if test["result"] == "SKIP":
        return 0, 0, max(skipped, 1)
    if test["result"] == "OK":
        return max(passed, 0 if skipped else 1), failed, skipped
    return passed, max(failed, 1), skipped


def meson_suite(name):
    """The programs that meson knows. A program that crashes counts as a failed test."""
    log = BUILD / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    code, output = run(
        "meson", "test", "-C", str(BUILD), "--no-rebuild", "--print-errorlogs", "-t", "5",
        "--suite", name,
        log=BUILD / f"{name}.log",
    )
    result = Result(output=output)
    if not log.exists():
        result.failed = 1
        return result
    for line in log.read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        passed, failed, skipped = count_tap(test)
        result.passed += passed
        result.failed += failed
        if skipped:
            result.not_run.append(f"{test['name']}: {skipped} skipped")
    if code != 0 and not result.failed:
        result.failed = 1
    if not result.passed and not result.failed:
        result.not_run.append(f"no {name} tests are built")
    return result


def pipeline():
    return os.environ.get("CI") == "true"


def fuzz_seconds():
    """How long each target is to search: FUZZ_SECONDS; without it, a while in the pipeline only."""
    return int(os.environ.get("FUZZ_SECONDS") or (30 if pipeline() else 0))


def fuzz_suite():
    """Replays the corpora; searches for new inputs if there is to be time for it."""
    result = meson_suite("fuzz")
    seconds = fuzz_seconds()
    if not seconds:
        return result
    code, output = run(str(TESTS / "fuzz" / "run"), str(seconds), log=BUILD / "fuzzing.log")
    result.output += output
    outcome = "OK" if code == 0 else "FAIL"
    passed, failed, _ = count_tap({"result": outcome, "stdout": output})
    result.passed += passed
    result.failed += failed
    return result


def run_pytest(target, report, log, *options):
    report.unlink(missing_ok=True)
    return run(
        "/usr/bin/python3", "-m", "pytest", str(target), "-q", "--timeout", "300",
        "--junitxml", str(report), "-p", "no:cacheprovider", *options,
        log=log, FINGERPOST_BUILD=str(BUILD),
        AGENTCTL=str(BUILD / "agent" / "agentctl" / "agentctl"),
        ASAN_OPTIONS="detect_leaks=1", UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
    )


def name_of(case):
    """A test of pytest's report as its module knows it: xdist adds the group, test_it[4]@busy."""
    return re.sub(r"@\w+$", "", case.get("name"))


def passes_alone(folder, case):
    """Runs a test of pytest's report again, and nothing beside it."""
    modules = list(folder.rglob(case.get("classname").split(".")[-1] + ".py"))
    if len(modules) != 1 or name_of(case).split("[")[0] in ONE_CHANCE:
        return False
    report, log = BUILD / "alone.xml", BUILD / "alone.log"
    for _ in range(ALONE_TIMES):
        code, output = run_pytest(f"{modules[0]}::{name_of(case)}", report, log)
        if code != 0 or "1 passed" not in output:
            return False
    return True


def pytest_suite(name, workers, *options, real_network=False):
    """A folder of pytest tests, counted by the report that pytest writes."""
    folder = TESTS / name
    if not list(folder.rglob("test_*.py")):
        return Result(not_run=[f"tests/{name} has no tests"])
    report = BUILD / f"{name}.xml"
    code, output = run_pytest(folder, report, BUILD / f"{name}.log", "-n", str(workers), *options)
    result = Result(output=output)
    if not report.exists():
        result.failed = 1
        return result
    failures = []
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failures.append(case)
        elif skipped is not None:
            result.not_run.append(f"{name_of(case)}: {skipped.get('message')}")
        else:
            result.passed += 1
    result.failed = len(failures) or int(code != 0)
    if real_network and code == TESTS_FAILED and len(failures) <= MOST_ALONE:
        for case in failures:
            if passes_alone(folder, case):
                result.unsteady.append(f"{name_of(case)}: failed once, passed alone")
                result.failed -= 1
                result.passed += 1
    return result


def bpf_suite():
    if os.geteuid() != 0:
        return Result(not_run=["loading BPF programs needs root"])
    return pytest_suite("bpf", 2)


def netns_suite():
    if os.geteuid() != 0:
        return Result(not_run=["network namespaces need root"])
    # Most of a test's time is waiting, so more of them than there are processors.
    return pytest_suite("netns", 2 * (os.cpu_count() or 1), "--dist", "loadgroup",
                        real_network=True)


def kube_suite():
    """A real control plane, which is built first: minutes the first time, nothing later."""
    if os.geteuid() != 0:
        return Result(not_run=["network namespaces need root"])
    try:
        kube_programs.build()
        kube_programs.build_oracle()
    except kube_programs.NoGo as error:
        return Result(not_run=[str(error)])
    except kube_programs.BuildFailed as error:
        return Result(failed=1, output=str(error))
    # A cluster is shared by the tests of a file.
    return pytest_suite("kube", 2, "--dist", "loadfile", real_network=True)


SUITES = {
    "build": compile_clang,
    "unit": lambda: meson_suite("unit"),
    "fuzz": fuzz_suite,
    "check": lambda: pytest_suite("check", 2),
    "golden": lambda: pytest_suite("golden", 2),
    "property": lambda: pytest_suite("property", 2),
    "cli": lambda: pytest_suite("cli", 2),
    "bpf": bpf_suite,
    "netns": netns_suite,
    "kube": kube_suite,
    "vm": lambda: pytest_suite("vm", 1, real_network=True),
}


def report(name, result, seconds):
    counts = f"{result.passed:5} passed, {result.failed} failed"
    print(f"{name:10} {counts:26} {seconds:6.1f} s", flush=True)
    if result.failed or result.unsteady:
        print("\n".join(result.output.splitlines()[-SHOWN_LINES:]), flush=True)
    for reason in result.not_run:
        print(f"NOT RUN: {name}: {reason}", flush=True)
    for test in result.unsteady:
        print(f"UNSTEADY: {name}: {test}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tools/test", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    chosen = parser.parse_args().suites
    unknown = [name for name in chosen if name not in SUITES]
    if unknown:
        parser.error(f"no such suite: {', '.join(unknown)}")

    steps = {"gcc": compile_gcc}
    steps |= {name: SUITES[name] for name in SUITES if not chosen or name in chosen}
    passed = failed = not_run = unsteady = 0
    for name, step in steps.items():
        begin = time.monotonic()
        result = step()
        shown = {"gcc": "build/gcc", "build": "build/clang"}.get(name, name)
        report(shown, result, time.monotonic() - begin)
        passed += result.passed
        failed += result.failed
        not_run += len(result.not_run)
        unsteady += len(result.unsteady)
        if name == "gcc" and result.failed:
            break
    if not_run:
        print(f"NOT RUN: {not_run} in all, see above")
    if unsteady:
        print(f"UNSTEADY: {unsteady} in all, see above")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
