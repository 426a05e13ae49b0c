# SPDX-License-Identifier: Apache-2.0
"""Egress in size: 2,000 pods of both families leave by one gateway and 200 Egresses. 1,000 of them run
on the node of the agent that is the client, and are annotated at once; then each is given another
Egress; then one pod more comes, where there are 2,000 and where there are ten of one Egress.

Times are from a manifest renamed into place to the last of its rows in the maps. What the kernel is
told (a call of bpf() or a netlink message) is counted by strace, in a change of its own that is not
timed. The objects come from manifests: from an API server each pod that changes is one event of a
watch, and nothing is written there for it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import attached  # noqa: F401 (finds tests/bpf)
from lab import Lab, objects

from abi import Address
from bpf import Map
from egress import ClientValue, PodValue

from . import process

PODS, EGRESSES, FEW = 2000, 200, 10
TURNS, ONES = 5, 21
CALLS = "bpf,sendmsg,sendto"
MS = 1000


class Guest:
    """A pod as client_pod() of lab/objects.py asks for it: nothing but addresses."""

    def __init__(self, number, node):
        self.role, self.node = f"guest{number}", node
        self.address4 = f"10.224.{100 + number // 250}.{number % 250 + 1}"
        self.address6 = f"fd00:224::1:{number + 1:x}"


class Far:
    role = "far"


def text_of(items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def addresses_of(guests):
    return [Address.of(ip) for guest in guests for ip in (guest.address4, guest.address6)]


def pods(guests, turn):
    """With the Egress that each has in this turn; in none: without one."""
    return [objects.client_pod(guest, None if turn is None else f"nat{(at + turn) % EGRESSES}")
            for at, guest in enumerate(guests)]


class Size:
    """Two agents, a client's and a gateway's, and the pods that stand."""

    def __init__(self, lab, count, egresses):
        self.lab = lab
        one, two = lab.nodes
        self.guests = [Guest(number, one if number < count // 2 else Far) for number in range(count)]
        lab.write("nodes.yaml", objects.node("node1", [one.address4, one.address6]),
                  objects.node("node2", [two.address4, two.address6], {"gateway": "yes"}))
        lab.write_text("egress.json", text_of([objects.egress(f"nat{n}") for n in range(egresses)]))
        off = {"enabled": False}
        self.client = lab.agent(one, services=off, egress={"enabled": True})
        self.gateway = lab.agent(two, services=off, egress={"gateway": {}})
        self.agents = (self.client, self.gateway)
        self.settle()
        self.here = [guest for guest in self.guests if guest.node is one]
        self.pods = self.map_of(self.client, "egress_pods", PodValue)
        self.clients = self.map_of(self.gateway, "egress_clients", ClientValue)

    @staticmethod
    def map_of(agent, name, value):
        [path] = Path(agent.settings["paths"]["bpf"]).rglob(name)
        return Map(path, Address, value)

    def settle(self):
        for agent in self.agents:
            agent.settled(120)

    def replace(self, name, items):
        """Renames a prepared file into place; when that was."""
        draft = self.lab.folder / "draft"
        draft.write_text(text_of(items), encoding="ascii")
        begin = time.monotonic()
        os.replace(draft, self.lab.manifests / name)
        return begin

    def cpu(self):
        """Seconds that the agents have used."""
        return sum(process.seconds(agent.process.pid) for agent in self.agents)

    def policies(self):
        return {key: self.pods[key].policy for key in addresses_of(self.here)}


def follow(done, keys, timeout=60):
    """When the last of them was done."""
    end = time.monotonic() + timeout
    for key in keys:
        while not done(key):
            if time.monotonic() > end:
                raise TimeoutError(f"{key}")
    return time.monotonic()


def appear(size, name, items, guests):
    """Seconds until new clients are in the maps: of the node for those that it has, and of the gateway."""
    keys, here = addresses_of(guests), addresses_of([g for g in guests if g in size.here])
    begin = size.replace(name, items)
    asked = follow(lambda key: (found := size.pods.get(key)) and found.policy, here)
    return max(asked, follow(size.clients.__contains__, keys)) - begin


def move(size, turn):
    """Each pod of this node is given another Egress."""
    before = size.policies()
    begin = size.replace("here.json", pods(size.here, turn))
    return follow(lambda key: size.pods[key].policy not in (0, before[key]), before) - begin


def strace(agent, file):
    tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "name,calls", "-e", f"trace={CALLS}",
                               "-o", file, "-p", str(agent.process.pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert "attached" in tracer.stderr.readline()
    return tracer


def logged(size):
    return sum(len(agent.log.read_text().splitlines()) for agent in size.agents)


def count_calls(size, turn):
    """What the kernel is told, and lines of the logs, while each pod is given another Egress."""
    if not shutil.which("strace"):
        print("NO STRACE: what the agents tell the kernel is not counted", file=sys.stderr, flush=True)
        return {}
    files = [size.lab.folder / f"calls{at}" for at in range(len(size.agents))]
    lines = logged(size)
    tracers = [strace(agent, file) for agent, file in zip(size.agents, files)]
    move(size, turn)
    size.settle()
    for tracer in tracers:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
    found = {"egress-load-lines": [logged(size) - lines]}
    for name, file in zip(("client", "gateway"), files):
        calls = re.findall(rf"^(?:{CALLS.replace(',', '|')}) +(\d+)$", file.read_text(), re.MULTILINE)
        found[f"egress-load-calls-{name}"] = [sum(map(int, calls))]
    return found


def map_memory(agent):
    """MiB of all its maps, as the kernel charges for them."""
    total = 0
    for path in Path(agent.settings["paths"]["bpf"]).rglob("*"):
        if path.is_file():  # pins of other kinds are refused
            said = agent.node.run("bpftool", "-j", "map", "show", "pinned", str(path), check=False)
            total += int(json.loads(said.stdout or "{}").get("bytes_memlock", 0))
    return total / (1 << 20)


def ones_more(size, samples):
    """One pod more, again and again: milliseconds, and those of both agents' processor time."""
    name = f"egress-one-{len(size.guests)}"
    for number in range(ONES):
        guest = Guest(PODS + number, size.client.node)
        size.here.append(guest)
        before = size.cpu()
        samples.setdefault(name, []).append(
            MS * appear(size, f"{guest.role}.json", [objects.client_pod(guest, "nat0")], [guest]))
        size.settle()
        samples.setdefault(f"{name}-cpu", []).append(MS * (size.cpu() - before))


def few(samples):
    with Lab("bench-egress-few", nodes=2, nat=True) as lab:
        size = Size(lab, FEW, 1)
        appear(size, "all.json", [objects.client_pod(guest, "nat0") for guest in size.guests], size.guests)
        size.settle()
        ones_more(size, samples)


def many(samples):
    with Lab("bench-egress-many", nodes=2, nat=True) as lab:
        size = Size(lab, PODS, EGRESSES)
        others = [guest for guest in size.guests if guest not in size.here]
        size.replace("here.json", pods(size.here, None))
        appear(size, "others.json", pods(others, 0), others)
        size.settle()
        before = size.cpu()
        samples["egress-load-named"] = [MS * appear(size, "here.json", pods(size.here, 0), size.here)]
        size.settle()
        samples["egress-load-named-cpu"] = [MS * (size.cpu() - before)]
        samples["egress-load-moved"] = [MS * move(size, turn) for turn in range(1, TURNS + 1)]
        size.settle()
        samples |= count_calls(size, TURNS + 1)
        for name, agent in (("client", size.client), ("gateway", size.gateway)):
            samples[f"egress-load-rss-{name}"] = [process.memory(agent.process.pid)[0]]
            samples[f"egress-load-maps-{name}"] = [map_memory(agent)]
        ones_more(size, samples)


def egress_load():
    samples = {}
    many(samples)
    few(samples)
    for what in ("", "-cpu"):
        pairs = zip(samples[f"egress-one-{PODS}{what}"], samples[f"egress-one-{FEW}{what}"])
        samples[f"egress-one{what}-ratio"] = [many / few for many, few in pairs]
    return samples
