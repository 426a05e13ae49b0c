# SPDX-License-Identifier: Apache-2.0
"""Addresses of a segment while nodes, the API and its store fail at random: a judge on the segment sees no two
holders at once, and how long nobody was one, by what had failed. The soak has many more of it."""

import json
import os
from pathlib import Path

import pytest
from claim_faults import Siege, figures

LAB = {"nodes": 3}
SEED = int(os.environ.get("CLAIM_SEED", 1))
RUNS = int(os.environ.get("CLAIM_RUNS", 0))
FIGURES = os.environ.get("CLAIM_FIGURES")
FEW = ("killed", "unplugged", "clock", "no API for one", "reboot", "frozen", "stopped", "no API", "suspended", "power",
       "unplugged", "reboot")


@pytest.fixture(name="siege")
def siege_fixture(cluster, kubelets):
    del kubelets
    siege = Siege(cluster, SEED, longest=60 if RUNS else 6)
    yield siege
    siege.end()


def document(siege):
    wrong, excused = siege.doubles()
    return {"runs": len(siege.runs), "causes": figures(siege.runs),
            "doubles": [double._asdict() for double in wrong],
            "resumed": {"times": len(excused), "most": round(max((d.seconds for d in excused), default=0), 3)},
            "undue": [run._asdict() for run in siege.runs if run.undue],
            "over": [run._asdict() for run in siege.over()]}


def say(siege, run):
    print(f"{len(siege.runs)}: {run.fault} of {run.node} for {run.seconds} s: away {run.gaps}, own {run.own}"
          f"{', undue ' + str(run.undue) if run.undue else ''}", flush=True)
    if FIGURES:
        Path(FIGURES).write_text(json.dumps(document(siege)), encoding="utf-8")


def test_no_two_have_an_address_whatever_fails(siege):
    for fault in [None] * RUNS or FEW:
        say(siege, siege.run(fault))
        assert siege.doubles()[0] == []
    # A machine that does other things as well makes single ones longer: figures are the soak's.
    assert siege.over(slack=1.5) == []
    assert [run for run in siege.runs if max(run.undue.values(), default=0) > 1.5] == []
