# SPDX-License-Identifier: Apache-2.0
"""A node and pods as network namespaces, and the plugin run as a runtime does."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from lab.agent import REPOSITORY, build_folder
from lab.namespace import Namespace
from played import PlayedAgent

PLUGIN = Path(build_folder(), "agent", "cni", "agent-cni")
GOLDEN = Path(__file__).parent / "golden"


class Refusal(Exception):
    """The plugin failed, by its own document."""

    def __init__(self, document):
        super().__init__(json.dumps(document))
        self.code, self.message, self.remedy = (document[key] for key in ("code", "msg", "details"))
        self.document = document


class Node:
    """A namespace in which plugins run; `agent` is what they ask, if there is one."""

    def __init__(self, host, folder):
        self.host, self.folder = host, folder
        self.socket = folder / "agentd.sock"
        self.pods, self.agent = [], None

    def pod(self, name):
        pod = Namespace(self.host.name, name, self.folder)
        pod.create(forwarding=False)
        self.pods.append(pod)
        return pod

    def play_agent(self):
        self.agent = PlayedAgent(self.socket, self.host)
        return self.agent

    def stop_agent(self):
        self.agent.close()
        self.socket.unlink()
        self.agent = None

    def config(self, version="1.0.0", **more):
        return {"cniVersion": version, "name": "pods", "type": "agent-cni", "socket": str(self.socket),
                **more}

    def environment(self, command, pod, container, interface="eth0", **more):
        netns = f"/run/netns/{pod.name}" if pod else ""
        return {
            "CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_IFNAME": interface,
            "CNI_NETNS": netns, "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-1;"
                        f"K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID=uid-1;K8S_FUTURE=1",
            **more,
        }

    def start(self, environment, config, *wrapper):
        """A plugin that runs; its standard input is written already."""
        with self.host.entered():
            process = subprocess.Popen(
                [*wrapper, str(PLUGIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        try:
            process.stdin.write(config if isinstance(config, str) else json.dumps(config))
            process.stdin.close()
        except BrokenPipeError:
            pass  # it ended before it read: its status says so
        process.stdin = None
        return process

    def end(self, process):
        """What it answered, as a document; None if that is nothing."""
        output, errors = process.communicate(timeout=120)
        assert errors == ""
        document = json.loads(output) if output else None
        if process.returncode != 0:
            assert process.returncode == 1 and document, (process.returncode, output)
            raise Refusal(document)
        return document

    def call(self, command, pod, container, version="1.0.0", environment=None, **config):
        return self.end(self.start(self.environment(command, pod, container, **(environment or {})),
                                   self.config(version, **config)))

    def links(self):
        return sorted(link["ifname"] for link in self.host.ip_json("link"))

    def close(self):
        if self.agent:
            self.agent.close()
        for pod in self.pods:
            if pod.exists():
                pod.remove()


@pytest.fixture(name="node")
def node_fixture(request, tmp_path):
    label = f"cni{os.getpid()}"
    host = Namespace(label, "node", tmp_path)
    host.create(forwarding=True)
    host.configure("link add up0 type veth peer name up1", "link set up0 up", "link set up1 up",
                   "addr add 192.0.2.7/24 dev up0")
    node = Node(host, tmp_path)
    yield node
    node.close()
    host.remove()


@pytest.fixture(name="agent")
def agent_fixture(node):
    return node.play_agent()


@pytest.fixture(name="pod")
def pod_fixture(node):
    return node.pod("pod")
