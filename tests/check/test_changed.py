# SPDX-License-Identifier: Apache-2.0
"""What tools/test --changed runs after a change, and that it is no less than what the change touches."""

import subprocess

import changed
import pytest
import suites
from changed import ALL
from lab.agent import build_folder

EVERYTHING = set(suites.SUITES)
RUNNING = {"property", "cli", "cni", "netns", "siege", "install", "kube", "vm"}  # agentd and agentctl


@pytest.fixture(name="built", scope="module")
def built_fixture():
    return changed.Built(build_folder())


@pytest.fixture(name="parts")
def parts_fixture(built):
    return lambda *paths: changed.touched(set(paths), built, suites.SUITES)


@pytest.mark.parametrize("path, expected", [
    ("agent/base/cleanup.h", EVERYTHING),
    ("agent/agentctl/plan/verb_plan.c", {"build", "check", "golden"} | RUNNING),
    ("agent/bpf/service/choose.h", EVERYTHING - {"consul"}),
    ("docs/testing.md", {"check"}),
    ("birdconf/fingerpost.conf", {"check", "golden"} | RUNNING),  # agentctl setup writes it
    ("birdconf/tor.conf", {"check", "cni", "netns", "siege", "install", "kube"}),
    ("tests/kube/programs/main.go", {"check", "kube"}),
    ("tests/golden/class/expected.txt", {"check", "golden", "fuzz", "kube"}),
    ("tests/lab/echo.c", {"check", "property", "cni", "netns", "siege", "install", "kube", "consul", "vm"}),
    ("tests/unit/meson.build", EVERYTHING),
    ("something/new.txt", EVERYTHING),
])
def test_suites_of_a_file(parts, path, expected):
    assert set(parts(path)) == expected


def test_programs_are_those_that_a_file_is_part_of(parts):
    found = parts("tests/unit/store/test_store.c")
    assert found == {"check": ALL, "build": ALL, "unit": ["store/store"]}
    found = parts("tests/fuzz/yaml.c")
    assert found == {"check": ALL, "build": ALL, "fuzz": ["fuzz/yaml"]}
    found = parts("tests/fuzz/corpus/json/new")
    assert found == {"check": ALL, "fuzz": ["fuzz/json", "fuzz/splitter"]}


def test_a_header_is_part_of_whatever_includes_it(parts, built):
    """By what the compiler wrote down, not by where it stands."""
    header = "tests/unit/fake_api.h"
    users = {name for name, files in built.recorded.items() if header in files}
    found = parts(header)
    assert users and "build" in found and set(found) >= {"unit"} and "netns" not in found
    assert 0 < len(found["unit"]) < 60


def test_modules_are_those_that_import_a_file(parts):
    def names(found, suite):
        return {path.name for path in found[suite]}

    found = parts("tests/served.py")
    assert names(found, "netns") >= {"test_nat_flows.py", "test_nat_paths.py"}
    assert "test_announce.py" not in names(found, "netns")
    assert found["vm"] is ALL, "guest_nat.py uses it, inside"
    found = parts("tests/property/judge.py")
    assert "test_judge.py" in names(found, "property")
    assert names(found, "kube") == {"test_proxy_itself.py"}
    found = parts("tests/conftest.py")
    assert {"netns", "kube", "bpf", "golden", "vm"} <= set(found)
    assert len(found["netns"]) == len(list((changed.TESTS / "netns").glob("test_*.py")))
    assert names(parts("tests/bpf/test_limit.py"), "bpf") == {"test_limit.py"}


def test_parts_become_jobs():
    judge = changed.TESTS / "kube" / "test_proxy_itself.py"
    other = changed.TESTS / "kube" / "test_copy.py"
    for files, expected in (([judge], ["kube/judge"]), ([other], ["kube/cluster"]),
                            ([judge, other], ["kube/cluster", "kube/judge"])):
        jobs = suites.chosen_jobs(suites.all_jobs({"kube": files, "check": ALL}), ["kube"])
        assert [job.name for job in jobs if job.name in ("kube/cluster", "kube/judge")] == expected


def test_a_part_without_tests_is_no_failure(tmp_path, monkeypatch):
    """Of what was chosen, none may be busy."""
    monkeypatch.setattr(suites, "TESTS", tmp_path)
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    (tmp_path / "sample").mkdir()
    path = tmp_path / "sample" / "test_x.py"
    path.write_text("def test_it(): pass\n")
    runner = suites.Runner(tmp_path)
    for targets, failed in (((path,), 0), ((), 1)):
        result = suites.pytest_suite(runner, "sample", 1, "-m", "busy", targets=targets)
        assert (result.passed, result.failed) == (0, failed), result.output


def test_what_changed_is_asked_of_git(tmp_path, monkeypatch):
    def run(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path,
                       check=True, capture_output=True)

    monkeypatch.setattr(changed, "REPOSITORY", tmp_path)
    run("init", "-b", "main")
    for name in ("kept", "edited", "gone", "renamed", "ignored"):
        (tmp_path / name).write_text(name * 9)
    (tmp_path / ".gitignore").write_text("build*\n")
    run("add", "."), run("commit", "-m", "one")
    assert changed.changed_files() == set()
    run("checkout", "-b", "branch")
    (tmp_path / "committed").write_text("")
    run("rm", "gone"), run("mv", "renamed", "new name"), run("add", ".")
    run("commit", "-m", "two")
    (tmp_path / "edited").write_text("more")
    (tmp_path / "unknown").write_text("")
    (tmp_path / "build-test").write_text("")
    later = {"edited", "unknown"}
    assert changed.changed_files("HEAD") == later
    assert changed.changed_files() == later | {"committed", "gone", "renamed", "new name"}
    with pytest.raises(ValueError, match="no-such"):
        changed.changed_files("no-such")
