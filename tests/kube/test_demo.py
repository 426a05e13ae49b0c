# SPDX-License-Identifier: Apache-2.0
"""The demo on a cluster shows what it promises, with pods that are containers, and leaves nothing behind."""

import os
import subprocess
from pathlib import Path

from lab import label_of
from lab.agent import build_folder
from lab.reaper import PYTHON, ROOT, marked_processes, mounts, namespaces

TESTS = Path(__file__).resolve().parents[1]


def test_it_shows_everything_and_cleans_up(request):
    name = request.node.nodeid
    done = subprocess.run(
        [PYTHON, "-m", "lab.demo", "--kubernetes", "--name", name],
        cwd=TESTS,
        env={**os.environ, "FINGERPOST_BUILD": str(build_folder())},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    label = label_of(name)
    assert not (namespaces(label) or marked_processes(label) or mounts(label) or (ROOT / label).exists())
    for step in (
        "ok: agent-controller leads",
        "ok: pods on node1 and node2",
        "$ kubectl get nodes,addressblocks\n",
        "$ agentctl-node1 pods\n",
        "ok: 203.0.113.10 via node1 and node2, in the ToR's BGP table",
        "ok: http://[fd00:203::10] gives pages of every pod",
        "ok: client has the page of http://10.224.0.",
        "ok: pod-leaver is seen as 10.0.113.2, the router",
        "ok: pod-leaver is seen as fd00:0:0:113::2, the router",
        "ok: one pod",
        "ok: pods on node2 and node2",
        "ok: fd00:203::10 via node2, in the ToR's kernel",
        "ok: agentd on node2 is in sync with the API",
        "ok: fd00:203::10 gone, in the ToR's BGP table",
        "ok: pods on no node",
        "ok: no interface and no route of a pod on any node",
    ):
        assert step in said
