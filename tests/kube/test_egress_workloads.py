# SPDX-License-Identifier: Apache-2.0
"""Gateways of Egresses on a real API server, with Kubernetes' own controllers beside ours: the rules of
Coil's that are the controller's, its defects that are mended, and what hands and autoscalers do."""

import json

import pytest
from lab import wait, wait_equal
from lab.asking import allow_lease, controller
from lab.kube_api import MERGE, ApiError, path_of
from schema import check

LAB = {"nodes": 1}
NET = "net"
OWNED = ("Deployment", "Service", "PodDisruptionBudget")
IMAGE = "example.com/fingerpost:1"
NAME, BINDING = "fingerpost-egress", "fingerpost-egress-reads"


def egress(**spec):
    return {"apiVersion": "coil.cybozu.com/v2", "kind": "Egress",
            "metadata": {"name": "nat", "namespace": NET},
            "spec": {"destinations": ["0.0.0.0/0"], **spec}}


class World:
    """A control plane, controllers on a node, and what they have made."""

    def __init__(self, cluster):
        self.plane, self.host = cluster.plane, cluster.nodes[0]
        self.leader, self.made = None, []

    def begin(self, lease="fingerpost-controller"):
        name = "abcdefghijklmnopqrstuvw"[len(list(self.host.folder.glob("controller-*")))]
        self.leader = controller(self.host, self.plane, name)
        self.leader.settings["egress"] = {"enabled": True, "image": IMAGE}
        self.leader.settings["election"]["name"] = lease
        self.leader.write_config()
        self.leader.start()
        self.made.append(self.leader)
        wait(self.leader.leads, f"{name} to lead", 60)

    def get(self, kind, name="nat", namespace=NET):
        try:
            return self.plane.api.get(path_of(kind, namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def there(self, kind, name="nat", namespace=NET):
        return wait(lambda: self.get(kind, name, namespace), f"the {kind}", 30)

    def patch(self, kind, body, name="nat", sub=""):
        return self.plane.api.request("PATCH", path_of(kind, NET, name) + sub, body, MERGE)

    def gone(self, *kinds, name="nat"):
        wait_equal(lambda: [kind for kind in kinds if self.get(kind, name)], [], f"the end of {kinds}",
                   60)

    def spec(self, kind="Deployment"):
        item = self.get(kind)
        return item and item["spec"]

    def faults(self):
        return {(fault["place"], fault["message"]) for fault in self.leader.status()["faults"]}

    def container(self):
        return self.spec()["template"]["spec"]["containers"][0]

    def settled(self):
        """Nothing waits to be written, and what was written last is answered."""
        def idle(each):
            (job,) = [job for job in each.status()["jobs"] if job["name"] == "egress"]
            return job["writes"]["waiting"] == job["writes"]["running"] == 0
        wait(lambda: all(idle(each) for each in self.made if each.running()), "an end of writing", 30)

    def answers(self, code):
        """How often the leader was told so."""
        return sum(entry["responseStatus"]["code"] == code for entry in self.plane.audited(self.leader.user))

    def listed(self):
        """As `agentctl controller egresses` has it."""
        code, text = self.leader.ask("/v1/egress-workloads")
        assert code == 200
        check(json.loads(text))
        return {f"{item['namespace']}/{item['name']}": item for item in json.loads(text)["items"]}

    def events(self):
        """What Events say of the Egress that there is now."""
        uid = self.there("Egress")["metadata"]["uid"]
        return [item["note"] for item in self.plane.items("Event")
                if item["reason"] == "GatewaysRefused" and item["regarding"]["uid"] == uid]

    def versions(self):
        return {kind: self.there(kind)["metadata"]["resourceVersion"]
                for kind in ("Service", "Egress")} | {"generation": self.there("Deployment")[
                    "metadata"]["generation"]}


@pytest.fixture(name="world")
def world_fixture(cluster):
    world = World(cluster)
    world.plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NET}})
    world.begin()
    yield world
    for item in world.plane.items("Egress"):
        world.plane.delete(item)
    world.gone(*OWNED)
    wait_equal(lambda: (world.get("ServiceAccount", NAME), world.get("ClusterRoleBinding", BINDING)),
               (None, None), "the end of accounts")
    refused = [entry["requestURI"] for each in world.made for entry in world.plane.audited(each.user)
               if entry["responseStatus"]["code"] == 403]
    for each in world.made:
        if each.running():
            assert each.stop() == 0 and "runtime error" not in each.log_text(), each.log_text()[-3000:]
    assert refused == []


def test_an_egress_gets_its_objects(world):
    world.plane.put(egress(replicas=2, podDisruptionBudget={"minAvailable": 1}))
    owner = world.there("Egress")["metadata"]
    for kind in OWNED:
        meta = world.there(kind)["metadata"]
        assert meta["ownerReferences"] == [
            {"apiVersion": "coil.cybozu.com/v2", "kind": "Egress", "name": "nat", "uid": owner["uid"],
             "controller": True, "blockOwnerDeletion": True}]
        assert meta["labels"]["app.kubernetes.io/component"] == "egress"
    (port,) = world.spec("Service")["ports"]
    assert (port["protocol"], port["port"], port["targetPort"]) == ("UDP", 5555, 5555)
    assert world.spec("Service")["sessionAffinity"] == "ClientIP"
    assert world.spec("Service")["ipFamilyPolicy"] == "PreferDualStack"
    assert world.spec("PodDisruptionBudget")["minAvailable"] == 1
    container = world.container()
    assert (container["name"], container["image"]) == ("egress", IMAGE)
    rights = container["securityContext"]
    assert rights["privileged"] is False and rights["readOnlyRootFilesystem"] is True
    assert rights["capabilities"] == {"drop": ["ALL"], "add": ["NET_ADMIN", "BPF", "PERFMON"]}
    assert "serves: [net/nat]" in world.spec()["template"]["metadata"]["annotations"][
        "fingerpost.io/agentd.yaml"]
    # Kubernetes' own controllers make the pods, under the account.
    wait_equal(lambda: (world.get("Egress").get("status") or {}).get("replicas"), 2, "pods in status")
    assert world.there("ServiceAccount", NAME)
    binding = world.there("ClusterRoleBinding", BINDING)
    assert binding["roleRef"]["name"] == NAME
    assert [subject["namespace"] for subject in binding["subjects"]] == [NET]
    wait_equal(lambda: world.listed()["net/nat"]["pods"], 2, "pods in the list")
    assert world.listed()["net/nat"]["state"] == "starting"  # nobody plays a kubelet here
    scale = world.plane.api.get(path_of("Egress", NET, "nat") + "/scale")
    assert scale["spec"]["replicas"] == scale["status"]["replicas"] == 2
    assert scale["status"]["selector"] == (
        "app.kubernetes.io/component=egress,app.kubernetes.io/instance=nat,"
        "app.kubernetes.io/name=coil")


def test_what_an_autoscaler_sets_stays(world):
    world.plane.put(egress())
    world.there("Deployment")
    world.patch("Egress", {"spec": {"replicas": 3}}, sub="/scale")
    wait_equal(lambda: world.spec()["replicas"], 3, "the autoscaler's number")
    wait_equal(lambda: world.get("Egress")["status"]["replicas"], 3, "pods in status")
    assert world.spec("Egress")["replicas"] == 3


def test_an_egress_scaled_by_an_autoscaler_keeps_its_number(world):
    """Kubernetes' own, which knows no metrics here: it moves what is out of its bounds into them."""
    world.plane.put(egress())
    world.there("Deployment")
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
              "metadata": {"name": "nat", "namespace": NET},
              "spec": {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": {
                  "apiVersion": "coil.cybozu.com/v2", "kind": "Egress", "name": "nat"}}}
    world.plane.put(scaler)
    for bounds, number in (({}, 3), ({"minReplicas": 1, "maxReplicas": 2}, 2)):
        world.patch("HorizontalPodAutoscaler", {"spec": bounds})
        wait_equal(lambda: world.spec()["replicas"], number, "the autoscaler's number", 120)
        wait_equal(lambda: world.get("Egress")["status"]["replicas"], number, "pods in status", 60)
        wait_equal(lambda: world.get("HorizontalPodAutoscaler")["status"]["currentReplicas"], number,
                   "the autoscaler to see it", 60)
    world.leader.kill()
    world.begin()
    world.patch("Egress", {"metadata": {"labels": {"team": "net"}},
                           "spec": {"template": {"spec": {"nodeSelector": {"role": "gw"}}}}})
    wait_equal(lambda: world.spec()["template"]["spec"].get("nodeSelector"), {"role": "gw"}, "an edit")
    world.settled()
    assert world.spec()["replicas"] == world.spec("Egress")["replicas"] == 2
    world.plane.delete(scaler)


def test_two_that_lead_write_one_egress_in_turn(world):
    """Each by a Lease of its own, as during an upgrade that renames it: they agree, and so come to rest."""
    allow_lease(world.plane, "another")
    world.begin("another")
    assert all(each.leads() for each in world.made)
    world.plane.put(egress(podDisruptionBudget={"minAvailable": 1}))
    for number in range(2, 6):
        world.patch("Egress", {"spec": {"replicas": number, "podDisruptionBudget": {"minAvailable": number}}})
        wait_equal(lambda number=number: (world.spec() or {}).get("replicas"), number, "the number")
        wait_equal(lambda number=number: (world.spec("PodDisruptionBudget") or {}).get("minAvailable"), number,
                   "the budget")
    wait_equal(lambda: (world.get("Egress").get("status") or {}).get("replicas"), 5, "pods in status")
    world.settled()
    before = world.versions()
    world.plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    world.patch("Egress", {"metadata": {"annotations": {"any": "thing"}}})
    wait(lambda: world.get("Egress")["metadata"]["annotations"], "the edit")
    world.settled()
    assert {**world.versions(), "Egress": ""} == {**before, "Egress": ""}, "nothing but that edit"
    assert world.faults() == set()


def test_what_is_so_is_not_written(world):
    world.plane.put(egress())
    wait_equal(lambda: (world.get("Egress").get("status") or {}).get("replicas"), 1, "pods in status")
    world.settled()
    before = world.versions()
    world.leader.kill()
    world.begin()
    wait(lambda: [entry for entry in world.plane.audited(world.leader.user)
                  if entry["verb"] == "patch" and entry["objectRef"]["resource"] == "deployments"],
         "the successor to look", 30)
    world.settled()
    assert world.versions() == before


def test_edits_by_hand_are_undone_and_those_of_others_stay(world):
    world.plane.put(egress())
    world.there("Deployment")
    world.patch("Deployment", {"spec": {"replicas": 7, "minReadySeconds": 3, "template": {"metadata": {
        "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}})
    wait_equal(lambda: world.spec()["replicas"], 1, "the Egress's number")
    assert world.spec()["minReadySeconds"] == 3
    assert world.spec()["template"]["metadata"]["annotations"][
        "kubectl.kubernetes.io/restartedAt"] == "now"
    world.patch("Service", {"metadata": {"ownerReferences": None},
                            "spec": {"selector": {"app.kubernetes.io/instance": "x"}}})
    wait_equal(lambda: world.spec("Service")["selector"]["app.kubernetes.io/instance"], "nat", "the pods")
    wait(lambda: world.get("Service")["metadata"].get("ownerReferences"), "its owner")
    world.plane.api.delete("ServiceAccount", NAME, NET)
    world.plane.api.request("DELETE", path_of("ClusterRoleBinding", name=BINDING), {})
    uid = world.get("Deployment")["metadata"]["uid"]
    world.plane.api.delete("Deployment", "nat", NET)
    wait(lambda: (world.get("Deployment") or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid,
         "another Deployment", 60)
    assert world.there("ServiceAccount", NAME) and world.there("ClusterRoleBinding", BINDING)


def test_the_binding_of_older_controllers_goes_when_its_accounts_have_another(world):
    """It gave them the role of agents. One of that name that is not ours stays."""
    older = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
             "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "fingerpost"}},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "fingerpost-agent"},
             "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NET}]}
    world.leader.stop()
    world.plane.put(older, egress())
    world.begin()
    wait_equal(lambda: world.get("ClusterRoleBinding", NAME), None, "the end of the older binding")
    assert [each["namespace"] for each in world.there("ClusterRoleBinding", BINDING)["subjects"]] == [NET]
    written = [(entry["verb"], entry["objectRef"]["name"]) for entry in world.plane.audited(world.leader.user)
               if entry["objectRef"]["resource"] == "clusterrolebindings"
               and entry["verb"] not in ("get", "list", "watch")]
    assert written == [("patch", BINDING), ("delete", NAME)]
    world.leader.stop()
    world.plane.put({**older, "metadata": {"name": NAME}})
    world.begin()
    world.settled()
    assert world.get("ClusterRoleBinding", NAME)
    wait_equal(world.faults, set(), "no fault")
    world.plane.delete(older)


def test_the_budget_follows_the_field_and_goes_with_it(world):
    world.plane.put(egress(podDisruptionBudget={"minAvailable": 1}))
    world.there("PodDisruptionBudget")
    world.patch("Egress", {"spec": {"podDisruptionBudget": {
        "minAvailable": None, "maxUnavailable": "50%"}}})
    wait_equal(lambda: world.spec("PodDisruptionBudget").get("maxUnavailable"), "50%", "the other field")
    assert "minAvailable" not in world.spec("PodDisruptionBudget")
    world.patch("Egress", {"spec": {"podDisruptionBudget": None}})
    world.gone("PodDisruptionBudget")


def test_the_template_is_followed_in_place(world):
    world.plane.put(egress())
    uid = world.there("Deployment")["metadata"]["uid"]
    world.patch("Egress", {"spec": {"template": {"spec": {
        "nodeSelector": {"role": "gw"}, "containers": [{"name": "side", "image": "s"}]}}}})
    wait_equal(lambda: world.spec()["template"]["spec"].get("nodeSelector"), {"role": "gw"}, "it")
    names = [item["name"] for item in world.spec()["template"]["spec"]["containers"]]
    assert sorted(names) == ["egress", "side"]
    world.patch("Egress", {"spec": {"template": None}})
    wait_equal(lambda: world.spec()["template"]["spec"].get("nodeSelector"), None, "its end")
    assert world.get("Deployment")["metadata"]["uid"] == uid


def test_a_template_that_takes_rights_on_nodes_is_refused_and_told(world):
    """Gateways that run stay as they are; the owner reads why in an Event, and an administrator may allow it."""
    world.plane.put(egress())
    before = world.there("Deployment")["spec"]
    world.patch("Egress", {"spec": {"replicas": 3, "template": {"spec": {
        "hostPID": True, "containers": [{"name": "side", "image": "s"}]}}}})
    wait(lambda: ("Deployment net/nat", "spec.template has hostPID; the Deployment is not written meanwhile, nor are replicas "
                  "followed") in world.faults(), "the fault", 30)
    wait_equal(lambda: len(world.events()), 1, "the Event")
    assert "egress.template.allow: [hostPID]" in world.events()[0]
    assert world.spec() == before
    world.leader.stop()
    world.leader.settings["egress"]["template"] = {"allow": ["hostPID"]}
    world.leader.write_config()
    world.leader.start()
    wait_equal(lambda: world.spec()["replicas"], 3, "what is allowed", 60)
    assert world.spec()["template"]["spec"]["hostPID"] is True
    wait_equal(world.faults, set(), "no fault")


def test_a_strategy_that_the_api_refuses_is_told_and_taken_by_another_deployment(world):
    """The API's default for rolling updates stands in the way of Recreate, and no apply takes it away."""
    world.plane.put(egress())
    world.there("Deployment")
    world.patch("Egress", {"spec": {"strategy": {"type": "Recreate"}}})
    wait(lambda: any("rollingUpdate" in message for _, message in world.faults()), "the fault", 30)
    assert world.listed()["net/nat"]["state"] == "refused"
    (refused,) = world.listed()["net/nat"]["refused"]
    assert refused["object"] == "Deployment net/nat" and "rollingUpdate" in refused["message"]
    wait_equal(lambda: len(world.events()), 1, "the Event")
    assert world.events()[0].startswith("Deployment net/nat: it can't be written: ")
    wait(lambda: world.answers(422) > 5, "further tries", 30)
    assert "no longer" not in world.leader.log_text(), "a fault that comes and goes with each try"
    world.plane.api.delete("Deployment", "nat", NET)
    wait_equal(lambda: (world.spec() or {}).get("strategy"), {"type": "Recreate"}, "another", 90)
    wait_equal(world.faults, set(), "the end of the fault", 60)


def test_what_somebody_else_has_is_left_alone_and_told(world):
    foreign = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nat", "namespace": NET},
               "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}}
    world.plane.put(foreign)
    version = world.there("Service")["metadata"]["resourceVersion"]
    world.plane.put(egress(template={"spec": {"containers": [{"name": "side", "image": 7}]}}))
    wait_equal(lambda: {place for place, _ in world.faults()},
               {"Service net/nat", "Deployment net/nat"}, "faults of both", 30)
    wait_equal(lambda: sorted(note.split(":")[0] for note in world.events()),
               ["Deployment net/nat", "Service net/nat"], "an Event of each")
    wait(lambda: world.answers(500) > 5, "further tries", 60)
    assert "no longer" not in world.leader.log_text(), "a fault that comes and goes with each try"
    assert world.get("Service")["metadata"]["resourceVersion"] == version
    assert world.get("Deployment") is None
    world.plane.delete(foreign)
    world.patch("Egress", {"spec": {"template": None}})
    wait(lambda: world.get("Deployment") and world.get("Service"), "both", 60)
    wait_equal(world.faults, set(), "the end of faults")


def test_an_egress_that_goes_takes_all_with_it(world):
    world.plane.put(egress(podDisruptionBudget={"maxUnavailable": 1}))
    for kind in OWNED:
        world.there(kind)
    other = egress()
    other["metadata"] = {"name": "other", "namespace": "default"}
    world.plane.put(other)
    wait_equal(lambda: [item["namespace"] for item in
                        world.there("ClusterRoleBinding", BINDING)["subjects"]], ["default", NET], "both")
    world.plane.api.delete("Egress", "nat", NET)
    world.gone(*OWNED)
    world.gone("ServiceAccount", name=NAME)
    wait_equal(lambda: [item["namespace"] for item in
                        world.get("ClusterRoleBinding", BINDING)["subjects"]], ["default"], "one less")
