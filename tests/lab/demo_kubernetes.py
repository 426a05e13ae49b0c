# SPDX-License-Identifier: Apache-2.0
"""The demo on a cluster: a real API server with its controllers, and kubectl.

The nodes' kubelets and the scheduler are played (kubelets.py); agent-controller gives the Service
its addresses.
"""

import json

from .controller import Controller
from .showing import expect, expect_via, health, pages_of, say, show

ADDRESSES = ("203.0.113.10", "fd00:203::10")
OVERRIDES = {"spec": {"externalTrafficPolicy": "Local", "ipFamilyPolicy": "RequireDualStack"}}
POOL = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
        "metadata": {"name": "lb", "namespace": "default"},
        "spec": {"addresses": ["203.0.113.10-203.0.113.20", "fd00:203::10-fd00:203::20"]}}


def compact(document):
    return json.dumps(document, separators=(",", ":"))


def url(address):
    return f"http://[{address}]" if ":" in address else f"http://{address}"


def start(lab):
    say("A ToR, two nodes and a client stand, each in a network namespace, and behind the ToR a\n"
        "control plane: etcd, kube-apiserver, kube-controller-manager.")
    lab.wait_sessions()
    plane = lab.control_plane()
    lab.play_kubelets()
    show(lab, "kubectl get nodes,addressblocks -o wide")
    for node in lab.nodes:
        lab.agent(node, kubeconfig=plane.agent_kubeconfig(node),
                  bird={"socket": str(node.bird.socket)})
    say("agentd runs on both nodes and watches the API. The ToR has each node's pod blocks:")
    for node in lab.nodes:
        expect_via(lab, node.block4, {node.role})
        expect_via(lab, node.block6, {node.role})
    give_addresses(lab, plane)


def give_addresses(lab, plane):
    """The controller runs beside the nodes, and has a pool to give addresses of."""
    leader = Controller(lab.nodes[0], "demo", plane.controller_kubeconfig("demo")).start()
    expect("agent-controller leads", leader.leads, True)
    plane.put(POOL)
    say("There is a pool of LoadBalancer addresses:")
    show(lab, "kubectl get ipaddresspools")


def web_pods(node):
    """Not those of the cluster's own Deployments, which run on the nodes, too."""
    return [pod for pod in node.pods.values() if pod.role.startswith("pod-web")]


def pods_of(lab):
    return {f"{pod.role} on {node}\n" for node in lab.nodes for pod in web_pods(node)}


def expect_served_by(lab, *nodes):
    """Both addresses via these nodes, and pages of all pods by them."""
    for address in ADDRESSES:
        expect_via(lab, address, set(nodes))
    for address in ADDRESSES if nodes else ():
        expect(f"{url(address)} gives pages of every pod", lambda: pages_of(lab, address, 40),
               pods_of(lab))


def wait_pods(lab, *nodes):
    """Waits until just these nodes have pods, one for each time that they are named."""
    def where():
        return sorted(node.role for node in lab.nodes for _ in web_pods(node))
    expect(f"pods on {' and '.join(nodes) or 'no node'}", where, sorted(nodes))


def create(lab):
    say("A Deployment and a Service are created; the Service gets its addresses out of the pool:")
    show(lab, "kubectl create deployment web --image=web --replicas=2")
    show(lab, "kubectl expose deployment web --port=80 --type=LoadBalancer "
              f"--overrides={compact(OVERRIDES)}")
    wait_pods(lab, "node1", "node2")
    expect_served_by(lab, "node1", "node2")
    show(lab, "kubectl get pods,services,endpointslices -o wide")
    show(lab, "birdc-tor show route table master4")
    show(lab, "agentctl-node1 services")


def scale(lab):
    say("One pod is enough: the Service is Local, so its addresses leave the other node.")
    show(lab, "kubectl scale deployment web --replicas=1")
    expect("one pod", lambda: sum(len(web_pods(node)) for node in lab.nodes), 1)
    expect_served_by(lab, *[node.role for node in lab.nodes if web_pods(node)])
    say("Two again:")
    show(lab, "kubectl scale deployment web --replicas=2")
    wait_pods(lab, "node1", "node2")
    expect_served_by(lab, "node1", "node2")


def drain(lab):
    say("node1 is drained: its pod moves to node2, and so do the addresses.")
    show(lab, "kubectl drain node1 --ignore-daemonsets --delete-emptydir-data")
    wait_pods(lab, "node2", "node2")
    expect_served_by(lab, "node2")
    show(lab, "kubectl uncordon node1")


def in_sync(lab):
    health(lab)
    for node in lab.nodes:
        expect(f"agentd on {node} is in sync with the API",
               lambda: node.agents[0].json("status")["sources"][0]["synced"], True)


def delete(lab):
    say("The Service is deleted, and its addresses leave the ToR; then the Deployment.")
    show(lab, "kubectl delete service web")
    expect_served_by(lab)
    show(lab, "kubectl delete deployment web")
    wait_pods(lab)


STEPS = (start, create, scale, drain, in_sync, delete)
