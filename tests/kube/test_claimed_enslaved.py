# SPDX-License-Identifier: Apache-2.0
"""The interface of a claimed address becomes a port of a bridge. Whatever addresses it has, frames for them are the
bridge's then: the node tells of it, has no claimed address there, and takes part again by the bridge or without it."""

from lab import wait, wait_equal
from lab.segment import NET4, NET6
from test_claimed import V4

LAB = {"nodes": 3}
WORDS = "lan is a port of bridge br0: this node has no claimed address of its network"
REMEDY = "move its addresses to br0, or ip link set lan nomaster"
WHY = "the interface in its network is a port of another one"


def told(setting, name):
    return [(fault["message"], fault["remedy"]) for fault in setting.agents[name].faults()
            if fault["place"] == "interface lan"]


def move(node, index, source, target):
    """The node's own addresses, from one interface to another."""
    node.configure(*[f"addr del {net.format(index)} dev {source}" for net in (NET4, NET6)],
                   f"addr add {NET4.format(index)} dev {target}", f"addr add {NET6.format(index)} dev {target} nodad")


def test_the_interface_becomes_a_port_of_a_bridge(setting):
    setting.put(V4)
    setting.begin(interfaces=["lan", "br0"])
    first = setting.holder(V4)
    node, segment = setting.node(first), setting.segment
    node.configure("link add br0 type bridge", "link set br0 up", "link set lan master br0")
    wait(lambda: [name for name in segment.at(V4) if name != first], "another holder", 60)
    wait_equal(lambda: told(setting, first), [(WORDS, REMEDY)], "the fault")
    assert setting.row(first)["why"] == WHY
    second = setting.holder(V4)
    # By the bridge, as the remedy says.
    index = segment.places[first]
    move(node, index, "lan", "br0")
    wait_equal(lambda: told(setting, first), [], "the end of the fault")
    wait_equal(lambda: setting.row(first)["why"], "another node has it", "that it may again")
    # Or without it.
    move(node, index, "br0", "lan")
    wait_equal(lambda: told(setting, first), [(WORDS, REMEDY)], "the fault")
    node.configure("link set lan nomaster", "link del br0")
    wait_equal(lambda: told(setting, first), [], "the end of the fault")
    wait_equal(lambda: setting.row(first)["why"], "another node has it", "that it may again")
    assert setting.holder(V4) == second
    assert setting.judge.doubles() == []
