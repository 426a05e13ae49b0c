# SPDX-License-Identifier: Apache-2.0
"""What only another kernel, or systemd as PID 1, can show: in a qemu guest; see run.

FINGERPOST_VM_KERNELS says which kernels, "6.1" by default; "6.1 6.12" for both.
"""

import ast
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from lab.agent import REPOSITORY

HERE = Path(__file__).parent
RUN = HERE / "run"
SYSTEMD = HERE / "guest_systemd.py"
KERNELS = os.environ.get("FINGERPOST_VM_KERNELS", "6.1").split()
NOT_THERE = 77  # of run: the kernel can't be had
TIMEOUT, BROKEN = 124, 125

pytestmark = pytest.mark.timeout(1800)


def cases(path):
    """The tests of a file that runs inside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if name.startswith("test_")]


def guest(*words, **environment):
    return subprocess.run(
        [str(RUN), *words], capture_output=True, text=True, env={**os.environ, **environment}
    )


@pytest.fixture(name="kernel", scope="module", params=KERNELS)
def kernel_fixture(request):
    """A kernel that is there. One that can't be had is no failure of ours, but is told."""
    done = guest("--prepare", request.param)
    if done.returncode == NOT_THERE:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return request.param


@pytest.fixture(name="installed", scope="session")
def installed_fixture(tmp_path_factory):
    """The program as it is installed: optimised, without sanitizers."""
    build, root = REPOSITORY / "build-vm", tmp_path_factory.mktemp("installed")
    setup = [] if (build / "build.ninja").exists() else [
        ["meson", "setup", str(build), "--buildtype=release", "--prefix=/usr", "-Dtests=false"]
    ]
    install = ["meson", "install", "-C", str(build), "--no-rebuild", "--destdir", str(root)]
    for command in (*setup, ["ninja", "-C", str(build)], install):
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(name="systemd", scope="module")
def systemd_fixture(kernel, installed, tmp_path_factory):
    """What became of the tests inside: the name, and what is wrong or None."""
    folder = tmp_path_factory.mktemp("guest")
    report, log = folder / "report.xml", folder / "console"
    done = guest(
        "-s", "-t", "1500", "-w", str(folder), kernel, "/usr/bin/python3", "-m", "pytest", str(SYSTEMD),
        "--noconftest", "-q", "-p", "no:cacheprovider", "--junitxml", str(report),
        FINGERPOST_INSTALLED=str(installed), FINGERPOST_VM_LOG=str(log),
    )
    said = done.stdout + done.stderr
    assert report.exists(), f"the guest ended with {done.returncode}:\n{said}"
    results = {}
    for case in ElementTree.parse(report).iter("testcase"):
        problems = [case.find(kind) for kind in ("failure", "error", "skipped")]
        texts = [p.text or p.get("message") for p in problems if p is not None]
        results[case.get("name")] = texts[0] if texts else None
    return results


@pytest.mark.parametrize("case", cases(SYSTEMD))
def test_systemd(systemd, case):
    assert case in systemd, "it did not run"
    if systemd[case] is not None:
        pytest.fail(systemd[case], pytrace=False)


def test_a_guest_runs_that_kernel(kernel):
    done = guest(kernel, "uname", "-r")
    assert done.returncode == 0 and done.stdout.startswith(kernel), done


def test_streams_and_status_come_through(kernel):
    done = guest(kernel, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


def test_only_shared_folders_are_written(kernel, tmp_path):
    done = guest("-w", str(tmp_path), kernel, "sh", "-c", f"echo a >{tmp_path}/kept && echo b >{HERE}/lost")
    assert done.returncode == 0, done
    assert (tmp_path / "kept").read_text() == "a\n" and not (HERE / "lost").exists()


def test_a_guest_that_takes_too_long_is_stopped(kernel):
    assert guest("-t", "10", kernel, "sleep", "1000").returncode == TIMEOUT


def test_a_guest_that_breaks_is_told_from_a_command_that_fails(kernel):
    done = guest(kernel, "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 1000")
    assert done.returncode == BROKEN and "sysrq triggered crash" in done.stderr, done


def test_a_signal_ends_the_guest(kernel, tmp_path):
    command = [str(RUN), "-w", str(tmp_path), kernel, "sh", "-c", "echo up; sleep 1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "up\n"
        run.terminate()
        assert run.wait(60) == 143
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert [line for line in listed.splitlines() if re.search(rf"^qemu.*{tmp_path}", line)] == []


def test_what_cannot_be_fetched_is_said(tmp_path):
    """An apt without sources stands for a machine without a network."""
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "apt-get").chmod(0o755)
    done = guest(
        "--prepare", "6.1", XDG_CACHE_HOME=str(tmp_path), PATH=f"{tmp_path}:{os.environ['PATH']}"
    )
    assert done.returncode == NOT_THERE
    assert "kernel 6.1 cannot be had" in done.stderr
