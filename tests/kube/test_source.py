# SPDX-License-Identifier: Apache-2.0
"""An agent fed by a real API server: what is asked for comes, and what the server does to its
clients takes nothing away."""

import itertools
import os

import pytest
from cluster import exported, pod_address, tables
from lab import objects, wait, wait_equal
from lab.authority import write_kubeconfig
from lab.control_plane import DEPLOY
from world import World, in_sync

LAB = {"nodes": 1}
NUMBERS = itertools.count(1)
CROWD = int(os.environ.get("CROWD_SERVICES", "1000"))  # pages of a list have 500


@pytest.fixture(name="world")
def world_fixture(cluster, plane):
    world = World(plane, cluster.nodes[0])
    yield world
    for kind in ("EndpointSlice", "Service"):
        plane.delete(*[{**item, "kind": kind} for item in plane.items(kind)
                       if item["metadata"]["name"].startswith("s")])


@pytest.fixture(name="agent")
def agent_fixture(cluster, plane, world):
    """An agent that has all of the world, with folders of its own."""
    (node,) = cluster.nodes
    agent = cluster.agent(node, name=f"agentd-{next(NUMBERS)}",
                          kubeconfig=plane.agent_kubeconfig("node1"))
    world.reached("at the start")
    yield agent
    if agent.running():
        agent.stop()
    node.agents.remove(agent)


def test_changes_arrive(world, agent):
    world.add(50, 51)
    world.reached("with two more")
    world.remove(50)
    world.reached("with one less")
    assert in_sync(agent)


def test_the_server_is_killed_and_starts_again(cluster, plane, world, agent):
    monitor = world.monitor(cluster)
    with world.changing("killed"):
        for _ in range(2):
            plane.api_server.kill()
            plane.start_api_server()
    world.reached("after two kills of the API server")
    assert world.lost(monitor) == []


def test_all_history_is_compacted(cluster, plane, world, agent):
    """Every watch is resumed before the oldest version that the server knows."""
    monitor = world.monitor(cluster)
    world.add(60)
    plane.api_server.kill()
    plane.store(*world.items_of(61))
    plane.unstore(*world.items_of(60))
    plane.compact()
    plane.start_api_server()
    world.reached("after a compaction")
    with world.changing("compacted"):
        plane.compact()
    world.reached("after one while changes went on")
    assert world.lost(monitor) == []


def test_etcd_is_restored_from_a_backup(cluster, plane, world, agent):
    """resourceVersions go backwards, and objects come back that were deleted."""
    monitor = world.monitor(cluster)
    world.add(70)
    plane.backup("before")
    world.remove(70)
    world.add(71, 72)
    with world.changing("restored"):
        wait(lambda: plane.revision(), "etcd")
    world.reached("before the restore")
    plane.restore("before")
    world.reached("after the restore")
    world.add(73)
    world.reached("with a change after the restore")
    assert world.lost(monitor) == []


def crowd(node, count):
    """Many Services in a namespace of their own, with their slices."""
    items = []
    for number in range(count):
        address = f"100.64.{number >> 8}.{number & 255}"
        endpoint = objects.endpoint(pod_address(node), node.role)
        items += [objects.service(f"c{number}", [address], policy="Local"),
                  objects.slice_of(f"c{number}", [endpoint])]
    for item in items:
        item["metadata"]["namespace"] = "crowd"
    return items


@pytest.mark.timeout(900)  # the API server alone takes a minute to delete them
def test_a_crowded_namespace_goes_at_once(cluster, plane, world, agent):
    monitor = world.monitor(cluster)
    plane.kubectl("create", "namespace", "crowd")
    plane.store(*crowd(cluster.nodes[0], CROWD))
    world.reached(f"with {CROWD} more", 240)
    with world.changing("crowd"):
        plane.kubectl("delete", "namespace", "crowd", timeout=500)  # returns when it is gone
    world.reached("without them", 240)
    assert world.lost(monitor) == []


def test_a_kind_that_is_not_served_is_off_and_comes_on(cluster, plane, world, agent):
    """Without Coil's resources all else works; with them the node's blocks are announced."""
    (node,) = cluster.nodes
    crds = str(DEPLOY / "crds.yaml")
    plane.kubectl("delete", "-f", crds)
    wait_equal(lambda: tables(node), exported(node, *world.served(), blocks=False), "no blocks")
    world.add(55)
    wait_equal(lambda: tables(node), exported(node, *world.served(), blocks=False), "55, no blocks")
    wait(lambda: in_sync(agent) and not agent.faults(), "the end of all faults")
    plane.kubectl("apply", "-f", crds)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
    plane.put(*node.objects())
    world.reached("with the node's blocks again", 150)


def test_the_service_account_is_let_in(cluster, plane, world):
    """By a token that the API made, read from a file."""
    (node,) = cluster.nodes
    token = plane.folder / "token"
    token.write_text(plane.kubectl("create", "token", "fingerpost-agent", "-n", "kube-system"))
    path = write_kubeconfig(plane.folder / "account.kubeconfig", plane.server,
                            plane.pki.certificate, {"tokenFile": str(token)})
    agent = cluster.agent(node, name="agentd-account", kubeconfig=path)
    world.reached("by a token")
    assert not agent.faults()
    agent.stop()
    node.agents.remove(agent)


def test_a_node_that_is_deleted_withdraws_everything(cluster, plane, world):
    (node,) = cluster.nodes
    agent = cluster.agent(node, name="agentd-gone", kubeconfig=plane.agent_kubeconfig("gone"),
                          routes={"nodeGone": "2s", "holdDown": {"initial": "1s", "max": "2s"}})
    world.reached("before")
    plane.api.delete("Node", "node1")
    wait_equal(lambda: tables(node), {4: [], 6: []}, "nothing in table 119")
    plane.put(*node.objects())
    world.reached("after the node came back")
    agent.stop()
    node.agents.remove(agent)
