# SPDX-License-Identifier: Apache-2.0
"""The cluster of the other tests is one: what kubectl asks for, happens."""

import json
import signal

import pytest
from lab import objects, wait, wait_equal
from lab.control_plane import encoded
from lab.namespace import CommandFailed
from test_etcd import Claimant


def endpoints(plane, service):
    """The addresses of a Service's ready endpoints, of all its slices."""
    text = plane.kubectl("get", "endpointslices", "-o", "json",
                         "-l", f"kubernetes.io/service-name={service}")
    return {
        address
        for item in json.loads(text)["items"]
        for endpoint in item.get("endpoints") or []
        if endpoint["conditions"]["ready"]
        for address in endpoint["addresses"]
    }


def nodes_of_pods(plane):
    items = json.loads(plane.kubectl("get", "pods", "-o", "json"))["items"]
    return sorted(item["spec"].get("nodeName") for item in items)


def pods_of_web(cluster):
    """Those of the controller's own Deployment live on the nodes, too."""
    return [pod for node in cluster.nodes for name, pod in node.pods.items()
            if name.startswith("web-")]


def test_a_deployment_becomes_pods_with_addresses(cluster, plane, kubelets):
    plane.kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
    plane.kubectl("expose", "deployment", "web", "--port=80", "--overrides",
                  json.dumps({"spec": {"ipFamilyPolicy": "RequireDualStack"}}))
    plane.kubectl("rollout", "status", "deployment", "web", "--timeout=60s")
    pods = pods_of_web(cluster)
    assert sorted(str(pod.node) for pod in pods) == ["node1", "node2"]
    addresses = {address for pod in pods for address in (pod.address4, pod.address6)}
    wait_equal(lambda: endpoints(plane, "web"), addresses, "both pods in the Service's slices")
    for pod in pods:
        assert pod.node.fetch(pod.address4) == f"{pod.role} on {pod.node}\n"

    name = pods[0].role.removeprefix("pod-")
    kubelets.set_ready(name, False)
    left = addresses - {pods[0].address4, pods[0].address6}
    wait_equal(lambda: endpoints(plane, "web"), left, "the unready pod to leave the slices")
    kubelets.set_ready(name, True)
    wait_equal(lambda: endpoints(plane, "web"), addresses, "the pod to be back")

    plane.kubectl("drain", "node1", "--ignore-daemonsets", "--delete-emptydir-data",
                  "--timeout=60s")
    wait_equal(lambda: nodes_of_pods(plane), ["node2", "node2"], "both pods on node2")
    plane.kubectl("uncordon", "node1")
    plane.kubectl("scale", "deployment", "web", "--replicas=0")
    wait_equal(lambda: nodes_of_pods(plane), [], "the end of all pods")
    wait(lambda: not pods_of_web(cluster), "the end of their networks")
    plane.kubectl("delete", "service,deployment", "web")
    wait_equal(lambda: endpoints(plane, "web"), set(), "the end of the slices")


def test_the_role_of_the_agent_reads_what_it_plans_from(plane):
    me = ("--as=fingerpost:agent:node1", "--as-group=fingerpost:agents")
    for resource in ("services", "nodes", "pods", "endpointslices.discovery.k8s.io",
                     "addressblocks.coil.cybozu.com", "addresspools.coil.cybozu.com",
                     "egresses.coil.cybozu.com", "ipaddresspools.metallb.io",
                     "bgpadvertisements.metallb.io", "l2advertisements.metallb.io"):
        plane.kubectl("get", resource, "-A", *me)
    with pytest.raises(CommandFailed, match="Forbidden"):
        plane.kubectl("get", "secrets", "-A", *me)
    with pytest.raises(CommandFailed, match="Forbidden"):
        plane.kubectl("delete", "node", "node1", *me)


@pytest.mark.parametrize("item, complaint", [
    (objects.address_block("odd-1", "node1", index=-1, ipv4="10.0.0.0/27"), "index"),
    (objects.address_block("odd-2", "node1"), "ipv4"),
    ({"apiVersion": "coil.cybozu.com/v2", "kind": "AddressPool", "metadata": {"name": "odd"},
      "spec": {"subnets": []}}, "subnets"),
    ({"apiVersion": "coil.cybozu.com/v2", "kind": "Egress",
      "metadata": {"name": "odd", "namespace": "default"}, "spec": {"replicas": 1}},
     "destinations"),
    ({"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
      "metadata": {"name": "odd", "namespace": "default"}, "spec": {"addresses": []}},
     "addresses"),
])
def test_what_coil_and_metallb_refuse_is_refused(plane, item, complaint):
    with pytest.raises(CommandFailed, match=complaint):
        plane.kubectl("apply", "-f", "-", text=json.dumps(item))


def pass_revisions(plane, until):
    """etcd has that revision; or a later one, where somebody else writes meanwhile."""
    for _ in range(20):  # not all at once: an agent of the cluster may write, too
        missing = until - plane.revision()
        if missing <= 0:
            break
        plane.ask_etcd("kv/put", *[{"key": encoded("/passing"), "value": ""}] * missing)
    assert plane.revision() >= until


def test_programs_come_back_and_a_version_that_comes_again_is_another(plane):
    """Of a Lease as well: who takes it over as it was before the restore finds that it is another."""
    plane.put(objects.service("kept", ["203.0.113.77"]))
    admin = str(plane.admin)
    holder, taker = (Claimant(plane.host, admin, prefix="kube-system") for _ in range(2))
    assert holder.ask("create", "address.192-0-2-1", "node-1").outcome == "done"
    plane.backup()
    wait(lambda: holder.ask("read", "address.192-0-2-1").outcome == "done", "the API", 30)
    pass_revisions(plane, plane.revision() + 2000)  # many more than who comes back writes at once
    version = holder.ask("read", "address.192-0-2-1").version
    assert holder.ask("update", "address.192-0-2-1", "node-1", version).outcome == "done"
    seen = taker.ask("read", "address.192-0-2-1")
    plane.api.delete("Service", "kept", "default")
    before = plane.revision()
    plane.restore()
    assert plane.revision() < before
    plane.api_server.process.send_signal(signal.SIGSTOP)
    key = {"key": encoded("/registry/leases/kube-system/address.192-0-2-1")}
    [there] = plane.ask_etcd("kv/range", key)["kvs"]
    pass_revisions(plane, int(seen.version) - 1)
    assert plane.ask_etcd("kv/put", {**key, "value": there["value"]})["header"]["revision"] == seen.version
    plane.api_server.process.send_signal(signal.SIGCONT)
    wait(lambda: holder.ask("read", "address.192-0-2-1").version == seen.version, "the same version", 30)
    assert taker.ask("update", "address.192-0-2-1", "node-2", seen.version).outcome == "conflict"
    assert taker.ask("read", "address.192-0-2-1").holder == "node-1"
    assert taker.ask("update", "address.192-0-2-1", "node-2", seen.version).outcome == "done"
    for claimant in (holder, taker):
        claimant.end()
    assert plane.kubectl("get", "service", "kept", "-o", "name") == "service/kept\n"
    plane.compact()
    plane.api_server.kill()
    plane.start_api_server()
    plane.api.delete("Service", "kept", "default")
