# SPDX-License-Identifier: Apache-2.0
"""The third list of the fault table, objects and configuration: each row was written down before it was tried
(tests/third_list.txt)."""

import pytest
import yaml
from cluster import VIP
from faults import Table, check
from lab import objects
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows(323, says={f"explain {OTHER}": "policy Local, no usable endpoint here"})
def all_pods_of_a_local_service_are_elsewhere(world):
    world.lab.write("other.yaml", objects.service("other", [OTHER], policy="Local"), objects.node("node2", ["10.0.2.2"]),
                    objects.slice_of("other", [objects.endpoint("10.224.0.33", "node2")]))
    yield
    world.remove("other.yaml")


@rows(324, says={f"explain {VIP}": "this node is excluded from load balancers"})
def the_node_is_excluded_as_a_control_plane(world):
    file = world.lab.manifests / "nodes.yaml"
    text = file.read_text(encoding="utf-8")
    label = "node.kubernetes.io/exclude-from-external-load-balancers"
    docs = list(yaml.safe_load_all(text))
    [node] = [doc for doc in docs if doc["kind"] == "Node"]
    node["metadata"]["labels"][label] = ""
    world.write(yaml.safe_dump_all(docs), "nodes.yaml")
    yield
    world.write(text, "nodes.yaml")


@rows(325, cause=("other.yaml:", "fingerpost.io/announce"), remedy=ITSELF)
def announce_is_neither_true_nor_false(world):
    world.other(OTHER, annotations={"fingerpost.io/announce": "flase"})
    yield
    world.remove("other.yaml")


@rows(326, cause=("other.yaml:", "sessionAffinity"), remedy=ITSELF)
def an_affinity_is_misspelt(world):
    world.other(OTHER, sessionAffinity="clientIP")
    yield
    world.remove("other.yaml")


@rows(327, says={f"explain {OTHER}": f"{OTHER} is announced"})
def a_manifest_was_saved_on_windows(world):
    world.other(OTHER)
    file = world.lab.manifests / "other.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    yield
    world.remove("other.yaml")


@rows(328)
def editors_leave_copies(world):
    copies = ("web.yaml~", ".web.yaml.swp", "web.yaml.bak", "#web.yaml#")
    for name in copies:
        world.write(world.web.replace(VIP, "203.0.113.77"), name)
    yield
    for name in copies:
        world.remove(name)


def bare(kind, version, **more):
    return {"apiVersion": version, "kind": kind, "metadata": objects.metadata("other", "default"), **more}


@rows(329)
def other_kinds_stand_beside(world):
    world.lab.write("other.yaml", bare("Deployment", "apps/v1", spec={"replicas": 1}), bare("ConfigMap", "v1", data={"a": "b"}),
                    bare("Secret", "v1", data={"a": "Yg=="}), bare("Ingress", "networking.k8s.io/v1", spec={}))
    yield
    world.remove("other.yaml")


@rows(330, cause="other.yaml:", remedy=ITSELF)
def a_template_was_not_rendered(world):
    world.write("apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  {{- toYaml .Values.spec | nindent 2 }}\n",
                "other.yaml")
    yield
    world.remove("other.yaml")


@rows(331, cause=("other.yaml:", "name"), remedy=ITSELF)
def an_object_has_no_name(world):
    world.write("apiVersion: v1\nkind: Service\nmetadata: {generateName: other-}\nspec: {type: ClusterIP}\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows(332, cause=("Service default/other", "waits for an address: another balancer", "lb.example.org"),
      remedy="make the Service anew with its loadBalancerClass")
def an_ingress_is_a_host_name(world):
    service = objects.service("other")
    service["status"]["loadBalancer"]["ingress"] = [{"hostname": "lb.example.org"}]
    world.lab.write("other.yaml", service)
    yield
    world.remove("other.yaml")


@rows(333, cause=("agentd.yaml:", "advertise", "loadbalancer"), remedy=ITSELF)
def a_word_of_the_configuration_is_misspelt(world):
    world.reload("enabled: false", "enabled: false\n  advertise: [loadbalancer]")
    yield
    world.reload()


@rows(334, cause=("agentd.yaml:", "initial"), remedy=ITSELF)
def a_duration_has_no_unit(world):
    world.reload("services:", "routes: {holdDown: {initial: 5}}\nservices:")
    yield
    world.reload()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
