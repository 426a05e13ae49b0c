# SPDX-License-Identifier: Apache-2.0
"""Guests with a stock kernel: what the tests of this folder share. See run."""

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from lab.agent import REPOSITORY

HERE = Path(__file__).parent
RUN = HERE / "run"
KERNELS = os.environ.get("FINGERPOST_VM_KERNELS", "6.1 6.12").split()
NOT_THERE = 77  # of run: the kernel can't be had
BUILD = REPOSITORY / "build-vm"


def guest(*words, **environment):
    return subprocess.run(
        [str(RUN), *words], capture_output=True, text=True, env={**os.environ, **environment}
    )


def prepare(kernel):
    """A kernel that is there. One that can't be had is no failure of ours, but is told."""
    done = guest("--prepare", kernel)
    if done.returncode == NOT_THERE:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return kernel


def run(*command):
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def release():
    """The programs optimised and without sanitizers, since all is ten times as slow inside."""
    if not (BUILD / "build.ninja").exists():
        run("meson", "setup", str(BUILD), "--buildtype=release", "--werror", "--prefix=/usr",
            "-Dtests=false")
    run("ninja", "-C", str(BUILD))
    return BUILD


def pytest_in(kernel, folder, words, options=(), **environment):
    """Runs pytest inside; what became of its tests: the name, and what is wrong or None."""
    report = folder / "report.xml"
    done = guest(
        *options, "-w", str(folder), kernel, "/usr/bin/python3", "-m", "pytest", *words, "-q",
        "-p", "no:cacheprovider", "--junitxml", str(report),
        FINGERPOST_VM_LOG=str(folder / "console"), FINGERPOST_PATIENCE="10", **environment,
    )
    assert report.exists(), f"the guest ended with {done.returncode}:\n{done.stdout + done.stderr}"
    results = {}
    for case in ElementTree.parse(report).iter("testcase"):
        problems = [case.find(kind) for kind in ("failure", "error", "skipped")]
        texts = [p.text or p.get("message") for p in problems if p is not None]
        results[f"{case.get('classname').rsplit('.')[-1]}::{case.get('name')}"] = (
            texts[0] if texts else None
        )
    return results


def judge(results, case):
    """Fails as the test inside failed."""
    assert case in results, "it did not run"
    if results[case] is not None:
        pytest.fail(results[case], pytrace=False)
