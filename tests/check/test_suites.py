# SPDX-License-Identifier: Apache-2.0
"""tools/test counts what ran, and a failure of any kind is one."""

import re

import pytest
import suites

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

    def run(*options, real_network=False, **modules):
        (tmp_path / "sample").mkdir(exist_ok=True)
        for name, text in modules.items():
            (tmp_path / "sample" / f"{name}.py").write_text(text)
        return suites.pytest_suite("sample", 1, *options, real_network=real_network)

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
    assert suites.compile_with("no-such-compiler", tmp_path / "build").failed == 1


def test_fuzzing_takes_time_only_where_it_is_wanted(monkeypatch):
    monkeypatch.delenv("FUZZ_SECONDS", raising=False)
    monkeypatch.delenv("CI", raising=False)
    assert suites.fuzz_seconds() == 0
    monkeypatch.setenv("CI", "true")
    assert suites.fuzz_seconds() == 30
    monkeypatch.setenv("FUZZ_SECONDS", "5")
    assert suites.fuzz_seconds() == 5


@pytest.mark.parametrize("search, counts", [
    ("printf '1..2\\nok 1 - a: 9 runs\\nok 2 - b: 9 runs\\n'", (3, 0)),
    ("printf '1..2\\nok 1 - a: 9 runs\\nnot ok 2 - b: x/crash-1\\n'; exit 1", (2, 1)),
    ("echo no such compiler; exit 1", (1, 1)),
])
def test_findings_are_failures(tmp_path, monkeypatch, search, counts):
    (tmp_path / "fuzz").mkdir()
    script = tmp_path / "fuzz" / "run"
    script.write_text(f"#!/bin/sh\n{search}\n")
    script.chmod(0o755)
    monkeypatch.setattr(suites, "TESTS", tmp_path)
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    monkeypatch.setattr(suites, "meson_suite", lambda name: suites.Result(passed=1))
    monkeypatch.setenv("FUZZ_SECONDS", "1")
    result = suites.fuzz_suite()
    assert (result.passed, result.failed) == counts


def test_without_go_the_cluster_is_not_run(monkeypatch):
    def build():
        raise suites.kube_programs.NoGo("no Go")

    monkeypatch.setattr(suites.kube_programs, "build", build)
    monkeypatch.setattr(suites.os, "geteuid", lambda: 0)
    result = suites.kube_suite()
    assert (result.failed, result.not_run) == (0, ["no Go"])


def test_a_go_that_is_too_old_is_not_used(monkeypatch, tmp_path):
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho 'go.mod requires go >= 1.24.0 (running go 1.19)' >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert suites.kube_programs.find_go() != str(go)


@pytest.mark.parametrize("there", [(), ("proxier.go", "proxier_test.go"), ("helpers_test.go",)])
def test_a_module_that_lacks_a_file_is_told(monkeypatch, tmp_path, there):
    """As a later Kubernetes may."""
    programs = suites.kube_programs
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    for name in there:
        (tmp_path / name).write_text(") addressMatchesSet(\n")
    with pytest.raises(programs.BuildFailed, match=f"no file .*\\.go in {tmp_path}"):
        programs.overlay(tmp_path)
