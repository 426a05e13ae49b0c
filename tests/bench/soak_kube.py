# SPDX-License-Identifier: Apache-2.0
"""The soak of writes to Kubernetes: tests/kube/test_writer*.py with many more lives of objects, while
the server, scripted or real, is killed; test_blocks.py and test_pod_blocks.py with many more nodes that
ask; test_addresses_many.py with many more Services; test_still.py for long; and test_source.py's
namespace with many more Services."""

import json
import os
import subprocess

from lab.agent import REPOSITORY, build_folder


def add_options(group):
    group.add_argument("--lives", type=int, default=2500, metavar="N",
                       help="objects that are created, changed and deleted while the API is killed")
    group.add_argument("--askers", type=int, default=1000, metavar="N",
                       help="nodes that ask for a block at once where there are ten")
    group.add_argument("--nodes", type=int, default=1000, metavar="N",
                       help="nodes that ask for a block, give it back or are deleted beside an agent at rest")
    group.add_argument("--wishes", type=int, default=10_000, metavar="N",
                       help="Services that get an address at once, and then wish for others")
    group.add_argument("--services-of-one", type=int, default=5000, metavar="N",
                       help="Services of a namespace that is deleted at once")
    group.add_argument("--still-minutes", type=int, default=60, metavar="N",
                       help="for which nothing happens in a cluster, and nothing may be written")


def tests(words, environment, *options, suite="kube"):
    """Runs some tests of a suite with more of everything: whether they passed, with the figures that they print as
    JSON, or else their output."""
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", REPOSITORY / "tests" / suite, "-k", words,
         "-q", "-s", "-p", "no:cacheprovider", *options],
        env={**os.environ, **environment, "FINGERPOST_BUILD": str(build_folder())},
        capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        return {"passed": False, "output": done.stdout[-4000:]}
    return {"passed": True, "figures": [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]}


def writes(options, seed, say):
    say(f"writes: {options.lives} lives")
    found = tests("killed_at_random", {"WRITER_LIVES": str(options.lives), "WRITER_SEED": str(seed)})
    return {**found, "writes": 2 * 4 * options.lives}


def blocks(options, _, say):
    say(f"blocks: {options.askers} nodes ask a pool of ten")
    return {**tests("ten_blocks", {"BLOCK_ASKERS": str(options.askers)}), "askers": options.askers}


def nodes(options, _, say):
    say(f"nodes: {options.nodes} ask for a block, and go again")
    return {**tests("thousand_nodes", {"BLOCK_NODES": str(options.nodes)}), "nodes": options.nodes}


def addresses(options, _, say):
    say(f"addresses: {options.wishes} Services get one, and 200 a second wish for another")
    return {**tests("many_services", {"ADDRESS_SERVICES": str(options.wishes), "ADDRESS_SECONDS": "20"}),
            "wishes": options.wishes}


def still(options, _, say):
    say(f"still: nothing happens for {options.still_minutes} minutes")
    seconds = options.still_minutes * 60
    found = tests("while_nothing_happens", {"STILL_SECONDS": str(seconds)}, "--timeout", str(seconds + 600))
    return {**found, "minutes": options.still_minutes}


def namespace(options, _, say):
    say(f"namespace: one with {options.services_of_one} Services is deleted")
    return tests("crowded_namespace", {"CROWD_SERVICES": str(options.services_of_one)})


PARTS = (writes, blocks, nodes, addresses, still, namespace)
