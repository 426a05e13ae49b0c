# SPDX-License-Identifier: Apache-2.0
"""What a controller finds where things are not as its manifests make them: definitions that are absent and
come later, pools that slipped past validation, a record of another version, thousands of objects that are
others', and pools that reach into other networks."""

import json
from pathlib import Path

import pytest
from giving import Controllers, addresses, begin, condition, gets, pool, serves_pools, service, sweep
from lab import objects, wait, wait_equal
from lab.kube_api import path_of

LAB = {"nodes": 1}
DEPLOY = Path(__file__).parents[2] / "deploy/kubernetes"
FOREIGN = 3000
DEFINITIONS = ("ipaddresspools.metallb.io", "addresspools.coil.cybozu.com")
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


def test_definitions_that_are_absent_and_come_later(clean, make):
    """What has no definition is nobody's work; what has one is served meanwhile."""
    clean.kubectl("delete", "crd", *DEFINITIONS, "--timeout=60s")
    try:
        controller = begin(make(blocks={"enabled": True}))
        kinds = {kind["kind"]: kind["state"] for kind in controller.status()["sources"][0]["kinds"]}
        assert kinds["IPAddressPool"] == kinds["AddressPool"] == "absent"
        clean.put(service("web"))
        wait_equal(lambda: condition(clean, "web"), None, "nothing is said")
        assert controller.leads() and controller.status()["sources"][0]["synced"]
    finally:
        clean.kubectl("apply", *[word for file in sorted(DEPLOY.glob("crds*.yaml")) for word in ("-f", str(file))])
    wait(lambda: serves_pools(clean), "the API to serve pools", 60)
    clean.put(pool("203.0.113.0/29"))
    wait_equal(lambda: addresses(clean, "web"), ["203.0.113.0"], "the address", 120)

