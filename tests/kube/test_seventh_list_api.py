# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, the API and the controller: each row was written down before it was tried
(tests/seventh_list.txt)."""

import signal

import pytest
from cluster import exported, pod_address, tables
from faults import Table, check
from giving import gets, service
from lab import objects, wait, wait_equal
from test_fifth_list_api import leading_fixture  # noqa: F401

LAB = {"nodes": 1}
controllers, agents = Table("seventh_list"), Table("seventh_list")
RBAC, ADMISSION = "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
WORDS = "addresses are given by the network team"


def alarm(plane, action):
    """The alarm that etcd raises when its quota is used up; it takes no writes then."""
    member = plane.ask_etcd("cluster/member/list", {})["members"][0]["ID"]
    plane.ask_etcd("maintenance/alarm", {"action": action, "memberID": member, "alarm": "NOSPACE"})


@controllers(815, cause=("Lease kube-system/fingerpost-controller", "database space exceeded"), remedy="make room in etcd",
             beside="space exceeded", lingers=20)
def etcd_is_out_of_space(world):
    """The list expects the Service to be named; but who can't renew his Lease writes no Service."""
    process = world.agent.process
    process.send_signal(signal.SIGSTOP)
    world.plane.put(service("late"))
    alarm(world.plane, "ACTIVATE")
    process.send_signal(signal.SIGCONT)
    yield
    alarm(world.plane, "DEACTIVATE")
    yield
    gets(world.plane, late=["203.0.113.1"])


def policy():
    """Refuses the status of the Service `late` once it has an address."""
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "no-status"},
            "spec": {"failurePolicy": "Fail",
                     "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                                                             "resources": ["services/status"]}]},
                     "validations": [{"expression": "object.metadata.name != 'late'", "message": WORDS}]}}


def binding():
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "no-status"},
            "spec": {"policyName": "no-status", "validationActions": ["Deny"]}}


def denied(plane):
    """Whether the policy is in force: it takes the API server a moment."""
    try:
        plane.api.request("PATCH", "/api/v1/namespaces/default/services/late/status", {"metadata": {"labels": {"try": "it"}}},
                          "application/merge-patch+json")
    except ValueError as error:
        return WORDS in str(error)
    return False


@controllers(816, cause=("Service default/late", WORDS), remedy="policy")
def a_policy_denies_the_status(world):
    world.plane.api.request("POST", f"{ADMISSION}/validatingadmissionpolicies", policy())
    world.plane.api.request("POST", f"{ADMISSION}/validatingadmissionpolicybindings", binding())
    process = world.agent.process
    process.send_signal(signal.SIGSTOP)
    world.plane.put(service("late"))
    wait(lambda: denied(world.plane), "the policy to be in force", 30)
    process.send_signal(signal.SIGCONT)
    yield
    for kind in ("bindings", "ies"):
        name = "validatingadmissionpolicybindings" if kind == "bindings" else "validatingadmissionpolicies"
        world.plane.api.request("DELETE", f"{ADMISSION}/{name}/no-status", {})
    yield
    gets(world.plane, late=["203.0.113.1"])


@controllers.each
def test_controllers(leading, row):
    check(row, leading)


class World:
    """One agent that announces a Service of a real API."""

    def __init__(self, cluster, plane):
        self.plane, [self.node] = plane, cluster.nodes
        item = service("plain")
        del item["spec"]["selector"]
        item["spec"]["type"] = "ClusterIP"
        item["spec"].pop("externalTrafficPolicy", None)
        self.plane.put(*self.node.objects(), item,
                       objects.slice_of("plain", [objects.endpoint(pod_address(self.node), self.node.role)]))
        self.agent = cluster.agent(self.node, kubeconfig=plane.agent_kubeconfig(self.node.role))
        wait_equal(lambda: tables(self.node), exported(self.node), "table 119", 60)


@pytest.fixture(name="world")
def world_fixture(cluster, plane):
    world = World(cluster, plane)
    yield world
    world.agent.stop()


@agents(817, cause=("endpointslices", "watch"), remedy="allow get, list and watch", beside="endpointslices")
def the_right_to_watch_slices_is_taken(world):
    """Watches that run are not ended by it: those of an agent that starts are refused."""
    path = f"{RBAC}/clusterroles/fingerpost-agent"
    role = world.plane.api.get(path)
    rules = [{**rule, "verbs": ["get", "list"]} if "endpointslices" in rule["resources"] else rule for rule in role["rules"]]
    world.plane.api.request("PUT", path, {**role, "rules": rules})
    world.agent.stop()
    world.agent.start()
    yield
    role["metadata"].pop("resourceVersion")
    world.plane.api.request("PUT", path, role)


@agents.each
def test_agents(world, row):
    check(row, world)
