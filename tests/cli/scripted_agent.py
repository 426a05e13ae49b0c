# SPDX-License-Identifier: Apache-2.0
"""An agent that says what a test tells it to: HTTP on a unix socket, one thread per connection."""

import http.server
import json
import queue
import socketserver
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        # An older agent knows no answers that come later, and does not read the question's argument.
        older = self.path.split("?applied=")[0]
        replies = self.server.replies
        reply = replies.get(self.path, replies.get(older, (404, {"error": "no such path"})))
        if callable(reply):
            reply = reply()
        status, document = reply
        if isinstance(document, queue.Queue):
            self.stream(document)
            return
        body = document if isinstance(document, bytes) else (json.dumps(document) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, lines):
        """Sends what is put into the queue, until that is None or the client goes."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")
        self.end_headers()
        while (line := lines.get()) is not None:
            try:
                self.wfile.write(json.dumps(line).encode() + b"\n")
            except OSError:
                break
        self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.posted.append((self.path, self.headers.get("Content-Type"), body.decode()))
        self.do_GET()

    def address_string(self):
        return "unix"

    def log_message(self, *args):
        pass


class ScriptedAgent(socketserver.ThreadingUnixStreamServer):
    """`replies` maps a path (with query) to (status, document) or to a function that gives that.
    A document that is a queue is a stream of its items.
    `asked` has each path, `posted` path, type and body of what was posted."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path, replies):
        self.replies, self.asked, self.posted = replies, [], []
        super().__init__(str(path), Handler)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def __exit__(self, *args):
        self.shutdown()
        self.thread.join()
        self.server_close()
