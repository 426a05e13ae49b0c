# SPDX-License-Identifier: Apache-2.0
"""Blocks of pod addresses: 1,000 nodes that ask a real API server's controller at once."""

import time
import uuid

from lab import Lab, wait
from lab.asking import assert_disjoint, controller, node, pool, request

from . import process

NODES = 1000


def asking(number):
    """A Node and its request, as etcd has them: through the API server it would take minutes."""
    name, when = f"n{number:04}", "2026-11-20T07:33:00Z"
    machine = node(name)
    machine["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": when}
    wish = request(f"req-default-{name}", machine)
    wish["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": when, "generation": 1}
    return machine, wish


DONE = 'fingerpost_controller_write_outcomes_total{job="blocks",outcome="done"}'


def done(leader):
    """Writes that the controller knows to be done: to ask the API server would keep it from work."""
    for line in leader.ask("/metrics")[1].splitlines():
        if line.startswith(DONE):
            return int(line.split()[-1])
    return 0


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
        plane.store(*[item for number in range(NODES) for item in asking(number)])
        leader = controller(lab.nodes[0], plane, "a").start()
        wait(leader.leads, "the controller to lead", 60)
        begin = time.monotonic()
        wait(lambda: done(leader) >= 2 * NODES, "the answers", 120)
        seconds = time.monotonic() - begin
        assert answered(plane) == NODES
        peak, spent = process.peak(leader.process.pid), process.seconds(leader.process.pid)
        leader.stop()
        assert_disjoint(plane)
        writes, failed = written(plane, leader.user)
        return {"blocks": [seconds], "blocks-peak": [peak], "blocks-cpu": [spent],
                "blocks-writes": [writes], "blocks-failed": [failed]}
