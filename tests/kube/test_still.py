# SPDX-License-Identifier: Apache-2.0
"""Where nothing happens, nothing is written: two controllers with all their jobs, and an agent that gives pods
addresses on each node, over a cluster in which all is as it should be. The soak lets it be for long."""

import json
import os
import time

import pytest
from giving import all_have_one_each, begin, end, idle, pool, service, versions
from lab import asking, wait
from lab.controller import Controller

LAB = {"nodes": 2}
SECONDS = int(os.environ.get("STILL_SECONDS", 5))
SERVICES = 20
EVERY = {"election": asking.ELECTION, "egress": {"enabled": True, "image": "example.com/fingerpost:1"}}
EGRESS = {"apiVersion": "coil.cybozu.com/v2", "kind": "Egress", "metadata": {"name": "nat", "namespace": "default"},
          "spec": {"destinations": ["0.0.0.0/0"], "replicas": 2, "podDisruptionBudget": {"minAvailable": 1}}}


@pytest.fixture(name="controllers")
def controllers_fixture(cluster):
    made = [Controller(node, name, cluster.plane.controller_kubeconfig(name), EVERY)
            for name, node in zip("ab", cluster.nodes)]
    begin(made[0])
    made[1].start()
    yield made
    for each in made:
        end(each)


def ours(plane, since):
    """What agents and controllers have written, but for the Lease."""
    return [(entry["user"]["username"], entry["verb"], entry["objectRef"]["resource"], entry["objectRef"].get("name"))
            for entry in plane.audited()[since:] if entry["verb"] not in ("get", "list", "watch")
            and entry["objectRef"]["resource"] != "leases"]


def test_nothing_is_written_while_nothing_happens(cluster, controllers):
    plane, names = cluster.plane, [f"web-{number}" for number in range(SERVICES)]
    plane.put(pool("203.0.113.0/27"), asking.pool("default", "10.224.0.0/24"), EGRESS, *map(service, names))
    for node in cluster.nodes:
        plane.put(*[item for item in node.objects() if item["kind"] == "Node"])
        cluster.agent(node, kubeconfig=plane.agent_kubeconfig(node), pods={"enabled": True})
    all_have_one_each(plane, names)
    wait(lambda: plane.items("PodDisruptionBudget"), "what is made of the Egress", 60)
    wait(lambda: idle(controllers[0]), "an end of writing", 60)
    before, since, last = versions(plane), len(plane.audited()), time.monotonic() + SECONDS

    def over():
        assert not ours(plane, since), ours(plane, since)
        return time.monotonic() > last
    while not over():  # that time passes is what is tested
        time.sleep(1)
    assert versions(plane) == before
    rate = sum(entry["objectRef"]["resource"] == "leases" for entry in plane.audited()[since:] if "objectRef" in entry)
    print(json.dumps({"seconds": SECONDS, "objects": len(before), "writes": 0, "lease": rate}))
