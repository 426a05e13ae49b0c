# SPDX-License-Identifier: Apache-2.0
"""A way to Consul on which answers can be replaced, delayed and counted: for what a real Consul
does not do on demand."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, form, *words):
        pass

    def say(self, code, body, headers=()):
        self.send_response(code)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        way = self.server.way
        fault = way.next_fault(f"{self.command} {self.path}", body)
        if fault:
            fault(self)
            return
        there = http.client.HTTPSConnection("127.0.0.1", way.consul.https, timeout=700,
                                            context=way.consul.context)
        there.request(self.command, self.path, body, dict(self.headers))
        answer = there.getresponse()
        self.say(answer.status, answer.read(), answer.getheaders())

    do_GET = do_PUT = take


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # who asked has gone, or Consul has


class Way:
    def __init__(self, consul):
        self.consul = consul
        self.asked, self.bodies, self.faults = [], [], []
        self.lock = threading.Lock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.way = self
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def next_fault(self, words, body):
        with self.lock:
            self.asked.append(words)
            self.bodies.append(body)
            for i, (part, about, fault) in enumerate(self.faults):
                if part in words and about in body:
                    del self.faults[i]
                    return fault
        return None

    def lay(self, part, *faults, about=""):
        """The next requests that have the words, and `about` in their bodies, are answered so."""
        with self.lock:
            self.faults += [(part, about.encode(), fault) for fault in faults]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def status(code, body=b"on purpose", **headers):
    def answer(handler):
        handler.say(code, body, [(name.replace("_", "-"), value) for name, value in headers.items()])
    return answer


def cut(handler):
    """An answer that ends in its middle."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'[{"LockIndex":0,"Key":"x')
    handler.close_connection = True
