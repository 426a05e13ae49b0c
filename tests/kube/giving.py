# SPDX-License-Identifier: Apache-2.0
"""Controllers that give LoadBalancer addresses, what they give, and by the audit log whether an address
ever had two holders."""

import os
import signal

from lab import objects, wait, wait_equal
from lab.asking import ELECTION
from lab.controller import Controller
from lab.kube_api import at_once, path_of, wall_time

CONDITION = "fingerpost.io/AddressAssigned"


def pool(*addresses, name="lb", **spec):
    return {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"addresses": list(addresses), **spec}}


def service(name, annotations=None, **spec):
    """As a user writes it: without addresses of any kind."""
    item = objects.service(name, annotations=annotations, **spec)
    for field in ("clusterIP", "clusterIPs", "ipFamilies"):
        item["spec"].pop(field, None)
    del item["status"]
    return item


def serves_pools(plane):
    try:
        return [plane.items("IPAddressPool")]
    except ValueError:
        return None  # it has just been told of the kind


def sweep(plane):
    """Nothing that is given, and nothing to give."""
    wait(lambda: serves_pools(plane), "the API to serve pools")
    for kind in ("Service", "IPAddressPool"):
        at_once(plane.api, lambda api, meta, kind=kind: api.delete(kind, meta["name"], meta["namespace"]), [
            item["metadata"] for item in plane.items(kind) if item["metadata"]["name"] != "kubernetes"])
    try:
        plane.api.request("DELETE", "/api/v1/namespaces/kube-system/configmaps/fingerpost-addresses", {})
    except ValueError:
        pass  # there was none


class Controllers:
    """Makes controllers, each in a folder of a node; they end with the test."""

    def __init__(self, cluster, plane):
        self.cluster, self.plane, self.made = cluster, plane, []

    def __call__(self, name="a", node=0, **settings):
        host = self.cluster.nodes[node]
        folder = host.folder / f"controller-{name}"
        if folder.exists():
            folder.rename(folder.with_name(f"{folder.name}-{os.urandom(3).hex()}"))
        self.made.append(Controller(
            host, name, self.plane.controller_kubeconfig(name),
            {"election": ELECTION, "blocks": {"enabled": False},
             "api": {"listen": f"127.0.0.1:{9395 + len(self.made)}"}, **settings}))
        return self.made[-1]

    def end(self):
        for each in self.made:
            if each.running():
                end(each)


def end(each):
    """A clean end, with nothing to say for the sanitizers."""
    each.signal(signal.SIGCONT)
    code, text = each.stop(), each.log_text()
    assert code == 0 and "Sanitizer" not in text and "runtime error" not in text, text[-3000:]


def begin(each, **environment):
    each.start(**environment)
    wait(each.leads, f"controller {each.name} to lead", 60)
    return each


def follows(plane, each, since, within=20):
    """A controller leads, and has given its first address soon enough after the one before was gone, at that wall
    time; by the audit log."""
    wait(each.leads, f"controller {each.name} to lead", 120)

    def deeds():
        return [asked for asked in (wall_time(entry["requestReceivedTimestamp"]) for entry in plane.audited(each.user)
                                    if entry["objectRef"].get("subresource") == "status"
                                    and entry["objectRef"]["resource"] == "services") if asked > since]
    assert wait(deeds, f"controller {each.name} to give", 60)[0] - since <= within


def named(plane, name):
    return plane.api.get(path_of("Service", name=name))


def ingress_of(item):
    ingress = item.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    assert all(entry.get("ipMode") == "VIP" for entry in ingress)
    return [entry["ip"] for entry in ingress]


def addresses(plane, name):
    return ingress_of(named(plane, name))


def condition(plane, name):
    found = [item for item in named(plane, name)["status"].get("conditions", [])
             if item["type"] == CONDITION]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def gets(plane, **wanted):
    for name, ips in wanted.items():
        wait_equal(lambda name=name: addresses(plane, name), ips, f"addresses of {name}")


def all_have_one_each(plane, names, timeout=60):
    """Each of the Services has an address, and no two have the same; {name: address}."""
    def held():
        items = {item["metadata"]["name"]: ingress_of(item) for item in plane.items("Service")}
        return {name: items[name][0] for name in names if items.get(name)}
    wait_equal(lambda: sorted(held()), sorted(names), "an address for each", timeout)
    given = held()
    assert len(set(given.values())) == len(names), f"one address has two Services: {given}"
    return given


def holders(plane):
    """Who has what, as the API says it now: what the log goes on from after a restore."""
    return {(item["metadata"]["namespace"], item["metadata"]["name"]): ingress_of(item)
            for item in plane.items("Service")}


WRITTEN = ("Service", "IPAddressPool", "AddressPool", "AddressBlock", "BlockRequest", "Egress",
           "ServiceAccount", "ClusterRoleBinding", "PodDisruptionBudget", "Deployment")


def versions(plane):
    """resourceVersions of everything that a controller writes, but for what only tells the time or whose
    turn it is. A Deployment's status is Kubernetes' own, which gives up on its pods after ten minutes."""
    return {(kind, item["metadata"].get("namespace"), item["metadata"]["name"]):
            item["metadata"]["generation" if kind == "Deployment" else "resourceVersion"]
            for kind in WRITTEN for item in plane.items(kind)}


def idle(controller):
    """Whether all that is to be written has been, and a pass has been made over all there is."""
    status = controller.status()
    return status["sources"][0]["synced"] and all(
        job["writes"]["waiting"] == job["writes"]["running"] == job["counts"].get("behind", 0) == 0
        for job in status["jobs"])


def assert_one_holder_each(plane, since=0, has=None):
    """By the audit log, in the order of the answers: no address was ever two Services' at once."""
    has = dict(has or {})
    for entry in plane.audited()[since:]:
        where = entry.get("objectRef") or {}
        good = entry["responseStatus"]["code"] < 300
        if where.get("resource") != "services" or not good or entry["verb"] in ("get", "list", "watch"):
            continue
        key = (where["namespace"], where.get("name"))
        if entry["verb"] == "delete":
            has.pop(key, None)
        elif "responseObject" in entry:
            status = entry["responseObject"].get("status", {})
            has[key] = [e["ip"] for e in status.get("loadBalancer", {}).get("ingress", [])]
        held = [ip for ips in has.values() for ip in ips]
        assert len(held) == len(set(held)), f"two holders: {has}"
