# SPDX-License-Identifier: Apache-2.0
"""The controller's roles: with them nothing is forbidden and each verb is used; without a verb, somebody is
told what lacks. The Lease's verbs are in test_controller_leads.py."""

import json

import pytest
from giving import Controllers, condition, end, named, pool, service, sweep
from lab import asking, wait, wait_equal
from lab.asking import ELECTION, Nodes, remove_all
from lab.controller import Controller
from lab.kube_api import path_of
from roles import manifest, role_without, verbs

LAB = {"nodes": 1}
COIL, METALLB, DISCOVERY, EVENTS = "coil.cybozu.com", "metallb.io", "discovery.k8s.io", "events.k8s.io"
READ = {"": ["namespaces", "nodes", "services"], DISCOVERY: ["endpointslices"],
        COIL: ["addressblocks", "addresspools", "blockrequests"], METALLB: ["ipaddresspools"]}
# Asked only when the answer to a write was lost: tests/unit/client/test_kube_writer.c.
AFTER_A_LOST_ANSWER = {("", "services", "get"), (METALLB, "ipaddresspools", "get"), *(
    (COIL, resource, "get") for resource in READ[COIL])}


def is_of_egress(group, resource, verb):
    """What is made for Egresses is a matter of test_egress_roles.py."""
    made = group == "" and resource == "services" and verb not in ("get", "list", "watch")
    return made or (group, resource.split("/")[0]) not in {
        ("", "namespaces"), ("", "nodes"), ("", "services"), ("", "configmaps"), (DISCOVERY, "endpointslices"),
        ("coordination.k8s.io", "leases"), (EVENTS, "events"), (METALLB, "ipaddresspools"),
        *((COIL, resource) for resource in READ[COIL])}


def given():
    return {entry for rules in manifest().values() for entry in verbs(rules) if not is_of_egress(*entry)}


@pytest.fixture(name="clean")
def clean_fixture(plane):
    sweep_all(plane)
    yield plane
    sweep_all(plane)


def sweep_all(plane):
    sweep(plane)
    remove_all(plane, "BlockRequest", "AddressBlock", "AddressPool", "Node")


def work(plane):
    """Something to do for each of the verbs."""
    plane.put(pool("203.0.113.0/29"), service("web"),
              service("wish", {"fingerpost.io/loadBalancerIPs": "192.0.2.9"}),
              asking.pool("default", "10.2.0.0/24"))
    nodes = Nodes(plane, "node1")
    return nodes, nodes.ask("node1")


def pending_event(plane):
    """Of this case's Service: Events outlive what they are about."""
    uid = named(plane, "wish")["metadata"]["uid"]
    return [item for item in plane.items("Event")
            if item["reason"] == "AddressPending" and item["regarding"]["uid"] == uid]


def test_nothing_is_forbidden_and_every_verb_is_used(cluster, clean):
    controllers = Controllers(cluster, clean)
    try:
        each = controllers("roles", blocks={"enabled": True}).start()
        nodes, key = work(clean)
        wait(lambda: nodes.answer(key), "the block", 60)
        wait(lambda: condition(clean, "web"), "the condition", 60)
        wait(lambda: pending_event(clean), "the Event", 60)
        wait(lambda: clean.api.get(path_of("IPAddressPool", "default", "lb")).get("status"), "the counts", 60)
        clean.api.delete("Node", "node1")
        wait_equal(lambda: clean.items("AddressBlock"), [], "the end of the block", 60)
        end(each)
        entries = [entry for entry in clean.audited(each.user) if "objectRef" in entry]
    finally:
        controllers.end()
    assert [entry for entry in entries if entry["responseStatus"]["code"] in (401, 403)] == []
    used = {(where.get("apiGroup", ""), "/".join(filter(None, (where["resource"], where.get("subresource")))),
             entry["verb"]) for entry in entries for where in [entry["objectRef"]]}
    assert used == given() - AFTER_A_LOST_ANSWER


def says(plane, each, *words):
    """The controller's status says all of this."""
    text = json.dumps(each.status())
    return all(word in text for word in words)


def cannot(verb, resource):
    """A kind that can't be read is named where the API is."""
    def sign(plane, each, nodes, key):
        return says(plane, each, f"cannot {verb} resource", resource)
    return sign


def has_no_counts(plane, each, nodes, key):
    return says(plane, each, "IPAddressPool default/lb", "its status can't be written")


def has_no_address(plane, each, nodes, key):
    return says(plane, each, "Service default/web", "its status can't be written")


def has_no_block(plane, each, nodes, key):
    return says(plane, each, "pools, requests and blocks cannot be written") and nodes.answer(key) is None


def keeps_its_block(plane, each, nodes, key):
    """Of a Node that has gone."""
    if "node1" in nodes.items and nodes.answer(key):
        plane.api.delete("Node", "node1")
        del nodes.items["node1"]
    return says(plane, each, "pools, requests and blocks cannot be written") and plane.items("AddressBlock")


def is_not_told(plane, each, nodes, key):
    """Why it has no address, by no Event; the condition says so all the same."""
    refused = sum(job["writes"]["refused"] for job in each.status()["jobs"] if job["name"] == "addresses")
    return condition(plane, "wish") and refused and not pending_event(plane)


def has_no_record(plane, each, nodes, key):
    """The first gift makes it, those that follow patch it."""
    plane.put(service("more"))
    return says(plane, each, "ConfigMap fingerpost-addresses", "forbidden")


SIGNS = {
    **{(group, resource, verb): cannot(verb, resource)
       for group, resources in READ.items() for resource in resources for verb in ("list", "watch")},
    ("", "services/status", "patch"): has_no_address,
    (METALLB, "ipaddresspools/status", "patch"): has_no_counts,
    (COIL, "addressblocks", "create"): has_no_block,
    (COIL, "addressblocks", "patch"): keeps_its_block,
    (COIL, "addressblocks", "delete"): keeps_its_block,
    (COIL, "addresspools", "patch"): has_no_block,
    (COIL, "blockrequests/status", "patch"): has_no_block,
    (EVENTS, "events", "create"): is_not_told,
    ("", "configmaps", "create"): has_no_record,
    ("", "configmaps", "get"): has_no_record,
    ("", "configmaps", "patch"): has_no_record,
}


def test_every_verb_has_its_sign():
    """What is not below: the Lease's."""
    leases = {entry for entry in given() if entry[1] == "leases"}
    assert given() == set(SIGNS) | AFTER_A_LOST_ANSWER | leases


@pytest.mark.parametrize("lacking", SIGNS, ids=lambda entry: "-".join(entry).replace("/", "."))
def test_a_verb_that_lacks_is_told_of(cluster, clean, lacking):
    name = f"without-{list(SIGNS).index(lacking)}"  # short: a socket's path ends with it
    role_without(clean, name, lacking)
    each = Controller(cluster.nodes[0], name, clean.kubeconfig(name, name), {"election": ELECTION}).start()
    try:
        if lacking[2] in ("list", "watch"):
            wait(lambda: SIGNS[lacking](clean, each, None, None), "the fault", 60)
        else:
            wait(each.leads, f"{name} to lead", 60)
            nodes, key = work(clean)
            wait(lambda: SIGNS[lacking](clean, each, nodes, key), "the sign", 60)
    finally:
        end(each)
