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


BLOCKS = {
    "apiVersion": "v1", "kind": "ClusterBlockList",
    "items": [
        {"name": "default-0", "pool": "default", "node": "node-1", "index": 0, "ipv4": "10.224.0.0/27",
         "ipv6": "fd00:224::/123", "state": "used"},
        {"name": "default-1", "pool": "default", "node": "gone", "index": 1, "ipv4": "10.224.0.32/27",
         "ipv6": None, "state": "lone"},
        {"name": "kept", "pool": None, "node": None, "index": 7, "ipv4": "10.225.0.0/27", "ipv6": None,
         "state": "reserved"},
    ],
    "pools": [
        {"name": "default", "deleting": False, "size": 2048, "used": 2, "free": 2046},
        {"name": "old", "deleting": True, "size": 1, "used": 1, "free": 0},
    ],
}



def export(name, state="current", written=True, port="http"):
    key = f"kube-service-exporter/services/c1-{name}-{port}/clusters/c1"
    planned = state not in ("going", "held", "kept")
    namespace, _, service = name.partition("-")
    return {"key": key, "place": key, "id": f"c1-{name}-{port}" if planned else None,
            "service": {"namespace": namespace, "name": service}, "state": state,
            "writtenAt": ago(LONG_AGO) if written else None}


NODES = {"key": "kube-service-exporter/nodes/c1", "place": "kube-service-exporter/nodes/c1",
         "id": None, "service": None, "state": "current", "writtenAt": ago(LONG_AGO)}

EXPORTS = {
    "apiVersion": "v1", "kind": "ExportList", "cluster": "c1",
    "target": {"kind": "consul", "address": "https://127.0.0.1:8501", "prefix": "kube-service-exporter",
               "known": True, "locked": True, "readAt": ago(LONG_AGO), "changedAt": ago(LONG_AGO), "pending": 0,
               "error": None, "remedy": None},
    "items": [NODES, export("decepticons-megatron"), export("default-a", written=False)],
    "refused": [], "heldUntil": None,
}

TROUBLED_EXPORTS = {
    **EXPORTS,
    "target": {**EXPORTS["target"], "known": False, "locked": False, "pending": 4,
               "error": "HTTP status 403: Permission denied", "remedy": "see consul.tokenFile"},
    "items": [{**NODES, "state": "held"}, export("autobots-optimus-prime", "blocked", False),
              export("decepticons-megatron", "pending"), export("default-a", "kept"),
              export("default-gone", "held")],
    "refused": [{"namespace": "default", "name": "a", "message": "custom-attrs is no JSON object",
                 "remedy": "correct the annotation", "kept": 1}],
    "heldUntil": "2026-11-17T02:32:20Z",
}

REQUESTS = {
    "apiVersion": "v1", "kind": "BlockRequestList",
    "items": [
        {"name": "req-default-node-1", "node": "node-1", "pool": "default", "state": "given",
         "block": "default-0", "why": None, "waitsFor": None},
        {"name": "req-late-node-2", "node": "node-2", "pool": "late", "state": "waiting", "block": None,
         "why": None, "waitsFor": {
             "reason": "no-pool", "reasonText": "its pool does not exist, or cannot be read",
             "remedy": "make the AddressPool"}},
        {"name": "req-old-node-3", "node": "node-3", "pool": "old", "state": "refused", "block": None,
         "why": "out of blocks", "waitsFor": None},
    ],
}

EGRESSES = {
    "apiVersion": "v1", "kind": "EgressWorkloadList",
    "items": [
        {"namespace": "net", "name": "nat", "gateways": "pods", "wanted": 2, "pods": 2, "available": 2,
         "refused": [], "state": "ready"},
        {"namespace": "net", "name": "racks", "gateways": "nodes", "wanted": 0, "pods": 0,
         "available": 0, "refused": [], "state": "nodes"},
        {"namespace": "shop", "name": "out", "gateways": "pods", "wanted": 3, "pods": 1, "available": 1,
         "refused": [
             {"object": "Deployment shop/out",
              "message": "it can't be written: 422: spec.strategy.rollingUpdate: Forbidden",
              "remedy": "mend the Egress"},
             {"object": "ClusterRoleBinding fingerpost-egress-reads",
              "message": "it can't be written: 403: forbidden", "remedy": None}],
         "state": "refused"},
    ],
}
