# SPDX-License-Identifier: Apache-2.0
"""What a node's egress pods have to stand of each other and of hosts outside: for tests/siege in
seconds, for the soak at any size. attack() floods; Kept is what may not break meanwhile."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from lab.traffic import tool

PINS = 131072  # flows that the pods of a node share room for
FIRST = 8090  # where the ends listen: this port and the next three
PUSH = b"push"
PUSH_EVERY_S = 0.02
ABSENT = {4: "198.18.0.0", 6: "2001:db8:bad::"}
ABSENT_NETS = {4: "198.18.0.0/15", 6: "2001:db8:bad::/64"}


def route_absent(lab):
    """Addresses of nobody are behind the host outside, for the fabric."""
    for family, net in ABSENT_NETS.items():
        lab.tor.ip("route", "add", net, "via", getattr(lab.client, f"address{family}"))


def opened(host, family, kind, port=0):
    with host.entered():
        sock = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.settimeout(5)
    sock.bind((getattr(host, f"address{family}"), port))
    return sock


def passes(sender, receiver, text, to=None):
    """What one end sends comes to the other: (text, from whom). Else the OSError. What floods have
    sent there is passed over."""
    receiver.settimeout(3)
    try:
        sender.sendto(text, to) if to else sender.send(text)
        while True:
            said = receiver.recvfrom(2000)
            if said[0] or receiver.type == socket.SOCK_STREAM:
                return said
    except OSError as error:
        return error


class Kept:
    """Flows of one pod and a host outside: begun by either, TCP and UDP. Afterwards `first`, "pod" or
    "outside", is who speaks first."""

    OFFSET = 0  # of its ports

    def __init__(self, pod, outside, family, first):
        self.first = first
        port = FIRST + self.OFFSET + (first == "pod")
        self.pod, self.outside, self.family = pod, outside, family
        self.socks = []
        self.near, self.far = {}, {}  # by name: the pod's ends, and the others
        self.peer = {}  # as whom the pod's datagrams are seen
        target = getattr(outside, f"address{family}")
        home = getattr(pod, f"address{family}")
        self.stream("out", self.keep(outside, socket.SOCK_STREAM, port), pod, target, port)
        self.stream("in", self.keep(pod, socket.SOCK_STREAM, port), outside, home, port)
        self.far["udp out"] = self.keep(outside, socket.SOCK_DGRAM, port)
        self.near["udp out"] = self.keep(pod, socket.SOCK_DGRAM)
        self.near["udp out"].connect((target, port))
        self.near["udp in"] = self.keep(pod, socket.SOCK_DGRAM, port)
        self.far["udp in"] = self.keep(outside, socket.SOCK_DGRAM)
        self.far["udp in"].connect((home, port))
        for _ in range(2):
            said = passes(self.near["udp out"], self.far["udp out"], b"hello")
            self.peer["udp out"] = said[1]
            said = passes(self.far["udp in"], self.near["udp in"], b"hello")
            self.peer["udp in"] = said[1]
            passes(self.near["udp in"], self.far["udp in"], b"hello", self.peer["udp in"])

    def keep(self, *words):
        sock = opened(self.pod if words[0] is self.pod else self.outside, self.family, *words[1:])
        self.socks.append(sock)
        if words[1] == socket.SOCK_STREAM and len(words) > 2:
            sock.listen()
        return sock

    def stream(self, name, listening, caller, target, port):
        calling = self.keep(caller, socket.SOCK_STREAM)
        calling.connect((target, port))
        called = listening.accept()[0]
        self.socks.append(called)
        ends = (calling, called) if name == "out" else (called, calling)
        self.near[f"tcp {name}"], self.far[f"tcp {name}"] = ends
        assert passes(calling, called, b"hello") and passes(called, calling, b"hello")

    def close(self):
        for sock in self.socks:
            sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ends(self, name):
        """Of a flow: who speaks first, and the other one."""
        ends = (self.near[name], self.far[name])
        return ends if self.first == "pod" else ends[::-1]

    def target(self, name, end):
        """Where an end has to send to; None: it is connected."""
        if not name.startswith("udp"):
            return None
        return self.peer[name] if end is (self.far if name == "udp out" else self.near)[name] else None

    def broken(self, kind=""):
        """Which flows of that kind no longer carry: `first` speaks, and then the other one."""
        bad = []
        for name in filter(lambda name: name.startswith(kind), self.near):
            sender, receiver = self.ends(name)
            for one, two in ((sender, receiver), (receiver, sender)):
                said = passes(one, two, b"still here", self.target(name, one))
                if isinstance(said, OSError) or said[0] != b"still here":
                    bad.append((name, said))
                    break
        return bad


class Pushed(Kept):
    """The same, of which `first` speaks all the while, and the other one never."""

    OFFSET = 2

    def __init__(self, *words):
        super().__init__(*words)
        self.sent, self.failed, self.over = dict.fromkeys(self.near, 0), [], threading.Event()
        self.thread = threading.Thread(target=self.push)
        self.thread.start()

    def push(self):
        while not self.over.wait(PUSH_EVERY_S):
            for name in self.sent:
                sender, _ = self.ends(name)
                to = self.target(name, sender)
                try:
                    sender.sendto(PUSH, to) if to else sender.send(PUSH)
                    self.sent[name] += 1
                except OSError as error:
                    self.failed.append((name, error))

    def stop(self):
        self.over.set()
        self.thread.join()

    def received(self, name):
        """How many of the pushes came. Of TCP all are waited for, of UDP what is there is taken."""
        _, receiver = self.ends(name)
        stream, got, end = name.startswith("tcp"), 0, time.monotonic() + 10
        receiver.settimeout(1 if stream else 0.2)
        while got < self.sent[name] * len(PUSH) and time.monotonic() < end:
            try:
                got += len(receiver.recv(65536))
            except TimeoutError:
                if not stream:
                    break
            except OSError as error:
                self.failed.append((name, error))
                break
        return got // len(PUSH)

    def broken(self):
        """TCP loses nothing. What floods make a queue drop of UDP is no flow's end, which is seen afterwards."""
        self.stop()
        short = {name: (self.received(name), sent) for name, sent in self.sent.items()}
        bad = [(name, counts) for name, counts in short.items()
               if counts[0] != counts[1] and name.startswith("tcp")]
        return self.failed + bad + super().broken()

    def close(self):
        self.stop()
        super().close()


def flood(host, kind, source, sources, target, count, turn):
    """Packets of ever new flows from a host, in each turn others; how many were sent."""
    log = f"flood-{len(host.processes)}-{kind}-{source}-{target}-{turn}.json"
    words = (kind, source, sources, 1024 + turn, 64000, target, 0, count, 0)
    process = host.start(tool("spoof"), *map(str, words), log=log)
    assert process.wait(1800) == 0, (host.folder / log).read_text()
    return json.loads((host.folder / log).read_text())["sent"]


def scan(pod, outside, family, tuples, turn=0):
    """A pod begins flows to the host outside, as itself."""
    return flood(pod, "udp", getattr(pod, f"address{family}"), 1, getattr(outside, f"address{family}"),
                 tuples, turn)


def call(outside, pods, family, tuples, turn=0):
    """Hosts outside send to ports of pods, datagrams and SYNs."""
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(flood, outside, kind, ABSENT[family], 60000,
                            getattr(pod, f"address{family}"), tuples, turn)
                for pod in pods for kind in ("udp", "syn")]
        return sum(run.result() for run in runs)
