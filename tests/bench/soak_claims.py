# SPDX-License-Identifier: Apache-2.0
"""The soak of addresses with one holder: tests/kube/test_claimed.py with as many as a cluster may have, each for
itself and in groups of ten, on three nodes: shares, requests to the API, and how long those of a lost node are away."""

import json
import tempfile
from pathlib import Path

from .soak_kube import tests

DURATION = 10


def add_options(group):
    group.add_argument("--claimed", type=int, default=500, metavar="N", help="addresses with one holder each")


def claims(options, _, say):
    documents = {}
    with tempfile.TemporaryDirectory() as folder:
        for group in ("address", "service"):
            say(f"claims: {options.claimed} addresses, by {group}")
            figures = Path(folder) / f"{group}.json"
            found = tests("many_addresses_are_spread", {
                "CLAIMED_ADDRESSES": str(options.claimed), "CLAIMED_GROUP": group, "CLAIMED_DURATION": str(DURATION),
                "CLAIMED_FIGURES": str(figures)})
            seen = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
            late = seen.get("movedSeconds", 0) > DURATION + 2
            documents[group] = {**found, **seen, "passed": found["passed"] and not late}
    return {"passed": all(document["passed"] for document in documents.values()), **documents}


PARTS = (claims,)
