# SPDX-License-Identifier: Apache-2.0
"""The roles by which the controller makes gateways of Egresses: each verb is used, and where one lacks, a fault
names what can't be read or written for want of it. What else the roles have: test_controller_roles.py. And the role
of the gateways themselves, which anybody who runs pods in the namespace can have: it reads, and nothing else."""

import json

import pytest
from giving import end
from lab import asking, wait, wait_equal
from lab.asking import ELECTION
from lab.controller import Controller
from lab.authority import write_kubeconfig
from lab.kube_api import MERGE, ApiError, path_of
from roles import RBAC, manifest, role_without, verbs
from test_controller_roles import is_of_egress

LAB = {"nodes": 1}
COIL, NET, ACCOUNT, BINDING = "coil.cybozu.com", "net", "fingerpost-egress", "fingerpost-egress-reads"
SETTINGS = {"election": ELECTION, "blocks": {"enabled": False}, "addresses": {"enabled": False},
            "egress": {"enabled": True, "image": "example.com/fingerpost:1"}}
EGRESS = {"apiVersion": f"{COIL}/v2", "kind": "Egress", "metadata": {"name": "nat", "namespace": NET},
          "spec": {"destinations": ["0.0.0.0/0"], "podDisruptionBudget": {"minAvailable": 1}}}
# What is made, and how a fault calls it.
MADE = {("apps", "deployments"): "Deployment net/nat", ("", "services"): "Service net/nat",
        ("policy", "poddisruptionbudgets"): "PodDisruptionBudget net/nat",
        ("", "serviceaccounts"): f"ServiceAccount net/{ACCOUNT}",
        (RBAC, "clusterrolebindings"): f"ClusterRoleBinding {BINDING}"}
ACCESS = (("", "serviceaccounts"), (RBAC, "clusterrolebindings"))
READ = [*MADE, (COIL, "egresses")]
LACKING = {
    "list": {(*where, "list"): where[1] for where in READ},
    "watch": {(*where, "watch"): where[1] for where in READ},
    "create": {(*where, "create"): place for where, place in MADE.items()},
    "patch": {(*where, "patch"): place for where, place in MADE.items()},
    "delete": {(*where, "delete"): place for where, place in MADE.items() if where not in ACCESS},
    "delete-access": {(*where, "delete"): MADE[where] for where in ACCESS},  # they outlast what needs them
    "bind": {(RBAC, "clusterroles", "bind"): MADE[RBAC, "clusterrolebindings"]},
    "status": {(COIL, "egresses/status", "patch"): "Egress net/nat"},
}
# Asked only when the answer to a write was lost, as of the other jobs; and what an apply is checked for besides.
UNSEEN = {(*where, verb) for where in READ for verb in ("get", "create")} | {(RBAC, "clusterroles", "bind")}


def given():
    """Of egress; services are read for other jobs as well."""
    return {entry for rules in manifest().values() for entry in verbs(rules)
            if is_of_egress(*entry) or entry in {("", "services", "list"), ("", "services", "watch"),
                                                 ("", "services", "get")}}


def test_every_verb_has_its_sign():
    """What only finds out what became of a lost write has none: tests/unit/client/test_kube_writer.c."""
    signs = {entry for each in LACKING.values() for entry in each}
    assert given() == signs | {(*where, "get") for where in READ}


@pytest.fixture(name="net")
def net_fixture(plane):
    plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NET}})
    yield plane
    remove(plane)


def kinds(plane):
    """What there is of the Egress's."""
    found = [(kind, item["metadata"]["name"]) for kind in
             ("Deployment", "Service", "PodDisruptionBudget", "ServiceAccount", "ClusterRoleBinding", "Egress")
             for item in plane.items(kind)
             if item["metadata"].get("namespace") == NET or item["metadata"]["name"] == BINDING]
    return [kind for kind, name in found if name != "default"]


def remove(plane):
    """By hand: who was to do it may lack the verb."""
    for kind, namespace, name in (("Egress", NET, "nat"), ("Deployment", NET, "nat"), ("Service", NET, "nat"),
                                  ("PodDisruptionBudget", NET, "nat"), ("ServiceAccount", NET, ACCOUNT),
                                  ("ClusterRoleBinding", None, BINDING)):
        try:
            plane.api.request("DELETE", path_of(kind, namespace, name), {})
        except ApiError as error:
            assert error.status == 404, error
    wait_equal(lambda: kinds(plane), [], "the end of all that was made", 60)


def to_nodes(plane):
    """Its gateways are Nodes from now on: nothing that was made is wanted any more."""
    plane.api.request("PATCH", path_of("Egress", NET, "nat"),
                      {"metadata": {"annotations": {"fingerpost.io/gateway-nodes": "gateway=yes"}}}, MERGE)


def test_nothing_is_forbidden_and_every_verb_is_used(cluster, net):
    each = Controller(cluster.nodes[0], "roles", net.controller_kubeconfig("roles"), SETTINGS).start()
    try:
        net.put(EGRESS)
        wait(lambda: len(kinds(net)) == 6 and net.api.get(path_of("Egress", NET, "nat")).get("status"), "all", 60)
        to_nodes(net)
        wait_equal(lambda: kinds(net), ["Egress"], "the end of what was made", 60)
    finally:
        end(each)
    entries = [entry for entry in net.audited(each.user) if "objectRef" in entry]
    assert [entry for entry in entries if entry["responseStatus"]["code"] in (401, 403)] == []
    used = {(where.get("apiGroup", ""), "/".join(filter(None, (where["resource"], where.get("subresource")))),
             entry["verb"]) for entry in entries for where in [entry["objectRef"]]}
    assert given() - UNSEEN <= used


def told(controller):
    """(place, message) of all that is wrong."""
    status = controller.status()
    return [(fault["place"], fault["message"]) for fault in status["faults"]] + [
        (kind["kind"], json.dumps(kind)) for kind in status["sources"][0]["kinds"]]


def missed(controller, lacking, word):
    """What is not named though its verb lacks."""
    said = told(controller)
    if word in ("list", "watch"):
        return [name for name in lacking.values() if not any(
            f"cannot {word} resource" in text and name in text for _, text in said)]
    return [name for name in lacking.values() if not any(
        place == name and "can't be written" in text for place, text in said)]


@pytest.mark.parametrize("word", LACKING)
def test_verbs_that_lack_are_told_of(cluster, net, word):
    """One word of every resource: each has a fault of its own."""
    name, lacking = f"no-{word}", LACKING[word]
    role_without(net, name, *lacking)
    each = Controller(cluster.nodes[0], name, net.kubeconfig(name, name), SETTINGS).start()
    try:
        net.put(EGRESS)
        if word.startswith("delete"):
            wait(lambda: len(kinds(net)) == 6, "all that is made", 60)
            to_nodes(net)
        wait_equal(lambda: missed(each, lacking, word), [], "a fault for each", 60)
    finally:
        end(each)


# ---- The gateways' account ----

@pytest.fixture(name="account")
def account_fixture(cluster, net):
    """The kubeconfig of a gateway, by a token that whoever runs pods in the namespace can have."""
    name = f"account-{len(list(cluster.nodes[0].folder.glob('controller-account-*')))}"
    each = Controller(cluster.nodes[0], name, net.controller_kubeconfig(name), SETTINGS).start()
    try:
        net.put(EGRESS)
        wait(lambda: len(kinds(net)) == 6, "all that is made", 60)
        token = net.kubectl("create", "token", ACCOUNT, "-n", NET).strip()
        yield write_kubeconfig(net.folder / "gateway.kubeconfig", net.server, net.pki.certificate, {"token": token})
        to_nodes(net)
        wait_equal(lambda: kinds(net), ["Egress"], "the end of what was made", 60)
    finally:
        end(each)


def allowed(plane):
    """All that the API lets a gateway's account do of what somebody could do harm by."""
    def asks(verb, group, resource, namespace):
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": f"system:serviceaccount:{NET}:{ACCOUNT}", "groups": ["system:serviceaccounts"],
            "resourceAttributes": {"group": group, "resource": resource, "verb": verb, "namespace": namespace}}}
        return plane.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                 review)["status"]["allowed"]
    resources = [(COIL, "addressblocks"), (COIL, "addresspools"), (COIL, "blockrequests"), (COIL, "egresses"),
                 ("", "pods"), ("", "services"), ("", "nodes"), ("", "secrets"), ("", "configmaps"),
                 ("", "serviceaccounts/token"), ("apps", "deployments"), ("coordination.k8s.io", "leases"),
                 (RBAC, "clusterrolebindings"), (RBAC, "clusterroles"), ("metallb.io", "ipaddresspools")]
    return {(group, resource, verb) for group, resource in resources
            for verb in ("get", "list", "create", "update", "patch", "delete", "bind", "escalate")
            if asks(verb, group, resource, NET)}


@pytest.mark.usefixtures("account")
def test_a_gateways_account_can_write_nothing(net):
    wait(lambda: (COIL, "egresses", "list") in allowed(net), "the role to be in force")
    may = allowed(net)
    assert {verb for _, _, verb in may} == {"get", "list"}
    assert not {resource for _, resource, _ in may} & {"secrets", "configmaps", "blockrequests", "leases"}


def test_a_token_of_a_gateway_is_refused_blocks(net, account):
    """As by curl in the pod: made, changed, deleted."""
    net.put(asking.pool("default", "10.2.0.0/24"))
    block = {"apiVersion": f"{COIL}/v2", "kind": "AddressBlock", "metadata": {
        "name": "default-0", "labels": {"coil.cybozu.com/pool": "default", "coil.cybozu.com/node": "node1"}},
        "index": 0, "ipv4": "10.2.0.0/27"}
    request = {"apiVersion": f"{COIL}/v2", "kind": "BlockRequest", "metadata": {"name": "x"},
               "spec": {"nodeName": "node1", "poolName": "default"}}

    def said(*words, text=None):
        done = net.host.run(*net.kubectl_command().split(), "--kubeconfig", str(account), *words, text=text,
                            check=False)
        return done.stdout + done.stderr
    try:
        wait(lambda: "nat" in said("get", "egress", "-A"), "the role to be in force")
        net.put(block)
        for words, text in (
                (("create", "-f", "-"), json.dumps({**block, "metadata": {**block["metadata"], "name": "default-1"}})),
                (("create", "-f", "-"), json.dumps(request)),
                (("patch", "addressblock", "default-0", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'), None),
                (("delete", "addressblock", "default-0"), None),
                (("delete", "addresspool", "default"), None)):
            assert "forbidden" in said(*words, text=text).lower(), words
        assert [item["metadata"]["name"] for item in net.items("AddressBlock")] == ["default-0"]
    finally:
        net.delete(block)
        net.delete(asking.pool("default", "10.2.0.0/24"))


def test_a_gateways_agent_has_all_that_it_reads(cluster, net, account):
    """With what the controller makes its agentd.yaml say: nothing that it asks for is refused."""
    (node,) = cluster.nodes
    net.put(*node.objects())
    agent = cluster.agent(node, name="agentd-gateway", kubeconfig=account, routes={"enabled": False},
                          services={"enabled": False, "uplinks": ["eth0"]},
                          egress={"gateway": {"serves": [f"{NET}/nat"]}})

    def states():
        return [(kind["kind"], kind["state"], kind.get("error")) for source in agent.json("status")["sources"]
                for kind in source["kinds"]]
    try:
        wait(lambda: len(states()) >= 10 and {state for _, state, _ in states()} == {"watching"},
             "all kinds to be watched", 60)
        assert not [fault for fault in agent.faults() if "forbidden" in json.dumps(fault)]
    finally:
        agent.stop()
        node.agents.remove(agent)
