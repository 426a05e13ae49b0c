# SPDX-License-Identifier: Apache-2.0
"""LoadBalancer addresses on a real API server: given, kept, told why not, and never to two Services,
whatever becomes of the controller that gives them."""

import os
import signal
from collections import defaultdict

import pytest
from lab import objects, wait, wait_equal
from lab.asking import ELECTION
from lab.controller import Controller
from lab.kube_api import path_of

LAB = {"nodes": 1}
CONDITION = "fingerpost.io/AddressAssigned"
SERVICES = 40


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


@pytest.fixture(name="clean")
def clean_fixture(plane):
    wait(lambda: serves_pools(plane), "the API to serve pools")
    sweep(plane)
    yield plane
    sweep(plane)


def sweep(plane):
    for kind in ("Service", "IPAddressPool"):
        for item in plane.items(kind):
            if item["metadata"]["name"] != "kubernetes":
                plane.api.delete(kind, item["metadata"]["name"], item["metadata"]["namespace"])
    try:
        plane.api.request("DELETE", "/api/v1/namespaces/kube-system/configmaps/fingerpost-addresses", {})
    except ValueError:
        pass  # there was none


@pytest.fixture(name="make")
def make_fixture(cluster, clean):
    """Makes controllers, each in a folder of the lab's node; they end with the test."""
    made = []

    def make(name="a", **settings):
        folder = cluster.nodes[0].folder / f"controller-{name}"
        if folder.exists():
            folder.rename(folder.with_name(f"{folder.name}-{os.urandom(3).hex()}"))
        made.append(Controller(
            cluster.nodes[0], name, clean.controller_kubeconfig(name),
            {"election": ELECTION, "blocks": {"enabled": False},
             "api": {"listen": f"127.0.0.1:{9395 + len(made)}"}, **settings}))
        return made[-1]

    yield make
    for each in made:
        if each.running():
            end(each)


def end(each):
    """A clean end, with nothing to say for the sanitizers."""
    each.signal(signal.SIGCONT)
    code, text = each.stop(), each.log_text()
    assert code == 0 and "Sanitizer" not in text and "runtime error" not in text, text[-3000:]


def begin(each):
    each.start()
    wait(each.leads, f"controller {each.name} to lead", 60)
    return each


def named(plane, name):
    return plane.api.get(path_of("Service", name=name))


def addresses(plane, name):
    ingress = named(plane, name).get("status", {}).get("loadBalancer", {}).get("ingress", [])
    assert all(entry.get("ipMode") == "VIP" for entry in ingress)
    return [entry["ip"] for entry in ingress]


def condition(plane, name):
    found = [item for item in named(plane, name)["status"].get("conditions", [])
             if item["type"] == CONDITION]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def gets(plane, **wanted):
    for name, ips in wanted.items():
        wait_equal(lambda name=name: addresses(plane, name), ips, f"addresses of {name}")


def assert_one_holder_each(plane):
    """By the audit log, in the order of the answers: no address was ever two Services' at once."""
    has = defaultdict(list)
    for entry in plane.audited():
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
        assert len(held) == len(set(held)), f"two holders: {dict(has)}"


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
    clean.put(pool("203.0.113.0/24"))
    names = [f"s{number:02}" for number in range(SERVICES)]
    for name in names[:SERVICES // 2]:
        clean.put(service(name))
    wait(lambda: addresses(clean, names[0]), "the first address")
    first.signal({"kill": signal.SIGKILL, "pause": signal.SIGSTOP}[how])
    for name in names[SERVICES // 2:]:
        clean.put(service(name))
    wait(second.leads, "the second one to lead", 60)
    if how == "pause":
        first.signal(signal.SIGCONT)
    for name in names:
        wait(lambda name=name: addresses(clean, name), f"an address of {name}")
    given = [ip for name in names for ip in addresses(clean, name)]
    assert len(given) == len(set(given)) == SERVICES
    assert_one_holder_each(clean)
