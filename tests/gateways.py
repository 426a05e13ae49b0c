# SPDX-License-Identifier: Apache-2.0
"""Pods that leave by two gateways, of which one fails: for tests/netns, the bench and the soak.

Gateways are Nodes, or pods behind the Egress's Service. There are two client nodes, with a pod for
each gateway and family: pods are added until each gateway has one of its own everywhere, since a
pod keeps to one gateway as long as that is there.
"""

import itertools
import random
import selectors
import socket
import threading
import time
from dataclasses import dataclass

from lab import objects, wait
from lab.traffic import Connection, Load, ask, open_socket, serve, wait_answers

PORT = 8080
FOU = {"name": "", "port": 5555, "protocol": "UDP"}
OFF = {"enabled": False}
FAMILIES = (4, 6)
MOST_PODS = 12  # of a node, until each gateway has one of its own


class Gate:
    """A gateway: its host, and the addresses by which the nodes know it."""

    def __init__(self, host, own=False):
        self.host = host
        self.address4 = host.own4 if own else host.address4
        self.address6 = host.own6 if own else host.address6

    def __str__(self):
        return self.host.role

    @property
    def agent(self):
        return self.host.agents[0]

    def address(self, family):
        return self.address4 if family == 4 else self.address6


@dataclass(frozen=True)
class Stream:
    """A pod and a family: all its flows leave by one gateway, `home`, while that serves."""

    pod: object
    family: int
    home: Gate

    def target(self, lab):
        return lab.client.address4 if self.family == 4 else lab.client.address6


def slices(gates, ready=()):
    """The endpoints of the Egress's Service; those that are not `ready` are not."""
    found = []
    for family in FAMILIES:
        made = objects.slice_of(
            "nat", [objects.endpoint(gate.address(family), gate.host.node.role, ready=gate in ready)
                    for gate in gates], family=f"IPv{family}", ports=[FOU], suffix=f"v{family}")
        made["metadata"]["namespace"] = "internet"
        found.append(made)
    return found


def service():
    made = objects.service("nat", [], ports=[FOU])
    made["metadata"]["namespace"] = "internet"
    made["spec"]["type"] = "ClusterIP"
    return made


class World:
    """`in_pods`: gateways are pods of the two client nodes; else the other nodes of the lab are, by
    their own addresses where the lab has BFD. `egress`: more of the clients' configuration."""

    def __init__(self, lab, in_pods=False, egress=None, **gateway):
        self.lab, self.in_pods = lab, in_pods
        self.nodes = lab.nodes[:2]
        self.settings = {"enabled": True, **(egress or {})}
        self.gates = self._pods(gateway) if in_pods else self._routers(gateway)
        self.pods = []
        for node in self.nodes:
            lab.agent(node, services=OFF, egress=self.settings)
        serve(lab.client, PORT)
        lab.wait_sessions()
        self.streams = self._find_streams()

    def _routers(self, gateway):
        lab = self.lab
        gates = [Gate(node, own=lab.bfd) for node in lab.nodes[2:]]
        for gate in gates if lab.bfd else ():
            lab.own_address(gate.host)
        lab.write("nodes.yaml", *(
            item for node in self.nodes for item in node.objects()), *(
            objects.node(gate.host.role, [gate.address4, gate.address6], {"gateway": "yes"})
            for gate in gates))
        lab.write("egress.yaml", objects.egress())
        for gate in gates:
            lab.agent(gate.host, services=OFF, egress={"gateway": gateway})
        return gates

    def _pods(self, gateway):
        lab = self.lab
        lab.write_nodes()
        gates = [Gate(lab.pod(node, f"{node}-gate")) for node in self.nodes]
        lab.write("egress.yaml", objects.egress(gateways=None), service())
        lab.write("slices.yaml", *slices(gates, gates))
        for gate in gates:
            lab.agent(gate.host, services=OFF, routes=OFF,
                      egress={"gateway": {"serves": ["internet/nat"], **gateway}})
        return gates

    def add_pod(self, node):
        pod = self.lab.pod(node, f"{node}-guest{len(self.pods)}")
        self.pods.append(pod)
        self.lab.write("pods.yaml", *map(objects.client_pod, self.pods))
        return pod

    def gate_of(self, pod, family, timeout=1):
        """By which gateway a new flow of a pod leaves; None: by none."""
        target = self.lab.client.address4 if family == 4 else self.lab.client.address6
        try:
            peer = ask(pod, target, PORT, "UDP", timeout=timeout).peer
        except OSError:
            return None
        return self.by_address(peer)

    def by_address(self, peer):
        for gate in self.gates:
            if peer in (gate.address4, gate.address6):
                return gate
        return None

    def _find_streams(self):
        found = {}
        wanted = len(self.nodes) * len(self.gates) * len(FAMILIES)
        while len(found) < wanted:
            assert len(self.pods) < MOST_PODS, "pods that share no gateway"
            for node in self.nodes:
                pod = self.add_pod(node)
                for family in FAMILIES:
                    gate = wait(lambda pod=pod, family=family: self.gate_of(pod, family),
                                f"a gateway of {pod}, IPv{family}")
                    found.setdefault((node.role, family, str(gate)), Stream(pod, family, gate))
        return list(found.values())

    def states(self, node):
        """What a client node says of each gateway: {address: state}."""
        return {gateway["address"]: gateway["state"]
                for item in node.agents[0].json("egress")["items"] for gateway in item["gateways"]}

    def at_home(self):
        """Waits until all gateways serve, and each stream leaves by its own."""
        wanted = {gate.address(family): "active" for gate in self.gates for family in FAMILIES}
        for node in self.nodes:
            wait(lambda node=node: self.states(node) == wanted, f"{node} uses all gateways", 60)
        for stream in self.streams:
            wait(lambda stream=stream: self.gate_of(stream.pod, stream.family) is stream.home,
                 f"{stream.pod} leaves by {stream.home}")


class Flow:
    """A flow of UDP of one question."""

    __slots__ = ("stream", "begin", "socket", "peer")

    def __init__(self, stream, lab, port):
        self.stream, self.peer = stream, None
        target = stream.target(lab)
        self.socket = open_socket(stream.pod, target, socket.SOCK_DGRAM, source_port=port)
        self.socket.setblocking(False)
        self.begin = time.monotonic()
        try:
            self.socket.connect((target, PORT))
            self.socket.send(b"who")
        except OSError:
            pass  # it stays without an answer

    def hear(self):
        try:
            self.peer = self.socket.recv(1000).decode().split()[1]
        except OSError:
            pass  # an ICMP error: no answer


class Asking(threading.Thread):
    """Begins a flow of each stream every INTERVAL, and keeps who it was seen as outside.

    Each has a source port that no flow had for long, also not of an earlier Asking: by a port that
    was used a moment ago it would be a flow that goes on, and keep that one's gateway.
    """

    INTERVAL, PATIENCE = 0.02, 1.0
    PORTS = itertools.cycle(range(2000, 32000))  # below those that the kernel takes

    def __init__(self, lab, streams):
        super().__init__(daemon=True)
        self.lab, self.streams = lab, streams
        self.flows, self.waiting = [], []
        self.selector = selectors.DefaultSelector()
        self.ended = threading.Event()

    def run(self):
        due = time.monotonic()
        while not self.ended.is_set() or self.waiting:
            if not self.ended.is_set() and time.monotonic() >= due:
                due += self.INTERVAL
                port = next(self.PORTS)
                for stream in self.streams:
                    self._begin(stream, port)
            for key, _ in self.selector.select(max(due - time.monotonic(), 0.001)):
                key.data.hear()
                self._close(key.data)
            self._give_up()

    def _begin(self, stream, port):
        flow = Flow(stream, self.lab, port)
        self.flows.append(flow)
        self.waiting.append(flow)
        self.selector.register(flow.socket, selectors.EVENT_READ, flow)

    def _close(self, flow):
        self.selector.unregister(flow.socket)
        flow.socket.close()
        flow.socket = None

    def _give_up(self):
        """Forgets those that are answered, and those that will not be."""
        old = time.monotonic() - self.PATIENCE
        for flow in self.waiting:
            if flow.socket and flow.begin < old:
                self._close(flow)
        self.waiting = [flow for flow in self.waiting if flow.socket]

    def of(self, stream, since=0.0):
        return [flow for flow in list(self.flows) if flow.stream is stream and flow.begin >= since]

    def served(self, stream, since, times=5):
        """Whether the last few flows that had time for it were answered."""
        flows = [flow for flow in self.of(stream, since) if flow.peer or not flow.socket]
        return len(flows) >= times and all(flow.peer for flow in flows[-times:])

    def stop(self):
        self.ended.set()
        self.join()

    def outage(self, stream, since):
        """Seconds from `since` to the first flow after the last one that was lost; 0: none was."""
        flows = self.of(stream, since)
        lost = [at for at, flow in enumerate(flows) if not flow.peer]
        if not lost:
            return 0.0
        assert lost[-1] + 1 < len(flows), f"{stream}: not served again"
        return flows[lost[-1] + 1].begin - since


class Transfer(threading.Thread):
    """A connection over which bytes go back and forth and are compared, until stop()."""

    CHUNK = bytes(range(256)) * (1 << 12)

    def __init__(self, lab, stream, enough=None):
        """`enough`: bytes of each direction after which it ends by itself."""
        super().__init__(daemon=True)
        self.lab, self.stream, self.enough = lab, stream, enough
        self.done, self.error = 0, None
        self.ended = threading.Event()
        self.connection = Connection(stream.pod, stream.target(lab), PORT, timeout=60)

    def run(self):
        size = len(self.CHUNK)
        try:
            while not self.ended.is_set() and (self.enough is None or self.done < self.enough):
                assert self.connection.put(self.CHUNK), "what was sent is not what came"
                assert self.connection.get(size), "what came is not what was sent"
                self.done += size
        except (AssertionError, OSError, ValueError) as error:
            self.error = f"{self.stream.pod}, IPv{self.stream.family}: {error!r}"

    def stop(self):
        """Returns what went wrong, or None."""
        self.ended.set()
        self.join()
        self.connection.close()
        return self.error


class Kills:
    """Agents of both sides are killed, at any moment of theirs, while flows of all kinds go on."""

    KINDS = {"long": {"c": 2, "i": 10}, "udp": {"c": 2, "i": 10}, "short": {"i": 200}}

    def __init__(self, world, seed):
        self.world, self.chance = world, random.Random(seed)
        self.agents = [node.agents[0] for node in world.nodes] + [gate.agent for gate in world.gates]
        lab = world.lab
        self.loads = [Load(stream.pod, kind, stream.target(lab), PORT, **options)
                      for stream in world.streams for kind, options in self.KINDS.items()]
        self.transfers = [Transfer(lab, stream) for stream in world.streams]
        for transfer in self.transfers:
            transfer.start()
        wait_answers(self.loads, 5)

    def kill(self):
        """One of them; the next may come before it is ready again."""
        agent = self.chance.choice(self.agents)
        agent.kill()
        if self.chance.random() < 0.5:
            wait_answers(self.loads, 2)
        agent.start(ready=self.chance.random() < 0.7)

    def stop(self):
        """Waits for all agents; returns what went wrong: flows that were harmed, each by its words."""
        for agent in self.agents:
            wait(agent.ready, f"READY=1 of {agent.node}", 120)
        harm = [error for error in (transfer.stop() for transfer in self.transfers) if error]
        for load in self.loads:
            result = load.stop()
            harm += [f"{load.what}: {word}, {count} times" for word, count in result["errors"].items()]
        return harm
