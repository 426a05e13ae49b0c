# SPDX-License-Identifier: Apache-2.0
"""Pods in macvlan children of the uplink: their own node cannot reach them by it, and says so; other
nodes can."""

import pytest
from lab import wait, wait_equal
from lab.namespace import Namespace
from lab.traffic import ask, serve
from served import FAMILIES, TARGET, Service, announced, pods, start, steer

pytestmark = pytest.mark.lab(nodes=2, nat=True)
AUTO = {"uplinks": "auto", "podInterfaces": "auto"}


class ChildPod(Namespace):
    """A pod as the macvlan plugin makes it: in the node's own network, behind its network card."""

    def __init__(self, lab, node, name, host):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.node = node
        self.address4 = node.address4.rsplit(".", 1)[0] + f".{host}"
        self.address6 = node.address6.rsplit("::", 1)[0] + f"::{host}"
        self.create(forwarding=False)
        node.configure(
            "link add link eth0 name child type macvlan mode bridge",
            f"link set child netns {self.name} name eth0",
        )
        self.configure(
            f"addr add {self.address4}/24 dev eth0",
            f"addr add {self.address6}/64 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via {node.gateway4}",
            f"route add default via {node.gateway6}",
        )
        serve(self, TARGET)


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.node = lab.nodes[0]
    lab.child = ChildPod(lab, lab.node, "child", 77)
    lab.plain = pods(lab, "plain", nodes=[lab.node])["plain1"]
    lab.web = Service(lab)
    lab.web.write(lab.child)
    lab.agents = start(lab, services=AUTO)
    return lab


def faults_of(agent):
    return [(fault["message"], fault["remedy"]) for fault in agent.faults()]


def named(world):
    """The faults that say why, one for each family at least."""
    return [
        address for address in (f"{world.child.address4}:", f"[{world.child.address6}]:")
        if any(f"{address}{TARGET} is on this node, but eth0, a macvlan parent" in message
               and "a macvlan child of that interface" in remedy
               for message, remedy in faults_of(world.agents[0]))
    ]


def answers(world, name):
    for address in world.web.of["loadBalancer"]:
        assert ask(world.client, address, 80).name == name, address


def test_their_own_node_does_not_announce_them(world):
    agent, other = world.agents
    wait_equal(lambda: len(named(world)), len(FAMILIES), "the faults that name the parent")
    announced(world, world.web, world.nodes[1])
    answers(world, world.child.role)
    assert other.faults() == []
    explained = agent.json("explain", world.web.announced()[0])
    assert "eth0, a macvlan parent, never reaches its children" in str(explained), explained
    story = agent.json("trace", world.client.address4, f"{world.web.announced()[0]}:80/TCP")
    assert "what eth0 sends never reaches its own macvlan or ipvlan children" in str(story), story
    # An endpoint that is no child's: the same interface serves it, and one behind a pod's does, too.
    world.web.write(world.plain)
    announced(world, world.web, *world.nodes)
    wait(lambda: agent.faults() == [], "no fault")
    answers(world, world.plain.role)


def test_a_child_of_the_node_itself_leads_to_them(world):
    node, agent = world.node, world.agents[0]
    wait_equal(lambda: len(named(world)), len(FAMILIES), "the faults that name the parent")
    beside4, beside6 = world.child.address4[:-2] + "78", world.child.address6[:-2] + "78"
    node.configure(
        "link add link eth0 name beside type macvlan mode bridge",
        "link set beside up",
        f"addr add {beside4}/32 dev beside",
        f"addr add {beside6}/128 dev beside nodad",
        f"route add {world.child.address4} dev beside",
        f"route add {world.child.address6} dev beside",
    )
    world.child.configure(
        f"route add {node.block4} via {beside4}", f"route add {node.block6} via {beside6}"
    )
    announced(world, world.web, *world.nodes)
    wait(lambda: agent.faults() == [], "no fault")
    steer(world, node, *world.web.announced())
    answers(world, world.child.role)
    for family, address in zip(FAMILIES, world.web.of["clusterIP"]):
        assert ask(node, address, 80).name == world.child.role, family
        assert ask(world.plain, address, 80).name == world.child.role, family
