# SPDX-License-Identifier: Apache-2.0
"""The demo on a cluster: a real API server with its controllers and scheduler, and on each node a real
kubelet with containerd and runc (containers.py). Their pods get addresses by agent-cni and agentd, out of
blocks that agent-controller gives the nodes; the Service gets its own out of a pool.
"""

import json

from . import demo_egress, objects
from .containers import ContainerPod, Containers, pod_object
from .controller import Controller
from .images import IMAGE
from .showing import expect, expect_via, health, lasting, pages_of, say, show
from .traffic import serve

ADDRESSES = ("203.0.113.10", "fd00:203::10")
OUTSIDE = {"egress.coil.cybozu.com/internet": "nat"}
OVERRIDES = {"spec": {"externalTrafficPolicy": "Local", "ipFamilyPolicy": "RequireDualStack"}}
POOL = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
        "metadata": {"name": "lb", "namespace": "default"},
        "spec": {"addresses": ["203.0.113.10-203.0.113.20", "fd00:203::10-fd00:203::20"]}}
BLOCKS = {"apiVersion": "coil.cybozu.com/v2", "kind": "AddressPool", "metadata": {"name": "default"},
          "spec": {"blockSizeBits": 5, "subnets": [{"ipv4": "10.224.0.0/24", "ipv6": "fd00:224::/120"}]}}
# One on each node if both take pods, and both on one if one is drained.
SPREAD = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
           "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "web"}}}]


def deployment(replicas):
    container = {"name": "web", "image": IMAGE, "imagePullPolicy": "Never", "command": ["/web"],
                 "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                 "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}}
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}},
                                  "spec": {"containers": [container], "terminationGracePeriodSeconds": 1,
                                           "automountServiceAccountToken": False,
                                           "topologySpreadConstraints": SPREAD}}}}


def compact(document):
    return json.dumps(document, separators=(",", ":"))


def url(address):
    return f"http://[{address}]" if ":" in address else f"http://{address}"


def start(lab):
    say("A ToR, two nodes and a client stand, each in a network namespace, and behind the ToR a\n"
        "control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.")
    lab.wait_sessions()
    plane = lab.control_plane()
    # The cluster's own examples want images of a registry, which there is none of.
    plane.kubectl("delete", "deployments,daemonsets", "--all", "-n", "kube-system")
    give_addresses(lab, plane)
    for node in lab.nodes:
        lab.agent(node, kubeconfig=plane.agent_kubeconfig(node), pods={"enabled": True},
                  egress={"enabled": True}, bird={"socket": str(node.bird.socket)})
    say("agentd runs on both nodes, and agent-cni is installed. Now a kubelet with containerd starts on\n"
        "each, and brings its Node to the API:")
    with lasting("starting kubelets"):
        lab.containers = Containers(lab, plane).start()
    show(lab, "kubectl get nodes -o wide")


def give_addresses(lab, plane):
    """The controller runs beside the nodes, and has pools to give addresses of."""
    leader = Controller(lab.nodes[0], "demo", plane.controller_kubeconfig("demo")).start()
    expect("agent-controller leads", leader.leads, True)
    plane.put(POOL, BLOCKS)
    say("There are pools of LoadBalancer addresses, and of blocks of addresses of pods:")
    show(lab, "kubectl get ipaddresspools,addresspools")


def web_pods(lab):
    """Those of the Deployment that the API knows to be ready and not about to end: {name: node}."""
    found = {}
    for item in lab.plane.items("Pod"):
        meta, ready = item["metadata"], {each["type"] for each in item["status"].get("conditions", [])
                                         if each["status"] == "True"}
        if meta.get("labels", {}).get("app") == "web" and "Ready" in ready and "deletionTimestamp" not in meta:
            found[meta["name"]] = item["spec"]["nodeName"]
    return found


def expect_served_by(lab, *nodes):
    """Both addresses via these nodes, and pages of all pods by them."""
    for address in ADDRESSES:
        expect_via(lab, address, set(nodes))
    for address in ADDRESSES if nodes else ():
        expect(f"{url(address)} gives pages of every pod", lambda: pages_of(lab, address, 40),
               {f"{pod} on {node}\n" for pod, node in web_pods(lab).items()})


def wait_pods(lab, *nodes):
    """Waits until just these nodes have pods, one for each time that they are named."""
    expect(f"pods on {' and '.join(nodes) or 'no node'}", lambda: sorted(web_pods(lab).values()), sorted(nodes))


def create(lab):
    say("A Deployment and a Service are created. The scheduler spreads the pods; each kubelet calls agent-cni,\n"
        "which gets addresses of agentd, which asks agent-controller for a block; the Service gets its\n"
        "addresses out of the pool:")
    lab.plane.put(deployment(2))
    show(lab, "kubectl expose deployment web --port=80 --type=LoadBalancer "
              f"--overrides={compact(OVERRIDES)}")
    wait_pods(lab, "node1", "node2")
    show(lab, "kubectl get nodes,addressblocks")
    for block in lab.plane.items("AddressBlock"):
        for family in ("ipv4", "ipv6"):
            expect_via(lab, block[family], {block["metadata"]["labels"]["coil.cybozu.com/node"]})
    expect_served_by(lab, "node1", "node2")
    show(lab, "kubectl get pods,services,endpointslices -o wide")
    show(lab, "agentctl-node1 pods")
    show(lab, "birdc-tor show route table master4")
    show(lab, "agentctl-node1 services")


def reach(lab):
    say("Pods of both nodes reach each other, and the client reaches each pod:")
    pods = [ContainerPod(lab, lab.plane, "default", name) for name in sorted(web_pods(lab))]
    for there in pods:
        for family in (4, 6):
            page = f"{there.pod} on {web_pods(lab)[there.pod]}\n"
            for here in (*pods, lab.client):
                expect(f"{here} has the page of {url(there.address(family))}",
                       lambda: here.fetch(there.address(family)), page)


def leave(lab):
    say("A router joins as a gateway: an Egress says which Nodes are, and a pod names it by an annotation.\n"
        "The client is the host outside now, and sees the gateway's address instead of the pod's:")
    router = demo_egress.Router(lab, 1)
    lab.plane.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "internet"}},
                  router.object(), objects.egress())
    lab.agent(router, kubeconfig=lab.plane.agent_kubeconfig(router), services={"enabled": False},
              egress={"gateway": {}})
    serve(lab.client, demo_egress.PORT)
    lab.plane.put(pod_object("leaver", lab.nodes[0].role, annotations=OUTSIDE))
    pod = lab.containers.pod("leaver")
    for outside, gateway in ((lab.client.address4, router.address4), (lab.client.address6, router.address6)):
        expect(f"{pod} is seen as {gateway}, the router", lambda: demo_egress.seen(pod, outside), gateway)
    show(lab, "agentctl-node1 egress")
    show(lab, "kubectl delete pod leaver")


def scale(lab):
    say("One pod is enough: the Service is Local, so its addresses leave the other node.")
    show(lab, "kubectl scale deployment web --replicas=1")
    expect("one pod", lambda: len(web_pods(lab)), 1)
    expect_served_by(lab, *web_pods(lab).values())
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


def left(lab):
    """Of pods, on the nodes: links by their aliases, and routes."""
    return [(node.role, link["ifname"]) for node in lab.nodes for link in node.ip_json("link")
            if link.get("ifalias", "").startswith("COIL:")] + [
        (node.role, route["dst"]) for node in lab.nodes for family in ("-4", "-6")
        for route in node.ip_json(family, "route", "show", "proto", "30", "table", "main")]


def delete(lab):
    say("The Service is deleted, and its addresses leave the ToR; then the Deployment, and nothing is left\n"
        "of its pods on the nodes.")
    show(lab, "kubectl delete service web")
    expect_served_by(lab)
    show(lab, "kubectl delete deployment web")
    wait_pods(lab)
    expect("no interface and no route of a pod on any node", lambda: left(lab), [])


STEPS = (start, create, reach, leave, scale, drain, in_sync, delete)
