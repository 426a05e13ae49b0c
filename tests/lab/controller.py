# SPDX-License-Identifier: Apache-2.0
"""agent-controller on a host of the lab."""

import json

import yaml

from .agent import SANITIZERS, Connection, build_folder, merged
from .wait import wait


class Controller:
    """One agent-controller. It can be stopped, killed and started again. `host`: a namespace that
    reaches the API, in which there is no other. `program`: another than the one under test."""

    def __init__(self, host, name, kubeconfig, overrides=None, program=None):
        self.host = host
        self.name = name
        self.user = f"fingerpost:controller:{name}"  # of ControlPlane.controller_kubeconfig(name)
        self.folder = host.folder / f"controller-{name}"
        self.folder.mkdir()
        self.config_file = self.folder / "controller.yaml"
        self.log = self.folder / "controller.log"
        self.settings = merged(
            {
                "source": {"kubernetes": {"kubeconfig": str(kubeconfig)}},
                "election": {"identity": name},
                "paths": {"run": str(self.folder / "run")},
            },
            overrides or {},
        )
        self.write_config()
        self.program = program or build_folder() / "agent" / "controller" / "agent-controller"
        self.process = None

    def write_config(self, text=None):
        self.config_file.write_text(text or yaml.safe_dump(self.settings), encoding="utf-8")

    def start(self, **environment):
        self.process = self.host.start(str(self.program), "--config", str(self.config_file),
                                       log=f"{self.folder.name}/controller.log",
                                       **{**SANITIZERS, **environment})
        wait(self.status, f"{self.name} to answer")
        return self

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """As the service manager does; returns the exit status."""
        self.process.terminate()
        return self.process.wait(30)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, path):
        """Status and text of an answer at the socket."""
        if not self.running():
            raise RuntimeError(f"{self.name} has ended:\n{self.log_text()[-4000:]}")
        connection = Connection(self.folder / "run" / "controller.sock")
        connection.timeout = 5
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def status(self):
        return json.loads(self.ask("/v1/controller")[1])

    def leads(self):
        return self.status()["election"]["leading"]

    def log_text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")
