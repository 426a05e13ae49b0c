# SPDX-License-Identifier: Apache-2.0
"""The node of test_faults_{routes,uplinks,settings,firewall,nat,services,networks}.py: one that serves by NAT."""

import signal

import pytest
from lab.traffic import Datagrams
from served import NO_HOLD, Service, announced, pods, start


class World:
    """One node that serves `web` by the pods one and two, and `single` by the pod one alone."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        self.pods = pods(lab, "one", "two")
        self.one, self.two = self.pods["one1"], self.pods["two1"]
        self.web, self.single = Service(lab), Service(lab, "single", 20)
        self.web.write(self.one, self.two)
        self.single.write(self.one)
        [self.agent] = start(lab, self.web, self.single, routes=NO_HOLD)

    def sysctl(self, name, value):
        self.node.run("sysctl", "-qw", f"{name}={value}")

    def reload(self, **services):
        kept = dict(self.agent.settings["services"])
        self.agent.settings["services"].update(services)
        self.agent.write_config()
        self.agent.process.send_signal(signal.SIGHUP)
        self.agent.settings["services"] = kept

    def restore_uplink(self):
        """What an interface loses when it is set down."""
        node = self.node
        node.ip("addr", "add", f"{node.address6}/64", "dev", "eth0", "nodad")
        node.ip("route", "replace", "default", "via", node.gateway4)
        node.ip("route", "replace", "default", "via", node.gateway6)

    def restore_pod(self, pod):
        self.node.ip("link", "set", pod.host_end, "up")
        self.node.ip("addr", "replace", "fe80::1/64", "dev", pod.host_end, "nodad")
        for address in (pod.address4, pod.address6):
            self.node.ip("route", "replace", address, "dev", pod.host_end)

    def announced(self, *services):
        for service in services:
            announced(self.lab, service, self.node)


def pinned(folder):
    """What an agent has pinned there."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if not path.is_dir() and not path.name.endswith(".debug")}


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


# What follows from a cause at an endpoint, and is told beside it.
FOLLOWS = ("no way to", "not announced")


def served(world):
    world.announced(world.web, world.single)


def defaults(world, *how):
    node = world.node
    for gateway in (node.gateway4, node.gateway6):
        node.ip("route", "replace", "default", "via", gateway, *how)


FAMILIES = ("-4", "-6")


def asks(world, service):
    """Clients that get no answer; who asks makes the kernel look for the pod."""
    address = next(each for each in service.announced() if ":" not in each)
    for _ in range(3):
        with Datagrams(world.lab.client, address, 80) as flow:
            try:
                flow.who()
            except OSError:
                pass
