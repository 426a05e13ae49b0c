# SPDX-License-Identifier: Apache-2.0
"""agent-controller as it once was, for tests of an upgrade: built from a commit of this repository when first
needed, and kept in build-kube."""

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

from .kube_programs import BUILD, REPOSITORY, BuildFailed

COMMIT = "379d91de"  # has all jobs of a cluster: blocks, LoadBalancer addresses, gateways of Egresses
TARGET = "agent/controller/agent-controller"


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **more)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(map(str, command))}:\n{done.stdout.decode(errors='replace')[-4000:]}")
    return done.stdout


def make(path, folder):
    """The program of the commit, by way of a folder that goes away."""
    run("tar", "-x", "-C", folder, input=run("git", "-C", REPOSITORY, "archive", COMMIT))
    build = Path(folder) / "build"
    run("meson", "setup", build, folder, "--buildtype=release", "-Dtests=false")
    run("ninja", "-C", build, TARGET)
    draft = path.with_name(f"{path.name}.draft")
    draft.write_bytes((build / TARGET).read_bytes())
    draft.chmod(0o755)
    os.replace(draft, path)


def older_controller():
    """Its path; None where it is not built, and the repository was cloned without its history."""
    path = BUILD / f"agent-controller-{COMMIT}"
    known = subprocess.run(["git", "-C", REPOSITORY, "cat-file", "-e", f"{COMMIT}^{{commit}}"], capture_output=True,
                           check=False)
    if known.returncode != 0 and not path.exists():
        return None
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        with open(BUILD / "lock", "w", encoding="ascii") as lock, tempfile.TemporaryDirectory() as folder:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                make(path, folder)
    return path
