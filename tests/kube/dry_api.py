# SPDX-License-Identifier: Apache-2.0
"""An API server that answers writes as done and does not store them: a proxy before the real one that makes
dry runs of them, which are answered word for word as what is stored."""

import contextlib
import http.client
import re
import ssl
from http.server import BaseHTTPRequestHandler

import scripted_server
from lab.authority import write_kubeconfig
from lab.control_plane import ADDRESS4, CONTROLLERS_GROUP
from lab.control_plane import PORT as REAL

PORT = 6446
HEADERS = ("Accept", "Content-Type", "User-Agent")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, form, *words):
        pass

    def take(self):
        api = self.server.script
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        path, words = self.path, f"{self.command} {self.path}"
        if api.dry and re.search(api.dry, words):
            api.lies.append(words)
            path += ("&" if "?" in path else "?") + "dryRun=All"
        connection = api.connect()
        try:
            connection.request(self.command, path, body, {
                name: self.headers[name] for name in HEADERS if name in self.headers})
            self.pass_on(connection.getresponse())
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = take

    def pass_on(self, answer):
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        data = b"-"
        while data:
            data = answer.read1(65536)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()


class Server(scripted_server.Server):
    def finish_request(self, request, client_address):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            super().finish_request(self.script.down.wrap_socket(request, server_side=True), client_address)


class DryApi(scripted_server.ScriptedServer):
    """`dry`: of which requests ("POST .*/addressblocks") nothing is stored; None: all is."""

    handler, server_class = Handler, Server

    def __init__(self, plane, name):
        super().__init__(plane.host, ADDRESS4, PORT)
        self.plane, self.dry, self.lies = plane, None, []
        user = plane.pki.issue(f"dry-{name}", f"fingerpost:controller:{name}", [CONTROLLERS_GROUP])
        self.up = ssl.create_default_context(cafile=str(plane.pki.certificate))
        self.up.load_cert_chain(user.certificate, user.key)
        own = plane.pki.issue("dry-server", hosts=[ADDRESS4])
        self.down = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.down.load_cert_chain(own.certificate, own.key)
        self.kubeconfig = write_kubeconfig(plane.folder / "dry.kubeconfig", f"https://{ADDRESS4}:{PORT}",
                                           plane.pki.certificate, {})

    def connect(self):
        connection = http.client.HTTPSConnection(ADDRESS4, REAL)
        connection.sock = self.up.wrap_socket(self.plane.host.connect(ADDRESS4, REAL, 60), server_hostname=ADDRESS4)
        connection.sock.settimeout(None)
        return connection
