# SPDX-License-Identifier: Apache-2.0
"""The soak of `agentctl --watch`: some watch for long while objects change and agents restart. Each has
to show the newest state, and neither they nor the agent may grow."""

import os
import random

from cluster import VIP, start, write_service
from lab import Lab, wait
from watching import Watch

from . import process

WATCHED = (("routes", "-o", "name"), ("status", "--json"), ("services",), ("faults",))
RESTART_EVERY = 100
SAID_EVERY = 200
ADDRESSES = [f"203.0.113.{number}" for number in range(100, 140)]


def add_options(group):
    group.add_argument("--changes", type=int, default=2000, metavar="N",
                       help="changes of objects while agentctl watches")


class Watching:
    """One lab with an agent, those who watch it, and what they were seen to take of memory."""

    def __init__(self, lab, seed):
        self.lab, self.chance = lab, random.Random(seed)
        [self.agent] = start(lab)
        self.watches = [Watch(self.agent, *words) for words in WATCHED]
        self.there = set()
        self.memory = {words[0]: [] for words in WATCHED}
        self.memory["agentd"] = []  # of one process: each begins anew
        self.changes = self.restarts = 0

    def change(self):
        """One address comes or goes, and is seen to by who watches the routes."""
        [node] = self.lab.nodes
        address = self.chance.choice(ADDRESSES)
        name = f"s{address.rsplit('.', 1)[1]}"
        listing = self.watches[0]
        listing.forget()
        if address in self.there:
            (self.lab.manifests / f"{name}.yaml").unlink()
            self.there.remove(address)
            wait(lambda: VIP in listing.output() and address not in listing.output(), "its end")
        else:
            write_service(self.lab, name, [address], {node: True})
            self.there.add(address)
            wait(lambda: address in listing.output(), f"{address} to be shown")
        self.changes += 1

    def restart(self):
        self.agent.kill()
        self.agent.start()
        wait(self.watches[0].follows, "a stream of the new agent")
        self.memory["agentd"] = []
        self.restarts += 1

    def measure(self):
        for words, watch in zip(WATCHED, self.watches):
            self.memory[words[0]].append(process.memory(watch.process.pid)[1])
            watch.output()  # it has not ended
            if words != WATCHED[0]:
                watch.forget()
        self.memory["agentd"].append(process.memory(self.agent.process.pid)[1])


def watch(options, seed, say):
    os.environ["GLIBC_TUNABLES"] = process.NO_CACHES
    with Lab("soak-watch", nodes=1) as lab:
        del os.environ["GLIBC_TUNABLES"]
        run = Watching(lab, seed)
        while run.changes < options.changes:
            run.change()
            run.measure()
            # The last half is one agent's, so that its memory is seen over many changes.
            if run.changes % RESTART_EVERY == 0 and run.changes <= options.changes / 2:
                run.restart()
            if run.changes % SAID_EVERY == 0:
                say(f"watch: {run.changes} of {options.changes} changes, "
                    f"{run.memory['routes'][-1]:.2f} MiB of a watch")
        sanitized = process.is_sanitized(run.agent.process.pid)
    flat = {name: None if sanitized else process.is_flat(samples)
            for name, samples in run.memory.items()}
    return {
        "passed": False not in flat.values(),
        "changes": run.changes,
        "restarts": run.restarts,
        "anonymousMiB": {
            name: {"first": round(samples[0], 2), "last": round(samples[-1], 2),
                   "max": round(max(samples), 2), "flat": flat[name]}
            for name, samples in run.memory.items()
        },
    }


PARTS = (watch,)
