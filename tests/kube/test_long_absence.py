# SPDX-License-Identifier: Apache-2.0
"""An agent that was stopped for long, while a thousand objects changed: what it does then is what changed, each address
once; and what did not change is not touched, also by an agent that stood still, and hears of each kind by itself."""

import signal

import pytest
import scripted
from cluster import exported, pod_address, tables
from lab import objects, wait_equal
from lab.authority import Authority, write_kubeconfig
from lab.monitor import RouteMonitor
from scripted import ScriptedApi, server_context

COUNT, EACH = 1000, 200  # Services; of which so many are removed, added, moved, swapped, annotated


def address(number):
    return f"203.0.{number >> 8}.{number & 255}"


class World:
    def __init__(self, lab, folder):
        self.lab, (self.node, *_) = lab, lab.nodes
        pki = Authority(folder, "ca")
        pair = pki.issue("server", hosts=[lab.client.address4])
        self.api = ScriptedApi(lab.client, lab.client.address4, server_context(pair)).start()
        self.api.put(*[item for node in lab.nodes for item in node.objects()])
        self.has = {}  # by Service: its address, and whether its endpoint is on the node
        for number in range(COUNT):
            self.put(number, address(number), number % 5 > 0)
        server = f"https://{lab.client.address4}:{scripted.PORT}"
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server, pki.certificate, {})
        self.agent = lab.agent(self.node, kubeconfig=kubeconfig)

    def put(self, number, ip, here, **more):
        name = f"s{number}"
        node = self.lab.nodes[0 if here else 1]
        self.api.put(objects.service(name, [ip], policy="Local", **more),
                     objects.slice_of(name, [objects.endpoint(pod_address(node), node.role)]))
        self.has[name] = (ip, here)

    def remove(self, number):
        name = f"s{number}"
        self.api.delete(objects.service(name), objects.slice_of(name, []))
        del self.has[name]

    def announced(self):
        return {ip for ip, here in self.has.values() if here}

    def settled(self, timeout=120):
        wait_equal(lambda: tables(self.node), exported(self.node, *self.announced()), "table 119", timeout)

    def change(self):
        """Some are gone, some are new, some moved to another node, and some have changed addresses with each other."""
        for number in range(EACH):
            self.remove(number)
            self.put(COUNT + number, address(COUNT + number), number % 3 > 0)
        for number in range(EACH, 2 * EACH):
            self.put(number, address(number), number % 5 == 0)
        for number in range(2 * EACH, 3 * EACH, 2):
            self.put(number, address(number + 1), number % 2 == 0)
            self.put(number + 1, address(number), number % 5 > 0)
        for number in range(3 * EACH, 4 * EACH):
            self.put(number, address(number), number % 5 > 0, annotations={"note": "another"})


@pytest.fixture(name="world")
def world_fixture(lab, tmp_path):
    world = World(lab, tmp_path)
    world.settled()
    yield world
    if world.agent.running():
        world.agent.process.send_signal(signal.SIGCONT)
        world.agent.stop()
    world.api.stop()
    world.api.end_watches()


def kill(world):
    world.agent.kill()
    return lambda: world.agent.start(ready=False)


def end(world):
    world.agent.stop()
    return lambda: world.agent.start(ready=False)


def stand_still(world):
    world.agent.process.send_signal(signal.SIGSTOP)
    return lambda: world.agent.process.send_signal(signal.SIGCONT)


def meanwhile(world, how, forgets):
    """The addresses that were added, and that were removed, in their order; `forgets`: no watch can be resumed."""
    again = how(world)
    world.change()
    if forgets:
        world.api.forget()
    monitor = RouteMonitor(world.node)
    again()
    world.settled()
    wait_equal(world.agent.faults, [], "no faults", 60)
    events = [event for event in monitor.events() if "table 119" in event.rest]
    return [[event.prefix for event in events if event.deleted == deleted] for deleted in (False, True)]


@pytest.mark.lab(nodes=2)
@pytest.mark.parametrize("how, forgets", [(end, True), (kill, False)])
def test_what_changed_meanwhile_is_all_that_is_done(world, how, forgets):
    before = world.announced()
    added, removed = meanwhile(world, how, forgets)
    assert sorted(added) == sorted(world.announced() - before)
    assert sorted(removed) == sorted(before - world.announced())


@pytest.mark.lab(nodes=2)
@pytest.mark.parametrize("forgets", [True, False])
def test_who_stood_still_touches_nothing_that_did_not_change(world, forgets):
    """A Service and its slices come by two watches: what changed may go through what was never so."""
    added, removed = meanwhile(world, stand_still, forgets)
    changed = {address(number) for number in [*range(3 * EACH), *range(COUNT, COUNT + EACH)]}
    assert added and removed and {*added, *removed} <= changed
