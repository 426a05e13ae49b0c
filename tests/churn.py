# SPDX-License-Identifier: Apache-2.0
"""Services that change all the time while agents are killed: for tests/netns and the soak.

The book that is kept here is of what the objects ask for: each time they stop asking a node for an
address, it may lose the address once. Whatever the ToR loses beyond that, nobody asked for.
"""

import random
from collections import Counter

from cluster import VIP, VIP6, announced_by, exported, start, tables, write_service
from lab import wait, wait_equal

NO_HOLD = {"holdDown": {"initial": "0s", "max": "0s"}}
BROKEN = ("kind: Service\nmetadata: {name: [\n", "\tkind: Service\n", "kind: Service\n\0", "{")


def losses_at(monitor):
    """How often a router lost what: a Counter of (prefix, node)."""
    return Counter((prefix, node) for _, prefix, nodes in monitor.losses() for node in nodes)


class Churn:
    def __init__(self, lab, seed, services=8):
        self.lab = lab
        self.chance = random.Random(seed)
        self.agents = start(lab, routes=NO_HOLD)
        self.names = [f"churn{number}" for number in range(services)]
        self.vips = {name: f"203.0.113.{100 + i}" for i, name in enumerate(self.names)}
        self.ready = {name: dict.fromkeys(lab.nodes, True) for name in self.names}
        self.broken = set()
        self.asked = Counter()  # (address, node): how often it may be lost
        for name in self.names:
            self._write(name)
        announced_by(lab, *lab.nodes, addresses=self.vips.values())
        self.monitor = lab.monitor()
        self.done = Counter()

    def _write(self, name, in_place=False):
        write_service(self.lab, name, [self.vips[name]], self.ready[name], in_place=in_place)
        self.broken.discard(name)

    def _may_lose(self, name, *nodes):
        for node in nodes:
            self.asked[self.vips[name], node.role] += self.ready[name][node]

    def _toggle(self, name):
        node = self.chance.choice(self.lab.nodes)
        self._may_lose(name, node)
        self.ready[name] = {**self.ready[name], node: not self.ready[name][node]}
        self._write(name)

    def _write_in_place(self, name):
        """As a careless editor does: who starts right now finds the file empty."""
        self._may_lose(name, *self.lab.nodes)
        self._write(name, in_place=True)

    def _delete(self, name):
        self._may_lose(name, *self.lab.nodes)
        self.ready[name] = dict.fromkeys(self.lab.nodes, False)
        (self.lab.manifests / f"{name}.yaml").unlink(missing_ok=True)
        self.broken.discard(name)

    def _break(self, name):
        """Asks for nothing: what the file said stays in force, also where nobody knows it any more."""
        self.lab.write_text(f"{name}.yaml", self.chance.choice(BROKEN))
        self.broken.add(name)

    def change(self, most):
        """Up to so many changes, at once. How many there are makes the moment a random one."""
        kinds = [self._toggle] * 6 + [self._write_in_place, self._delete, self._break]
        for _ in range(self.chance.randrange(most)):
            kind = self.chance.choice(kinds)
            kind(self.chance.choice(self.names))
            self.done[kind.__name__.strip("_")] += 1

    def _restart_one(self):
        """Kills or stops an agent and starts it again, with changes before, between and soon."""
        self.change(12)
        agent = self.chance.choice(self.agents)
        if self.chance.random() < 0.75 or not agent.ready():
            agent.kill()
            self.done["kill"] += 1
        else:
            agent.stop()
            self.done["stop"] += 1
        self.change(12)
        agent.start(ready=self.chance.random() < 0.5)

    def restart_some(self, count):
        for _ in range(count):
            self._restart_one()

    def settle(self):
        """All files are whole again; waits until tables and ToR say what the objects say."""
        for name in sorted(self.broken):
            self._write(name)
        for node, agent in zip(self.lab.nodes, self.agents):
            wanted = [self.vips[name] for name in self.names if self.ready[name][node]]
            wait_equal(lambda: tables(node), exported(node, VIP, VIP6, *wanted), f"tables of {node}")
            wait(agent.ready, "READY")
            agent.settled()
            assert agent.ctl("diff").code == 0
        for name in self.names:
            serving = {node.role for node in self.lab.nodes if self.ready[name][node]}
            wait_equal(lambda: self.lab.tor.via(self.vips[name]), serving, f"{name} on the ToR")

    def undue(self):
        """What the ToR lost more often than the objects asked for."""
        return losses_at(self.monitor) - self.asked
