# SPDX-License-Identifier: Apache-2.0
"""What agent-controller says of itself, and may be changed by tests as documents.py says."""

from documents import LONG_AGO, ago, changed

KUBERNETES = {
    "name": "kubernetes",
    "path": "https://192.0.3.10:6443",
    "synced": True,
    "observedGeneration": 70,
    "appliedGeneration": 70,
    "files": 0,
    "brokenFiles": 0,
    "ignoredFiles": 0,
    "objects": {"Service": 0, "Node": 6, "AddressPool": 2, "AddressBlock": 14},
    "ignoredObjects": 0,
    "lastEventAt": ago(LONG_AGO),
    "kinds": [
        {"kind": "Node", "state": "watching", "synced": True, "resourceVersion": "4711", "lists": 1,
         "reconnects": 2, "lastEventAt": ago(LONG_AGO), "error": None, "errorSince": None},
    ],
    "copy": None,
}


def controller(**changes):
    """ControllerStatus, with a job that waits for one of its writes."""
    document = {
        "apiVersion": "v1",
        "kind": "ControllerStatus",
        "identity": "cp-1_0f1e2d3c4b5a6978",
        "version": "0.1.0",
        "health": "healthy",
        "phase": "running",
        "startedAt": ago(LONG_AGO),
        "uptimeSeconds": LONG_AGO,
        "config": "/etc/fingerpost/controller.yaml",
        "election": {
            "namespace": "kube-system", "name": "fingerpost-controller", "leading": True,
            "holder": "cp-1_0f1e2d3c4b5a6978", "heldSince": ago(LONG_AGO),
            "renewedAt": ago(LONG_AGO), "transitions": 3, "gained": 1, "lost": 0, "error": None,
        },
        "sources": [KUBERNETES],
        "jobs": [{
            "name": "blocks",
            "counts": {"pools": 2, "requests": 1},
            "writes": {
                "enabled": True, "written": 14, "retries": 3, "conflicts": 0, "refused": 3, "lost": 0,
                "found": 0, "dropped": 0, "waiting": 1, "running": 0,
                "items": [{
                    "what": "create /apis/coil.cybozu.com/v2/addressblocks", "running": False,
                    "tries": 3, "since": ago(LONG_AGO), "nextInMs": 4000, "outcome": "refused",
                    "why": "admission webhook said no",
                }],
            },
        }],
        "faults": [],
    }
    return changed(document, changes)
