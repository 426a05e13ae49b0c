# SPDX-License-Identifier: Apache-2.0
"""L2Advertisements of one pool that say different things, and what is told where they leave no node for an address."""

import pytest
from giving import pool
from lab import wait_equal
from test_claimed import V4, Setting, advertisement

LAB = {"nodes": 2}
NAMES = ("node1", "node2")
OTHER_LINKS = "its L2Advertisement is for other interfaces"
OTHER_NODES = "its L2Advertisement is for other nodes"
NO_NODE = "nodeSelectors: select no Node, so that no node announces by it"


@pytest.fixture(name="setting")
def setting_fixture(cluster, kubelets):
    del kubelets
    setting = Setting(cluster)
    yield setting
    for name in ("second", "third"):
        setting.plane.kubectl("delete", "--ignore-not-found", "-n", "default", "l2advertisement,ipaddresspool", name)
    setting.end()


def named(name, node=None, interfaces=None, pools=None):
    """Each field is written: what there was is merged with it."""
    nodes = [{"matchLabels": {"kubernetes.io/hostname": node}}] if node else None
    item = advertisement(interfaces=interfaces, ipAddressPools=pools, nodeSelectors=nodes)
    item["metadata"]["name"] = name
    return item


def assert_left_out(setting, words, remedy, beside=()):
    """By both nodes, once nobody has had it for a moment."""
    wait_equal(lambda: setting.segment.at(V4), [], "nobody to have it")
    for agent in setting.agents.values():
        wait_equal(lambda agent=agent: [(fault["place"], fault["message"]) for fault in agent.faults()],
                   [(V4, f"no node has the address; not this one: {words}"), *beside], "the fault", 15)
        assert remedy in agent.faults()[0]["remedy"]


def assert_had_by(setting, name):
    wait_equal(lambda: setting.segment.at(V4), [name], "it to be there", 30)
    assert setting.holder(V4) == name
    for agent in setting.agents.values():
        wait_equal(agent.faults, [], "no fault")


def test_advertisements_add_up_and_who_is_left_out_is_told(setting):
    setting.put(V4, nodes=NAMES)
    setting.begin(interfaces=["lan"])
    setting.holder(V4)
    # One that names an interface that no node has.
    setting.plane.put(named("lan", interfaces=["wan"]))
    assert_left_out(setting, OTHER_LINKS, "or none at all")
    # Two that contradict each other: what either allows is allowed, and no more than that.
    setting.plane.put(named("second", "node1", interfaces=["lan"]), named("lan", "node2", interfaces=["wan"]))
    assert_had_by(setting, "node1")
    assert [setting.row(name)["why"] for name in NAMES] == [None, OTHER_LINKS]
    setting.plane.put(named("second", "node2", interfaces=["lan"]), named("lan", "node1", interfaces=["wan"]))
    assert_had_by(setting, "node2")
    # None that selects a node.
    setting.plane.put(named("second", "node7"), named("lan", "node8"))
    assert_left_out(setting, OTHER_NODES, "select a Node", [(f"L2Advertisement default/{name}", NO_NODE)
                                                            for name in ("lan", "second")])
    setting.plane.put(named("second", "node1"), named("lan", "node1"))
    assert_had_by(setting, "node1")
    assert setting.row("node2")["why"] == OTHER_NODES
    # The address is in a second pool, too, whose advertisement is for the other node: the older pool counts.
    setting.plane.put(pool("198.51.100.0/24", name="third"), named("second", "node2", pools=["third"]),
                      named("lan", "node1", pools=["lb"]))
    wait_equal(lambda: setting.row("node2")["why"], OTHER_NODES, "the older pool's word")
    assert_had_by(setting, "node1")
    setting.plane.put(pool("198.51.100.128/25"))
    assert_had_by(setting, "node2")
