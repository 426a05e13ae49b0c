# SPDX-License-Identifier: Apache-2.0
"""Blocks of pod addresses: 1,000 nodes that ask a real API server's controller at once."""

import time
from concurrent.futures import ThreadPoolExecutor

from lab import Lab, wait
from lab.controlling import Controller, assert_disjoint, node, pool, request
from lab.kube_api import path_of

from . import process

NODES = 1000


def ask(plane, name):
    plane.put(node(name))
    made = plane.api.get(path_of("Node", name=name))
    plane.put(request(f"req-default-{name}", made))


def answered(plane):
    return sum(1 for item in plane.items("BlockRequest")
               if item.get("status", {}).get("addressBlockName"))


def written(plane, user):
    """Writes of a controller, but those of its Lease, and what was not done of them."""
    found = [entry for entry in plane.audited(user)
             if entry["verb"] not in ("get", "list", "watch")
             and entry["objectRef"]["resource"] != "leases"]
    return len(found), sum(entry["responseStatus"]["code"] >= 300 for entry in found)


def blocks():
    """All requests are there when the controller begins: what it takes until the last is answered."""
    with Lab("blocks", nodes=1) as lab:
        plane = lab.control_plane()
        plane.put({**pool("default", "10.64.0.0/12"), "metadata": {
            "name": "default", "finalizers": ["coil.cybozu.com"]}})
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda number: ask(plane, f"n{number:04}"), range(NODES)))
        controller = Controller(lab.nodes[0], plane).start()
        wait(controller.leads, "the controller to lead", 60)
        begin = time.monotonic()
        wait(lambda: answered(plane) == NODES, "the answers", 120)
        seconds = time.monotonic() - begin
        peak, spent = process.peak(controller.process.pid), process.seconds(controller.process.pid)
        controller.stop()
        assert_disjoint(plane)
        writes, failed = written(plane, controller.user)
        return {"blocks": [seconds], "blocks-peak": [peak], "blocks-cpu": [spent],
                "blocks-writes": [writes], "blocks-failed": [failed]}
