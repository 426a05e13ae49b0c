# SPDX-License-Identifier: Apache-2.0
"""Pools, and nodes without agents that ask for blocks as Coil's do."""

import json
from concurrent.futures import ThreadPoolExecutor

from .control_plane import CONTROLLERS_GROUP
from .controller import Controller
from .kube_api import MERGE, path_of
from .wait import wait

COIL = "coil.cybozu.com"
RBAC = "rbac.authorization.k8s.io"
# Leadership passes on in seconds, so that tests of it take no minutes.
ELECTION = {"lease": "6s", "renew": "4s", "retry": "1s"}


def controller(host, plane, name):
    """A controller whose failures pass on in seconds, beside others on the same host."""
    port = 9395 + ord(name[0]) - ord("a")
    return Controller(host, name, plane.controller_kubeconfig(name), {
        "election": ELECTION, "api": {"listen": f"127.0.0.1:{port}"}})


def allow_lease(plane, name):
    """Controllers may elect a leader by another Lease as well."""
    meta = {"name": f"lease-{name}", "namespace": "kube-system"}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": meta, "rules": [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [name],
         "verbs": ["get", "patch"]}]}
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": meta,
               "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": meta["name"]},
               "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": CONTROLLERS_GROUP}]}
    for item in (role, binding):
        plane.kubectl("apply", "-f", "-", text=json.dumps(item))


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

    def give_back(self, block):
        """As a node does: the finalizer goes, then the block."""
        self.plane.api.request("PATCH", path_of("AddressBlock", name=block), {"metadata": {"finalizers": None}}, MERGE)
        self.plane.api.delete("AddressBlock", block)

    def leave(self, name):
        """The Node is deleted."""
        del self.items[name]
        self.plane.api.delete("Node", name)

    def get(self, name, pool_name="default", timeout=30):
        key = self.ask(name, pool_name)
        return wait(lambda: self.answer(key), f"an answer to {key}", timeout)


def ask_all(nodes, names):
    """Each node asks at once; {node: (block, reason)}."""
    with ThreadPoolExecutor(16) as threads:
        keys = dict(zip(names, threads.map(nodes.ask, names)))
        return dict(zip(names, threads.map(
            lambda key: wait(lambda: nodes.answer(key), f"an answer to {key}", 120),
            keys.values())))


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
