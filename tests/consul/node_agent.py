# SPDX-License-Identifier: Apache-2.0
"""A real Consul agent on a node of the lab, asked by a Unix socket as agentd asks it, with ACLs on."""

import http.client
import json
import os
import socket
import urllib.parse

from consul import MASTER

from lab.kube_programs import program
from lab.wait import wait

RULES = 'service_prefix "" { policy = "write" }\n'


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("consul", timeout=20)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class NodeConsul:
    def __init__(self, node, folder):
        self.node, self.folder = node, folder
        self.socket = folder / "consul.sock"
        self.config = folder / "consul.json"
        self.process = None
        self.config.write_text(json.dumps({
            "server": True, "bootstrap_expect": 1, "node_name": "consul-1",
            "data_dir": str(folder / "data"), "bind_addr": "127.0.0.1",
            "addresses": {"http": f"unix://{self.socket}"}, "disable_update_check": True,
            "ports": {"http": 8500, "dns": -1, "grpc": -1, "grpc_tls": -1, "serf_wan": -1},
            "log_level": "warn", "performance": {"raft_multiplier": 1},
            "connect": {"enabled": False},
            "acl": {"enabled": True, "default_policy": "deny",
                    "tokens": {"initial_management": MASTER, "agent": MASTER}},
        }), encoding="utf-8")
        self.start()

    @property
    def address(self):
        return f"unix://{self.socket}"

    def start(self):
        self.process = self.node.start(program("consul"), "agent", "-config-file", str(self.config),
                                       log="consul.log", GOMAXPROCS="2", PATH=os.environ["PATH"])
        wait(self.leads, "Consul has a leader")

    def leads(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"Consul ended: see {self.node.folder}/consul.log")
        return self.ask("PUT", "/v1/kv/lab/ready", b"") == b"true"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None):
        connection = Connection(self.socket)
        try:
            connection.request(method, path, body, {"X-Consul-Token": MASTER})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{method} {path}: {answer.status} {text[:200]}")
        return text

    def json(self, method, path, document=None):
        body = json.dumps(document).encode() if document is not None else None
        return json.loads(self.ask(method, path, body) or "null")

    def token(self, rules=RULES):
        """A token with these rules: (its accessor, its secret)."""
        made = self.json("PUT", "/v1/acl/policy", {"Name": f"p{abs(hash(rules))}", "Rules": rules})
        token = self.json("PUT", "/v1/acl/token", {"Policies": [{"ID": made["ID"]}]})
        return token["AccessorID"], token["SecretID"]

    def services(self):
        return self.json("GET", "/v1/agent/services")

    def checks(self, service):
        """The checks of a service by name: (status, output)."""
        return {check["Name"]: (check["Status"], check["Output"])
                for check in self.json("GET", "/v1/agent/checks").values()
                if check["ServiceID"] == service}

    def register(self, **service):
        self.json("PUT", "/v1/agent/service/register", service)

    def deregister(self, service):
        self.ask("PUT", f"/v1/agent/service/deregister/{urllib.parse.quote(service, safe='')}")
