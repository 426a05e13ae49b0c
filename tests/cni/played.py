# SPDX-License-Identifier: Apache-2.0
"""agentd's pods as the plugin sees them: a stand-in that gives plans, and keeps what it was told.

It answers as docs/api.md says, on a unix socket, a thread per connection. A test can have it refuse
(`answers`), or hold an answer back until it says so (`gates`)."""

import http.server
import json
import socketserver
import threading


def plan_of(number, interface="eth0"):
    return {
        "interface": interface,
        "hostInterface": f"vethpod{number}",
        "alias": f"COIL:default:pod{number}:{interface}",
        "addresses": [f"10.1.2.{number}/32", f"fd01::{number:x}/128"],
        "gateways": ["192.0.2.7", "fe80::1"],
        "mtu": 1400,
        "routes": [{"to": "0.0.0.0/0", "via": "192.0.2.7"}, {"to": "::/0", "via": "fe80::1"}],
        "sysctls": {f"net.ipv6.conf.vethpod{number}.accept_ra": "0",
                    f"net.ipv4.conf.vethpod{number}.forwarding": "1"},
        "version": 1,
    }


class Handler(http.server.BaseHTTPRequestHandler):
    def question(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = f"{self.command} {self.path}"
        document = json.loads(body) if body else None
        agent = self.server
        agent.asked.append((name, document))
        kind = name.rsplit("/", 1)[-1] if name.endswith("/wired") else self.command
        agent.came[kind].set()
        assert agent.gates[kind].wait(60)
        status, answer = agent.answers.get(kind) or agent.answer(self.command, self.path, document)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = question

    def address_string(self):
        return "unix"

    def log_message(self, *args):
        pass


class PlayedAgent(socketserver.ThreadingUnixStreamServer):
    """`pods` has the plan of each (container, interface); `asked` each question with its document.
    Kinds of questions: GET, POST, DELETE, and "wired"."""

    daemon_threads = True
    request_queue_size = 256
    KINDS = ("GET", "POST", "DELETE", "wired")

    def __init__(self, path, node):
        self.pods, self.asked, self.answers = {}, [], {}
        self.node, self.given, self.lock = node, 2, threading.Lock()
        self.gates = {kind: threading.Event() for kind in self.KINDS}
        self.came = {kind: threading.Event() for kind in self.KINDS}
        for gate in self.gates.values():
            gate.set()
        super().__init__(str(path), Handler)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, method, path, document):
        words = path.split("/")[3:]
        if words == ["ready"]:
            return 200, {}
        if words == ["gc"]:
            live = {(one["container"], one["interface"]) for one in document["live"]}
            gone = [key for key in self.pods if key not in live]
            for key in gone:
                self.forget(key)
            return 200, {"freed": [f"{container}/{name}" for container, name in gone]}
        key = tuple(words[:2])
        if words[2:] == ["wired"]:
            return self.wire(key, document)
        if method == "DELETE":
            self.forget(key)
            return 200, {}
        if method == "POST":
            return 200, self.plan(key)
        if key not in self.pods:
            return 404, {"error": "no such pod", "remedy": "none"}
        return 200, self.pods[key]

    def plan(self, key):
        with self.lock:
            if key not in self.pods:
                self.given += 1
                self.pods[key] = plan_of(self.given, key[1])
            return self.pods[key]

    def wire(self, key, document):
        """The node's routes, as agentd makes them."""
        if key not in self.pods:
            return 404, {"error": "the pod was deleted meanwhile", "remedy": "none"}
        name = self.pods[key]["hostInterface"]
        index = document["hostIndex"]
        assert self.node.ip_json("link", "show", "dev", name)[0]["ifindex"] == index
        for address in self.pods[key]["addresses"]:
            self.node.ip("route", "replace", address, "dev", name)
            self.node.ip("neigh", "replace", address.split("/")[0], "lladdr", document["podMAC"],
                         "dev", name, "nud", "permanent")
        return 200, {"applied": 1}

    def forget(self, key):
        plan = self.pods.pop(key, None)
        if plan and "hostInterface" in plan:
            self.node.run("ip", "link", "del", plan["hostInterface"], check=False)

    def close(self):
        for gate in self.gates.values():
            gate.set()
        self.shutdown()
        self.thread.join()
        self.server_close()
