# SPDX-License-Identifier: Apache-2.0
"""Faults that agent-controller tells: rights, and what others do to what it writes."""

import json
import signal

import pytest
from faults import Table, check
from giving import Controllers, begin, gets, pool, serves_pools, service, sweep
from lab import wait
from lab.kube_api import MERGE, path_of
from leading import ADMISSION, DEPLOY, ELECTION, Leader
from test_faults_agents import world_fixture  # noqa: F401
from test_faults_leases import world_fixture  # noqa: F401

LAB = {"nodes": 1}
rows = Table()


class Leading:
    """A controller that has given a Service its address."""

    def __init__(self, cluster, plane):
        self.plane, self.controllers = plane, Controllers(cluster, plane)
        self.agent = Leader(begin(self.controllers()))
        plane.put(pool("203.0.113.0/29"), service("web"))
        gets(plane, web=["203.0.113.0"])


@pytest.fixture(name="leading")
def leading_fixture(cluster, plane):
    sweep(plane)
    world = Leading(cluster, plane)
    yield world
    world.controllers.end()
    sweep(plane)


@rows(within=15, heals=True)
def somebody_deletes_the_lease_of_the_election(world):
    world.plane.api.request("DELETE", ELECTION, {})
    yield
    wait(world.agent.controller.leads, "it to lead")
    yield


@rows(within=15)
def another_program_writes_an_address(world):
    """Once; its own address is put back."""
    world.plane.api.request("PATCH", path_of("Service", name="web") + "/status",
                            {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}}, MERGE)
    gets(world.plane, web=["203.0.113.0"])
    yield


@rows("service-status-contested", within=15,
      cause=("Service default/web", "field manager other-lb", "writes over its addresses again and again"),
      remedy="--show-managed-fields")
def another_program_writes_addresses_again_and_again(world):
    for _ in range(6):  # more than have to be put back: two that come close together count as one
        world.plane.api.request("PATCH", path_of("Service", name="web") + "/status?fieldManager=other-lb",
                                {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}}, MERGE)
        gets(world.plane, web=["203.0.113.0"])
    yield


@rows("controller-pools-undefined", within=15, cause=("IPAddressPool", "no such kind any more"), remedy="crds-metallb.yaml")
def the_definition_of_pools_is_missing(world):
    world.plane.kubectl("delete", "crd", "ipaddresspools.metallb.io", "--timeout=60s")
    yield
    world.plane.kubectl("apply", "-f", str(DEPLOY / "crds-metallb.yaml"))
    wait(lambda: serves_pools(world.plane), "the API to serve pools")
    world.plane.put(pool("203.0.113.0/29"))


RECORD = "/api/v1/namespaces/kube-system/configmaps/fingerpost-addresses"
ROLE = "fingerpost-controller"


def rules_without_status(role):
    return [{**rule, "resources": [name for name in rule.get("resources", ()) if name != "services/status"]}
            for rule in role["rules"] if rule.get("resources") != ["services/status"]]


@rows("api-write-refused", within=15, cause=("Service default/late", "its status can't be written"), remedy="controller.yaml")
def the_right_to_write_a_status_is_taken(world):
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{ROLE}"
    role = world.plane.api.get(path)
    world.plane.api.request("PUT", path, {**role, "rules": rules_without_status(role)})
    world.plane.put(service("late"))
    yield
    role["metadata"].pop("resourceVersion")
    world.plane.api.request("PUT", path, role)
    yield
    gets(world.plane, late=["203.0.113.1"])


def there(world):
    try:
        return json.dumps(world.plane.api.get(RECORD))
    except ValueError:
        return None


@rows(within=15, heals=True)
def somebody_deletes_the_record(world):
    wait(lambda: there(world), "the record")
    world.plane.api.request("DELETE", RECORD, {})
    yield
    wait(lambda: there(world), "the record to be back")
    yield


WORDS = "addresses are given by the network team"


def alarm(plane, action):
    """The alarm that etcd raises when its quota is used up; it takes no writes then."""
    member = plane.ask_etcd("cluster/member/list", {})["members"][0]["ID"]
    plane.ask_etcd("maintenance/alarm", {"action": action, "memberID": member, "alarm": "NOSPACE"})


@rows("election-failed", within=15, lingers=20, cause=("Lease kube-system/fingerpost-controller", "database space exceeded"),
      remedy="make room in etcd", beside="space exceeded")
def etcd_is_out_of_space(world):
    """The Service is not named, as was expected: who can't renew his Lease writes no Service."""
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


@rows("api-write-refused", within=15, cause=("Service default/late", WORDS), remedy="policy")
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


@rows(within=15, heals=True)
def a_balancer_becomes_a_cluster_ip(world):
    world.plane.api.request("PATCH", path_of("Service", name="web"), {"spec": {"type": "ClusterIP"}}, MERGE)
    yield
    gets(world.plane, web=[])
    yield


@rows("service-deletion-held", within=15, cause=("Service default/late", "finalizer example.com/balancer-cleanup"),
      remedy="finalizers")
def a_finalizer_keeps_a_deleted_service(world):
    item = service("late")
    item["metadata"]["finalizers"] = ["example.com/balancer-cleanup"]
    world.plane.put(item)
    gets(world.plane, late=["203.0.113.1"])
    world.plane.api.delete("Service", "late", "default")
    yield
    world.plane.api.request("PATCH", path_of("Service", name="late"), {"metadata": {"finalizers": []}}, MERGE)


@rows(within=15, heals=True)
def somebody_empties_a_status(world):
    world.plane.api.request("PATCH", f"{path_of('Service', name='web')}/status", {"status": {"loadBalancer": None}}, MERGE)
    yield
    gets(world.plane, web=["203.0.113.0"])
    yield


METALLB = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [],
           "metadata": {"name": "metallb-webhook-service-x", "namespace": "default",
                        "labels": {"kubernetes.io/service-name": "metallb-webhook-service"}},
           "endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": True}}]}


@rows("controller-metallb-alive", within=15, cause="MetalLB", remedy=("",))
def metallb_runs_beside(world):
    world.plane.put(METALLB)
    yield
    world.plane.api.delete("EndpointSlice", "metallb-webhook-service-x")


@rows.each
def test_told_and_gone(leading, row):
    check(row, leading)
