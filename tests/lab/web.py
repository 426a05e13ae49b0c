# SPDX-License-Identifier: Apache-2.0
"""A web server of one page, for pods: web.py PORT TEXT. IPv4 and IPv6, one request at a time."""

import socket
import sys


def serve(port, text):
    body = text.encode() + b"\n"
    head = f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.settimeout(5)
                connection.recv(65536)
                connection.sendall(head + body)
            except OSError:
                pass  # the client has gone


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
