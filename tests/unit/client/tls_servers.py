# SPDX-License-Identifier: Apache-2.0
"""TLS servers for test_kube_tls.c: tls_servers.py FOLDER

Writes two CAs and a client's certificate and key to the folder, and serves seven ports, which it
prints: a certificate of the first CA for 127.0.0.1 and one for kube.example only, one of the second
CA, the first again for clients that have a certificate, a proxy, a certificate of a CA that was
replaced by another of the same name, and kube.example's again on ::1. An answer is the Host header
and the client's name. The client's key is there twice more, encrypted. Ends with its standard
input.
"""

import select
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
# By which the right one of CAs of one name would be known.
WITHOUT_KEY_IDS = [
    "-addext", "subjectKeyIdentifier=none", "-addext", "authorityKeyIdentifier=none"
]


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, cwd=FOLDER, capture_output=True)


def make_ca(name, subject=None, *more):
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", f"/CN={subject or name}", "-keyout", f"{name}.key", "-out", f"{name}.crt", *more,
    )


def make_certificate(name, ca, subject, alternatives, *more):
    extensions = [f"subjectAltName={alternatives}", *more]
    (FOLDER / f"{name}.ext").write_text("".join(f"{line}\n" for line in extensions))
    openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.csr",
    )
    openssl(
        "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key",
        "-CAcreateserial", "-extfile", f"{name}.ext", "-out", f"{name}.crt",
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        subject = (self.connection.getpeercert() or {}).get("subject", ())
        names = [value for part in subject for key, value in part if key == "commonName"]
        body = f"{self.headers['Host']} {' '.join(names)}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, handler):
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def handle_error(self, request, client_address):
        """A client that hangs up in the handshake is what the tests are about."""


class Proxy(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        if "Authorization" in self.headers:
            self.send_error(400)  # it is none of a proxy's business
            return
        host, port = self.path.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            self.wfile.write(b"HTTP/1.1 200 Connected\r\nRetry-After: 9\r\n\r\n")
            ends = {self.connection: server, server: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)


def serve_proxy():
    server = Server(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def serve(name, clients_of=None, address="127.0.0.1"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / f"{name}.crt", FOLDER / f"{name}.key")
    if clients_of:
        context.load_verify_locations(FOLDER / f"{clients_of}.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    server = Server((address, 0), Handler)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


make_ca("ca-1")
make_ca("ca-2")
make_certificate("here", "ca-1", "here", "IP:127.0.0.1")
make_certificate("named", "ca-1", "named", "DNS:kube.example")
make_certificate("other", "ca-2", "other", "IP:127.0.0.1")
make_certificate("client", "ca-1", "node-1", "DNS:node-1")
for generation in ("old", "new"):
    make_ca(generation, "ca-3", *WITHOUT_KEY_IDS)
make_certificate("replaced", "old", "here", "IP:127.0.0.1", "authorityKeyIdentifier=none")
openssl("pkcs8", "-topk8", "-in", "client.key", "-passout", "pass:x", "-out", "encrypted.key")
openssl("ec", "-aes128", "-in", "client.key", "-passout", "pass:x", "-out", "encrypted-ec.key")
print(
    serve("here"), serve("named"), serve("other"), serve("here", "ca-1"), serve_proxy(),
    serve("replaced"), serve("named", address="::1"), flush=True,
)
sys.stdin.read()
