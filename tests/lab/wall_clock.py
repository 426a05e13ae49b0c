# SPDX-License-Identifier: Apache-2.0
"""Clocks that jump, for one program: the kernel's own are everybody's."""

import os
import re
import subprocess
from pathlib import Path

from .agent import program

SOURCE = Path(__file__).with_name("wall_clock.c")


def preloaded(node):
    """What has a node's programs read their clocks from files: wall_clock.c."""
    library = node.folder / "wall_clock.so"
    if not library.exists():
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", str(library), str(SOURCE)],
                       check=True)
    libraries = subprocess.run(["ldd", program("agentd")], check=True, capture_output=True,
                               text=True).stdout
    sanitizer = re.search(r"=> (\S*/libasan\S*)", libraries)
    first = [sanitizer[1]] if sanitizer else []  # it wants to be the first
    return {"LD_PRELOAD": " ".join([*first, str(library)])}


def write(file, number):
    draft = file.with_suffix(".draft")
    draft.write_text(f"{number}\n", encoding="ascii")
    os.rename(draft, file)


class WallClock:
    """What a node's programs read from now on, if they get `environment`."""

    def __init__(self, node):
        self.file = node.folder / "clock"
        self.environment = {**preloaded(node), "WALL_CLOCK": str(self.file)}
        self.set(0)

    def set(self, days):
        """So far from the true time."""
        write(self.file, int(days * 24 * 3600))


class BootClock:
    """CLOCK_BOOTTIME likewise: a machine that slept has it ahead of CLOCK_MONOTONIC; one whose hypervisor froze it,
    as its programs saw nothing of that, behind the true one."""

    def __init__(self, node):
        self.file = node.folder / "boot"
        self.environment = {**preloaded(node), "BOOT_CLOCK": str(self.file)}
        self.ms = 0
        self.jump(0)

    def jump(self, seconds):
        self.ms += int(seconds * 1000)
        write(self.file, self.ms)
