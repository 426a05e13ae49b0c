# SPDX-License-Identifier: Apache-2.0
"""Kubelets whose pods get their network from us: agent-cni makes it, the node's agent gives the addresses."""

import json
import os
import subprocess

from .agent import build_folder
from .kubelets import Kubelets, key_of
from .lab import serve_page
from .namespace import Namespace


class PluginFailed(ValueError):
    """A runtime tries again later, as after an error of the API."""


class PluginPod(Namespace):
    """A sandbox, from the runtime's view: ADD until it has been done, DEL at the end."""

    def __init__(self, lab, node, pod):
        self.namespace, self.pod_name = key_of(pod)
        super().__init__(lab.label, f"pod-{self.pod_name}", lab.folder)
        self.node, self.uid = node, pod["metadata"]["uid"]
        self.create(forwarding=False)
        self.address4 = self.address6 = None

    def call(self, command):
        """What the plugin printed."""
        environment = {
            **os.environ, "CNI_COMMAND": command, "CNI_CONTAINERID": self.uid, "CNI_IFNAME": "eth0",
            "CNI_NETNS": f"/run/netns/{self.name}", "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": f"K8S_POD_NAMESPACE={self.namespace};K8S_POD_NAME={self.pod_name};K8S_POD_UID={self.uid}"}
        config = {"cniVersion": "1.1.0", "name": "pods", "type": "agent-cni",
                  "socket": str(self.node.agents[0].socket)}
        with self.node.entered():
            process = subprocess.Popen([str(build_folder() / "agent" / "cni" / "agent-cni")], env=environment,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        output, _ = process.communicate(json.dumps(config), timeout=120)
        if process.returncode:
            raise PluginFailed(f"{command} of {self.pod_name}: {output}")
        return json.loads(output) if output else {}

    def add(self):
        given = [ip["address"].split("/")[0] for ip in self.call("ADD")["ips"]]
        self.address4, self.address6 = ([ip for ip in given if (":" in ip) == six][0] for six in (False, True))

    def serve(self, port=80):
        return serve_page(self, port, f"{self.role} on {self.node}")

    def remove(self):
        """Without an agent the plugin takes the interface away itself."""
        self.call("DEL")
        super().remove()


class WiredKubelets(Kubelets):
    """Needs agents with `pods.enabled`, the first of each node, and blocks for them."""

    def __init__(self, lab, plane, grace=1):
        super().__init__(lab, plane, grace)
        self.sandboxes = {}  # whose ADD has not been done, by key

    def objects_of(self, node):
        return [item for item in node.objects() if item["kind"] == "Node"]

    def make(self, node, pod):
        key = key_of(pod)
        if key not in self.sandboxes:
            self.sandboxes[key] = PluginPod(self.lab, node, pod)
        self.sandboxes[key].add()
        return self.sandboxes.pop(key)

    def unmake(self, made):
        made.remove()

    def _remove(self, key):
        if key in self.sandboxes:
            self.sandboxes.pop(key).remove()
        super()._remove(key)
