# SPDX-License-Identifier: Apache-2.0
"""An API server that is slow: what it says comes late, over a port of its own host. Bytes are passed on as
they are, TLS included, so that a new connection is late as well."""

import queue
import socket
import threading
import time

from .authority import write_kubeconfig
from .control_plane import ADDRESS4, CONTROLLERS_GROUP, PORT

LATE_PORT = 6444


class LateApi:
    """In front of a control plane, from here to stop()."""

    def __init__(self, plane, seconds):
        self.plane, self.seconds = plane, seconds
        with plane.host.entered():
            self.listener = socket.create_server((ADDRESS4, LATE_PORT), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def kubeconfig(self, name):
        """For a controller, as ControlPlane.controller_kubeconfig() makes it."""
        plane = self.plane
        pair = plane.pki.issue(f"late-{name}", f"fingerpost:controller:{name}", [CONTROLLERS_GROUP])
        return write_kubeconfig(plane.folder / f"late-{name}.kubeconfig", f"https://{ADDRESS4}:{LATE_PORT}",
                                plane.pki.certificate, pair)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # it was stopped
            server = self.plane.host.connect(ADDRESS4, PORT, 60)
            server.settimeout(None)
            said = queue.Queue()
            for target, words in ((self._pass_on, (client, server)), (self._hear, (server, said)),
                                  (self._say, (said, client))):
                threading.Thread(target=target, args=words, daemon=True).start()

    @staticmethod
    def _pass_on(client, server):
        try:
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side has gone

    def _hear(self, server, said):
        data = b"-"
        while data:
            try:
                data = server.recv(65536)
            except OSError:
                data = b""
            said.put((time.monotonic() + self.seconds, data))

    @staticmethod
    def _say(said, client):
        try:
            while True:
                due, data = said.get()
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
        except OSError:
            pass  # the other side has gone
