# SPDX-License-Identifier: Apache-2.0
"""A small etcd for faults that a real one does not produce on demand: the JSON gateway's version, login, range, lease
and transaction, and a watch that says that it has begun. No key is ever there, and each write is done. A test reads who
asked what, closes idle connections as a balancer would, and lays faults over paths."""

import contextlib
import json
import socket
import time
from collections import namedtuple
from http.server import BaseHTTPRequestHandler

from scripted_server import ScriptedServer

LOGIN, WATCH, RANGE, VERSION = "/v3/auth/authenticate", "/v3/watch", "/v3/kv/range", "/version"
GRANT, TXN = "/v3/lease/grant", "/v3/kv/txn"
HEADER = {"cluster_id": "1", "member_id": "1", "revision": "7", "raft_term": "1"}

Asked = namedtuple("Asked", "at path token")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.etcd = self.server.script
        self.etcd.idle.add(self.connection)

    def finish(self):
        self.etcd.idle.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, form, *words):
        pass

    def say(self, code, document, **headers):
        text = json.dumps(document).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()

    def do_POST(self):
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        self.take()

    def do_GET(self):
        self.take()

    def take(self):
        self.etcd.idle.discard(self.connection)
        token = self.headers.get("Authorization")
        self.etcd.asked.append(Asked(time.monotonic(), self.path, token))
        fault = self.etcd.faults.get(self.path)
        if fault:
            fault(self)
        elif self.etcd.tokens is not None and self.path not in (LOGIN, VERSION) and token not in self.etcd.tokens:
            self.say(401, {"error": "etcdserver: invalid auth token", "code": 16, "message": "etcdserver: invalid auth token"})
        else:
            self.answer()
        self.etcd.idle.add(self.connection)

    def answer(self):
        if self.path == LOGIN:
            self.say(200, {"header": HEADER, "token": self.etcd.new_token()})
        elif self.path == WATCH:
            self.watch()
        elif self.path == GRANT:
            self.say(200, {"header": HEADER, "ID": "5", "TTL": "600"})
        elif self.path == TXN:
            self.say(200, {"header": HEADER, "succeeded": True})
        else:
            self.say(200, {"header": HEADER})

    def watch(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        text = json.dumps({"result": {"header": HEADER, "created": True}}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.flush()
        with contextlib.suppress(OSError):
            self.rfile.read(1)  # until the client goes
        self.close_connection = True


class ScriptedEtcd(ScriptedServer):
    handler = Handler

    def __init__(self, host, address, port=2379):
        super().__init__(host, address, port)
        self.url = f"http://{address}:{port}"
        self.asked, self.idle, self.faults = [], set(), {}
        self.tokens = None  # those that are let in; None: etcd has no users

    def close_idle(self):
        for connection in list(self.idle):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def new_token(self):
        self.tokens.add(token := f"token-{len(self.tokens)}.1")
        return token

    def count(self, path, since=0.0):
        return len([asked for asked in self.asked if asked.path == path and asked.at >= since])
