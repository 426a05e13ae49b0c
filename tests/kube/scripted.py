# SPDX-License-Identifier: Apache-2.0
"""A small Kubernetes API for faults that a real one does not produce on demand.

It serves lists, in pages, and watches of a few objects, as the real one would: chunked, over TLS,
with growing resourceVersions; writes.py has what changes them. A test lays faults over that: for a path (a regular expression over
path and query) a function is called in the answer's place, as often as wanted. The functions below
are such faults. Selectors are not looked at.
"""

import contextlib
import io
import json
import re
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import scripted_server
import writes
from lab.kube_api import PATHS, all_of

PORT = 6443
REASONS = {403: "Forbidden", 401: "Unauthorized", 404: "NotFound", 410: "Expired",
           429: "TooManyRequests", 500: "InternalError"}
KINDS = {all_of(kind): kind for kind in PATHS}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WATCH = r"watch=(1|true)"
LIST = r"^(?!.*watch=)"


def status_of(code, message="on purpose"):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": REASONS.get(code, "Unknown"), "code": code}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.api = self.server.script
        self.api.connections.add(self.connection)

    def finish(self):
        self.api.connections.discard(self.connection)
        super().finish()

    def log_message(self, form, *words):
        self.api.log.append(form % words)

    def do_GET(self):
        self.take(self.path)

    def do_POST(self):
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.take(f"{self.command} {self.path}")

    do_PUT = do_PATCH = do_DELETE = do_POST

    def take(self, words):
        for name in ("begin", "say", "chunk"):  # what a fault has put in place is for one request
            self.__dict__.pop(name, None)
        self.api.asked.append((words, dict(self.headers)))
        fault = self.api.fault_for(words)
        if fault:
            fault(self)
        elif not self.api.is_allowed(self.headers):
            self.say(401, status_of(401))
        else:
            self.answer()

    def answer(self):
        """As a good server does."""
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == REVIEWS:
            self.review()
            return
        key = writes.key_of(url.path)
        kind = key[0] if key else None
        if self.command != "GET" and key:
            writes.answer(self, status_of)
        elif key and key[2]:
            writes.read_one(self, status_of)
        elif kind not in self.api.served:
            self.say(404, status_of(404, "the server could not find the requested resource"))
        elif query.get("watch") in ("1", "true"):
            self.watch(kind, int(query.get("resourceVersion") or 0))
        else:
            self.say(200, self.api.page(kind, query))

    def review(self):
        """Whether who asks may do what."""
        asked = json.loads(self.body)
        what = asked["spec"]["resourceAttributes"]
        allowed = f"{what['verb']} {what['resource']}" not in self.api.denied
        self.say(201, json.dumps({**asked, "status": {"allowed": allowed}},
                                 separators=(",", ":")).encode())

    def begin(self, code=200, **headers):
        """A chunked answer's head."""
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if data else b"0\r\n\r\n")
        self.wfile.flush()

    def say(self, code, document, **headers):
        self.begin(code, **headers)
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        for at in range(0, len(text), 16384):
            self.chunk(text[at:at + 16384])
        self.chunk(b"")

    def event(self, kind, document):
        self.chunk(json.dumps({"type": kind, "object": document}).encode() + b"\n")

    def watch(self, kind, version):
        if version < self.api.oldest:
            self.say(200, {"type": "ERROR", "object": status_of(410, "too old resource version")})
            return
        self.begin()
        for event in self.api.follow(kind, version):
            self.event(*event)
        self.chunk(b"")

    def cut(self):
        """Ends the connection with a RST."""
        raw = self.connection
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close_connection = True
        raw.shutdown(socket.SHUT_RD)
        socket.socket(fileno=raw.detach()).close()


class Server(scripted_server.Server):
    def finish_request(self, request, client_address):
        try:
            if self.script.context:
                request.settimeout(20)
                request = self.script.context.wrap_socket(request, server_side=True)
                request.settimeout(None)
            super().finish_request(request, client_address)
        except (OSError, ValueError) as error:
            self.script.log.append(f"connection: {error}")


class ScriptedApi(scripted_server.ScriptedServer):
    """`context`: of its TLS; None: plain HTTP. After stop(), end_watches() ends its connections."""

    handler, server_class = Handler, Server

    def __init__(self, host, address, context=None, port=PORT, page_size=0):
        super().__init__(host, address, port)
        self.context = context
        self.page_size = page_size  # 0: as large as asked for
        self.served = {"Service", "EndpointSlice", "Node", "Pod", "AddressPool", "AddressBlock",
                       "Egress", "ConfigMap", "Event"}
        self.denied = set()  # what a SelfSubjectAccessReview says no to: "watch nodes"
        self.tokens = None  # those that are let in; None: whoever comes
        self.objects = {}  # by kind, namespace and name
        self.version = 1000
        self.oldest = 0  # watches from before are too old
        self.history = []  # (version, kind, type, object)
        self.faults = []  # [pattern, fault, times left]
        self.asked = []  # (path, headers) of all requests
        self.effects = []  # (method, kind, namespace, name) of all that was written by requests
        self.log = []
        self.connections = set()
        self.changed = threading.Condition()  # reentrant

    # Objects

    def put(self, *items):
        with self.changed:
            for item in items:
                key = (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
                self._note("MODIFIED" if key in self.objects else "ADDED", key, item)
                self.objects[key] = self.history[-1][3]

    def delete(self, *items):
        with self.changed:
            for item in items:
                key = (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
                self._note("DELETED", key, self.objects.pop(key))

    def items(self, kind):
        with self.changed:
            return [item for key, item in self.objects.items() if key[0] == kind]

    def _note(self, event, key, item):
        self.version += 1
        meta = {**item["metadata"], "resourceVersion": str(self.version)}
        self.history.append((self.version, key[0], event, {**item, "metadata": meta}))
        self.changed.notify_all()

    def forget(self):
        """As etcd's compaction and a restart do: no watch can be resumed."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.history = []
        self.end_watches()

    def end_watches(self):
        """All watches end, as at a server's shutdown."""
        with self.changed:
            self.history.append((self.version, None, None, None))
            self.changed.notify_all()

    def hang_up(self):
        """Ends all connections, so that the next requests come over new ones."""
        self.end_watches()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def page(self, kind, query):
        """A page of a list. The continue token is the number of what went before."""
        with self.changed:
            items = [item for key, item in sorted(self.objects.items(), key=lambda e: str(e[0]))
                     if key[0] == kind]
            version = self.version
        begin = int(query.get("continue") or 0)
        size = self.page_size or int(query.get("limit") or 0) or len(items)
        meta = {"resourceVersion": str(version)}
        if begin + size < len(items):
            meta |= {"continue": str(begin + size), "remainingItemCount": len(items) - begin - size}
        return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": meta,
                "items": items[begin:begin + size]}

    def follow(self, kind, version):
        """Yields what happens to a kind after a version, until the watches are ended."""
        with self.changed:
            at = next((i for i, e in enumerate(self.history) if e[0] > version), len(self.history))
        while True:
            with self.changed:
                while at == len(self.history):
                    self.changed.wait()
                if at > len(self.history):
                    return  # all was forgotten
                _, of, event, item = self.history[at]
            at += 1
            if of is None:
                return
            if of == kind:
                yield event, item

    # Faults

    def fail(self, pattern, fault, times=None):
        """The next requests that match get this fault; `times` of them, or all until mend()."""
        self.faults.append([re.compile(pattern), fault, times])

    def mend(self):
        self.faults = []

    def spent(self):
        """Whether every fault was given as often as it was to be."""
        with self.changed:
            return all(times == 0 for _, _, times in self.faults)

    def fault_for(self, path):
        with self.changed:
            for entry in self.faults:
                if entry[0].search(path) and entry[2] != 0:
                    entry[2] = None if entry[2] is None else entry[2] - 1
                    return entry[1]
        return None

    def is_allowed(self, headers):
        word, _, token = headers.get("Authorization", "").partition(" ")
        return self.tokens is None or (word == "Bearer" and token in self.tokens)

    def count(self, pattern):
        """How many requests there were of this kind."""
        return sum(1 for path, _ in list(self.asked) if re.search(pattern, path))


def server_context(pair):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


# Faults to give to ScriptedApi.fail().


def refuse(code, **headers):
    """An error as the API's machinery words it: refuse(429, Retry_After=1)."""
    return lambda handler: handler.say(code, status_of(code), **headers)


def gone(handler):
    """A watch that begins well and says 410 by an event."""
    handler.begin()
    handler.event("ERROR", status_of(410, "too old resource version"))
    handler.chunk(b"")


def slow(seconds):
    """A good answer, so much later."""
    def late(handler):
        threading.Event().wait(seconds)
        handler.answer()
    return late


def too_late(fault):
    """A fault of the answer alone: what was asked for is done before."""
    def late(handler):
        wfile, handler.wfile = handler.wfile, io.BytesIO()
        handler.answer()
        handler.wfile = wfile
        fault(handler)
    return late


def unstored(handler):
    """A good answer to a write that is not done."""
    writes.answer(handler, status_of, stored=False)


def silence(handler):
    """An answer that begins and never goes on; the client has to give up."""
    handler.begin()
    handler.connection.settimeout(600)
    handler.rfile.read(1)


def hang(handler):
    """No answer at all, as of a process that is stopped."""
    handler.connection.settimeout(600)
    handler.rfile.read(1)


def drip(handler):
    """The right answer, a byte at a time, slower than anybody can wait."""
    handler.begin()
    stop = threading.Event()
    while not stop.wait(0.5):
        handler.chunk(b" ")


def cut_after(length):
    """The right answer up to so many bytes, then a RST."""
    def fault(handler):
        written = 0
        chunk = handler.chunk

        def limited(data):
            nonlocal written
            if written + len(data) >= length:
                if length > written:
                    chunk(data[:length - written])
                handler.cut()
                raise ConnectionAbortedError("cut on purpose")
            written += len(data)
            chunk(data)

        handler.chunk = limited
        handler.answer()
    return fault


def raw(text):
    """These bytes as the body."""
    return lambda handler: handler.say(200, text)


def watch_event(text):
    """A watch whose first event is these bytes, and which then goes on as it should."""
    def fault(handler):
        begin = handler.begin

        def begin_badly(*words, **more):
            begin(*words, **more)
            handler.chunk(text + b"\n")

        handler.begin = begin_badly
        handler.answer()
    return fault
