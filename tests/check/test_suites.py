# SPDX-License-Identifier: Apache-2.0
"""tools/test counts what ran, and a failure of any kind is one."""

import os
import re
import time

import pytest
import report
import suites
from lab import kube_programs
from schedule import LOW, Job, Runner, Schedule

OK3 = "1..3\nok 1 - a\nok 2 - b\nok 3 - c\n"


@pytest.mark.parametrize("result, stdout, counts", [
    ("OK", OK3, (3, 0, 0)),
    ("OK", "", (1, 0, 0)),
    ("FAIL", "1..2\nok 1 - a\nnot ok 2 - b\n", (1, 1, 0)),
    ("FAIL", "", (0, 1, 0)),
    ("ERROR", "1..3\nok 1 - a\nok 2 - b\n", (2, 1, 0)),  # died in the third
    ("TIMEOUT", "1..3\n", (0, 1, 0)),
    ("OK", "1..2\nok 1 - a\nok 2 - b # SKIP no kernel\n", (1, 0, 1)),
    ("SKIP", "", (0, 0, 1)),
])
def test_tap_is_counted(result, stdout, counts):
    assert suites.count_tap({"name": "x", "result": result, "stdout": stdout}) == counts


def test_the_table_of_suites_is_true():
    text = (suites.REPOSITORY / "docs" / "testing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`(tests/\w+/)`[^|]*)?\|", text, re.MULTILINE)
    assert [name for name, _ in rows] == list(suites.SUITES)
    for name, folder in rows[1:]:
        assert folder == f"tests/{name}/" and (suites.REPOSITORY / folder).is_dir()


@pytest.fixture(name="sample")
def sample_fixture(tmp_path, monkeypatch):
    """Runs pytest over a folder with these modules."""
    monkeypatch.setattr(suites, "TESTS", tmp_path)
    monkeypatch.setattr(suites, "BUILD", tmp_path)

    def run(*options, workers=2, real_network=False, **modules):
        (tmp_path / "sample").mkdir(exist_ok=True)
        for name, text in modules.items():
            (tmp_path / "sample" / f"{name}.py").write_text(text)
        runner = Runner(tmp_path)
        result = suites.pytest_suite(runner, "sample", workers, *options, real_network=real_network)
        suites.try_alone(result, runner)
        return result

    return run


def test_pytest_is_counted(sample):
    result = sample()
    assert (result.passed, result.failed) == (0, 0) and result.not_run
    result = sample(test_x=(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_skipped(): pytest.skip('no kernel')\n"
        "@pytest.fixture\n"
        "def late():\n"
        "    yield\n"
        "    assert False\n"
        "def test_bad_end(late): pass\n"
    ))
    assert (result.passed, result.failed) == (1, 2), result.output
    assert result.not_run == ["test_skipped: no kernel"]
    assert sample(test_x="import no_such_module\n").failed == 1


def test_what_fails_once_runs_again_alone_and_is_named(sample, tmp_path):
    result = sample("--dist", "loadgroup", real_network=True, test_x=(
        "from pathlib import Path\n"
        "import pytest\n"
        "@pytest.mark.xdist_group('busy')\n"
        "@pytest.mark.parametrize('name, failures', [('good', 0), ('rare', 1), ('bad', 9)])\n"
        "def test_it(name, failures):\n"
        f"    runs = Path('{tmp_path}', name)\n"
        "    runs.write_text(runs.read_text() + 'x' if runs.exists() else 'x')\n"
        "    assert len(runs.read_text()) > failures\n"
    ))
    assert (result.passed, result.failed) == (2, 1), result.output
    assert [name.split(":")[0] for name in result.unsteady] == ["test_it[rare-1]"]
    assert "assert 1 > 1" in result.output
    assert len((tmp_path / "good").read_text()) == 1
    assert len((tmp_path / "rare").read_text()) == 3


def test_what_cannot_be_read_is_a_failure(sample):
    result = sample(real_network=True, test_x="import no_such_module\n",
                    test_y="def test_packets(): assert False\n")
    assert result.failed and not result.unsteady


FAILS_ONCE_EACH = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("number", range({count}))
def {name}(number):
    runs = Path("{folder}", str(number))
    assert runs.exists() or runs.touch()
"""


@pytest.mark.parametrize("name, count", [
    ("test_packets", 1),  # has one chance
    ("test_it", suites.MOST_ALONE + 1),
])
def test_what_does_not_run_again(sample, tmp_path, name, count):
    text = FAILS_ONCE_EACH.format(name=name, count=count, folder=tmp_path)
    result = sample(real_network=True, test_x=text)
    assert (result.passed, result.failed) == (0, count) and not result.unsteady


def test_a_build_that_fails_is_a_failure(tmp_path):
    runner = Runner(suites.REPOSITORY)
    assert suites.compile_with(runner, "no-such-compiler", tmp_path / "build").failed == 1


def test_fuzzing_takes_time_only_where_it_is_wanted(monkeypatch):
    monkeypatch.delenv("FUZZ_SECONDS", raising=False)
    monkeypatch.delenv("CI", raising=False)
    assert suites.fuzz_seconds() == 0
    monkeypatch.setenv("CI", "true")
    assert suites.fuzz_seconds() == 5
    monkeypatch.setenv("FUZZ_SECONDS", "7")
    assert suites.fuzz_seconds() == 7


@pytest.mark.parametrize("search, counts", [
    ("printf '1..2\\nok 1 - a: 9 runs\\nok 2 - b: 9 runs\\n'", (2, 0)),
    ("printf '1..2\\nok 1 - a: 9 runs\\nnot ok 2 - b: x/crash-1\\n'; exit 1", (1, 1)),
    ("echo no such compiler; exit 1", (0, 1)),
])
def test_findings_are_failures(tmp_path, monkeypatch, search, counts):
    (tmp_path / "fuzz").mkdir()
    script = tmp_path / "fuzz" / "run"
    script.write_text(f"#!/bin/sh\n{search}\n")
    script.chmod(0o755)
    monkeypatch.setattr(suites, "TESTS", tmp_path)
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    monkeypatch.setenv("FUZZ_SECONDS", "1")
    result = suites.search(Runner(tmp_path))
    assert (result.passed, result.failed) == counts


def test_without_go_the_cluster_is_not_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(kube_programs, "BUILD", tmp_path)
    monkeypatch.setattr(kube_programs, "find_go", lambda source: None)
    monkeypatch.setattr(kube_programs.sys, "argv", ["kube_programs.py", "programs"])
    assert kube_programs.main() == suites.NOT_THERE
    said = capsys.readouterr().out
    assert "no Go new enough" in said
    result = suites.build_with_go(lambda *_, **__: (suites.NOT_THERE, said), "programs")
    assert (result.failed, result.not_run, result.good) == (0, [said.strip()], False)


def test_a_go_that_is_too_old_is_not_used(monkeypatch, tmp_path):
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho 'go.mod requires go >= 1.24.0 (running go 1.19)' >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert kube_programs.find_go(kube_programs.SOURCE) != str(go)


def test_kubelets_are_of_the_version_of_their_cluster():
    found = {re.search(r"k8s\.io/kubernetes (v\S+)", (source / "go.mod").read_text())[1]
             for source in (kube_programs.SOURCE, kube_programs.KUBELET)}
    assert len(found) == 1


@pytest.mark.parametrize("there", [(), ("proxier.go", "proxier_test.go"), ("helpers_test.go",)])
def test_a_module_that_lacks_a_file_is_told(monkeypatch, tmp_path, there):
    """As a later Kubernetes may."""
    programs = kube_programs
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    for name in there:
        (tmp_path / name).write_text(") addressMatchesSet(\n")
    with pytest.raises(programs.BuildFailed, match=f"no file .*\\.go in {tmp_path}"):
        programs.overlay(tmp_path)


# The schedule: jobs that note when they began and ended.


@pytest.fixture(name="history")
def history_fixture(tmp_path):
    """Runs a schedule; answers ["+a", "-a"...] as jobs began and ended, and the schedule."""
    said = []

    def run(*jobs, processors=2, memory=1000):
        def watched(job):
            def work(runner):
                said.append(f"+{job.name}")
                time.sleep(0.05 * job.seconds)
                said.append(f"-{job.name}")
                return results.get(job.name, suites.Result(passed=1))

            results = {job.name: job.work} if isinstance(job.work, suites.Result) else {}
            job.work = work

        for job in jobs:
            watched(job)
        schedule = Schedule(
            list(jobs), tmp_path, processors=processors, memory=memory,
            skipped=lambda job, missing: suites.Result(not_run=[f"{job.name} {missing}"]))
        schedule.run()
        return said, schedule

    return run


def together(said):
    """The sets of jobs that ran at the same time."""
    running, sets = set(), []
    for word in said:
        running = running | {word[1:]} if word[0] == "+" else running - {word[1:]}
        sets.append(running)
    return sets


def job(name, seconds=1, **more):
    return Job(name, None, seconds=seconds, **more)


def test_the_longest_way_to_the_end_begins_first(history):
    said, schedule = history(job("short"), job("long", 4), job("build", 1), job("tests", 5, needs=("build",)),
                             job("middle", 3), processors=1)
    assert [word[1:] for word in said if word[0] == "+"] == [
        "build", "tests", "long", "middle", "short"]
    assert [one.name for one in schedule.last_chain()] == ["build", "tests", "long", "middle", "short"]


def test_no_more_processors_and_memory_are_given_than_there_are(history):
    said, _ = history(*[job(name, memory=10) for name in "abcdef"], processors=3)
    assert max(map(len, together(said))) == 3
    said.clear()
    said, _ = history(*[job(name, memory=300) for name in "abcdef"], processors=5, memory=700)
    assert max(map(len, together(said))) == 2


def test_who_needs_the_whole_machine_is_alone_with_those_that_wait(history):
    said, _ = history(job("busy", 3, load=2), job("burns", 2), job("more", 2),
                      job("waits", 2, load=0, lane="network"), job("other", 2, load=0, lane="network"))
    sets = together(said)
    assert {"busy", "waits"} in sets and not [s for s in sets if "busy" in s and s & {"burns", "more"}]
    assert [s for s in sets if len(s) >= 2 and s & {"burns", "more"}], "one after the other"
    assert not [s for s in sets if {"waits", "other"} <= s], "two of a lane"


def test_who_waits_for_its_lane_keeps_nobody_from_the_processors(history):
    said, _ = history(*[job(f"guest{n}", 9, lane="guest") for n in range(3)], job("small", 1))
    assert said.index("+small") < said.index("-guest0")


def test_a_big_job_does_not_wait_for_ever(history):
    said, _ = history(job("first", 9), *[job(f"small{n}", 1) for n in range(6)], job("big", 5, load=2))
    assert said.index("+big") < min(said.index("+first"), said.index("+small0"))
    late = [job("first", 9), job("build", 2), *[job(f"small{n}", 1) for n in range(6)],
            job("big", 5, load=2, needs=("build",))]
    said.clear()
    said, _ = history(*late)
    assert said.index("+big") < said.index("+small5")


def test_what_needs_a_failure_does_not_run_and_says_so(history):
    _, schedule = history(
        Job("build", suites.Result(failed=1)), job("tests", needs=("build",)),
        job("later", needs=("tests",)), job("behind", follows=("build",)))
    results = {one.name: one.result for one in schedule.jobs}
    assert results["tests"].not_run == ["tests ['build']"] and results["later"].not_run
    assert results["behind"].passed == 1


def test_work_that_raises_has_no_result(tmp_path, capsys):
    def work(_):
        raise OSError("broken")

    schedule = Schedule([Job("bad", work)], tmp_path)
    schedule.run()
    assert "OSError: broken" in capsys.readouterr().err
    assert schedule.jobs[0].result is None and not schedule.jobs[0].good()


def test_processor_time_is_that_of_all_children(tmp_path):
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    for low in (False, True):
        runner = Runner(tmp_path, low=low)
        code, said = runner("sh", "-c", f"python3 -c '{burn}'; nice; exit 3")
        assert (code, said) == (3, f"{os.nice(0) + LOW * low}\n") and 0.3 <= runner.processor < 3


# The table of jobs.


def test_every_test_of_a_suite_is_in_one_of_its_jobs():
    """Jobs that take a part of a folder leave nothing out, and take nothing twice."""
    guests = {f"guest_{name}" for names in suites.GUESTS.values() for name in names}
    for folder, parts in (
        ("netns", [["-m", "busy"], ["-m", "not busy"]]),
        ("vm", [["-m", mark] for mark in sorted(guests)]),
    ):
        found = [collected(folder, *part) for part in parts]
        everything = collected(folder)
        assert len(everything) > 50 and sorted(sum(found, [])) == sorted(everything)
    assert set(suites.GUESTS["6.1"]) >= {name.removeprefix("guest_") for name in guests}


def collected(folder, *options):
    """The names of tests."""
    runner = Runner(suites.REPOSITORY)
    _, said = runner("/usr/bin/python3", "-m", "pytest", f"tests/{folder}", "--collect-only", "-q",
                     "-p", "no:cacheprovider", *options)
    return re.findall(r"^tests/\S+::.*$", said, re.MULTILINE)


def test_real_networks_do_not_stand_behind_what_burns():
    hurried = {one.name for one in suites.all_jobs() if one.hurry}
    assert hurried >= {"netns/busy", "netns/rest", "kube/cluster", "vm/6.1-services"}
    assert not hurried & {"unit", "fuzz/search", "bpf", "build", "kube/programs", "vm/6.1-packets"}


def test_jobs_name_each_other_truly(monkeypatch):
    monkeypatch.setenv("FUZZ_SECONDS", "1")
    jobs = suites.all_jobs()
    names = [one.name for one in jobs]
    assert len(set(names)) == len(names)
    assert {name for one in jobs for name in (*one.needs, *one.follows)} <= set(names)
    assert {report.suite_of(one) for one in jobs} == set(suites.SUITES)
    chosen = [one.name for one in suites.chosen_jobs(jobs, ["kube"])]
    assert chosen == ["gcc", "kube/programs", "kube/proxy", "kube/cluster", "kube/judge"]


def test_a_suite_is_reported_when_its_last_job_ended(capsys):
    jobs = [job("netns/busy"), job("netns/rest"), job("gcc"), job("unit")]
    printed = report.Report(jobs)
    for number, one in enumerate(jobs):
        one.began, one.ended, one.processor = number, number + 1, 0.5
        one.result = suites.Result(passed=number, times=[(number, f"t{number}")])
        one.ended = 0
    jobs[3].result = None  # it broke
    for number, one in enumerate(jobs):
        one.ended = number + 1
        printed.ended(one)
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == "netns 1 passed, 0 failed 2.0 s 1.0 s of processors".split()
    assert said[1].split()[:5] == "build 2 passed, 0 failed".split()
    assert printed.sum() == 1 and capsys.readouterr().out == "3 passed, 1 failed\n"
    printed.times(Schedule(jobs, suites.REPOSITORY))
    said = capsys.readouterr().out
    assert "  t2" not in said and "gcc: t2" in said and "to the end: " in said
