# SPDX-License-Identifier: Apache-2.0
"""What egress_path.py measures, beside the kernel's own Foo-over-UDP where this machine's kernel has
none: on Debian's kernels in an emulated machine, whose clock counts instructions (tests/vm/run -i).

Emulated time says little: an instruction that misses all caches takes no longer than any other, and
one that the emulator must look up takes many times as long. So a nanosecond is an instruction here,
and figures are instructions; by how much fewer of them are faster, only a real processor can say.
They hardly differ from round to round, but for TCP's, since when it cuts and acknowledges is its own
affair. One kernel is measured in emulated time as well, as a second opinion.

Run as a program it is the guest's side, and writes samples to a file.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lab.agent import REPOSITORY, build_folder
from lab.reaper import PYTHON
from lab.traffic import tool

from .egress_path import measure

RUN = REPOSITORY / "tests" / "vm" / "run"
NOT_THERE = 77  # of run: the kernel can't be had
ROUNDS, LIMIT = 3, "1500"
# What the names of figures begin with: the kernel, options of run, seconds of each flood.
PLACES = {"egress-6.1-": ("6.1", ("-i",), 0.1), "egress-6.12-": ("6.12", ("-i",), 0.1),
          "egress-6.12-emulated-": ("6.12", (), 0.7)}


def say(text):
    print(text, file=sys.stderr, flush=True)


def in_guest(place, folder):
    """Its samples; none, and that is said, if there is no such kernel here."""
    kernel, options, _ = PLACES[place]
    file = folder / place
    done = subprocess.run(
        [RUN, *options, "-m", "2048", "-t", LIMIT, "-w", folder, kernel,
         PYTHON, "-m", "bench.egress_guest", place, file],
        cwd=REPOSITORY / "tests", env={**os.environ, "FINGERPOST_PATIENCE": "10"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == NOT_THERE:
        say(f"NOT MEASURED beside the kernel's Foo-over-UDP on Linux {kernel}: {done.stderr.strip()}")
        return {}
    if done.returncode != 0:
        raise RuntimeError(f"the guest with Linux {kernel} ended with {done.returncode}:\n"
                           f"{done.stdout}{done.stderr}")
    return json.loads(file.read_text(encoding="ascii"))


def egress_guest():
    for name in ("echo", "flood"):
        tool(name)  # where there is a compiler that takes no minutes
    samples = {}
    with tempfile.TemporaryDirectory() as folder:
        for place in PLACES:
            say(f"{place} with the programs of {build_folder()}")
            samples |= in_guest(place, Path(folder))
    return samples


def main(place, file):
    samples = measure(ROUNDS, PLACES[place][2], place)
    Path(file).write_text(json.dumps(samples), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
