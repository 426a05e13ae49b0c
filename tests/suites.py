# SPDX-License-Identifier: Apache-2.0
"""Builds Fingerpost and runs its test suites; tools/test is the way to call it.

A suite is one job or several; schedule.py runs as many of them at once as do not harm each other.
Each suite is one line with its counts, its time and its processor time. What fails is shown with
its output. What cannot run is said, and never counts as passed. Then it is told where the time went.
The last line is "N passed, N failed".

Where the network is real a machine that stands still for a second can fail a test. The few that
failed run again at the end, alone, and have to pass twice in a row; what they said the first time is
shown and they are listed as UNSTEADY, since one failure in a thousand may be the agent's.
"""

import argparse
import json
import os
import re
import signal
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import changed
from changed import ALL
from report import Report, Result, show_output, suite_of
from schedule import PROCESSES, Job, Runner, Schedule

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = REPOSITORY / "build-test"
BUILD_CLANG = REPOSITORY / "build-clang"
TESTS = REPOSITORY / "tests"
PROCESSORS = os.cpu_count() or 1
ALONE_TIMES = 2
MOST_ALONE = 3  # more failures of a suite are no accident
ONE_CHANCE = ("test_packets",)  # of tests/vm: no network, and CPUs that race
TESTS_FAILED = 1  # pytest's exit status; others say that it did not come to its end
SECONDS, TIMES = "seconds.json", "times.json"  # of BUILD: what each job and each test took
NO_TESTS = 5  # pytest's: a part of a suite may have none of what was chosen
NOT_THERE = 77  # exit status of what builds or fetches: something outside is missing


def compile_with(run, compiler, folder, *options, environment=None):
    if not (folder / "build.ninja").exists():
        code, output = run(
            "meson", "setup", str(folder), "--werror", *options, CC=compiler
        )
        if code != 0:
            return Result(failed=1, output=output)
    code, output = run("ninja", "-C", str(folder), log=folder / "ninja.log")
    return Result(passed=int(code == 0), failed=int(code != 0), output=output)


def compile_gcc(run):
    options = ("--buildtype=debug", "-Db_sanitize=address,undefined")
    return compile_with(run, "gcc", BUILD, *options)


def compile_clang(run):
    """Nothing of it runs: its warnings need no optimisation."""
    return compile_with(run, "clang-14", BUILD_CLANG, "-Doptimization=0", "-Ddebug=false")


def compile_release(run):
    """The programs of emulated machines: optimised and without sanitizers."""
    return compile_with(run, "gcc", REPOSITORY / "build-vm", "--buildtype=release",
                        "--prefix=/usr", "-Dtests=false")


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


def meson_suite(run, name, programs=()):
    """The programs that meson knows, or some. One that crashes counts as a failed test."""
    log = BUILD / "meson-logs" / f"{name}.json"
    log.unlink(missing_ok=True)
    code, output = run(
        "meson", "test", "-C", str(BUILD), "--no-rebuild", "--print-errorlogs", "-t", "5",
        "--logbase", name, "--suite", name, *programs,
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
        result.times.append((test.get("duration", 0), test["name"].split(" / ")[-1]))
        if skipped:
            result.not_run.append(f"{test['name']}: {skipped} skipped")
    if code != 0 and not result.failed:
        result.failed = 1
    if not result.passed and not result.failed and not programs:
        result.not_run.append(f"no {name} tests are built")
    return result


def pipeline():
    return os.environ.get("CI") == "true"


def fuzz_seconds():
    """How long each target is to search: FUZZ_SECONDS; without it, a while in the pipeline only."""
    return int(os.environ.get("FUZZ_SECONDS") or (5 if pipeline() else 0))


def search(run, *targets):
    """The targets search for new inputs, one after the other: there are other jobs beside them."""
    code, output = run(str(TESTS / "fuzz" / "run"), "--at-once", "1", str(fuzz_seconds()), *targets,
                       log=BUILD / "fuzzing.log")
    outcome = "OK" if code == 0 else "FAIL"
    passed, failed, _ = count_tap({"result": outcome, "stdout": output})
    return Result(passed=passed, failed=failed, output=output)


def run_pytest(run, targets, report, log, *options, **environment):
    report.unlink(missing_ok=True)
    return run(
        "/usr/bin/python3", "-m", "pytest", *map(str, targets), "-q", "--timeout", "300",
        "--junitxml", str(report), "-p", "no:cacheprovider", *options,
        log=log, FINGERPOST_BUILD=str(BUILD),
        AGENTCTL=str(BUILD / "agent" / "agentctl" / "agentctl"),
        ASAN_OPTIONS="detect_leaks=1", UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
        # What is compiled and rewritten once is not compiled again in each emulated machine.
        PYTHONDONTWRITEBYTECODE="", FINGERPOST_TIMES=str(BUILD / TIMES), **environment,
    )


def name_of(case):
    """A test of pytest's report as its module knows it: xdist adds the group, test_it[4]@busy."""
    return re.sub(r"@\w+$", "", case.get("name"))


def passes_alone(run, folder, case):
    """Runs a test of pytest's report again, and nothing beside it."""
    modules = list(folder.rglob(case.get("classname").split(".")[-1] + ".py"))
    if len(modules) != 1 or name_of(case).split("[")[0] in ONE_CHANCE:
        return False
    report, log = BUILD / "alone.xml", BUILD / "alone.log"
    for _ in range(ALONE_TIMES):
        code, output = run_pytest(run, [f"{modules[0]}::{name_of(case)}"], report, log)
        if code != 0 or "1 passed" not in output:
            return False
    return True


def try_alone(result, runner):
    """The few failures that may be the machine's run again; see above."""
    cases, result.again = result.again, []
    if len(cases) > MOST_ALONE or result.failed > len(cases):
        return
    for folder, case in cases:
        if passes_alone(runner, folder, case):
            result.unsteady.append(f"{name_of(case)}: failed once, passed alone")
            result.failed -= 1
            result.passed += 1


def pytest_suite(run, name, workers, *options, part="", targets=(), real_network=False,
                 **environment):
    """A folder of pytest tests, or a part of it, counted by the report that pytest writes."""
    folder = TESTS / name
    if not list(folder.rglob("test_*.py")):
        return Result(not_run=[f"tests/{name} has no tests"])
    base = f"{name}-{part}" if part else name
    report = BUILD / f"{base}.xml"
    parallel = ("-n", str(workers)) if workers > 1 else ()
    code, output = run_pytest(run, targets or [folder], report, BUILD / f"{base}.log", *parallel,
                              *options, **environment)
    result = Result(output=output)
    if code == NO_TESTS and targets:
        return result
    if not report.exists():
        result.failed = 1
        return result
    failures = []
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        module = case.get("classname").split(".")[-1]
        result.times.append((float(case.get("time")), f"{module}::{name_of(case)}"))
        if case.find("failure") is not None or case.find("error") is not None:
            failures.append(case)
        elif skipped is not None:
            result.not_run.append(f"{name_of(case)}: {skipped.get('message')}")
        else:
            result.passed += 1
    result.failed = len(failures) or int(code != 0)
    if real_network and code == TESTS_FAILED:
        result.again = [(folder, case) for case in failures]
    return result


def needs_root(suite):
    """A suite that makes network namespaces or loads BPF programs."""
    def checked(run):
        if os.geteuid() != 0:
            return Result(not_run=["network namespaces and BPF programs need root"])
        return suite(run)

    return checked


def build_with_go(run, which):
    """Programs of tests/kube/programs; minutes the first time, nothing later."""
    code, output = run("/usr/bin/python3", str(TESTS / "lab" / "kube_programs.py"), which,
                       log=BUILD / f"{which}.log")
    if code == NOT_THERE:
        return Result(not_run=[output.strip()])
    return Result(failed=int(code != 0), output=output)


def prepare_guest(run, kernel):
    """Fetches and unpacks a kernel; a minute the first time."""
    code, output = run(str(TESTS / "vm" / "run"), "--prepare", kernel)
    if code == NOT_THERE:
        return Result(not_run=[(output.strip().splitlines() or ["no kernel"])[-1]])
    return Result(failed=int(code != 0), output=output)


def build_package(run):
    """The Debian package that a bare machine gets."""
    package = REPOSITORY / "build-deb"
    package.mkdir(exist_ok=True)
    code, output = run(str(REPOSITORY / "tools" / "deb"), str(package))
    return Result(failed=int(code != 0), output=output)


def prepare_root(run, release):
    """A bare Debian root; a minute or two the first time."""
    code, output = run(str(TESTS / "install" / "root"), release)
    if code == NOT_THERE:
        return Result(not_run=[(output.strip().splitlines() or ["no root"])[-1]])
    return Result(failed=int(code != 0), output=output)


GUESTS = {  # what runs in an emulated machine with which kernel; vm/guests.py
    "6.1": ("boot", "runner", "packets", "sockets", "matrix", "stack", "egress", "systemd", "services", "reboot"),
    "6.12": ("boot", "sockets", "egress", "services"),
}
# What takes longer than it may here, and where it runs; said at the end of a whole run.
LEFT_TO_THE_SOAK = {
    "packets of tests/bpf on 6.12, and all of them on 6.1": "tools/bench --soak --part packets",
    "a namespace of 5,000 Services that goes, 1,000 here": "tools/bench --soak --part namespace",
    "fuzzing for longer than 5 s a target": "FUZZ_SECONDS=600 tools/test fuzz",
    "NAT besieged for an hour; gateways, claims and life of a cluster for longer": "tools/bench --soak",
}
RELEASES = ("12", "13")  # of Debian, on whose bare roots README's way is walked
GUEST_SECONDS = {"packets": 250, "sockets": 120, "matrix": 450, "stack": 180, "egress": 75, "systemd": 90, "services": 120, "reboot": 150}


def pytest_job(suite, workers=2, *options, part="", needs=("gcc",), root=False, real_network=False,
               targets=(), environment=None, **job):
    """A job that runs a folder of pytest tests, or a part of it; `job` is what schedule.Job wants."""
    def work(run):
        return pytest_suite(run, suite, workers, *options, part=part, targets=targets,
                            real_network=real_network, **(environment or {}))

    name = f"{suite}/{part}" if part else suite
    return Job(name, needs_root(work) if root else work, needs=needs, **job)


def guest_jobs():
    """Emulated machines: a job for each kernel and guest, one guest at a time, since each has two
    processors of its own and a limit. That of all packets comes after the same tests have run
    here."""
    jobs = []
    for kernel, guests in GUESTS.items():
        fetched = f"vm/kernel-{kernel}"
        jobs.append(Job(fetched, lambda run, kernel=kernel: prepare_guest(run, kernel), seconds=20))
        for guest in guests:
            jobs.append(pytest_job(
                "vm", 1, "-m", f"guest_{guest}", part=f"{kernel}-{guest}", real_network=True,
                needs=("gcc", "vm/release", fetched), follows=("bpf",) if guest == "packets" else (),
                environment={"FINGERPOST_VM_KERNELS": kernel},
                seconds=GUEST_SECONDS.get(guest, 60), memory=2048, hurry=guest != "packets",
                lane="guest",
            ))
    return jobs


def all_jobs(only=None):
    """Every job there is, its suite being its name up to the slash, but for the builds. `only`: parts
    of suites, as changed.py has them."""
    only = {suite: parts for suite, parts in (only or {}).items() if parts is not ALL}

    def job(suite, *words, **more):
        more.setdefault("targets", only.get(suite, ()))
        return pytest_job(suite, *words, **more)

    proxy = TESTS / "kube" / "test_proxy_itself.py"
    libcni = TESTS / "cni" / "test_libcni.py"
    kubelet = TESTS / "cni" / "test_kubelet.py"
    plugin = [path for path in only.get("cni", ()) if path not in (libcni, kubelet)]
    clusters = [path for path in only.get("kube", ()) if path != proxy]
    targets = [name.removeprefix("fuzz/") for name in only.get("fuzz", ())]
    all_processors = {"load": PROCESSORS}
    jobs = [
        Job("gcc", compile_gcc, seconds=40, **all_processors),
        Job("build", compile_clang, seconds=60),
        Job("unit", lambda run: meson_suite(run, "unit", only.get("unit", ())), needs=("gcc",),
            seconds=100),
        Job("fuzz/replay", lambda run: meson_suite(run, "fuzz", only.get("fuzz", ())), needs=("gcc",),
            seconds=2),
        job("check", seconds=15),
        job("golden", seconds=8),
        job("property", seconds=110),
        job("cli", seconds=40),
        job("bpf", 1, seconds=35, root=True),
        Job("cni/cnitool", lambda run: build_with_go(run, "cnitool"), seconds=2),
        job("cni", 1, part="libcni", targets=(libcni,), root=True, real_network=True, seconds=15,
            needs=("gcc", "cni/cnitool")),
        job("cni", 2, f"--ignore={libcni}", f"--ignore={kubelet}", part="plugin", root=True, real_network=True,
            seconds=60, targets=plugin),
        Job("cni/programs", needs_root(lambda run: build_with_go(run, "kubelet")), seconds=60,
            follows=("kube/programs",)),
        # Three kubelets with their containers and a cluster: all is waiting for each other.
        job("cni", 1, part="kubelet", targets=(kubelet,), root=True, real_network=True, seconds=120,
            needs=("gcc", "kube/programs", "cni/programs"), load=0, hurry=True, lane="network", memory=2048),
        job("netns", 1, "-m", "busy", part="busy", root=True, real_network=True, seconds=300,
            hurry=True, **all_processors),
        job("netns", 2 * PROCESSORS - 1, "--dist", "loadgroup", "-m", "not busy", part="rest", root=True,
            real_network=True, seconds=350, load=0, hurry=True, lane="network"),
        job("siege", 1, root=True, real_network=True, seconds=150, hurry=True, **all_processors),
        Job("kube/programs", needs_root(lambda run: build_with_go(run, "programs")),
            seconds=300),
        Job("kube/proxy", needs_root(lambda run: build_with_go(run, "oracle")),
            seconds=60, follows=("kube/programs",)),
        # A cluster is shared by the tests of a file; others of them are on their own.
        job("kube", 2 * PROCESSORS, "--dist", "loadgroup", f"--ignore={proxy}", part="cluster",
            needs=("gcc", "kube/programs"), root=True, real_network=True, seconds=280,
            load=0, hurry=True, lane="network", memory=2048, targets=clusters),
        Job("consul/program", needs_root(lambda run: build_with_go(run, "consul")), seconds=210,
            follows=("kube/programs",)),
        job("consul", 2, "--dist", "loadgroup", part="server", needs=("gcc", "consul/program"),
            seconds=120, lane="network"),
        job("kube", 1, part="judge", targets=(proxy,), needs=("gcc", "kube/proxy"), root=True,
            real_network=True, seconds=60),
        Job("install/deb", build_package, seconds=30),
        *[job("install", 1, "-k", f"[{release}]", part=release, root=True, real_network=True, seconds=30,
              needs=("install/deb", f"install/root-{release}"), lane="network") for release in RELEASES],
        *[Job(f"install/root-{release}", needs_root(lambda run, release=release: prepare_root(run, release)),
              seconds=5) for release in RELEASES],
        Job("vm/release", compile_release, seconds=5),
        *guest_jobs(),
    ]
    if fuzz_seconds():
        jobs.append(Job("fuzz/search", lambda run: search(run, *targets), needs=("gcc",),
                        seconds=11 * fuzz_seconds() + 20))
    if "kube" in only:
        unwanted = {"kube/judge"} if proxy not in only["kube"] else set()
        unwanted |= set() if clusters else {"kube/cluster"}
        jobs = [one for one in jobs if one.name not in unwanted]
    if "cni" in only:
        unwanted = {"cni/libcni"} if libcni not in only["cni"] else set()
        unwanted |= {"cni/kubelet"} if kubelet not in only["cni"] else set()
        unwanted |= set() if plugin else {"cni/plugin"}
        jobs = [one for one in jobs if one.name not in unwanted]
    return jobs


# The suites, in the order of docs/testing.md. What others need is a suite's own job, or hidden.
SUITES = ("build", "unit", "fuzz", "check", "golden", "property", "cli", "bpf", "cni", "netns", "siege", "install",
          "kube", "consul", "vm")


def chosen_jobs(jobs, suites):
    """The jobs of these suites, and what they need."""
    names = {job.name: job for job in jobs}
    wanted = [job for job in jobs if suite_of(job) in suites]
    for job in wanted:  # which grows meanwhile
        wanted += [names[name] for name in job.needs if names[name] not in wanted]
    return [job for job in jobs if job in wanted]


def recalled(name):
    """What took how long the last time: it says what begins first."""
    try:
        return json.loads((BUILD / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remember(jobs):
    for name, news in (
        (SECONDS, {job.name: job.wall for job in jobs if job.result.passed}),
        (TIMES, {test: seconds for job in jobs for seconds, test in job.result.times}),
    ):
        taken = recalled(name) | {key: round(seconds, 1) for key, seconds in news.items()}
        (BUILD / name).write_text(json.dumps(taken, indent=1), encoding="utf-8")


def run_jobs(jobs, whole=False):
    """Runs them and prints what became of them; the exit status. `whole`: these are all jobs."""
    taken = recalled(SECONDS)
    for job in jobs:
        job.seconds = taken.get(job.name, job.seconds)
    report = Report(jobs)
    schedule = Schedule(
        jobs, REPOSITORY, done=report.ended,
        skipped=lambda job, missing: Result(not_run=[f"{job.name}: needs {', '.join(missing)}"]),
    )
    schedule.run()
    report.try_alone(lambda result: try_alone(result, Runner(REPOSITORY)))
    if BUILD.exists():
        remember(jobs)
    report.times(schedule)
    if whole:
        for what, where in LEFT_TO_THE_SOAK.items():
            print(f"LEFT TO THE SOAK: {what}: {where}")
    return 1 if report.sum() else 0


def jobs_of_changes(revision):
    """What a change since a revision can touch, by what ninja knows after a build."""
    result = compile_gcc(Runner(REPOSITORY))
    if result.failed:
        show_output("gcc", result.output)
        print("0 passed, 1 failed")
        sys.exit(1)
    changes = changed.changed_files(revision)
    parts = changed.touched(changes, changed.Built(BUILD), SUITES)
    print(f"{len(changes)} files changed:", ", ".join(
        suite if parts[suite] is ALL else f"{suite} ({len(parts[suite])})"
        for suite in SUITES if suite in parts), flush=True)
    return chosen_jobs(all_jobs(parts), [suite for suite in SUITES if suite in parts])


def main():
    parser = argparse.ArgumentParser(prog="tools/test", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--changed", nargs="?", const="", metavar="REV",
                        help="only what a change since a revision can touch, uncommitted ones and new "
                             "files included; by default since this branch left main")
    arguments = parser.parse_args()
    chosen = arguments.suites
    unknown = [name for name in chosen if name not in SUITES]
    if unknown:
        parser.error(f"no such suite: {', '.join(unknown)}")
    if arguments.changed is None:
        return run_jobs(chosen_jobs(all_jobs(), chosen or SUITES), whole=not chosen)
    if chosen:
        parser.error("--changed finds the suites by itself")
    try:
        return run_jobs(jobs_of_changes(arguments.changed))
    except ValueError as error:  # git's words
        parser.error(str(error))


def interrupted(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    # A shell ignores it for what it runs in the background, and tests of Ctrl-C would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        PROCESSES.kill()
        sys.exit(130)
