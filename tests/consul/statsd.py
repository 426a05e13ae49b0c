# SPDX-License-Identifier: Apache-2.0
"""Who listens for DogStatsD: every line that came, several to a datagram."""

import contextlib
import re
import socket
import threading

PREFIX = "kube-service-exporter."


class Statsd:
    """`inside`: a namespace of the lab in which it listens; None: this one."""

    def __init__(self, inside=None):
        if inside:
            with inside.entered():
                self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        else:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.lines, self.ended = [], False
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def listen(self):
        while not self.ended:
            with contextlib.suppress(TimeoutError):
                self.lines += self.socket.recv(65536).decode().split("\n")

    def heard(self, pattern):
        """Whether a line came that the pattern describes, whole, beyond what each begins with."""
        return any(re.fullmatch(re.escape(PREFIX) + pattern, line) for line in list(self.lines))

    def close(self):
        self.ended = True
        self.thread.join(5)
        self.socket.close()
