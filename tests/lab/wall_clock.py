# SPDX-License-Identifier: Apache-2.0
"""A wall clock that jumps, for one program: the kernel's own is everybody's."""

import os
import re
import subprocess
from pathlib import Path

from .agent import program

SOURCE = Path(__file__).with_name("wall_clock.c")


class WallClock:
    """What a node's programs read from now on, if they get `environment`; wall_clock.c, preloaded."""

    def __init__(self, node):
        self.file = node.folder / "clock"
        library = node.folder / "wall_clock.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", str(library),
                        str(SOURCE)], check=True)
        preloaded = [str(library)]
        libraries = subprocess.run(["ldd", program("agentd")], check=True, capture_output=True,
                                   text=True).stdout
        if sanitizer := re.search(r"=> (\S*/libasan\S*)", libraries):
            preloaded.insert(0, sanitizer[1])  # it wants to be the first
        self.environment = {"LD_PRELOAD": " ".join(preloaded), "WALL_CLOCK": str(self.file)}
        self.set(0)

    def set(self, days):
        """So far from the true time."""
        draft = self.file.with_name("clock.draft")
        draft.write_text(f"{int(days * 24 * 3600)}\n", encoding="ascii")
        os.rename(draft, self.file)
