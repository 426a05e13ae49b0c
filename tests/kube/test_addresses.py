# SPDX-License-Identifier: Apache-2.0
"""LoadBalancer addresses on a real API server: given, kept, told why not, and never to two Services,
whatever becomes of the controller that gives them."""

import json
import signal
import time

import pytest
import schema
from giving import (CONDITION, Controllers, addresses, all_have_one_each, assert_one_holder_each, begin,
                    condition, end, follows, gets, named, pool, service, sweep)
from lab import wait, wait_equal
from lab.kube_api import MERGE, path_of

LAB = {"nodes": 1}
SERVICES = 40


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


def fault_texts(controller):
    return controller.log_text()


def test_addresses_are_given_kept_and_released(clean, make):
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"))
    clean.put(service("web"))
    gets(clean, web=["203.0.113.0"])
    assert condition(clean, "web") == ("True", "Assigned", "")
    clean.put(service("wish", {"fingerpost.io/loadBalancerIPs": "203.0.113.0"}))
    wait_equal(lambda: condition(clean, "wish"),
               ("False", "Taken", "203.0.113.0: the address is another's: Service default/web"), "why not")
    wait(lambda: [e for e in clean.items("Event") if e["regarding"]["name"] == "wish"
                  and e["reason"] == "AddressPending"], "the Event")
    counts = {"assignedIPv4": 1, "assignedIPv6": 0, "availableIPv4": 7, "availableIPv6": 0}
    wait_equal(lambda: clean.api.get(path_of("IPAddressPool", "default", "lb")).get("status"), counts, "counts")

    pools = json.loads(controller.ask("/v1/pools")[1])
    schema.check(pools)
    assert [(item["address"], item["services"]) for item in pools["items"][0]["addresses"]] == [
        ("203.0.113.0", [{"namespace": "default", "name": "web"}])]
    assert [(item["name"], item["reason"]) for item in pools["pending"]] == [("wish", "taken")]

    version = named(clean, "web")["metadata"]["resourceVersion"]
    end(controller)
    second = begin(make("b"))
    clean.put(service("api"))
    gets(clean, api=["203.0.113.1"])
    assert named(clean, "web")["metadata"]["resourceVersion"] == version, "nothing was written again"

    clean.api.delete("Service", "web")
    gets(clean, wish=["203.0.113.0"])
    clean.api.request("PATCH", path_of("Service", name="api"), {"spec": {"type": "ClusterIP"}},
                      "application/merge-patch+json")
    gets(clean, api=[])
    wait_equal(lambda: condition(clean, "api"), None, "no condition")
    clean.put(service("next"))
    gets(clean, next=["203.0.113.2"])  # what api had rests
    assert second.leads()
    assert_one_holder_each(clean)


def test_an_edit_that_would_orphan_is_refused_also_by_the_next_leader(clean, make):
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"))
    clean.put(service("web"))
    gets(clean, web=["203.0.113.0"])
    clean.put(pool("203.0.113.4/30"))
    clean.put(service("api"))
    gets(clean, api=["203.0.113.1"])
    words = "its edit is refused, and the pool stays as it was"
    wait(lambda: words in fault_texts(controller), "the fault")
    end(controller)
    second = begin(make("b"))
    wait(lambda: words in fault_texts(second), "the fault of the next leader")
    clean.put(service("last"))
    gets(clean, web=["203.0.113.0"], api=["203.0.113.1"], last=["203.0.113.2"])


def test_a_pool_is_renamed_while_its_addresses_are_in_use(clean, make):
    """By one of a later name: it has the addresses, and its status counts them."""
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"), service("web"))
    gets(clean, web=["203.0.113.0"])
    clean.api.delete("IPAddressPool", "lb", "default")
    wait(lambda: "its removal is refused" in fault_texts(controller), "the fault")
    clean.put(pool("203.0.113.0/29", name="other"))
    counts = {"assignedIPv4": 1, "assignedIPv6": 0, "availableIPv4": 7, "availableIPv6": 0}
    wait_equal(lambda: clean.api.get(path_of("IPAddressPool", "default", "other")).get("status"), counts, "counts")
    wait_equal(lambda: controller.status()["faults"], [], "no fault")
    gets(clean, web=["203.0.113.0"])


def test_policy_local_is_not_shared_with_other_pods(clean, make):
    """Nodes without pods of both would be sent what they drop. Who shares already keeps it, and is told."""
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"))
    shared, local = {"metallb.io/allow-shared-ip": "k"}, {"externalTrafficPolicy": "Local"}
    clean.put(service("one", shared, ports=(80,), selector={"app": "one"}, **local))
    gets(clean, one=["203.0.113.0"])
    clean.put(service("same", shared, ports=(443,), selector={"app": "one"}, **local))
    gets(clean, same=["203.0.113.0"])
    clean.put(service("two", {**shared, "metallb.io/loadBalancerIPs": "203.0.113.0"}, ports=(22,),
                      selector={"app": "two"}, **local))
    wait_equal(lambda: condition(clean, "two")[:2], ("False", "OtherBackends"), "why not")
    wait(lambda: [e for e in clean.items("Event") if e["regarding"]["name"] == "two"
                  and "policies and selectors are equal" in e["note"]], "the Event")
    clean.put(service("any", shared, ports=(53,), selector={"app": "two"}, **local))
    gets(clean, any=["203.0.113.1"])
    clean.api.request("PATCH", path_of("Service", name="any"), {"spec": {"selector": {"app": "three"}}}, MERGE)
    assert not [fault for fault in controller.status()["faults"] if "keeps" in fault["message"]]
    clean.api.request("PATCH", path_of("Service", name="same"), {"spec": {"selector": {"app": "two"}}}, MERGE)
    wait(lambda: [fault for fault in controller.status()["faults"] if fault["message"].startswith(
        "keeps 203.0.113.0, which it shares with Service default/")], "the fault")
    gets(clean, one=["203.0.113.0"], same=["203.0.113.0"], two=[], any=["203.0.113.1"])


RECORD = "/api/v1/namespaces/kube-system/configmaps/fingerpost-addresses"


def test_a_record_that_is_emptied_stops_giving_until_it_is_deleted(clean, make):
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"), service("web"))
    gets(clean, web=["203.0.113.0"])
    end(controller)
    clean.api.request("PATCH", RECORD, {"data": {"state": ""}}, MERGE)
    second = begin(make("b"))
    clean.put(service("api"))
    wait(lambda: [fault for fault in second.status()["faults"] if "no address is given" in fault["message"]], "the fault")
    assert addresses(clean, "api") == []
    clean.api.request("DELETE", RECORD, {})
    gets(clean, web=["203.0.113.0"], api=["203.0.113.1"])
    wait_equal(lambda: second.status()["faults"], [], "no fault")


def test_sharing_dual_stack_and_class(clean, make):
    begin(make(addresses={"loadBalancerClass": "example.com/ours"}))
    clean.put(pool("203.0.113.0/29", "fd00:203::/126"))
    ours = {"loadBalancerClass": "example.com/ours"}
    shared = {"metallb.io/allow-shared-ip": "k"}
    clean.put(service("one", shared, ports=(80,), **ours))
    gets(clean, one=["203.0.113.0"])
    clean.put(service("two", shared, ports=(443,), **ours))
    gets(clean, two=["203.0.113.0"])
    clean.put(service("both", ipFamilyPolicy="RequireDualStack", **ours))
    gets(clean, both=["203.0.113.1", "fd00:203::"])
    clean.put(service("other"))
    clean.put(service("after", **ours))
    gets(clean, after=["203.0.113.2"])
    assert addresses(clean, "other") == [] and condition(clean, "other") is None


def edit_status(plane, name, status):
    plane.api.request("PATCH", path_of("Service", name=name) + "/status", {"status": status}, MERGE)


def test_a_status_that_is_edited_by_hand_comes_back(clean, make):
    """Without its address, or without all that was written: the Service gets what it had."""
    begin(make())
    clean.put(pool("203.0.113.0/29"), service("web"), service("api"))
    gets(clean, web=["203.0.113.0"], api=["203.0.113.1"])
    since = named(clean, "web")["status"]["conditions"][0]["lastTransitionTime"]
    for hand in ({"loadBalancer": {"ingress": None}}, {"conditions": None},
                 {"loadBalancer": {"ingress": None}, "conditions": None}):
        edit_status(clean, "web", hand)
        gets(clean, web=["203.0.113.0"], api=["203.0.113.1"])
        wait_equal(lambda: condition(clean, "web"), ("True", "Assigned", ""), "the condition")
    assert named(clean, "web")["status"]["conditions"][0]["lastTransitionTime"] >= since


def test_a_service_that_is_made_anew_is_no_contest(clean, make):
    """Whoever deletes and creates it often has it get the same address as often: nobody writes over it."""
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"))
    for _ in range(6):
        clean.put(service("web"))
        gets(clean, web=["203.0.113.0"])
        clean.api.delete("Service", "web", "default")
    clean.put(service("last"))
    wait(lambda: addresses(clean, "last"), "an address of the last")
    assert controller.status()["faults"] == [] and "again and again" not in controller.log_text()


def test_what_is_others_of_a_service_stays(clean, make):
    """Metadata, conditions and who has which field, while it gets an address, another one, and none."""
    begin(make())
    clean.put(pool("203.0.113.0/29"))
    item = service("web", {"example.com/note": "kept", "fingerpost.io/loadBalancerIPs": "203.0.113.9"})
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "default",
             "uid": clean.api.get(path_of("Namespace", name="default"))["metadata"]["uid"]}
    item["metadata"] |= {"labels": {"team": "net"}, "finalizers": ["example.com/held"], "ownerReferences": [owner]}
    clean.put(item)
    other = {"type": "example.com/Other", "status": "True", "reason": "Other", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}
    wait_equal(lambda: (condition(clean, "web") or [None, None])[1], "OutsidePools", "why not")
    edit_status(clean, "web", {"conditions": [*named(clean, "web")["status"]["conditions"], other]})
    kept = others_of(named(clean, "web"))
    assert other in kept["conditions"]
    for wish, ips in (("203.0.113.2", ["203.0.113.2"]), ("203.0.113.4", ["203.0.113.4"])):
        clean.api.request("PATCH", path_of("Service", name="web"),
                          {"metadata": {"annotations": {"fingerpost.io/loadBalancerIPs": wish}}}, MERGE)
        gets(clean, web=ips)
        assert others_of(named(clean, "web")) == kept
    clean.api.request("PATCH", path_of("Service", name="web"), {"spec": {"type": "ClusterIP"}}, MERGE)
    gets(clean, web=[])
    wait_equal(lambda: condition(clean, "web"), None, "no condition")
    assert others_of(named(clean, "web")) == kept
    clean.api.request("PATCH", path_of("Service", name="web"), {"metadata": {"finalizers": None}}, MERGE)


def others_of(item):
    """What of a Service is none of the controller's."""
    meta = item["metadata"]
    fields = {json.dumps(entry["fieldsV1"], sort_keys=True) for entry in meta["managedFields"]
              if entry["manager"] != "fingerpost-addresses" and entry["operation"] == "Update"
              and "f:spec" in entry["fieldsV1"]}
    return {**{key: meta.get(key) for key in ("labels", "finalizers", "ownerReferences", "creationTimestamp", "uid")},
            "note": meta["annotations"]["example.com/note"], "owned": bool(fields),
            "conditions": [each for each in item["status"]["conditions"] if each["type"] != CONDITION]}


def test_nothing_is_given_beside_a_controller_of_metallb(clean, make):
    metallb = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
               "metadata": {"name": "metallb-webhook-service-x", "namespace": "default",
                            "labels": {"kubernetes.io/service-name": "metallb-webhook-service"}},
               "endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": True}}], "ports": []}
    clean.put(metallb)
    controller = begin(make())
    clean.put(pool("203.0.113.0/29"))
    clean.put(service("web"))
    wait(lambda: "gives addresses to the same Services" in fault_texts(controller), "the fault")
    assert addresses(clean, "web") == []
    clean.api.delete("EndpointSlice", "metallb-webhook-service-x")
    gets(clean, web=["203.0.113.0"])


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_two_controllers_and_a_leader_that_goes(clean, make, how):
    first = begin(make("a"))
    second = make("b").start()
    wait_equal(lambda: second.ask("/v1/pools"), (503, json.dumps(
        {"error": f"only the leader knows: ask {first.status()['identity']}"}, separators=(",", ":")) + "\n"),
        "the one that follows to say who knows")
    clean.put(pool("203.0.113.0/24"))
    names = [f"s{number:02}" for number in range(SERVICES)]
    for name in names[:SERVICES // 2]:
        clean.put(service(name))
    wait(lambda: addresses(clean, names[0]), "the first address")
    since = time.time()
    first.signal({"kill": signal.SIGKILL, "pause": signal.SIGSTOP}[how])
    for name in names[SERVICES // 2:]:
        clean.put(service(name))
    follows(clean, second, since)
    if how == "pause":
        first.signal(signal.SIGCONT)
    all_have_one_each(clean, names)
    assert_one_holder_each(clean)
