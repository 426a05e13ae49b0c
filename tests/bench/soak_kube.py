# SPDX-License-Identifier: Apache-2.0
"""The soak of writes to Kubernetes: tests/kube/test_writer*.py with many more lives of objects, while
the server, scripted or real, is killed."""

import os
import subprocess

from lab.agent import REPOSITORY, build_folder


def add_options(group):
    group.add_argument("--lives", type=int, default=2500, metavar="N",
                       help="objects that are created, changed and deleted while the API is killed")


def writes(options, seed, say):
    say(f"writes: {options.lives} lives")
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", REPOSITORY / "tests/kube", "-k", "killed_at_random",
         "-q", "-p", "no:cacheprovider"],
        env={**os.environ, "WRITER_LIVES": str(options.lives), "WRITER_SEED": str(seed),
             "FINGERPOST_BUILD": str(build_folder())},
        capture_output=True, text=True, check=False,
    )
    document = {"passed": done.returncode == 0, "writes": 2 * 4 * options.lives}
    return document if document["passed"] else {**document, "output": done.stdout[-4000:]}


PARTS = (writes,)
