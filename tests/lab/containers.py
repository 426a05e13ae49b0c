# SPDX-License-Identifier: Apache-2.0
"""Real kubelets: each node of the lab runs Kubernetes' own, with Debian's containerd and runc below it,
and a scheduler gives them work. Pods get their network by agent-cni, installed as an operator does it,
from the node's agentd.

All that runs on a node is in one process and mount namespace whose first process is a script: when
that ends, of whatever cause, so do containers and mounts. What a kubelet writes for the whole machine
(sysctls) goes to files that are mounted over them. Only control groups outlive it: reaper.py removes them.
"""

import contextlib
import json
import os
import signal
from pathlib import Path

import yaml

from .agent import build_folder, program
from .images import PAUSE, lab_image
from .kube_api import path_of
from .kube_programs import program as kube_program
from .namespace import Namespace
from .reaper import TASKS, groups_of
from .wait import wait

LOOPBACK = Path("/usr/lib/cni/loopback")  # containerd wants it, of Debian's containernetworking-plugins
# What a kubelet sets, by the value that it sets it to.
SYSCTLS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
           "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
NO_SNAPSHOTS = ("aufs", "btrfs", "devmapper", "zfs")

SCRIPT = """#!/bin/sh
# The first process of a node. As a service manager, it starts again what ends.
set -e
hostname {node}
# Folders that have no setting, and that three nodes would share.
for folder in /run/containerd /var/lib/cni /var/lib/kubelet /var/log/containers; do
    mkdir -p "$folder"
    mount -t tmpfs tmpfs "$folder"
done
mount -t bpf bpf /sys/fs/bpf
{mounts}
keep() {{
    log=$1
    shift
    while :; do
        "$@" >>"$log" 2>&1 || sleep 1
        while [ -e "$log.hold" ]; do
            sleep 0.1
        done
    done
}}
keep {folder}/containerd.log containerd --config {folder}/containerd.toml &
until ctr -a {socket} version >/dev/null 2>&1; do
    sleep 0.1
done
for image in {images}; do
    ctr -a {socket} -n k8s.io images import "$image"
done
keep {folder}/kubelet.log {kubelet} &
wait
"""


def containerd_config(folder, socket):
    quoted = ", ".join(f'"io.containerd.snapshotter.v1.{name}"' for name in NO_SNAPSHOTS)
    return f"""version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
disabled_plugins = [{quoted}, "io.containerd.internal.v1.opt", "io.containerd.internal.v1.restart"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_tcp_service = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{folder}/cni/bin"
    conf_dir = "{folder}/cni/conf"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def kubelet_config(folder, socket):
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{socket}",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [], "failSwapOn": False, "failCgroupV1": False,
        "evictionHard": {name: "0%" for name in (
            "memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available")},
        "imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": False,
        "podLogsDir": str(folder / "logs"), "volumePluginDir": str(folder / "volumes"),
        "resolvConf": "", "makeIPTablesUtilChains": False, "healthzPort": 0,
        "nodeStatusUpdateFrequency": "5s", "syncFrequency": "10s",
    }


def conflist(socket):
    """Debian's containerd knows no CNI 1.1.0."""
    return {"cniVersion": "1.0.0", "name": "k8s-pod-network",
            "plugins": [{"type": "agent-cni", "socket": str(socket)}]}


def pids_of(container):
    """Its processes, by the control group that runc has put them into."""
    for path in groups_of(container):
        return [int(pid) for pid in (path / "cgroup.procs").read_text(encoding="ascii").split()]
    return []


class Kubelet:
    """One node's, from start() on. `agent`: of this node, with pods; `images`: archives besides the
    lab's own."""

    def __init__(self, lab, plane, node, agent, images=()):
        self.node, self.plane, self.agent = node, plane, agent
        self.folder = node.folder / "kubelet"
        self.socket = self.folder / "containerd.sock"
        self.images = [lab_image(), *images]
        self.process = None

    def install(self):
        """agent-cni, as its man page says; it brings the list last."""
        bin_folder, conf = self.folder / "cni" / "bin", self.folder / "cni" / "conf"
        for path in (bin_folder, conf):
            path.mkdir(parents=True)
        (bin_folder / "loopback").symlink_to(LOOPBACK)
        source = self.folder / "10-fingerpost.conflist"
        source.write_text(json.dumps(conflist(self.agent.socket)), encoding="ascii")
        plugin = build_folder() / "agent" / "cni" / "agent-cni"
        self.node.run(str(plugin), "install", f"--bin-dir={bin_folder}", f"--conf-dir={conf}",
                      f"--conflist={source}")

    def command(self):
        # The API server has no authorizer of nodes, so that a node's own group may do nothing.
        user = self.plane.kubeconfig(f"kubelet-{self.node}", f"system:node:{self.node}", ["system:masters"])
        return " ".join([
            kube_program("kubelet"), f"--config={self.folder / 'kubelet.yaml'}", f"--kubeconfig={user}",
            f"--hostname-override={self.node}", f"--root-dir={self.folder / 'root'}",
            f"--cert-dir={self.folder / 'pki'}", f"--node-ip={self.node.address4},{self.node.address6}"])

    def write(self):
        self.folder.mkdir()
        self.install()
        (self.folder / "containerd.toml").write_text(containerd_config(self.folder, self.socket))
        config = kubelet_config(self.folder, self.socket)
        (self.folder / "kubelet.yaml").write_text(yaml.safe_dump(config))
        mounts = []
        for name, value in SYSCTLS.items():
            path = self.folder / name.replace("/", "-")
            path.write_text(f"{value}\n")
            mounts.append(f"mount --bind {path} /proc/sys/{name}")
        script = self.folder / "init"
        script.write_text(SCRIPT.format(
            node=self.node, mounts="\n".join(mounts), folder=self.folder, socket=self.socket,
            images=" ".join(map(str, self.images)), kubelet=self.command()))
        script.chmod(0o755)

    def start(self):
        if not self.folder.exists():
            self.write()
        self.process = self.node.start(
            "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
            str(self.folder / "init"), log="kubelet/init.log")
        return self

    def ready(self):
        """Whether the node can be given pods; an error if it has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the node ended: see {self.folder}/*.log")
        conditions = self.plane.api.get(path_of("Node", name=self.node.role))["status"]["conditions"]
        return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

    def tasks(self):
        """Names of the containers that run, the pods' first ones included, and their processes."""
        folder = self.node.folder / TASKS
        return {path.name: pids_of(path.name) for path in folder.iterdir()} if folder.exists() else {}

    def processes(self, name):
        """Of a program on this node: of containerd, or of the shims that it has for pods."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_text(encoding="utf-8").split("\0")
            except OSError:
                continue  # it has ended
            if Path(words[0]).name == name and any(word.startswith(str(self.folder)) for word in words):
                found.append(int(path.parent.name))
        return found

    def kill(self, name):
        for pid in self.processes(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def without_containerd(self):
        """It is killed, and does not come back as long as this lasts."""
        hold = self.folder / "containerd.log.hold"
        hold.touch()
        try:
            self.kill("containerd")
            wait(lambda: not self.processes("containerd"), "the end of containerd")
            yield
        finally:
            hold.unlink()

    def stop(self):
        """As a power cut does it: what runs in its namespaces ends with the first process."""
        self.process.kill()
        self.process.wait()


class ContainerPod(Namespace):
    """A pod's network, as seen from a container of it that runs now. `role`: to be called by, where the
    pod's own name is taken."""

    def __init__(self, lab, plane, namespace, name, role=None):
        super().__init__(lab.label, role or f"pod-{name}", lab.folder / "containers")
        self.plane, self.namespace, self.pod = plane, namespace, name
        status = self.object()["status"]
        self.addresses = {6 if ":" in each["ip"] else 4: each["ip"] for each in status["podIPs"]}
        self.container = status["containerStatuses"][0]["containerID"].rpartition("/")[2]

    def object(self):
        return self.plane.api.get(path_of("Pod", self.namespace, self.pod))

    def address(self, family):
        return self.addresses[family]

    def handle(self):
        """By one of its processes."""
        return f"/proc/{pids_of(self.container)[0]}/ns/net"


def pod_object(name, node=None, command=("/web",), namespace="default", annotations=None, **spec):
    """A pod of the lab's image; without a node the scheduler finds it one."""
    environment = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name},
                     "annotations": annotations or {}},
        "spec": {
            "containers": [{"name": "main", "image": "fingerpost.lab/pods:1", "command": list(command),
                            "imagePullPolicy": "Never", "env": environment}],
            "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
            **({"nodeName": node} if node else {}), **spec,
        },
    }


class Containers:
    """Kubelets of all nodes of a lab that have an agent, and the scheduler."""

    def __init__(self, lab, plane):
        self.lab, self.plane = lab, plane
        self.kubelets = []
        self.scheduler = None

    def start(self, images=()):
        for node in self.lab.nodes:
            self.kubelets.append(Kubelet(self.lab, self.plane, node, node.agents[0], images).start())
        user = self.plane.kubeconfig("scheduler", "system:kube-scheduler", ["system:masters"])
        self.scheduler = self.plane.host.start(
            kube_program("kube-scheduler"), f"--kubeconfig={user}", f"--authentication-kubeconfig={user}",
            f"--authorization-kubeconfig={user}", "--leader-elect=false", log="kube-scheduler.log")
        for kubelet in self.kubelets:
            wait(kubelet.ready, f"{kubelet.node} to be ready", 120)
        return self

    def pod(self, name, role=None, namespace="default"):
        """A pod that runs, and is ready."""
        def runs():
            status = self.plane.api.get(path_of("Pod", namespace, name)).get("status", {})
            return any(item["type"] == "Ready" and item["status"] == "True"
                       for item in status.get("conditions", ()))
        wait(runs, f"pod {name} to be ready", 60)
        return ContainerPod(self.lab, self.plane, namespace, name, role)
