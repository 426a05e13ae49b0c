# SPDX-License-Identifier: Apache-2.0
"""agent-controller in a host of the lab, and nodes that ask it for blocks as Coil's do."""

import http.client
import os
import signal

import yaml

from .agent import SANITIZERS, build_folder
from .kube_api import path_of
from .wait import wait

COIL = "coil.cybozu.com"
# Leadership passes on in seconds, so that tests of it take no minutes.
ELECTION = {"lease": "6s", "renew": "4s", "retry": "1s"}


class Controller:
    """One agent-controller; it can be killed and started again."""

    def __init__(self, host, plane, name="a", **settings):
        self.host = host
        self.plane = plane
        self.name = name
        self.port = 9395 + ord(name[0]) - ord("a")
        self.user = f"fingerpost:controller:{name}"
        folder = host.folder / f"controller-{name}"
        folder.mkdir()
        self.log = folder / "controller.log"
        self.config_file = folder / "controller.yaml"
        settings = {
            "source": {"kubernetes": {"kubeconfig": str(plane.controller_kubeconfig(name))}},
            "election": {"identity": name, **ELECTION},
            "api": {"listen": f"127.0.0.1:{self.port}"},
            "paths": {"run": str(folder)},
            **settings,
        }
        self.config_file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        self.process = None

    def start(self):
        program = build_folder() / "agent" / "controller" / "agent-controller"
        log = self.log.relative_to(self.host.folder)
        self.process = self.host.start(str(program), "--config", str(self.config_file),
                                       log=str(log), **SANITIZERS)
        return self

    def leads(self):
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        leases = self.plane.items("Lease")
        return [lease for lease in leases if lease["metadata"]["name"] == "fingerpost-controller"
                and (lease["spec"].get("holderIdentity") or "").startswith(f"{self.name}_")]

    def started(self):
        self.start()
        wait(self.leads, f"controller {self.name} to lead", 60)
        return self

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with self.host.connect("127.0.0.1", self.port) as connection.sock:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self):
        self.process.terminate()
        code = self.process.wait(60)
        text = self.log.read_text(errors="replace")
        assert code == 0 and "Sanitizer" not in text and "runtime error" not in text, text[-3000:]


def pool(name, *subnets, bits=5):
    return {"apiVersion": f"{COIL}/v2", "kind": "AddressPool", "metadata": {"name": name},
            "spec": {"blockSizeBits": bits, "subnets": [
                {"ipv6" if ":" in subnet else "ipv4": subnet} for subnet in subnets]}}


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def request(name, node_object, pool_name="default"):
    """What Coil's node makes: the Node is its owner, and no controller of it."""
    meta = node_object["metadata"]
    return {"apiVersion": f"{COIL}/v2", "kind": "BlockRequest",
            "metadata": {"name": name, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}]},
            "spec": {"nodeName": meta["name"], "poolName": pool_name}}


class Nodes:
    """Nodes without agents, which ask for blocks."""

    def __init__(self, plane, *names):
        self.plane = plane
        self.items = {}
        for name in names:
            self.add(name)

    def add(self, name):
        self.plane.put(node(name))
        self.items[name] = self.plane.api.get(path_of("Node", name=name))

    def ask(self, name, pool_name="default"):
        """A fresh request, in place of the one before; its name."""
        key = f"req-{pool_name}-{name}"
        try:
            self.plane.api.delete("BlockRequest", key)
        except ValueError:
            pass  # there was none
        self.plane.put(request(key, self.items[name], pool_name))
        return key

    def answer(self, key):
        """(block, reason of the failure) of a request, or None while it has no condition."""
        status = self.plane.api.get(path_of("BlockRequest", name=key)).get("status") or {}
        conditions = {item["type"]: item for item in status.get("conditions", [])}
        if not conditions:
            return None
        failed = conditions.get("Failed")
        return status.get("addressBlockName"), failed["reason"] if failed else None

    def get(self, name, pool_name="default", timeout=30):
        key = self.ask(name, pool_name)
        return wait(lambda: self.answer(key), f"an answer to {key}", timeout)


def blocks(plane):
    """Names of blocks, and the nodes that have them."""
    return {item["metadata"]["name"]: item["metadata"].get("labels", {}).get(f"{COIL}/node")
            for item in plane.items("AddressBlock")}


def assert_disjoint(plane):
    """No two blocks have an index of a pool, or an address, in common."""
    items = plane.items("AddressBlock")
    taken = [(item["metadata"]["labels"][f"{COIL}/pool"], item["index"]) for item in items]
    nets = [item[family] for item in items for family in ("ipv4", "ipv6") if item.get(family)]
    requests = [item["metadata"]["labels"][f"{COIL}/request"] for item in items]
    for name, values in (("index", taken), ("network", nets), ("request", requests)):
        assert len(values) == len(set(values)), f"an {name} has two blocks: {sorted(values)}"
