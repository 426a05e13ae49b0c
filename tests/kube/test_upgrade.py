# SPDX-License-Identifier: Apache-2.0
"""Two versions of the controller side by side, as during an upgrade and its way back: an older one, built from
this repository's history, and the one under test take turns on one Lease. Each goes on from what the other has
written, gives nothing twice, and leaves every object alone that it has nothing new to say of. But for the binding
of gateways' accounts: the older one makes its own, by which they have the role of agents, and the present one takes
that away once they have another."""

import pytest
from giving import (all_have_one_each, assert_one_holder_each, end, idle, pool, service, sweep,
                    versions as versions_of)
from lab import asking, wait, wait_equal
from lab.asking import ELECTION, Nodes, assert_disjoint, blocks
from lab.controller import Controller
from lab.kube_api import path_of
from lab.older import older_controller

LAB = {"nodes": 2}
NET = "net"
OWNED = ("Deployment", "Service", "PodDisruptionBudget")
EGRESS = {"apiVersion": "coil.cybozu.com/v2", "kind": "Egress", "metadata": {"name": "nat", "namespace": NET},
          "spec": {"destinations": ["0.0.0.0/0"], "replicas": 2, "podDisruptionBudget": {"minAvailable": 1}}}
SETTINGS = {"election": ELECTION, "egress": {"enabled": True, "image": "example.com/fingerpost:1"}}


OLDER, READS = "fingerpost-egress", "fingerpost-egress-reads"
BINDINGS = {("ClusterRoleBinding", None, name) for name in (OLDER, READS)}


class Versions:
    """The older controller and the present one, each on a node of its own."""

    def __init__(self, cluster, older):
        self.plane = cluster.plane
        programs = zip(("older", "present"), cluster.nodes, (older, None))
        self.each = {name: Controller(node, name, self.plane.controller_kubeconfig(name), SETTINGS, program)
                     for name, node, program in programs}

    def turn(self, leader):
        """The other ends, so that this one leads; then both run. Who ended gave the Lease back."""
        one = self.each[leader]
        (other,) = [each for each in self.each.values() if each is not one]
        if not one.running():
            one.start()
        before = len(self.plane.audited())
        if other.running():
            end(other)
        wait(one.leads, f"{leader} to lead", 60)
        other.start()
        wait(lambda: other.ask("/readyz")[0] == 200, f"{other.name} to follow", 60)
        return one, other, before

    def written(self, user, since):
        """Which objects a controller has changed: what the API answered with another resourceVersion."""
        return sorted({(entry["objectRef"]["resource"], entry["objectRef"].get("name"))
                       for entry in self.plane.audited()[since:]
                       if entry["user"]["username"] == user and entry["verb"] not in ("get", "list", "watch")
                       and entry["objectRef"]["resource"] != "leases"
                       and entry["responseStatus"]["code"] < 300})


@pytest.fixture(name="versions")
def versions_fixture(cluster):
    older = older_controller()
    if older is None:
        pytest.skip("an upgrade is not tried: this clone has no history to build the older controller from")
    plane = cluster.plane
    sweep(plane)
    plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NET}})
    made = Versions(cluster, older)
    yield made
    for each in made.each.values():
        if each.running():
            end(each)


def work(plane, number):
    """Something new for each job."""
    plane.put(service(f"web-{number}"))
    nodes = Nodes(plane, f"rack-{number}")
    key = nodes.ask(f"rack-{number}")
    plane.api.request("PATCH", path_of("Egress", NET, "nat"), {"spec": {"replicas": number + 2}},
                      "application/merge-patch+json")
    return nodes, key


def done(plane, number, nodes, key):
    all_have_one_each(plane, [f"web-{each}" for each in range(number + 1)])
    wait(lambda: (nodes.answer(key) or [None])[0], "the block", 60)
    wait_equal(lambda: plane.api.get(path_of("Deployment", NET, "nat"))["spec"]["replicas"], number + 2,
               "the gateways", 60)
    wait_equal(lambda: (plane.api.get(path_of("Egress", NET, "nat")).get("status") or {}).get("replicas"),
               number + 2, "the status", 60)


def bindings(plane):
    """How the account of gateways has its rights: the bindings by name, with their roles."""
    return {item["metadata"]["name"]: item["roleRef"]["name"] for item in plane.items("ClusterRoleBinding")
            if any(each.get("namespace") == NET for each in item.get("subjects", []))}


def rewritten(before, after):
    """Objects that are others than before; the older binding comes and goes, and that which reads comes once."""
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return {key for key in changed if key not in BINDINGS or (key in before and key in after)}


def test_older_and_present_take_turns(versions):
    plane = versions.plane
    plane.put(pool("203.0.113.0/27"), asking.pool("default", "10.2.0.0/24"), EGRESS)
    began = len(plane.audited())
    for number, name in enumerate(("older", "present", "older", "present")):
        still = versions_of(plane)
        leader, other, before = versions.turn(name)
        wait(lambda: idle(leader), f"{name} to have written all", 60)
        if number > 0:
            assert rewritten(still, versions_of(plane)) == set(), f"{name} has rewritten what the other had: " + str(
                versions.written(leader.user, before))
        since = len(plane.audited())
        done(plane, number, *work(plane, number))
        wait(lambda: idle(leader), f"{name} to have written all", 60)
        assert versions.written(other.user, since) == [], "a follower writes nothing"
        assert bindings(plane) == {**({READS: OLDER} if number > 0 else {}),
                                   **({OLDER: "fingerpost-agent"} if name == "older" else {})}
        assert leader.status()["faults"] == [] == other.status()["faults"]
    assert_one_holder_each(plane, began)
    assert_disjoint(plane)
    assert len(blocks(plane)) == 4
