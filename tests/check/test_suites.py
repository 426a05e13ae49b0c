# SPDX-License-Identifier: Apache-2.0
"""tools/test counts what ran, and a failure of any kind is one."""

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


def test_pytest_is_counted(tmp_path, monkeypatch):
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "test_x.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_skipped(): pytest.skip('no kernel')\n"
        "@pytest.fixture\n"
        "def late():\n"
        "    yield\n"
        "    assert False\n"
        "def test_bad_end(late): pass\n"
    )
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(suites, "TESTS", tmp_path)
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    result = suites.pytest_suite("sample", 1)
    assert (result.passed, result.failed) == (1, 2), result.output
    assert result.not_run == ["test_skipped: no kernel"]
    result = suites.pytest_suite("empty", 1)
    assert (result.passed, result.failed) == (0, 0) and result.not_run

    (tmp_path / "sample" / "test_x.py").write_text("import no_such_module\n")
    assert suites.pytest_suite("sample", 1).failed == 1


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
