# SPDX-License-Identifier: Apache-2.0
"""Records every route that comes to or leaves a router's main table."""

import re
from dataclasses import dataclass

from .wait import wait

LINE = re.compile(r"^\[([^]]+)\] (Deleted )?(?:(?:unicast|unreachable|blackhole) )?(\S+) (.*)")


@dataclass
class RouteEvent:
    time: str  # as `ip -ts` prints it: 2026-11-20T09:30:00.123456
    deleted: bool
    prefix: str
    rest: str

    def nodes(self):
        """The nodes that serve the prefix after this event; the ToR's links are called after them."""
        return set() if self.deleted else set(re.findall(r" ?dev (\S+)", self.rest))


class RouteMonitor:
    """`ip monitor` into a file. A barrier route tells that all earlier events are in it."""

    BARRIER = "192.0.2.254"

    def __init__(self, host):
        self.host = host
        name = f"routes-{len(host.processes)}.log"  # each has its own
        self.log = host.folder / name
        self.barriers = 0
        self.process = host.start("ip", "-ts", "-o", "monitor", "route", log=name)
        # The command needs a moment until it listens: its first barriers may go unheard.
        wait(lambda: self._barrier(timeout=0.3), f"the route monitor on {host}")
        self.before = self._served()

    def _barrier(self, timeout=30):
        self.barriers += 1
        metric = str(self.barriers)
        route = ("blackhole", self.BARRIER, "metric", metric)
        self.host.ip("route", "add", *route)
        self.host.ip("route", "del", *route)
        done = re.compile(rf"Deleted blackhole {self.BARRIER} .*metric {metric}\b")
        wait(lambda: done.search(self.log.read_text()), "the barrier route", timeout)
        return True

    def events(self):
        """All events so far, in order."""
        self._barrier()
        events = []
        for line in self.log.read_text().splitlines():
            match = LINE.match(line)
            if match and match[3] not in (self.BARRIER, "local", "broadcast", "multicast", "anycast"):
                events.append(RouteEvent(match[1], bool(match[2]), match[3], match[4]))
        return events

    def _served(self):
        """The nodes that serve each prefix now."""
        routes = self.host.ip_json("-4", "route") + self.host.ip_json("-6", "route")
        return {
            route["dst"]: {hop["dev"] for hop in route.get("nexthops", [route]) if "dev" in hop}
            for route in routes
        }

    def losses(self, prefix=None):
        """What was withdrawn: (time, prefix, nodes that no longer serve it), in order.

        A route that loses one of its next hops counts as much as one that goes away.
        """
        known = dict(self.before)
        losses = []
        for event in self.events():
            lost = known.get(event.prefix, set()) - event.nodes()
            known[event.prefix] = event.nodes()
            if lost and prefix in (None, event.prefix):
                losses.append((event.time, event.prefix, lost))
        return losses
