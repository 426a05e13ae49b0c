# SPDX-License-Identifier: Apache-2.0
"""
Manifests in, tables out: `agentctl plan` over each case, compared with its expected.txt.

A case is a folder with manifests/ and, where the defaults do not do, config.yaml; controller.yaml where exports are
planned. After a change of
behaviour, `GOLDEN_UPDATE=1 tools/test golden` writes the expectations anew: review the diff.
Each case is planned again with its documents shuffled over files of other names: order must not
matter.
"""

import json
import os
import pathlib
import random
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
AGENTCTL = os.environ.get("AGENTCTL", str(HERE.parents[1] / "build/agent/agentctl/agentctl"))
CASES = sorted(p.parent.name for p in HERE.glob("*/manifests"))


# Faults of the catalogue that a case has, beside what its text says of them.
CODES = {
    "egress-clients": {"egress-served-unknown"},
    "egress-clients-selected": {"egress-selector-invalid"},
    "egress-conflicts": {"egress-default-route-shared", "egress-destination-shared", "egress-pod-address-shared"},
    "egress-dual-stack": {"egress-without-family"},
    "egress-gateway-nodes": {"egress-no-node-selected", "egress-selector-invalid"},
    "egress-gateway-pods": {"egress-no-endpoint", "egress-no-service"},
    "egress-missing": {"egress-unknown"},
    "egress-stays": {"egress-no-node-selected", "egress-pod-network-unknown"},
    "exports": {"export-refused"},
    "pools-edited": {"pool-address-lost"},
}


def run(case, manifests, *options):
    command = [AGENTCTL, "plan", "-f", str(manifests), "--node", "node-1", *options]
    config = HERE / case / "config.yaml"
    if config.exists():
        command += ["--config", str(config)]
    controller = HERE / case / "controller.yaml"
    if controller.exists():
        command += ["--controller", str(controller)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode in (0, 1), result.stderr
    return result


def plan(case, manifests):
    result = run(case, manifests)
    faults = result.stderr.replace(str(manifests) + "/", "")
    return result.stdout + ("faults:\n" + faults if faults else "")


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    expected = HERE / case / "expected.txt"
    got = plan(case, HERE / case / "manifests")
    if os.environ.get("GOLDEN_UPDATE"):
        expected.write_text(got)
    assert got == expected.read_text()


@pytest.mark.parametrize("case", CODES)
def test_codes(case):
    told = json.loads(run(case, HERE / case / "manifests", "--json").stdout)["faults"]
    assert {fault["code"] for fault in told if fault["code"]} >= CODES[case]


def without_places(text):
    """Faults name file and line, which the shuffle changes."""
    return sorted(re.sub(r"^\S+\.yaml(:\d+)+: ", "", line) for line in text.splitlines())


@pytest.mark.parametrize("case", CASES)
def test_order_does_not_matter(case, tmp_path):
    expected = plan(case, HERE / case / "manifests")
    documents = []
    for path in (HERE / case / "manifests").iterdir():
        documents += path.read_text().split("\n---\n")
    shuffle = random.Random(case)
    for attempt in range(3):
        shuffle.shuffle(documents)
        folder = tmp_path / str(attempt)
        folder.mkdir()
        for i, document in enumerate(documents):
            (folder / f"{i % 3}.yaml").open("a").write("---\n" + document + "\n")
        assert without_places(plan(case, folder)) == without_places(expected)
