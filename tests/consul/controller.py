# SPDX-License-Identifier: Apache-2.0
"""agent-controller as a process of a test, and objects for it to export."""

import os
import signal
import subprocess
from pathlib import Path

import yaml
from consul import free_ports

from lab.agent import build_folder
from lab.wait import wait

KSE = "kube-service-exporter.github.com/"
PREFIX = "kube-service-exporter"


def service(name, ports=(("http", 80, 32046),), namespace="default", exported="true", kind="NodePort",
            spec=None, status=None, **annotations):
    """An exported Service; annotations of kube-service-exporter by their names with '_' for '-'."""
    notes = {KSE + key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": namespace,
                     "annotations": {KSE + "exported": exported, **notes}},
        "spec": {"type": kind, "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
                 "ports": [{"name": of, "port": port, "nodePort": node, "protocol": "TCP"}
                           for of, port, node in ports], **(spec or {})},
        "status": status or {},
    }


def node(name, address, ready=True, labels=None, annotations=None, **spec):
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        "spec": spec,
        "status": {"addresses": [{"type": "InternalIP", "address": address}],
                   "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def key_of(name, port="http", cluster="transformers", namespace="default", per_cluster=True):
    start = f"{cluster}-" if per_cluster else ""
    return f"{PREFIX}/services/{start}{namespace}-{name}-{port}/clusters/{cluster}"


class Controller:
    """`export`: the section consul of its configuration; `environment`: beside it, or instead."""

    def __init__(self, folder, kube, export=None, environment=None, identity="controller-1", start=True):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environment = environment or {}
        self.process = None
        self.config = self.folder / "controller.yaml"
        self.listen = f"127.0.0.1:{free_ports(1)[0]}"
        document = {
            "source": {"kubernetes": {"kubeconfig": str(kube.kubeconfig())}},
            "election": {"identity": identity, "lease": "3s", "renew": "2s", "retry": "200ms"},
            "api": {"listen": self.listen},
            "paths": {"run": str(self.folder / "run")},
        }
        if export is not None:
            document["consul"] = export
        (self.folder / "run").mkdir(exist_ok=True)
        self.config.write_text(yaml.safe_dump(document), encoding="utf-8")
        if start:
            self.start()

    def start(self):
        program = build_folder() / "agent" / "controller" / "agent-controller"
        keep = {key: value for key, value in os.environ.items()
                if key.endswith("SAN_OPTIONS") or key == "PATH"}
        with open(self.folder / "controller.log", "ab") as log:
            self.process = subprocess.Popen([program, "--config", self.config], stdout=log, stderr=log,
                                            env={**keep, **self.environment})

    def running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if not self.running():
            return self.process.returncode
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def log(self):
        return (self.folder / "controller.log").read_text(encoding="utf-8", errors="replace")

    def said(self, words):
        wait(lambda: words in self.log(), f"the controller says {words!r}")
