# SPDX-License-Identifier: Apache-2.0
r"""A node in a network namespace, with a real agent on it that is given cluster after cluster.

The node is clusters.NODE with the addresses that its Node object may have, an uplink, and an
interface for each pod that may run on it. Nobody sends a packet: the agent is asked by its API,
over one connection.

    gateway --- eth0 [node-1] veth1 ... veth5 --- pods 10.244.1.1 ... 10.244.1.5
                      |    \
                    svc0   other0: none of the agent's
"""

import json
import os
import urllib.parse
from pathlib import Path

import clusters
import model
from lab import wait
from lab.agent import Agent, Connection, merged
from lab.lab import NAT_SYSCTLS, label_of, mount_bpffs
from lab.namespace import Namespace
from lab.reaper import ROOT, Claim

PODS = range(1, 6)
# Small, so that reading them all is quick. No hold-down: the next cluster has the same addresses.
BASE = {
    "services": {
        "enabled": True,
        "uplinks": ["eth0"],
        "podInterfaces": ["veth*"],
        "maps": {"flows": 1024, "services": 64, "endpoints": 1024},
    },
    "routes": {"holdDown": {"initial": "0s", "max": "0s"}, "deadman": "0s",
               "nodeGone": "1h"},
}
OWN_ADDRESSES = {
    family: [f"{prefix}{1 + 10 * i}" for i in range(3)]
    for family, prefix in clusters.NODE_ADDRESSES.items()
}
NEIGHBOUR = {4: "198.18.7.7", 6: "2001:db8:7::7"}  # behind other0


def as_seen(objects):
    """What the model is to be told of them: on this node."""
    own = [address for family in (4, 6) for address in OWN_ADDRESSES[family]]
    return model.on_host(objects, clusters.NODE, own, [OWN_ADDRESSES[f][0] for f in (4, 6)])


def silenced(thing, keys):
    """The same, and never announced, if it is a Service among these."""
    if thing["kind"] != "Service" or model.key(thing) not in keys:
        return thing
    annotations = {"fingerpost.io/announce": "false"}
    return merged(thing, {"metadata": {"annotations": annotations}})


def pod_addresses(number, host=1):
    return [clusters.POD_ADDRESSES[family].format(host, number) for family in (4, 6)]


def links():
    """Lines of iproute2 that make the node's interfaces, addresses and routes."""
    lines = ["link add eth0 type veth peer name gateway", "link set gateway up",
             "link set eth0 up", "link add other0 type veth peer name other1",
             "link set other1 up", "link set other0 up"]
    lines += [f"route add {address} dev other0" for address in NEIGHBOUR.values()]
    for family, length in ((4, 24), (6, 64)):
        lines += [f"addr add {ip}/{length} dev eth0{' nodad' if family == 6 else ''}"
                  for ip in OWN_ADDRESSES[family]]
        gateway = f"{clusters.NODE_ADDRESSES[family]}{254 if family == 4 else 'fe'}"
        lines.append(f"route add default via {gateway} dev eth0 src {OWN_ADDRESSES[family][0]}")
    for number in PODS:
        lines += [f"link add veth{number} type veth peer name p{number}",
                  f"link set p{number} up", f"link set veth{number} up"]
        lines += [f"route add {address} dev veth{number}" for address in pod_addresses(number)]
    return lines


class Site:
    """One node; `with Site(name) as site:`. Its agent is started by start()."""

    def __init__(self, name):
        self.label = label_of(name)
        self.folder = ROOT / self.label
        self.claim = self.node = self.agent = self.api = None
        self.objects = []  # of the cluster that it was given

    def __enter__(self):
        self.claim = Claim(self.label)
        try:
            self.manifests = self.folder / "manifests"
            self.manifests.mkdir(parents=True)
            self.node = Namespace(self.label, clusters.NODE, self.folder)
            self.node.create(forwarding=True)
            self.node.set_sysctls(NAT_SYSCTLS)
            self.node.configure(*links())
        except BaseException:
            self.claim.release()
            raise
        return self

    def __exit__(self, kind, error, trace):
        try:
            if self.agent and self.agent.running():
                if kind:
                    print(self.agent.log_tail())
                else:
                    self.agent.stop()
        finally:
            self.claim.release()
            for process in self.node.processes:
                process.wait()

    def pins(self):
        return Path(self.agent.settings["paths"]["bpf"])

    def start(self, settings, manifests=None):
        """An agent with these settings below "services:", on this folder of manifests."""
        overrides = merged(BASE, {"services": settings})
        source = {"manifests": str(manifests or self.manifests)}
        self.agent = Agent(self.node, source, overrides)
        mount_bpffs(self.agent.settings["paths"]["bpf"])
        self.agent.start()
        self.connect()

    def restart(self):
        """As after kill -9, in the middle of whatever it was doing."""
        self.agent.kill()
        self.agent.start()
        self.connect()

    def connect(self):
        if self.api:
            self.api.close()
        self.api = Connection(self.agent.socket)

    def get(self, path, **arguments):
        """(status, document) of a GET."""
        query = "?" + urllib.parse.urlencode(arguments) if arguments else ""
        self.api.request("GET", f"/v1/{path}{query}")
        answer = self.api.getresponse()
        return answer.status, json.loads(answer.read())

    def configure(self, settings):
        """Other settings, and a reload. It is done in the pass over what is written next."""
        chosen = merged(BASE["services"], settings)
        if chosen == self.agent.settings["services"]:
            return
        self.agent.settings["services"] = chosen
        self.agent.write_config()
        before = self.reloads()
        self.agent.reload()
        wait(lambda: self.reloads() > before, "the reload")

    def reloads(self):
        """Of this agent, and those before it, by the log: times in documents are of seconds."""
        log = self.agent.log.read_text(encoding="utf-8", errors="replace")
        assert " is refused, the old" not in log, self.agent.log_tail()
        return log.count("agentd.yaml reloaded")

    def write(self, name, objects):
        """A manifest by rename; without objects, none."""
        place = self.manifests / name
        if not objects:
            place.unlink(missing_ok=True)
            return
        draft = place.with_name(f".{name}.draft")
        draft.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
                         encoding="utf-8")
        os.replace(draft, place)

    def replace(self, objects):
        """A file for each object; only what is another than before is touched."""
        old = {clusters.identity(thing): thing for thing in self.objects}
        new = {clusters.identity(thing): thing for thing in objects}
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                self.write("-".join(name) + ".json", [new[name]] if name in new else [])
        self.objects = objects

    def settle(self):
        """As `agentctl status --wait`: all that is observed now is applied. Returns the status."""
        [seen] = self.get("status")[1]["sources"]

        def applied():
            status = self.get("status")[1]
            [source] = status["sources"]
            done = source["appliedGeneration"] >= seen["observedGeneration"]
            return done and status["routes"]["complete"] and status

        return wait(applied, "the manifests to be applied")

    def feed(self, objects, settings):
        """The cluster, and nothing of the one before; returns the status once it is applied.

        Services that go and are announced stay in the maps until the network has forgotten their
        routes; so that nobody has to wait for it, their routes go first.
        """
        leaving = {model.key(thing) for thing in model.of_kind(self.objects, "Service")}
        leaving -= {model.key(thing) for thing in model.of_kind(objects, "Service")}
        if leaving and self.announced():
            self.write("cluster.json", [silenced(thing, leaving) for thing in self.objects])
            self.settle()
        self.objects = objects
        self.configure(settings)
        self.write("cluster.json", objects)
        return self.settle()

    def own_sources(self):
        """{family: addresses} that the node's own packets to Services have, by the routes."""
        found = {}
        for family in (4, 6):
            lines = self.node.table(254, family) + self.node.table(120, family)
            lines = [line.split() for line in lines if "svc0" in line and "proto 33" in line]
            found[family] = {line[line.index("src") + 1] for line in lines if "src" in line}
        return found

    def announced(self):
        """The addresses of Services in the table that BGP speaks from."""
        lines = self.node.table(119) + self.node.table(119, 6)
        return {line.split()[1].partition("/")[0] for line in lines if "proto 31" in line}
