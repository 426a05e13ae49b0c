# SPDX-License-Identifier: Apache-2.0
"""The programs of a Kubernetes control plane, built from tests/kube/programs when first needed.

It is one Go program under four names. Building it takes minutes, so that it is kept in build-kube
and made anew only when its source or its modules changed; Go's own caches do the rest.
"""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "tests" / "kube" / "programs"
BUILD = REPOSITORY / "build-kube"
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


class NoGo(Exception):
    """There is no Go to build with that is new enough, or no way to the modules."""


class BuildFailed(Exception):
    """What the build said."""


def usable(go):
    """Whether this Go is new enough for the module, or knows how to become so."""
    done = subprocess.run([go, "list", "-m"], cwd=SOURCE, capture_output=True)
    return done.returncode == 0


def find_go():
    """The Go to build with; None if there is none new enough."""
    candidates = [shutil.which("go"), "/usr/local/go/bin/go"]
    return next((go for go in candidates if go and Path(go).exists() and usable(go)), None)


def up_to_date():
    built = BUILD / "kube"
    sources = [SOURCE / name for name in ("main.go", "go.mod", "go.sum")]
    return built.exists() and built.stat().st_mtime > max(s.stat().st_mtime for s in sources)


def link_flags():
    """No debugging information; and the version, which Kubernetes' own build puts in like this."""
    version = re.search(r"k8s\.io/kubernetes (v\S+)", (SOURCE / "go.mod").read_text())[1]
    names = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *[f"-X {name}.gitVersion={version}" for name in names]])


def fetch_modules(go):
    """What the network gives, apart from what the source says."""
    done = subprocess.run([go, "mod", "download"], cwd=SOURCE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise NoGo(f"Go's modules can't be fetched: {done.stdout[-2000:]}")


def compile_programs(go):
    draft = BUILD / "kube.draft"
    command = ["nice", "-n", "15", go, "build", "-trimpath", "-buildvcs=false"]
    command += [f"-ldflags={link_flags()}", "-o", str(draft), "."]
    done = subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)} in {SOURCE}:\n{done.stdout}")
    os.replace(draft, BUILD / "kube")


def build():
    """Builds what is missing. Several may ask at once. NoGo or BuildFailed."""
    BUILD.mkdir(exist_ok=True)
    for name in NAMES:
        if not (BUILD / name).is_symlink():
            (BUILD / name).symlink_to("kube")
    with open(BUILD / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if up_to_date():
            return
        go = find_go()
        if not go:
            raise NoGo("no Go new enough for tests/kube/programs/go.mod, neither in the PATH nor in "
                       "/usr/local/go")
        fetch_modules(go)
        compile_programs(go)


def program(name):
    path = BUILD / name
    if not path.exists():
        raise FileNotFoundError(f"{path}: not built; run tools/test kube")
    return str(path)
