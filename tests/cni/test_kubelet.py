# SPDX-License-Identifier: Apache-2.0
"""Real kubelets, with containerd and runc, on three nodes of a real cluster: their pods get addresses by
agent-cni and agentd, and find each other, Services and what is outside; also when containerd and its shims
are killed. See lab/containers.py."""

import os
import signal

import pytest
from lab import Lab, objects, wait, wait_equal
from lab.asking import controller
from lab.containers import Containers, pids_of, pod_object
from lab.demo_egress import Router
from lab.images import AGENT, agent_image
from lab.traffic import ask, serve

PORT = 8080
FAMILIES = (4, 6)
SHIM = "containerd-shim-runc-v2"
OUTSIDE = {"egress.coil.cybozu.com/internet": "nat"}
SERVICE = {"clusterIP": "10.96.0.80", "clusterIPs": ["10.96.0.80", "fd00:96::80"]}


class World:
    """The cluster. Each node has a block of 32 addresses, and the first of its agents gives them."""

    def __init__(self, lab):
        self.lab, self.plane = lab, lab.plane
        self.plane.kubectl("delete", "deployments,daemonsets", "--all", "-n", "kube-system")
        for node in lab.nodes:
            self.plane.put(*[item for item in node.objects() if item["kind"] == "AddressBlock"])
            lab.agent(node, kubeconfig=self.plane.agent_kubeconfig(node), pods={"enabled": True},
                      egress={"enabled": True})
        self.containers = Containers(lab, self.plane).start([agent_image()])

    def create(self, *items):
        self.plane.put(*items)
        return [self.containers.pod(item["metadata"]["name"]) for item in items]

    def pods(self):
        return [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in self.plane.items("Pod")]

    def links(self, node):
        return [link["ifname"] for link in node.ip_json("link")
                if link.get("ifalias", "").startswith("COIL:")]

    def routes(self, node):
        return [route["dst"] for family in FAMILIES for route in node.ip_json(
            f"-{family}", "route", "show", "proto", "30", "table", "main")]

    def left(self):
        """What there is of pods anywhere."""
        return self.pods() + [(kubelet.node.role, thing) for kubelet in self.containers.kubelets for thing in (
            *self.links(kubelet.node), *self.routes(kubelet.node), *kubelet.tasks())]


@pytest.fixture(name="world", scope="module")
def world_fixture(request):
    with Lab(request.node.nodeid, nodes=3, nat=True) as lab:
        lab.control_plane()
        failed = request.session.testsfailed
        yield World(lab)
        if request.session.testsfailed > failed:
            lab.show_logs()


@pytest.fixture(autouse=True)
def nothing_left(world):
    """Each test deletes its pods; what they had goes with them."""
    yield
    for namespace, name in world.pods():
        world.plane.api.delete("Pod", name, namespace)
    wait_equal(world.left, [], "the end of all pods", 60)


def test_pods_of_all_nodes_reach_each_other(world):
    """Over TCP, which both families and the way back must carry; and the client behind the ToR."""
    pods = world.create(*[pod_object(f"p{node.role}", node.role) for node in world.lab.nodes])
    for family in FAMILIES:
        assert len({pod.address(family) for pod in pods}) == 3
        for there, node in zip(pods, world.lab.nodes):
            page = f"{there.pod} on {node}\n"
            for here in (*pods, *world.lab.nodes, world.lab.client):
                assert wait(lambda: here.fetch(there.address(family)), f"{here} to reach {there.pod}") == page


def test_what_the_kubelet_knows_is_what_the_node_has(world):
    node = world.lab.nodes[0]
    [pod] = world.create(pod_object("one", node.role))
    known = {pod.address(family) for family in FAMILIES}
    assert set(world.routes(node)) == known
    inside = {info["local"] for link in pod.ip_json("addr", "show", "dev", "eth0")
              for info in link["addr_info"] if info["scope"] == "global"}
    assert inside == known


def test_a_service_of_a_deployment(world):
    """Probed by the kubelets from their nodes, served by our NAT, scaled and gone."""
    pod = pod_object("web")
    pod["spec"]["containers"][0]["readinessProbe"] = {
        "httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                     **pod["spec"], "topologySpreadConstraints": [
                         {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                          "whenUnsatisfiable": "DoNotSchedule",
                          "labelSelector": {"matchLabels": {"app": "web"}}}]}}}}
    service = objects.service("web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"],
                              type="ClusterIP", externalTrafficPolicy=None, **SERVICE)
    world.plane.put(deployment, service)
    [client] = world.create(pod_object("client", world.lab.nodes[0].role))
    for address in SERVICE["clusterIPs"]:
        wait_equal(lambda: {client.fetch(address).split()[-1] for _ in range(30)},
                   {node.role for node in world.lab.nodes}, f"pages of all nodes by {address}", 60)
    world.plane.delete(service, deployment)


def test_outside_by_a_gateway(world):
    """The first thing that the pod's process may do: the annotation was read before ADD returned."""
    lab, router = world.lab, Router(world.lab, 1)
    world.plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "internet"}},
                    router.object(), objects.egress())
    lab.agent(router, kubeconfig=world.plane.agent_kubeconfig(router), services={"enabled": False},
              egress={"gateway": {}})
    serve(lab.client, PORT)
    sent, other = world.create(pod_object("sent", lab.nodes[0].role, annotations=OUTSIDE),
                               pod_object("other", lab.nodes[0].role))
    for outside, gateway, family in ((lab.client.address4, router.address4, 4),
                                     (lab.client.address6, router.address6, 6)):
        wait_equal(lambda: ask(sent, outside, PORT).peer, gateway, "the pod to leave by the gateway")
        assert ask(other, outside, PORT).peer == other.address(family)


def test_outside_by_a_gateway_that_is_a_pod(world):
    """Of a Deployment that agent-controller made of an Egress: what is in it is all that the program needs."""
    lab = world.lab
    world.plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "net"}})
    leader = controller(lab.client, world.plane, "a")
    leader.settings["egress"] = {"enabled": True, "image": AGENT}
    leader.write_config()
    leader.start()
    made = objects.egress(gateways=None)
    made["metadata"]["namespace"] = "net"
    world.plane.put(made)
    name = wait(lambda: [pod for namespace, pod in world.pods() if namespace == "net"], "the gateway's pod", 60)[0]
    gateway = world.containers.pod(name, namespace="net")
    [sent] = world.create(pod_object("leaver", lab.nodes[0].role,
                                     annotations={"egress.coil.cybozu.com/net": "nat"}))
    serve(lab.client, PORT + 1)
    for outside, family in ((lab.client.address4, 4), (lab.client.address6, 6)):
        wait_equal(lambda: ask(sent, outside, PORT + 1).peer, gateway.address(family), "the pod to leave by it")
    world.plane.delete(made)
    wait_equal(lambda: [pod for pod in world.pods() if pod[0] == "net"], [], "the end of the gateway", 120)
    assert leader.stop() == 0


def test_a_sandbox_that_dies_is_made_anew(world):
    """The kubelet makes another, and ends the first: addresses change hands, none is lost."""
    node = world.lab.nodes[1]
    [pod] = world.create(pod_object("phoenix", node.role))
    first = pod.container
    [sandbox] = set(world.containers.kubelets[1].tasks()) - {first}
    for pid in pids_of(sandbox):
        os.kill(pid, signal.SIGKILL)

    def anew():
        """The kubelet has noticed, and what runs and is ready is another."""
        status = pod.object()["status"]["containerStatuses"][0]
        return status["ready"] and not status["containerID"].endswith(first)
    wait(anew, "another container", 60)
    after = world.containers.pod("phoenix", "again")
    for family in FAMILIES:
        wait(lambda: node.fetch(after.address(family)), "the pod to answer")
    wait_equal(lambda: (len(world.links(node)), len(world.routes(node))), (1, 2), "one pod's link and routes")


def test_agentd_is_away_when_a_pod_is_made(world):
    """The kubelet tries again by itself. Pods that there are keep their network meanwhile."""
    node = world.lab.nodes[2]
    [before] = world.create(pod_object("before", node.role))
    agent = node.agents[0]
    agent.kill()
    world.plane.put(pod_object("late", node.role))
    wait(lambda: refusals(world, "late"), "the kubelet to say that it can't", 60)
    assert node.ping(before.address(4)) and node.ping(before.address(6))
    agent.start()
    after = world.containers.pod("late")
    for family in FAMILIES:
        assert after.ping(before.address(family))


def refusals(world, pod):
    """What the kubelet says of a pod that it can't make."""
    return [event["note"] for event in world.plane.items("Event")
            if event["regarding"].get("name") == pod and "FailedCreatePodSandBox" in event["reason"]]


def test_a_pool_is_used_up(world):
    """By error 11, in agentd's words with the remedy; when there is room, the pod comes up by itself."""
    node = world.lab.nodes[0]
    subnet = {"ipv4": "10.224.9.0/31", "ipv6": "fd00:224::900/127"}
    few = objects.address_block("few-0", node.role, **subnet, pool="few")
    pool = {"apiVersion": "coil.cybozu.com/v2", "kind": "AddressPool", "metadata": {"name": "few"},
            "spec": {"blockSizeBits": 1, "subnets": [subnet]}}
    world.plane.put(few, pool, {"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "few", "annotations": {"coil.cybozu.com/pool": "few"}}})
    names = ["first", "second", "third"]
    for name in names[:2]:
        world.plane.put(pod_object(name, node.role, namespace="few"))
    pods = [world.containers.pod(name, namespace="few") for name in names[:2]]
    assert {pod.address(4) for pod in pods} == {"10.224.9.0", "10.224.9.1"}
    world.plane.put(pod_object("third", node.role, namespace="few"))
    said = wait(lambda: refusals(world, "third"), "the kubelet to say that it can't", 60)
    assert "no address of the pod's pool is free on this node" in said[0]
    world.plane.api.delete("Pod", "first", "few")
    third = world.containers.pod("third", namespace="few")
    assert third.address(4) == pods[0].address(4) and third.ping(pods[1].address(6))
    world.plane.delete(few, pool)
    world.plane.api.delete("Namespace", "few")


def test_the_api_is_away(world):
    """A sandbox dies meanwhile: the kubelet makes it anew, of a Pod that agentd knows, and it has an address
    at once. The API is back, and nothing has changed."""
    node, kubelet = world.lab.nodes[1], world.containers.kubelets[1]
    [alone] = world.create(pod_object("alone", node.role))
    before = set(kubelet.tasks())
    [sandbox] = before - {alone.container}
    [older] = world.create(pod_object("older", node.role))
    before, routes = set(kubelet.tasks()), set(world.routes(node))
    world.plane.api_server.kill()
    try:
        for pid in pids_of(sandbox):
            os.kill(pid, signal.SIGKILL)
        wait(lambda: len(set(kubelet.tasks()) - before) == 2, "another sandbox and its container", 90)
        fresh = wait(lambda: set(world.routes(node)) - routes or None, "its routes")
        for address in fresh:
            wait(lambda to=address: node.fetch(to), "the pod to answer")
        for family in FAMILIES:
            assert older.ping(next(to for to in fresh if (":" in to) == (family == 6)))
    finally:
        world.plane.start_api_server()
    wait(lambda: {each["ip"] for each in alone.object()["status"]["podIPs"]} == fresh,
         "its addresses to be told", 90)


def holders(world, node):
    """Pods of a node by address, as its agent says it; what the kernel has must be the same."""
    held = {}
    for pod in node.agents[0].json("pods")["items"]:
        for address in pod["addresses"]:
            assert address not in held, f"{address} has two holders: {pod['name']} and {held[address]}"
            held[address] = pod["name"]
    assert set(held) == set(world.routes(node))
    assert 2 * len(world.links(node)) == len(held)
    return held


def addresses_of(*pods):
    return {pod.address(family): pod.pod for pod in pods for family in FAMILIES}


def used(node):
    """Addresses of the node's blocks that are not to be had."""
    return sum(block["used"] for block in node.agents[0].json("pods")["blocks"])


def assert_nothing_wrong(world, node, *pods):
    """The node has these pods and no others."""
    wait_equal(lambda: holders(world, node), addresses_of(*pods), "each pod to have its addresses", 60)
    assert used(node) == len(pods)
    wait_equal(lambda: [fault for fault in node.agents[0].faults() if fault["subsystem"] == "pods"], [], "no fault")


def test_containerd_is_killed(world):
    """What runs goes on. A pod is deleted and one is made while it is away: neither is done, both are then."""
    node, kubelet = world.lab.nodes[1], world.containers.kubelets[1]
    other, kept, _ = world.create(pod_object("asker", world.lab.nodes[0].role), pod_object("kept", node.role),
                                  pod_object("doomed", node.role))
    tasks = kubelet.tasks()
    with kubelet.without_containerd():
        world.plane.api.delete("Pod", "doomed", "default", grace=1)
        world.plane.put(pod_object("new", node.role))
        for family in FAMILIES:
            assert other.fetch(kept.address(family)) == f"kept on {node}\n"
            assert kept.fetch(other.address(family)) == f"asker on {world.lab.nodes[0]}\n"
        assert kubelet.tasks() == tasks
        assert len(world.links(node)) == 2
    new = world.containers.pod("new")
    wait(lambda: ("default", "doomed") not in world.pods(), "the end of the pod that was deleted", 60)
    assert_nothing_wrong(world, node, kept, new)
    assert kept.container in kubelet.tasks()
    for family in FAMILIES:
        assert wait(lambda to=new.address(family): other.fetch(to), "the new pod to answer") == f"new on {node}\n"
        assert other.fetch(kept.address(family)) == f"kept on {node}\n"


def test_shims_are_killed(world):
    """Their pods end with them, and are made anew: alone, and while containerd is away."""
    node, kubelet = world.lab.nodes[2], world.containers.kubelets[2]
    [other] = world.create(pod_object("watcher", world.lab.nodes[0].role))
    pods = world.create(pod_object("shim-one", node.role), pod_object("shim-two", node.role))
    for turn, away in enumerate((False, True)):
        before = {pod.container for pod in pods}
        if away:
            with kubelet.without_containerd():
                kubelet.kill(SHIM)
                wait(lambda: not kubelet.processes(SHIM), "the end of the shims")
        else:
            kubelet.kill(SHIM)

        def anew():
            """Each runs, in another container."""
            states = [pod.object()["status"]["containerStatuses"][0] for pod in pods]
            return all(state["ready"] and state["containerID"].rpartition("/")[2] not in before for state in states)
        wait(anew, "other containers", 120)
        pods = [world.containers.pod(pod.pod, f"{pod.pod}-{turn}") for pod in pods]
        assert_nothing_wrong(world, node, *pods)
        for pod in pods:
            for family in FAMILIES:
                assert wait(lambda to=pod.address(family): other.fetch(to), "the pod to answer")
