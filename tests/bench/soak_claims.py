# SPDX-License-Identifier: Apache-2.0
"""The soak of addresses with one holder: test_claimed_faults.py with hundreds of random faults; test_claimed.py with
as many as a cluster may have, each for itself and in groups of ten, on three nodes (shares, requests to the API, and
how long those of a lost node are away); and an agent that restarts a hundred times."""

import json
import tempfile
from pathlib import Path

from .soak_kube import tests

DURATION = 10


def add_options(group):
    group.add_argument("--faults", type=int, default=300, metavar="N",
                       help="of nodes with claimed addresses, of the API and of its store")
    group.add_argument("--restarts", type=int, default=100, metavar="N",
                       help="of an agent that has an address of a segment, under load")
    group.add_argument("--claimed", type=int, default=500, metavar="N", help="addresses with one holder each")


def is_kept(cause):
    """Nine of ten addresses were away for no longer than they may be."""
    return cause["p90"] <= cause["bar"] and cause.get("ownP90", 0) <= cause.get("ownBar", 0)


def claim_faults(options, seed, say):
    """No two holders at once, nothing lost without a cause, and by cause how long addresses were away."""
    say(f"claim_faults: {options.faults} random faults of three nodes with six addresses")
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        found = tests("whatever_fails", {"CLAIM_RUNS": str(options.faults), "CLAIM_SEED": str(seed),
                                         "CLAIM_FIGURES": str(figures)})
        document = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {"causes": {}}
    for name, cause in document["causes"].items():
        say(f"claim_faults: {name}: {cause}")
    kept = all(is_kept(cause) for cause in document["causes"].values())
    return {**found, **document, "passed": found["passed"] and kept}


def claim_restarts(options, _, say):
    say(f"claim_restarts: {options.restarts} of an agent that has an address")
    return {**tests("a_restart_moves_nothing", {"CLAIM_RESTARTS": str(options.restarts)}), "restarts": options.restarts}


def claim_crowd(options, _, say):
    documents = {}
    with tempfile.TemporaryDirectory() as folder:
        for group in ("address", "service"):
            say(f"claim_crowd: {options.claimed} addresses, by {group}")
            figures = Path(folder) / f"{group}.json"
            found = tests("many_addresses_are_spread", {
                "CLAIMED_ADDRESSES": str(options.claimed), "CLAIMED_GROUP": group, "CLAIMED_DURATION": str(DURATION),
                "CLAIMED_FIGURES": str(figures)})
            seen = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
            late = seen.get("movedSeconds", 0) > DURATION + 2
            documents[group] = {**found, **seen, "passed": found["passed"] and not late}
    return {"passed": all(document["passed"] for document in documents.values()), **documents}


PARTS = (claim_faults, claim_crowd, claim_restarts)
