# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on a host of the lab that answers by script: what scripted.py and scripted_etcd.py have in common."""

import socket
import threading
from http.server import ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    script = None  # what the handler answers by


class ScriptedServer:
    """From start() to stop(); a handler finds it as `self.server.script`."""

    handler, server_class = None, Server

    def __init__(self, host, address, port):
        self.host, self.address = host, (address, port)
        self.server = None

    def start(self):
        server = self.server_class(self.address, self.handler, bind_and_activate=False)
        server.socket.close()
        with self.host.entered():
            server.socket = socket.create_server(self.address, backlog=64)
        server.script = self
        self.server = server
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self):
        """Closes the port; its connections live on."""
        self.server.shutdown()
        self.server.server_close()
        self.server = None
