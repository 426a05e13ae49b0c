# SPDX-License-Identifier: Apache-2.0
"""The soak in emulated machines: all cases of tests/bpf with each kernel that Debian has, where the
pipeline takes one case of each test; and addresses with one holder on devices that only those have."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab.agent import REPOSITORY
from lab.kube_programs import build as build_programs

sys.path.append(str(Path(__file__).resolve().parents[1] / "vm"))

import guests  # noqa: E402

BUILD = REPOSITORY / "build-packets"
# What tests/bpf load, and their loader.
TARGETS = [*(f"agent/bpf/{name}.bpf.o" for name in ("nat", "egress_client", "egress_gateway")),
           "tests/bpf/load", "tests/bpf/fou.bpf.o", "tests/bpf/icmp.bpf.o"]


def build():
    """Release builds for benchmarks have no tests, and so no loader."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, REPOSITORY, "--buildtype=release"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, *TARGETS], check=True, stdout=subprocess.DEVNULL)


def packets(options, seed, say):
    del options, seed  # they are the same each time
    build()
    found = {}
    for kernel in guests.KERNELS:
        say(f"packets: Linux {kernel}")
        begin = time.monotonic()
        done = subprocess.run(
            ["/usr/bin/python3", "-m", "pytest", REPOSITORY / "tests/vm", "-m", "guest_packets",
             "-q", "-p", "no:cacheprovider"],
            env={**os.environ, "FINGERPOST_VM_KERNELS": kernel, "FINGERPOST_BPF_CASES": "all",
                 "FINGERPOST_BUILD": str(BUILD)},
            capture_output=True, text=True, check=False,
        )
        found[kernel] = {"passed": done.returncode == 0, "seconds": int(time.monotonic() - begin)}
        if done.returncode != 0:
            found[kernel]["output"] = done.stdout[-4000:]
    return {"passed": all(each["passed"] for each in found.values()), "kernels": found}


def claim_devices(options, seed, say):
    """tests/vm/guest_claims.py, with an etcd of build-kube inside."""
    del options, seed  # they are the same each time
    build_programs()
    release = guests.release()
    found = {}
    for kernel in guests.KERNELS:
        say(f"claim_devices: Linux {kernel}")
        guests.prepare(kernel)
        with tempfile.TemporaryDirectory() as folder:
            results = guests.pytest_in(
                kernel, Path(folder), [str(REPOSITORY / "tests/vm/guest_claims.py"), "--noconftest"],
                ["-t", "1800", "-m", "2048"], FINGERPOST_BUILD=str(release))
        failed = {case: text[:4000] for case, text in results.items() if text is not None}
        found[kernel] = {"passed": len(results) == 2 and not failed, **failed}
    return {"passed": all(each["passed"] for each in found.values()), "kernels": found}


PARTS = (packets, claim_devices)
