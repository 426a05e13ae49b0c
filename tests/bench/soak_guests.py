# SPDX-License-Identifier: Apache-2.0
"""The soak in emulated machines: all cases of tests/bpf with each kernel that Debian has, where the
pipeline takes one case of each test."""

import os
import subprocess
import time

from lab.agent import REPOSITORY

KERNELS = "6.1", "6.12"
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
    for kernel in KERNELS:
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


PARTS = (packets,)
