# SPDX-License-Identifier: Apache-2.0
"""The fault table, claimed addresses: what another hand does to their Leases, to a clock, and to the configuration of
one node. What a segment, a store and rights do is in the fifth list."""

from collections import namedtuple

import pytest
from faults import Table, check
from lab import wait, wait_equal
from lab.kube_api import MERGE
from lab.wall_clock import BootClock
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


@rows(411, cause=("Lease address.198-51-100-50", "by-hand has it for 60 min", "does not renew it"),
      remedy="write an empty holderIdentity")
def somebody_writes_himself_into_the_lease(world):
    world.write(holderIdentity="by-hand", leaseDurationSeconds=3600)
    wait_equal(lambda: world.segment.at(V4), [], "nobody to have it")
    yield
    world.write(holderIdentity="")
    world.holder()


@rows(412)
def somebody_writes_another_node_into_the_lease(world):
    before = world.holder()
    world.write(holderIdentity="node1" if before == "node2" else "node2")
    wait_equal(lambda: world.segment.at(V4), [], "the former holder to give it up")
    yield
    world.holder()


@rows(413)
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


@rivals(414, cause=(V4, "another machine has the address: 02:00:00:00:05:0"),
        remedy=("if it is a node", "addresses.group must be alike on all"))
def the_other_node_has_it_in_another_group(rival):
    holder = rival.setting.holder()
    with_group(rival.agent, "all")
    yield
    assert rival.setting.segment.at(V4) == [holder]
    with_group(rival.agent, "address")
    rival.setting.holder()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@rivals.each
def test_told_by_the_rival(world, row):
    check(row, world.rival)
