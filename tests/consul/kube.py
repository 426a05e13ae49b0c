# SPDX-License-Identifier: Apache-2.0
"""The part of a Kubernetes API that the controller needs to export: lists and watches of Services,
Nodes and EndpointSlices, and a Lease; and of Namespaces, of which there are none, since another of
its jobs reads them. Plain HTTP on the loopback address, in this process, so that
thousands of objects cost nothing. What a real API server says is looked at by tests/kube."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import yaml

KINDS = {
    "/api/v1/services": "Service",
    "/api/v1/namespaces": "Namespace",
    "/api/v1/nodes": "Node",
    "/apis/discovery.k8s.io/v1/endpointslices": "EndpointSlice",
}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/"
STATUS = re.compile("/api/v1/namespaces/([^/]+)/services/([^/]+)/status")


def merged(there, patch):
    """A merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    whole = dict(there) if isinstance(there, dict) else {}
    for key, value in patch.items():
        if value is None:
            whole.pop(key, None)
        else:
            whole[key] = merged(whole.get(key), value)
    return whole


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, form, *words):
        pass

    def say(self, code, document):
        text = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, code, reason):
        self.say(code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": reason, "reason": reason, "code": code})

    def do_GET(self):
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        kube, kind = self.server.kube, KINDS.get(url.path)
        if kind and query.get("watch"):
            self.watch(kind, int(query.get("resourceVersion") or 0))
        elif kind:
            self.say(200, kube.list(kind))
        elif url.path in kube.leases:
            self.say(200, kube.leases[url.path])
        else:
            self.refuse(404, "NotFound")

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def watch(self, kind, version):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in self.server.kube.follow(kind, version):
                self.chunk(event)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kube = self.server.kube
        if self.path.startswith(LEASES):
            path = urlsplit(self.path).path
            name = f"{path}/{body['metadata']['name']}" if self.command == "POST" else path
            self.lease(name, body)
        elif self.path.endswith("/events") or "/events?" in self.path:
            kube.events.append(body)
            self.say(201, body)
        elif self.command == "PATCH" and (found := STATUS.fullmatch(urlsplit(self.path).path)):
            query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
            kube.patches.append((*found.groups(), query))
            if "status" in kube.forbidden:
                self.refuse(403, "Forbidden")
            else:
                apply = "apply-patch" in self.headers["Content-Type"]
                self.say(*kube.apply(*found.groups(), query["fieldManager"] if apply else None, body))
        else:
            self.refuse(404, "NotFound")

    do_PUT = do_PATCH = do_POST

    def lease(self, path, body):
        kube = self.server.kube
        with kube.changed:
            there = kube.leases.get(path)
            version = body["metadata"].get("resourceVersion")
            if self.command == "POST" and there:
                self.refuse(409, "AlreadyExists")
            elif self.command != "POST" and not there:
                self.refuse(404, "NotFound")
            elif self.command != "POST" and there["metadata"]["resourceVersion"] != version:
                self.refuse(409, "Conflict")
            else:
                kube.version += 1
                if self.command == "PATCH":
                    body = merged(there, body)
                body["metadata"]["resourceVersion"] = str(kube.version)
                kube.leases[path] = body
                self.say(201, body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # who asked has gone


class Kube:
    """`put` and `remove` change objects as `kubectl` would."""

    def __init__(self, folder):
        self.folder = folder
        self.changed = threading.Condition(threading.RLock())
        self.version = 1
        self.objects = {}  # (kind, namespace, name): object
        self.history = []  # (version, kind, event's bytes)
        self.leases, self.events = {}, []
        self.forbidden = set()
        self.patches, self.applied = [], {}  # ((kind, namespace, name), manager): types of conditions
        self.closed = False
        self.server = None
        self.port = 0
        self.start()

    def start(self):
        self.closed = False
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.kube = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def kubeconfig(self):
        path = self.folder / "kubeconfig"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "lab", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
        }), encoding="utf-8")
        return path

    def list(self, kind):
        with self.changed:
            items = [item for (of, _, _), item in self.objects.items() if of == kind]
            return {"kind": f"{kind}List", "apiVersion": "v1",
                    "metadata": {"resourceVersion": str(self.version)}, "items": items}

    def follow(self, kind, version):
        """The events of a kind from a version on, as they come."""
        at = 0
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.closed or at < len(self.history))
                if self.closed:
                    return
                news, at = self.history[at:], len(self.history)
            for of_version, of_kind, event in news:
                if of_kind == kind and of_version > version:
                    yield event

    def tell(self, event, kind, item):
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        text = json.dumps({"type": event, "object": item}).encode() + b"\n"
        self.history.append((self.version, kind, text))
        self.changed.notify_all()

    def put(self, *items):
        with self.changed:
            for item in items:
                meta = item["metadata"]
                key = (item["kind"], meta.get("namespace", ""), meta["name"])
                event = "MODIFIED" if key in self.objects else "ADDED"
                meta.setdefault("uid", "-".join(key))
                self.objects[key] = item
                self.tell(event, item["kind"], item)

    def apply(self, namespace, name, manager, body):
        """Server-side apply to the status of a Service, of conditions; without a manager, a patch that
        removes some."""
        with self.changed:
            key = ("Service", namespace, name)
            item = self.objects.get(key)
            if not item:
                return 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
            if body["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
                return 409, {"kind": "Status", "code": 409, "reason": "Conflict", "message": "another version"}
            given = body.get("status", {}).get("conditions", [])
            types = {one["type"] for one in given} | self.applied.get((key, manager), set())
            kept = [one for one in item.get("status", {}).get("conditions", []) if one["type"] not in types]
            given = [one for one in given if one.get("$patch") != "delete"]
            item = {**item, "metadata": dict(item["metadata"]),
                    "status": {**item.get("status", {}), "conditions": kept + given}}
            self.applied[key, manager] = {one["type"] for one in given} if manager else set()
            self.objects[key] = item
            self.tell("MODIFIED", "Service", item)
            return 200, item

    def remove(self, kind, name, namespace="default"):
        with self.changed:
            item = self.objects.pop((kind, "" if kind == "Node" else namespace, name))
            self.tell("DELETED", kind, item)
