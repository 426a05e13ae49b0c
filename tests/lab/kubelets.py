# SPDX-License-Identifier: Apache-2.0
"""The parts of a cluster that the lab plays: the kubelets of its nodes, and the scheduler.

A Pod object of the API becomes a pod of the lab with a web server in it, on the node with the
fewest of them that may take it; its status says what a kubelet's would. A Pod that is being deleted
stays until its grace is over, or `grace` if that is shorter, and then goes, network and all.
Pods are dealt with in one thread, from what a watch says; after any trouble all is listed anew.
"""

import datetime
import threading
import time

from .kube_api import ApiError, all_of, path_of

HEARTBEAT = 10  # seconds
NOT_NOW = (ApiError, OSError, ValueError)


def now(form="%Y-%m-%dT%H:%M:%SZ"):
    return datetime.datetime.utcnow().strftime(form)


def condition(kind, true):
    return {"type": kind, "status": "True" if true else "False", "lastTransitionTime": now(),
            "lastHeartbeatTime": now()}


def node_status(node):
    addresses = [{"type": "InternalIP", "address": a} for a in (node.address4, node.address6)]
    resources = {"cpu": "8", "memory": "16Gi", "pods": "31"}
    return {
        "addresses": addresses + [{"type": "Hostname", "address": node.role}],
        "capacity": resources,
        "allocatable": resources,
        "conditions": [{**condition("Ready", True), "reason": "KubeletReady"}],
    }


def pod_status(object_, pod, node, ready):
    conditions = [{"type": kind, "status": "True" if kind in ("Initialized", "PodScheduled") or ready
                   else "False", "lastTransitionTime": now()}
                  for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    return {
        "phase": "Running",
        "hostIP": node.address4,
        "hostIPs": [{"ip": node.address4}, {"ip": node.address6}],
        "podIP": pod.address4,
        "podIPs": [{"ip": pod.address4}, {"ip": pod.address6}],
        "startTime": now(),
        "conditions": conditions,
        "containerStatuses": [
            {"name": container["name"], "image": container["image"], "imageID": "lab",
             "ready": ready, "started": True, "restartCount": 0,
             "state": {"running": {"startedAt": now()}}}
            for container in object_["spec"]["containers"]
        ],
    }


def key_of(pod):
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


class Kubelets:
    """Plays for all nodes of a lab from start() to stop()."""

    def __init__(self, lab, plane, grace=1):
        self.lab = lab
        self.api = plane.api
        self.grace = grace
        self.nodes = {node.role: node for node in lab.nodes}
        self.bound = {}  # node names of Pods, by namespace and name
        self.pods = {}  # the lab's pod and its Node, likewise
        self.unready = set()  # keys of pods whose probes fail
        self.ending = {}  # by key: when the pod goes
        self.threads = []
        self.stopping = threading.Event()

    def start(self):
        for node in self.nodes.values():
            self.register(node)
        for work in (self._beat, self._watch_pods):
            thread = threading.Thread(target=self._forever, args=(work,), daemon=True)
            thread.start()
            self.threads.append(thread)
        return self

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def register(self, node):
        """Creates the Node, and what else objects_of() names."""
        for item in self.objects_of(node):
            self.api.apply(item)
        self.api.request("PATCH", path_of("Node", name=node.role) + "/status",
                         {"status": node_status(node)}, "application/merge-patch+json")

    # What another kind of kubelets does in its own way.

    def objects_of(self, node):
        """The Node and the blocks that Coil would carve for it."""
        return node.objects()

    def make(self, node, pod):
        """The lab's pod for a Pod; asked again after what is in NOT_NOW."""
        return self.lab.pod(node, key_of(pod)[1])

    def unmake(self, made):
        self.lab.remove_pod(made)

    def set_ready(self, pod, ready, namespace="default"):
        """Lets the probe of a Pod fail, or succeed again."""
        key = (namespace, pod)
        (self.unready.discard if ready else self.unready.add)(key)
        self._say(self.api.get(path_of("Pod", *key)))

    def _forever(self, work):
        while not self.stopping.is_set():
            try:
                work()
            except NOT_NOW:
                self.stopping.wait(0.3)

    def _beat(self):
        for name in self.nodes:
            stamp = now("%Y-%m-%dT%H:%M:%S.%fZ")
            self.api.apply({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": stamp},
            })
        self.stopping.wait(HEARTBEAT)

    def _events(self):
        """All Pods as they are, then as they change; ends with the watch, which a second's silence
        ends too."""
        answer = self.api.get(all_of("Pod"))
        for item in answer["items"]:
            yield "ADDED", item
        yield "SYNCED", None
        yield from self.api.watch(all_of("Pod"), answer["metadata"]["resourceVersion"], timeout=1)

    def _watch_pods(self):
        seen = set()
        for kind, pod in self._events():
            if kind == "SYNCED":
                for key in set(self.pods) - seen:
                    self._remove(key)
            elif kind == "DELETED":
                self._remove(key_of(pod))
            elif kind in ("ADDED", "MODIFIED"):
                seen.add(key_of(pod))
                self._settle(pod)
            self._end_due()
            if self.stopping.is_set():
                return

    def _settle(self, pod):
        key = key_of(pod)
        if "deletionTimestamp" in pod["metadata"]:
            grace = min(self.grace, pod["metadata"].get("deletionGracePeriodSeconds", 0))
            self.ending.setdefault(key, time.monotonic() + grace)
        elif not pod["spec"].get("nodeName"):
            self._bind(pod)
        elif key not in self.pods and pod["spec"]["nodeName"] in self.nodes:
            self.bound[key] = pod["spec"]["nodeName"]
            self._run(pod)

    def _bind(self, pod):
        free = [item["metadata"]["name"] for item in self.api.items("Node")
                if not item["spec"].get("unschedulable")]
        if not free:
            return
        namespace, name = key_of(pod)
        target = min(free, key=list(self.bound.values()).count)
        self.bound[namespace, name] = target
        self.api.request("POST", path_of("Pod", namespace, name) + "/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": target},
        })

    def _run(self, pod):
        node = self.nodes[pod["spec"]["nodeName"]]
        self.pods[key_of(pod)] = self.make(node, pod), node
        self.pods[key_of(pod)][0].serve()
        self._say(pod)

    def _say(self, pod):
        key = key_of(pod)
        status = pod_status(pod, *self.pods[key], key not in self.unready)
        self.api.request("PATCH", path_of("Pod", *key) + "/status", {"status": status},
                         "application/merge-patch+json")

    def _end_due(self):
        for key, when in list(self.ending.items()):
            if time.monotonic() < when:
                continue
            self._remove(key)
            try:
                self.api.delete("Pod", key[1], key[0], grace=0)
            except ApiError as error:
                if error.status != 404:
                    raise
            del self.ending[key]

    def _remove(self, key):
        self.bound.pop(key, None)
        if key in self.pods:
            pod, _ = self.pods.pop(key)
            self.unready.discard(key)
            self.unmake(pod)
