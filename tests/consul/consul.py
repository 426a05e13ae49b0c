# SPDX-License-Identifier: Apache-2.0
"""A real Consul with ACLs and TLS, one server or several; and what is asked of its HTTP API."""

import base64
import contextlib
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from lab.authority import Authority
from lab.kube_programs import program
from lab.wait import wait

MASTER = "11111111-2222-3333-4444-555555555555"
POLICY = """
key_prefix "%(prefix)s/" { policy = "write" }
session_prefix "" { policy = "write" }
"""


def free_ports(count):
    """Ports that nobody has at this moment; all are held until all are known. None is of those that the
    kernel gives to connections: a server that starts anew would find its own taken."""
    held = {}
    while len(held) < count:
        port = random.SystemRandom().randrange(12000, 30000)
        with contextlib.suppress(OSError):
            held[port] = held.get(port) or socket.create_server(("127.0.0.1", port))
    for one in held.values():
        one.close()
    return list(held)


class Consul:
    """One server. `others`: those that there are already, of as many as `servers`; only the last of
    them waits until there is a leader."""

    def __init__(self, folder, servers=1, others=()):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.pki = others[0].pki if others else Authority(folder / "pki")
        self.name = f"consul-{len(others) + 1}"
        self.server_pair = self.pki.issue(self.name, hosts=["127.0.0.1", "server.dc1.consul"])
        self.client_pair = self.pki.issue(f"client-{self.name}")
        self.https, server, self.serf = free_ports(3)
        self.process = None
        self.context = ssl.create_default_context(cafile=self.pki.certificate)
        self.context.load_cert_chain(*self.client_pair)
        self.config = folder / "consul.json"
        self.config.write_text(json.dumps({
            "server": True, "bootstrap_expect": servers, "node_name": self.name,
            "data_dir": str(folder / "data"), "bind_addr": "127.0.0.1",
            "client_addr": "127.0.0.1", "disable_update_check": True, "log_level": "warn",
            "ports": {"http": -1, "https": self.https, "dns": -1, "grpc": -1, "grpc_tls": -1,
                      "serf_lan": self.serf, "serf_wan": -1, "server": server},
            "retry_join": [f"127.0.0.1:{other.serf}" for other in others],
            "retry_interval": "1s",
            "performance": {"raft_multiplier": 1}, "connect": {"enabled": False},
            "limits": {"http_max_conns_per_client": 2000},
            "tls": {"defaults": {
                "ca_file": str(self.pki.certificate),
                "cert_file": str(self.server_pair.certificate),
                "key_file": str(self.server_pair.key),
                "verify_incoming": True, "verify_outgoing": True,
            }},
            "acl": {"enabled": True, "default_policy": "deny",
                    "tokens": {"initial_management": MASTER, "agent": MASTER}},
        }), encoding="utf-8")
        self.start(len(others) + 1 == servers)

    @property
    def address(self):
        return f"https://127.0.0.1:{self.https}"

    def start(self, alone=True):
        with open(self.folder / "consul.log", "ab") as log:
            self.process = subprocess.Popen(
                [program("consul"), "agent", "-config-file", str(self.config)], stdout=log,
                stderr=log, env={"PATH": os.environ["PATH"], "GOMAXPROCS": "2"})
        if not alone:
            return
        try:
            wait(self.leads, "Consul has a leader", timeout=60)
        except BaseException:
            self.kill()
            raise

    def leads(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"Consul ended: see {self.folder}/consul.log")
        self.ask("PUT", "/v1/kv/lab/ready", b"")
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(19)

    def thaw(self):
        self.process.send_signal(18)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(18)
        self.kill()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def ask(self, method, path, body=None, token=MASTER):
        request = urllib.request.Request(self.address + path, data=body, method=method,
                                         headers={"X-Consul-Token": token})
        with urllib.request.urlopen(request, context=self.context, timeout=20) as answer:
            return answer.read()

    def json(self, method, path, document=None):
        body = json.dumps(document).encode() if document is not None else None
        return json.loads(self.ask(method, path, body) or "null")

    def token(self, prefix="kube-service-exporter", rules=POLICY):
        """A token with these rules: (its accessor, its secret)."""
        name = f"rules-{abs(hash((prefix, rules)))}"
        known = {policy["Name"] for policy in self.json("GET", "/v1/acl/policies")}
        if name not in known:
            self.json("PUT", "/v1/acl/policy", {"Name": name, "Rules": rules % {"prefix": prefix}})
        made = self.json("PUT", "/v1/acl/token", {"Policies": [{"Name": name}]})
        return made["AccessorID"], made["SecretID"]

    def entries(self, prefix):
        """What stands below a prefix: key to (value, session, flags)."""
        try:
            rows = self.json("GET", f"/v1/kv/{urllib.parse.quote(prefix)}?recurse&consistent")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return {}
            raise
        return {row["Key"]: row for row in rows}

    def values(self, prefix):
        return {key: base64.b64decode(row["Value"] or "").decode()
                for key, row in self.entries(prefix).items()}

    def put(self, key, value):
        self.ask("PUT", f"/v1/kv/{urllib.parse.quote(key)}", value.encode())

    def remove(self, key):
        self.ask("DELETE", f"/v1/kv/{urllib.parse.quote(key)}")

    def wipe(self, prefix):
        self.ask("DELETE", f"/v1/kv/{urllib.parse.quote(prefix)}?recurse")
