# SPDX-License-Identifier: Apache-2.0
"""How long pods are without service when one of their two gateways fails or leaves, in milliseconds.

Four ways to fail, each with manifests that nobody changes and so no help from the API:

    killed  the gateway's agent and BIRD are killed and its link goes down; BIRD as birdconf/ has it
    bfd     nothing comes from it any more, while its link is up: BFD alone finds out
    silent  the same without any routes to gateways: probes alone find out
    pod     a gateway pod is killed, agent and network

and two to leave:

    unready EndpointSlices say that a gateway pod is not ready: from the rename of the manifest
    drain   `agentctl drain` on the gateway

In each round a new flow of UDP begins every 20 ms from each of eight streams: two client nodes, two
families, two gateways. What the four streams of the gateway that failed had to wait is a sample each.
The gateways take turns.

    NAME         from the moment of the kill to the first new flow that is served, as are all behind it
    NAME-own     connections of the gateway that is gone: from the first packet that they send once
                 new flows are served elsewhere, to their reset; of a drain, how many were broken
    NAME-busy    of one that sends all the time: from the kill to its reset
    NAME-others  flows of the other gateway that were refused, reset, lost or moved
"""

import contextlib
import sys
import threading
import time

from gateways import PORT, Asking, World, slices
from lab import Lab, wait
from lab.traffic import Connection

ROUNDS = 25
BFD_ROUNDS = 10  # BIRD waits for up to 30 s until it tries a session again that has failed often
OWN = 2  # connections of each stream, beside the busy one
MS = 1000
NEVER = {"probeInterval": "1h"}


# ---- how gateways fail and come back ----

def silence(world, gate):
    """As if its power were cut behind a switch: what goes to it or comes from it is lost."""
    chains = "\n".join(
        f"chain {hook} {{ type filter hook {hook} device {gate.host.role} priority 0; policy drop; }}"
        for hook in ("ingress", "egress"))
    world.lab.tor.run("nft", "-f", "-", text=f"table netdev cut-{gate} {{\n{chains}\n}}")


def speak(world, gate):
    world.lab.tor.run("nft", "delete", "table", "netdev", f"cut-{gate}")


def power_off(world, gate):
    gate.agent.process.kill()
    gate.host.bird.process.kill()
    gate.host.configure("link set eth0 down")


def power_on(world, gate):
    host = gate.host
    for process in (gate.agent.process, host.bird.process):
        process.wait()
    host.configure("link set eth0 up", f"addr replace {host.address6}/64 dev eth0 nodad",
                   f"route replace default via {host.gateway4}",
                   f"route replace default via {host.gateway6}")
    host.bird.start()
    gate.agent.start()


def end_pod(world, gate):
    gate.agent.process.kill()
    gate.host.node.configure(f"link set {gate.host.host_end} down")


def begin_pod(world, gate):
    pod, node = gate.host, gate.host.node
    gate.agent.process.wait()
    node.configure(f"link set {pod.host_end} up", f"addr replace fe80::1/64 dev {pod.host_end} nodad",
                   f"route replace {pod.address4} dev {pod.host_end}",
                   f"route replace {pod.address6} dev {pod.host_end}")
    pod.configure(f"route replace default via {node.address4} dev eth0 onlink",
                  "route replace default via fe80::1 dev eth0")
    gate.agent.start()


def make_unready(world, gate):
    world.lab.write("slices.yaml", *slices(world.gates, [one for one in world.gates if one is not gate]))


def make_ready(world, gate):
    world.lab.write("slices.yaml", *slices(world.gates, world.gates))


def drain(world, gate):
    assert gate.agent.ctl("drain", "--no-wait").code == 0


def undrain(world, gate):
    assert gate.agent.ctl("undrain").code == 0


# By name: how it fails and comes back, what the lab is made of, and more for World.
CASES = {
    "killed": (power_off, power_on, {"nodes": 4, "bfd": True}, {}),
    "bfd": (silence, speak, {"nodes": 4, "bfd": True}, {"egress": NEVER}),
    "silent": (silence, speak, {"nodes": 4}, {}),
    "pod": (end_pod, begin_pod, {"nodes": 2}, {"in_pods": True}),
    "unready": (make_unready, make_ready, {"nodes": 2}, {"in_pods": True}),
    "drain": (drain, undrain, {"nodes": 4}, {}),
}


# ---- what connections see ----

class Busy:
    """A connection that sends a byte every now and then, and does not wait for answers."""

    def __init__(self, world, stream):
        self.connection = connect(world, stream)
        self.connection.socket.sendall(b"sink\n")
        self.ended = None

    def send(self):
        if self.ended:
            return
        try:
            self.connection.socket.sendall(b"x")
        except OSError:
            self.ended = time.monotonic()


def time_to_reset(connection):
    """Seconds; None: it is answered."""
    begin = time.monotonic()
    try:
        connection.who()
    except ConnectionError:
        return time.monotonic() - begin
    return None


class Talk(threading.Thread):
    """Connections of a stream that are asked all the time. Their ports are as fresh as those of Asking, so
    that no server or gateway still knows another connection by one of them."""

    COUNT, PAUSE = 4, 0.01

    def __init__(self, world, stream):
        super().__init__(daemon=True)
        self.harm, self.ended = [], threading.Event()
        self.name_of_stream = f"{stream.pod}, IPv{stream.family}"
        self.connections = [connect(world, stream) for _ in range(self.COUNT)]
        self.before = [connection.who() for connection in self.connections]

    def run(self):
        while not self.ended.wait(self.PAUSE):
            for at, connection in enumerate(self.connections):
                self._ask(at, connection)

    def _ask(self, at, connection):
        if self.before[at] is None:
            return
        try:
            if connection.who() == self.before[at]:
                return
            self.harm.append(f"{self.name_of_stream}: a connection moved")
        except OSError as error:
            self.harm.append(f"{self.name_of_stream}: {error!r}")
        self.before[at] = None

    def stop(self):
        """What became of those that were harmed."""
        self.ended.set()
        self.join()
        for connection in self.connections:
            connection.close()
        return self.harm


def connect(world, stream):
    return Connection(stream.pod, stream.target(world.lab), PORT, source_port=next(Asking.PORTS), timeout=20)


class Round:
    def __init__(self, world, gate, samples, name):
        self.world, self.gate, self.samples, self.name = world, gate, samples, name
        self.mine = [stream for stream in world.streams if stream.home is gate]
        self.others = [stream for stream in world.streams if stream.home is not gate]

    def note(self, suffix, value):
        self.samples.setdefault(f"egress-failover-{self.name}{suffix}", []).append(value)

    def run(self, fail):
        with contextlib.ExitStack() as stack:
            own = [stack.enter_context(connect(self.world, stream))
                   for stream in self.mine for _ in range(OWN)]
            for connection in own:
                assert self.world.by_address(connection.who().peer) is self.gate
            talks = [Talk(self.world, stream) for stream in self.others]
            for talk in talks:
                talk.start()
            self._follow(fail, own, [Busy(self.world, stream) for stream in self.mine])
            harmed = self.moved + [word for talk in talks for word in talk.stop()]
            for what in harmed:
                print(f"{self.name}: {what}", file=sys.stderr, flush=True)
            self.note("-others", len(harmed))

    def _follow(self, fail, own, busy):
        asking = Asking(self.world.lab, self.world.streams)
        asking.start()
        wait(lambda: all(asking.served(stream, 0) for stream in self.world.streams), "all are served")
        begin = time.monotonic()
        fail(self.world, self.gate)

        def served():
            for one in busy:
                one.send()
            return all(self._elsewhere(asking, stream, begin) for stream in self.mine)

        wait(served, f"{self.gate}: new flows are served elsewhere")
        took = [time_to_reset(connection) for connection in own]
        self._follow_busy(busy, begin)
        asking.stop()
        for stream in self.mine:
            self.note("", MS * asking.outage(stream, begin))
        self.note_own(took)
        self.moved = [
            f"{stream.pod}, IPv{stream.family}: {flow.begin - begin:.3f} s, seen as {flow.peer}"
            for stream in self.others for flow in asking.of(stream)
            if flow.peer is None or self.world.by_address(flow.peer) is not stream.home]

    def _elsewhere(self, asking, stream, begin):
        last = asking.of(stream, begin)[-20:]
        answered = [flow for flow in last if flow.peer]
        return (asking.served(stream, begin)
                and all(self.world.by_address(flow.peer) is not self.gate for flow in answered[-5:]))

    def _follow_busy(self, busy, begin):
        if self.name != "drain":
            def all_ended():
                for one in busy:
                    one.send()
                return all(one.ended for one in busy)

            wait(all_ended, "those that send all the time are reset")
            for one in busy:
                self.note("-busy", MS * (one.ended - begin))
        for one in busy:
            one.connection.close()

    def note_own(self, took):
        if self.name == "drain":
            self.note("-own", sum(seconds is not None for seconds in took))
            return
        assert None not in took, f"{self.gate}: a connection of it lives"
        for seconds in took:
            self.note("-own", MS * seconds)


def measure(name, samples, rounds=ROUNDS):
    fail, mend, made_of, more = CASES[name]
    with Lab(f"bench-failover-{name}", nat=True, **made_of) as lab:
        world = World(lab, **more)
        for number in range(rounds):
            world.at_home()
            gate = world.gates[number % len(world.gates)]
            Round(world, gate, samples, name).run(fail)
            mend(world, gate)


def egress_failover():
    samples = {}
    for name in CASES:
        measure(name, samples, BFD_ROUNDS if name == "bfd" else ROUNDS)
    return samples
