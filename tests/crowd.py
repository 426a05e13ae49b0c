# SPDX-License-Identifier: Apache-2.0
"""Pods that start under load on a node with `egress.unknownPods: hold`: for tests/netns and the soak.

Each pod sends from its first moment on, before any agent can know it, and goes on while its object
comes, changes and goes. Meanwhile gateways are killed, leave their set and come back, destinations
and annotations change, the Egress goes for a while, and one pod uses up its source ports. A host
outside captures all: whatever comes from another address than the gateways' is wrong.
"""

import random
import select
import socket
import threading
import time
from collections import Counter

from lab import objects, wait, wait_equal
from lab.capture import Capture, is_of_the_link
from lab.traffic import open_socket, serve

PORT, BLOCK = 8080, 64
AT_ONCE = 24
HALVES = ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]
ALL = ["0.0.0.0/0", "::/0"]
GLUTTONY = BLOCK + 16  # connections of the pod that uses up its ports


class Load:
    """Datagrams from every pod, all the time, and of each a connection that it tries to open."""

    def __init__(self):
        self.sockets = {}  # by pod
        self.rounds = 0  # of datagrams from all
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()

    def begin(self, pod, targets, count=1):
        """`count`: of connections to each target. Returns the sockets for datagrams."""
        datagrams = [self._open(pod, target, socket.SOCK_DGRAM) for target in targets]
        streams = [self._open(pod, target) for target in targets for _ in range(count)]
        with self.lock:
            self.sockets.setdefault(pod, []).extend([*datagrams, *streams])
        return datagrams

    def _open(self, pod, target, kind=socket.SOCK_STREAM):
        sock = open_socket(pod, target, kind, timeout=0)
        sock.connect_ex((target, PORT))
        return sock

    def end(self, pod):
        with self.lock:
            gone = self.sockets.pop(pod)
        for sock in gone:
            sock.close()

    def _send(self):
        while not self.ended.wait(0.01):
            with self.lock:
                for sock in [sock for each in self.sockets.values() for sock in each]:
                    if sock.type == socket.SOCK_DGRAM:
                        try:
                            sock.send(b"who\n")
                        except OSError:
                            pass  # an ICMP error of the last one, or no room
            self.rounds += 1

    def close(self):
        self.ended.set()
        self.thread.join()
        for pod in list(self.sockets):
            self.end(pod)


class Judge:
    """Counts what comes to a host outside, by whether its source is one of `known`. What its router
    says itself does not count."""

    def __init__(self, host, known, router):
        self.known = known
        self.own = {address["local"] for link in router.ip_json("addr", "show")
                    for address in link["addr_info"]}
        self.passed, self.wrong, self.error = 0, Counter(), None
        self.capture = Capture(host, "eth0")
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _look(self):
        for packet in self.capture.packets():
            if packet.sent or is_of_the_link(packet) or packet.source in self.own:
                continue
            self.passed += packet.source in self.known
            if packet.source not in self.known:
                self.wrong[packet.source] += 1

    def _run(self):
        try:
            while not self.ended.wait(0.02):
                self._look()
            self._look()
        except AssertionError as error:
            self.error = error

    def close(self):
        self.ended.set()
        self.thread.join()
        self.capture.close()
        if self.error:
            raise self.error


class Crowd:
    def __init__(self, lab, seed):
        self.lab = lab
        self.chance = random.Random(seed)
        self.first, *self.gateways = lab.nodes
        self.pods, self.annotation = [], {}
        self.started = 0
        self.done = Counter()
        self._write_nodes(*self.gateways)
        self._write_egresses()
        lab.write("pods.yaml")
        lab.agent(self.first, services={"enabled": False},
                  egress={"enabled": True, "unknownPods": "hold"})
        for node in self.gateways:
            lab.agent(node, services={"enabled": False}, egress={"gateway": {
                "ports": "20000-24095", "portBlock": BLOCK, "blocksPerClient": 1}})
        lab.wait_sessions()
        for block in (self.first.block4, self.first.block6):
            wait_equal(lambda block=block: lab.tor.via(block), {self.first.role}, "the pods' block")
        serve(lab.client, PORT)
        self.targets = (lab.client.address4, lab.client.address6)
        self.judge = Judge(lab.client, {address for node in self.gateways
                                        for address in (node.address4, node.address6)},
                           lab.tor)
        self.load = Load()

    def close(self):
        self.load.close()
        self.judge.close()

    # ---- objects ----

    def _write_nodes(self, *gateways):
        self.lab.write("nodes.yaml", *(
            item for node in self.lab.nodes for item in [
                objects.node(node.role, [node.address4, node.address6],
                             {"gateway": "yes"} if node in gateways else {}),
                *node.objects()[1:],
            ]))

    def _write_egresses(self, names=("nat", "other"), destinations=ALL):
        egresses = [objects.egress(name) for name in names]
        for egress in egresses:
            egress["spec"]["destinations"] = destinations
        self.lab.write("egress.yaml", *egresses)

    def _write_pods(self):
        self.lab.write("pods.yaml", *(objects.client_pod(pod, self.annotation[pod])
                                      for pod in self.pods if pod in self.annotation))

    # ---- what happens meanwhile ----

    def _kill_gateway(self):
        agent = self.chance.choice(self.gateways).agents[0]
        agent.kill()
        agent.start(ready=False)

    def _lose_gateway(self):
        self._write_nodes(self.chance.choice(self.gateways))

    def _have_all_gateways(self):
        self._write_nodes(*self.gateways)

    def _change_destinations(self):
        self._write_egresses(destinations=self.chance.choice([ALL, HALVES]))

    def _lose_egress(self):
        self._write_egresses(names=["other"])

    def _change_annotations(self):
        for pod in self.chance.sample(list(self.annotation), len(self.annotation) // 2):
            self.annotation[pod] = self.chance.choice(["nat", "other"])
        self._write_pods()

    def _use_up_ports(self):
        self.load.begin(self.chance.choice(self.pods), self.targets, GLUTTONY)

    def _happen(self):
        event = self.chance.choice([
            self._kill_gateway, self._lose_gateway, self._have_all_gateways, self._change_destinations,
            self._lose_egress, self._change_annotations, self._use_up_ports])
        event()
        self.done[event.__name__.strip("_")] += 1

    def _mend(self):
        """All as it should be, so that every pod gets out."""
        self._write_nodes(*self.gateways)
        self._write_egresses()

    # ---- pods ----

    def _remove(self, pod):
        """Its object goes while it still sends."""
        self.annotation.pop(pod, None)
        self._write_pods()
        self.pods.remove(pod)
        self.load.end(pod)
        self.first.ip("link", "del", pod.host_end)  # at once: another gets its address
        self.lab.remove_pod(pod)

    def start_pod(self):
        """Returns the sockets that wait for answers from outside."""
        pod = self.lab.pod(self.first, f"c{self.started}")
        self.started += 1
        self.pods.append(pod)
        answers = self.load.begin(pod, self.targets)
        if self.chance.random() < 0.5:
            time.sleep(self.chance.random() / 20)  # its object comes later, as things happen
        self.annotation[pod] = self.chance.choice(["nat", "other"])
        self._write_pods()
        return answers

    def round(self, events=3):
        """A few pods start, things happen, and the pods get out in the end."""
        count = self.chance.randrange(4, 11)
        while len(self.pods) + count > AT_ONCE:
            self._remove(self.chance.choice(self.pods))
        waiting = []
        for number in range(count):
            waiting += self.start_pod()
            if number < events:
                self._happen()
        self._mend()
        wait(lambda: not self.silent(waiting), "the new pods get answers from outside")

    def silent(self, waiting):
        """Takes out those that have been answered; returns whether any is left."""
        for sock in select.select(waiting, [], [], 0)[0]:
            try:
                sock.recv(64)
            except OSError:
                continue  # an ICMP error
            waiting.remove(sock)
        return waiting

    def drops(self):
        """By reason, of all agents."""
        return {item["reason"] for node in self.lab.nodes
                for item in node.agents[0].json("egress")["refusals"]}
