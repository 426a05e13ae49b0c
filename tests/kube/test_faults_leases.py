# SPDX-License-Identifier: Apache-2.0
"""Faults of claimed addresses kept by Leases: rights, another hand, a clock, the configuration of one node."""

from collections import namedtuple

import pytest
from faults import Table, check
from lab import wait, wait_equal
from lab.kube_api import MERGE
from lab.wall_clock import BootClock
from leading import DEPLOY
from test_claimed import LEASES, V4, Setting

LAB = {"nodes": 2}
rows, rivals = Table(), Table()
Rival = namedtuple("Rival", "setting agent")


class World(Setting):
    """Two nodes with agents, of which one has the address; its word counts."""

    def __init__(self, lab):
        self.clocks = {node.role: BootClock(node) for node in lab.nodes}
        super().__init__(lab)
        self.put(V4)
        self.begin()
        self.holder()

    def start(self, node, **settings):
        agent = super().start(node, start=False, **settings)
        agent.wrapper = ("env", *[f"{key}={value}" for key, value in self.clocks[node.role].environment.items()])
        return agent.start()

    @property
    def agent(self):
        return self.agents[self.holder()]

    @property
    def rival(self):
        """The other one."""
        [name] = set(self.agents) - {self.holder()}
        return Rival(self, self.agents[name])

    def write(self, **spec):
        """By hand, into the address's Lease."""
        self.plane.api.request("PATCH", f"{LEASES}/{self.metadata()['name']}", {"spec": spec}, MERGE)


@pytest.fixture(name="world", scope="module")
def world_fixture(cluster):
    cluster.play_kubelets()
    world = World(cluster)
    yield world
    world.end()


@rows("claim-record-stuck", cause=("Lease address.198-51-100-50", "by-hand has it for 60 min", "does not renew it"),
      remedy="write an empty holderIdentity")
def somebody_writes_himself_into_the_lease(world):
    world.write(holderIdentity="by-hand", leaseDurationSeconds=3600)
    wait_equal(lambda: world.segment.at(V4), [], "nobody to have it")
    yield
    world.write(holderIdentity="")
    world.holder()


@rows()
def somebody_writes_another_node_into_the_lease(world):
    before = world.holder()
    world.write(holderIdentity="node1" if before == "node2" else "node2")
    wait_equal(lambda: world.segment.at(V4), [], "the former holder to give it up")
    yield
    world.holder()


@rows()
def the_holders_clock_jumps(world):
    before = world.metadata()["resourceVersion"]
    world.clocks[world.holder()].jump(60)
    wait(lambda: world.metadata()["resourceVersion"] != before, "another renewal")
    yield
    world.holder()


def with_group(agent, group):
    agent.stop()
    agent.settings["addresses"]["group"] = group
    agent.write_config()
    agent.start()


@rivals("claim-address-taken", cause=(V4, "another machine has the address: 02:00:00:00:05:0"),
        remedy=("if it is a node", "addresses.group must be alike on all"))
def the_other_node_has_it_in_another_group(rival):
    holder = rival.setting.holder()
    with_group(rival.agent, "all")
    yield
    assert rival.setting.segment.at(V4) == [holder]
    with_group(rival.agent, "address")
    rival.setting.holder()


@rows("claim-write-failed", within=15, cause=("leases", "forbidden"), remedy="addresses.yaml", beside="forbidden")
def the_right_to_leases_is_taken(world):
    world.plane.kubectl("delete", "-f", str(DEPLOY / "addresses.yaml"))
    yield
    world.plane.kubectl("apply", "-f", str(DEPLOY / "addresses.yaml"))
    yield
    world.holder(timeout=60)


@rows(within=15, heals=True)
def somebody_deletes_the_lease(world):
    before = world.metadata()["uid"]
    world.plane.kubectl("delete", "lease", "-n", "kube-system", world.metadata()["name"])
    yield
    wait(lambda: world.metadata()["uid"] != before, "another Lease")
    yield
    world.holder()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@rivals.each
def test_told_by_the_rival(world, row):
    check(row, world.rival)
