# SPDX-License-Identifier: Apache-2.0
"""Measures a release build and prints one JSON document of figures beside their budgets.

Progress goes to standard error. With --against REV that revision is built too, both take turns, and
each figure has a ratio. With --soak nothing is measured: agents are killed and objects changed until
something gives.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from lab.agent import REPOSITORY

from . import soak
from .figures import figure, line
from .measures import BENCHMARKS

BUILD = REPOSITORY / "build-bench"


def say(text):
    print(text, file=sys.stderr, flush=True)


def git(*words, **options):
    command = ["git", "-C", str(REPOSITORY), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def build(source, folder):
    """A release build without tests; what the compiler said is shown only if it fails."""
    say(f"building {source} in {folder}")
    steps = [["ninja", "-C", str(folder)]]
    if not (folder / "build.ninja").exists():
        setup = ["meson", "setup", str(folder), str(source), "--buildtype=release"]
        steps.insert(0, [*setup, "-Dtests=false"])
    for step in steps:
        done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout)
    return folder


def build_revision(revision):
    """A build of another revision, from its files as they were committed."""
    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}", text=True).strip()
    folder = REPOSITORY / "build-against" / commit[:12]
    source = folder / "source"
    if not source.exists():
        source.mkdir(parents=True)
        files = git("archive", commit)
        subprocess.run(["tar", "-x", "-C", str(source)], input=files, check=True)
    return commit, build(source, folder / "build")


def measure(benchmarks, builds):
    """Samples of each build by figure; the builds take turns."""
    samples = [{} for _ in builds]
    for benchmark in benchmarks:
        for turn in range(BENCHMARKS[benchmark]):
            for folder, known in zip(builds, samples):
                say(f"{benchmark.__name__} {turn + 1}/{BENCHMARKS[benchmark]} of {folder}")
                os.environ["FINGERPOST_BUILD"] = str(folder)
                for name, values in benchmark().items():
                    known.setdefault(name, []).extend(values)
    return samples


def machine():
    names = [row.split(":", 1)[1].strip()
             for row in Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
             if row.startswith("model name")]
    return {"processors": os.cpu_count(), "processor": names[0] if names else platform.machine(),
            "kernel": platform.release()}


def run_benchmarks(options):
    chosen = [benchmark for benchmark in BENCHMARKS
              if not options.benchmarks or benchmark.__name__ in options.benchmarks]
    document = {"apiVersion": "v1", "kind": "Figures", "machine": machine(),
                "revision": git("describe", "--always", "--dirty", text=True).strip()}
    builds = [build(REPOSITORY, BUILD)]
    if options.against:
        document["against"], other = build_revision(options.against)
        builds.append(other)
    begin = time.monotonic()
    document["loadBefore"] = round(os.getloadavg()[0], 2)
    own, *others = measure(chosen, builds)
    document["seconds"] = round(time.monotonic() - begin, 1)
    before = others[0] if others else {}
    document["items"] = [figure(name, own[name], before.get(name)) for name in own]
    document["over"] = [item["name"] for item in document["items"] if item.get("verdict") == "over"]
    for item in document["items"]:
        say(line(item))
    return document


def run_soak(options):
    """Of the build that FINGERPOST_BUILD names, such as one with sanitizers, or of a release."""
    if "FINGERPOST_BUILD" not in os.environ:
        os.environ["FINGERPOST_BUILD"] = str(build(REPOSITORY, BUILD))
    return soak.run(options, say)


def main():
    names = [benchmark.__name__ for benchmark in BENCHMARKS]
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help=", ".join(names))
    parser.add_argument("--against", metavar="REV", help="compare with this revision")
    soak.add_options(parser)
    options = parser.parse_args()
    unknown = set(options.benchmarks) - set(names)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")

    # A lab that fails shows its logs; the document shall stand alone.
    with contextlib.redirect_stdout(sys.stderr):
        document = run_soak(options) if options.soak else run_benchmarks(options)
    print(json.dumps(document, indent=4))
    return 0 if document.get("passed", True) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
