# SPDX-License-Identifier: Apache-2.0
"""What a controller finds where things are not as its manifests make them: definitions that are absent, older,
come later or go, objects that slipped past validation, a record of another version, thousands of objects that are
others', and pools that reach into other networks."""

import json
from pathlib import Path

import pytest
import yaml
from giving import (Controllers, addresses, begin, condition, end, gets, pool, serves_pools, service,
                    sweep)
from lab import asking, objects, wait, wait_equal
from lab.kube_api import path_of

LAB = {"nodes": 1}
DEPLOY = Path(__file__).parents[2] / "deploy/kubernetes"
FOREIGN = 3000
DEFINITIONS = ("ipaddresspools.metallb.io", "addresspools.coil.cybozu.com", "blockrequests.coil.cybozu.com",
               "egresses.coil.cybozu.com")
RECORD = "/api/v1/namespaces/kube-system/configmaps/fingerpost-addresses"


@pytest.fixture(name="clean")
def clean_fixture(plane):
    sweep(plane)
    yield plane
    sweep(plane)


@pytest.fixture(name="make")
def make_fixture(cluster, clean):
    controllers = Controllers(cluster, clean)
    yield controllers
    controllers.end()


def faults(controller):
    return [(fault["place"], fault["message"]) for fault in controller.status()["faults"]]


def test_a_pool_that_slipped_past_validation_is_named_and_the_others_serve(clean, make):
    clean.put(pool("203.0.113.0/29"))
    sample = clean.api.get(path_of("IPAddressPool", "default", "lb"))
    odd = [["203.0.113.9/99"], ["nonsense"], ["203.0.113.20-203.0.113.10"], [], [{"not": "text"}], 7]
    clean.store(*[{**sample, "metadata": {**sample["metadata"], "name": f"odd-{number}", "uid": f"odd-{number}"},
                   "spec": {"addresses": ranges}} for number, ranges in enumerate(odd)])
    controller = begin(make())
    clean.put(service("web"))
    gets(clean, web=["203.0.113.0"])
    told = json.dumps(faults(controller))
    for number in (0, 1, 2, 5):
        assert f"odd-{number}" in told, (number, told)
    lists = [kind["lists"] for kind in controller.status()["sources"][0]["kinds"]]
    clean.put(service("api"))
    gets(clean, api=["203.0.113.1"])
    assert lists == [kind["lists"] for kind in controller.status()["sources"][0]["kinds"]], "no loop"


def test_thousands_of_services_that_are_others(clean, make):
    """Those of another class have addresses of the pool, and those of no type stand around: none is touched, and
    what they have is given to nobody."""
    foreign = []
    for number in range(FOREIGN):
        internal = f"10.96.{16 + (number >> 8)}.{number & 255}"
        item = objects.service(f"foreign-{number:04}", clusterIP=internal, clusterIPs=[internal])
        item["metadata"]["uid"] = f"00000000-0000-4000-9000-{number:012}"
        item["status"] = {"loadBalancer": {}}
        if number % 2:
            item["spec"]["type"] = "ClusterIP"
        else:
            item["spec"]["loadBalancerClass"] = "example.com/theirs"
            item["status"]["loadBalancer"]["ingress"] = [{"ip": f"198.18.{number >> 8}.{number & 255}"}]
        foreign.append(item)
    try:
        clean.store(*foreign)
        controller = begin(make())
        clean.put(pool("198.18.0.0/20"))
        clean.put(service("web", {"fingerpost.io/loadBalancerIPs": "198.18.1.0"}), service("api"), service("last"))
        gets(clean, api=["198.18.0.1"], last=["198.18.0.3"])  # the even ones are theirs
        wait(lambda: condition(clean, "web"), "the condition")
        assert condition(clean, "web")[1] == "Taken"
        written = {entry["objectRef"]["name"] for entry in clean.audited(controller.user)
                   if entry["verb"] == "patch" and entry["objectRef"]["resource"] == "services"}
        assert written == {"web", "api", "last"}
    finally:
        clean.unstore(*foreign)


def test_a_pool_that_reaches_into_other_networks_is_told(clean, make):
    controller = begin(make())
    clean.put(pool("203.0.113.0/29", "10.96.0.0/16"))
    wait(lambda: ("IPAddressPool default/lb", "has 10.96.0.1, the clusterIP of Service default/kubernetes")
         in faults(controller), "the fault")
    clean.put(pool("203.0.113.0/29"))
    wait_equal(lambda: faults(controller), [], "its end")


def test_a_record_of_another_version_is_read_or_told_of(clean, make):
    """Keys that this version does not know are passed over; what is no record stops all, and is a fault."""
    clean.put(pool("203.0.113.0/29"))
    first = begin(make())
    clean.put(service("web"))
    gets(clean, web=["203.0.113.0"])
    first.stop()
    record = clean.api.get(RECORD)["data"]
    state = {**json.loads(record["state"]), "inventedLater": {"a": [1]}}
    merge = "application/merge-patch+json"
    clean.api.request("PATCH", RECORD, {"data": {"state": json.dumps(state), "alsoLater": "x"}}, merge)
    second = begin(make("b"))
    clean.put(service("api"))
    gets(clean, api=["203.0.113.1"])
    second.stop()
    clean.api.request("PATCH", RECORD, {"data": {"state": "{"}}, merge)
    third = begin(make("c"))
    clean.put(service("late"))
    wait(lambda: any("ConfigMap fingerpost-addresses" in place for place, _ in faults(third)), "the fault")
    assert addresses(clean, "late") == [] and condition(clean, "late") is None


def definitions(change=lambda item: item):
    """Those of deploy/kubernetes by name, each changed."""
    documents = [item for file in sorted(DEPLOY.glob("crds*.yaml"))
                 for item in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    return {item["metadata"]["name"]: change(item) for item in documents}


def define(plane, change=lambda item: item, names=DEFINITIONS):
    items = [item for name, item in definitions(change).items() if name in names]
    plane.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def states(controller):
    kinds = {kind["kind"]: kind["state"] for kind in controller.status()["sources"][0]["kinds"]}
    return {kinds[name] for name in ("IPAddressPool", "AddressPool", "BlockRequest", "Egress")}


def pools_are_served(plane):
    wait(lambda: serves_pools(plane), "the API to serve pools", 60)


EVERY = {"blocks": {"enabled": True}, "egress": {"enabled": True, "image": "example.com/fingerpost:1"}}


def test_definitions_that_go_and_come_back(clean, make):
    """One controller had them, another starts without. What has no definition is nobody's work, what has one
    is served meanwhile, and what was given stays; then both go on by themselves."""
    first = begin(make(**EVERY))
    clean.put(pool("203.0.113.0/29"), service("web"))
    gets(clean, web=["203.0.113.0"])
    clean.kubectl("delete", "crd", *DEFINITIONS, "--timeout=60s")
    try:
        wait_equal(lambda: states(first), {"absent"}, "the definitions to be missed", 60)
        second = make("b", **EVERY).start()
        wait_equal(lambda: states(second), {"absent"}, "the definitions to be missed", 60)
        clean.put(service("api"))
        wait(lambda: {"IPAddressPool", "Egress"} <= {place for place, _ in faults(first)}, "the kinds that are missed")
        assert addresses(clean, "web") == ["203.0.113.0"]
        assert first.leads() and all(each.status()["sources"][0]["synced"] for each in (first, second))
    finally:
        define(clean)
    pools_are_served(clean)
    clean.put(pool("203.0.113.0/29"))
    gets_late(clean, "api", "203.0.113.1")
    wait_equal(lambda: states(second), {"watching"}, "the follower to have them", 120)
    end(first)
    wait(second.leads, "the follower to lead", 60)
    clean.put(service("late"))
    gets(clean, web=["203.0.113.0"], api=["203.0.113.1"], late=["203.0.113.2"])
    assert faults(second) == []


def gets_late(plane, name, address):
    """What is not served is looked for each minute."""
    wait_equal(lambda: addresses(plane, name), [address], f"the address of {name}", 120)


def older(item):
    """As one that knows less: no rules, no status of its own, fewer fields."""
    def without_rules(schema):
        if isinstance(schema, dict):
            return {key: without_rules(value) for key, value in schema.items() if key != "x-kubernetes-validations"}
        return [without_rules(value) for value in schema] if isinstance(schema, list) else schema
    item = without_rules(item)
    (version,) = item["spec"]["versions"]
    version.pop("subresources", None)
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    properties.pop("status", None)
    for name in ("serviceAllocation", "avoidBuggyIPs", "podDisruptionBudget", "strategy"):
        properties.get("spec", {}).get("properties", {}).pop(name, None)
    return item


def written(plane, controller, since, name):
    """How often the API was asked to change an object, since so many entries of its log."""
    return sum((entry.get("objectRef") or {}).get("name") == name and entry["verb"] not in ("get", "list", "watch")
               for entry in plane.audited(controller.user)[since:])


def unnamed(controller, names):
    """Those of which no fault tells."""
    told = json.dumps(faults(controller))
    return sorted(name for name in names if name not in told)


def work_through(plane, count=8):
    """Services made one after the other, each of which gets its address: passes, and time."""
    for number in range(count):
        plane.put(service(f"more-{number}"))
        wait(lambda number=number: addresses(plane, f"more-{number}"), "an address")


def test_definitions_that_are_older(clean, make):
    """What they have no room for is a fault that names the object; all else is done. Newer ones end it."""
    define(clean, older)
    try:
        controller = begin(make(**EVERY))
        clean.put(pool("203.0.113.0/27"), service("web"), asking.pool("default", "10.2.0.0/24"))
        nodes = asking.Nodes(clean, "rack")
        nodes.ask("rack")
        gets(clean, web=["203.0.113.0"])
        named = ("IPAddressPool default/lb", "BlockRequest req-default-rack")
        wait_equal(lambda: unnamed(controller, named), [], "faults that name what can't be written", 60)
        since = len(clean.audited(controller.user))
        work_through(clean)
        for name in ("lb", "req-default-rack"):
            assert written(clean, controller, since, name) <= 10, "no loop"
    finally:
        define(clean)
    # What has failed for a minute is tried again a minute later; what changes, at once.
    assert nodes.get("rack", timeout=120)[0]
    clean.put(service("last"))
    wait(lambda: clean.api.get(path_of("IPAddressPool", "default", "lb")).get("status"), "the counts", 120)
    wait_equal(lambda: faults(controller), [], "the end of faults", 60)


def lenient(item):
    """As one that lets everything pass."""
    (version,) = item["spec"]["versions"]
    version.pop("subresources", None)
    version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return item


V4 = {"ipv4": "10.2.0.0/24"}
ODD = {
    "AddressPool": [
        {"blockSizeBits": -1, "subnets": [V4]}, {"blockSizeBits": 200, "subnets": [V4]},
        {"blockSizeBits": "five", "subnets": [V4]}, {"blockSizeBits": 5, "subnets": [{"ipv4": "nonsense"}]},
        {"blockSizeBits": 5, "subnets": [{"ipv4": "10.3.0.0/24"}, {"ipv6": "fd03::/120"}]},
        {"blockSizeBits": 5, "subnets": 7}, {"blockSizeBits": 5}],
    "BlockRequest": [{}, {"nodeName": 7, "poolName": "good"}, {"nodeName": "rack", "poolName": ["good"]}],
    "Egress": [{"destinations": "all"}, {"destinations": ["nonsense"]}, {"destinations": ["0.0.0.0/0"], "replicas": -3},
               {"destinations": ["0.0.0.0/0"], "template": 7}, {}],
}


def odd_objects(plane):
    owner = {"apiVersion": "v1", "kind": "Node", "name": "rack",
             "uid": plane.api.get(path_of("Node", name="rack"))["metadata"]["uid"]}
    for kind, specs in ODD.items():
        for number, spec in enumerate(specs):
            meta = {"name": f"odd-{kind.lower()}-{number}"}
            if kind == "Egress":
                meta["namespace"] = "default"
            if kind == "BlockRequest":
                meta["ownerReferences"] = [owner]
            yield {"apiVersion": "coil.cybozu.com/v2", "kind": kind, "metadata": meta, "spec": spec}


def test_objects_that_are_older_than_the_rules_of_their_definitions(clean, make):
    """Made while anything passed: each is named, none stops the others or makes a loop."""
    define(clean, lenient)
    try:
        nodes = asking.Nodes(clean, "rack")
        odd = list(odd_objects(clean))
        clean.put(*odd)
    finally:
        define(clean)
    controller = begin(make(**EVERY))
    clean.put(pool("203.0.113.0/27"), asking.pool("good", "10.9.0.0/24"))
    nodes.ask("rack", "good")
    wait(lambda: (nodes.answer("req-good-rack") or [None])[0], "the block", 60)
    names = {item["metadata"]["name"] for item in odd}
    wait_equal(lambda: unnamed(controller, names), [], "a fault for each", 60)
    since = len(clean.audited(controller.user))
    work_through(clean)
    for name in names:
        assert written(clean, controller, since, name) <= 10, f"no loop: {name}"
    clean.delete(*odd)
    wait_equal(lambda: faults(controller), [], "the end of faults", 60)
