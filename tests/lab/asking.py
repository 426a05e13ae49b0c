# SPDX-License-Identifier: Apache-2.0
"""Pools, and nodes without agents that ask for blocks as Coil's do."""

import json
import time
from itertools import chain

from .control_plane import CONTROLLERS_GROUP
from .controller import Controller
from .kube_api import MERGE, ApiError, at_once, path_of
from .wait import Timeout, wait, wait_equal

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


def create(api, item):
    """The object as it is then, or as it was there."""
    try:
        return api.request("POST", path_of(item["kind"]), item)
    except ApiError as error:
        if error.status != 409:
            raise
        return api.get(path_of(item["kind"], name=item["metadata"]["name"]))


def answer_in(item):
    """(block, reason of the failure) of a request, or None while it has no condition."""
    status = item.get("status") or {}
    conditions = {item["type"]: item for item in status.get("conditions", [])}
    if not conditions:
        return None
    failed = conditions.get("Failed")
    return status.get("addressBlockName"), failed["reason"] if failed else None


class Nodes:
    """Nodes without agents, which ask for blocks."""

    def __init__(self, plane, *names):
        self.plane = plane
        self.items = {}
        self.add(*names)

    def add(self, *names):
        made = at_once(self.plane.api, lambda api, name: create(api, node(name)), names)
        self.items.update(zip(names, made))

    def ask(self, name, pool_name="default", api=None):
        """A fresh request, in place of the one before; its name."""
        api = api or self.plane.api
        wish = request(f"req-{pool_name}-{name}", self.items[name], pool_name)
        try:
            api.request("POST", path_of("BlockRequest"), wish)
        except ApiError as error:
            if error.status != 409:
                raise
            api.delete("BlockRequest", wish["metadata"]["name"])
            api.request("POST", path_of("BlockRequest"), wish)
        return wish["metadata"]["name"]

    def answer(self, key):
        """(block, reason of the failure) of a request, or None while it has no condition."""
        return answer_in(self.plane.api.get(path_of("BlockRequest", name=key)))

    def give_back(self, *names):
        """As nodes do: the block's finalizer goes, then the block."""
        at_once(self.plane.api, lambda api, name: remove(api, path_of("AddressBlock", name=name), {"finalizers": [COIL]}),
                names)

    def leave(self, *names):
        """The Nodes are deleted."""
        for name in names:
            del self.items[name]
        at_once(self.plane.api, lambda api, name: api.delete("Node", name), names)

    def get(self, name, pool_name="default", timeout=30):
        key = self.ask(name, pool_name)
        return wait(lambda: self.answer(key), f"an answer to {key}", timeout)


def ask_all(nodes, names, timeout=120):
    """Each node asks at once; {node: (block, reason)}."""
    keys = dict(zip(at_once(nodes.plane.api, lambda api, name: nodes.ask(name, api=api), names), names))
    return {keys[key]: answer for key, answer in answers(nodes.plane.api, set(keys), timeout).items()}


def answers(api, keys, timeout):
    """{request: (block, reason)}, by a watch: to ask again and again would keep the API from its work."""
    listed, end, found = api.get(path_of("BlockRequest")), time.monotonic() + timeout, {}
    events = api.watch(path_of("BlockRequest"), listed["metadata"]["resourceVersion"], timeout)
    for item in chain(listed["items"], (item for _, item in events)):
        if item["metadata"].get("name") in keys and answer_in(item):
            found[item["metadata"]["name"]] = answer_in(item)
        if len(found) == len(keys):
            return found
        if time.monotonic() > end:
            break
    raise Timeout(f"no answer in {timeout} s to {len(keys) - len(found)} of {len(keys)} requests")


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


def remove_all(plane, *kinds):
    """No object of these kinds of cluster scope is left, whatever holds it."""
    for kind in kinds:
        at_once(plane.api, lambda api, meta, kind=kind: remove(api, path_of(kind, name=meta["name"]), meta),
                [item["metadata"] for item in plane.items(kind)])
        wait_equal(lambda kind=kind: plane.items(kind), [], f"the end of each {kind}", 30)


def remove(api, path, meta):
    try:
        if meta.get("finalizers"):
            api.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        api.request("DELETE", path, {})
    except ApiError as error:
        if error.status != 404:  # it has only waited for its finalizers
            raise
