# SPDX-License-Identifier: Apache-2.0
"""Services as NAT tests want them, and what real clients of theirs have to see by the plan.

The expectation is not written by hand but asked of the planner (`agentctl plan --json`): which
endpoints, whether the source is rewritten, whether a client is refused or left alone. The tests that
call this hold the planner's word against real sockets; that the planner is right is for
tests/property and tests/golden to say.
"""

import json
from concurrent.futures import ThreadPoolExecutor

from lab import objects, wait_equal
from lab.agent import program
from lab.lab import Node, Pod
from lab.traffic import ask, outcome, serve

PORT, TARGET = 80, 8080
KINDS = ("clusterIP", "loadBalancer", "externalIP", "nodePort")
FAMILIES = (4, 6)
PROTOCOLS = ("TCP", "UDP")
NO_HOLD = {"holdDown": {"initial": "0s", "max": "0s"}}
TRIES = 24  # by which each of two endpoints is met, but for one time in eight million
QUIET = 1.2  # seconds after which a client is taken to get no answer


def address_of(host, family):
    return host.address4 if family == 4 else host.address6


def node_of(host):
    """The node that a pod or a process of a node runs on; None for what is outside."""
    return host if isinstance(host, Node) else getattr(host, "node", None)


def backend(host, family, **conditions):
    """An endpoint of a slice: a pod, or a node for a pod in the host's network."""
    return objects.endpoint(address_of(host, family), node_of(host).role, **conditions)


class Service:
    """Port 80 of TCP and UDP on every kind of address of both families; `spec` is laid over it."""

    protocols = PROTOCOLS

    def __init__(self, lab, name="web", number=10, **spec):
        self.lab, self.name, self.node_port, self.spec = lab, name, 30000 + number, spec
        self.of = {
            "clusterIP": (f"10.96.0.{number}", f"fd00:96::{number:x}"),
            "loadBalancer": (f"203.0.113.{number}", f"fd00:203::{number:x}"),
            "externalIP": (f"203.0.113.{128 + number}", f"fd00:203::1:{number:x}"),
        }
        self.backends = []

    def __str__(self):
        return self.name

    def address(self, kind, family, node=None):
        """Address and port; of a node port: on that node."""
        if kind == "nodePort":
            return address_of(node, family), self.node_port
        return self.of[kind][family == 6], PORT

    def announced(self):
        return [*self.of["loadBalancer"], *self.of["externalIP"]]

    def objects(self, slices=True):
        ports = [
            {"name": protocol.lower(), "port": PORT, "protocol": protocol, "targetPort": TARGET,
             "nodePort": self.node_port}
            for protocol in self.protocols
        ]
        items = [objects.service(
            self.name, self.of["loadBalancer"],
            **{"clusterIP": self.of["clusterIP"][0], "clusterIPs": list(self.of["clusterIP"]),
               "externalIPs": list(self.of["externalIP"]), "ports": ports, **self.spec},
        )]
        for family in FAMILIES if slices else ():
            items.append(objects.slice_of(
                self.name, [backend(host, family, **how) for host, how in self.backends],
                family=f"IPv{family}", suffix=f"v{family}",
                ports=[{"name": p.lower(), "port": TARGET, "protocol": p} for p in self.protocols],
            ))
        return items

    def write(self, *hosts, **spec):
        """Writes it with these endpoints: hosts, or (host, conditions)."""
        self.backends = [host if isinstance(host, tuple) else (host, {}) for host in hosts]
        self.spec |= spec
        self.lab.write(f"{self.name}.yaml", *self.objects())

    def delete(self):
        (self.lab.manifests / f"{self.name}.yaml").unlink()


def start(lab, *services, **overrides):
    """Agents on all nodes, all that is written is served, and the ToR knows the pods."""
    lab.write_nodes()
    overrides.setdefault("routes", NO_HOLD)
    agents = [lab.agent(node, **overrides) for node in lab.nodes]
    settle(lab)
    for node in lab.nodes:
        for block in (node.block4, node.block6):
            wait_equal(lambda: lab.tor.via(block), {node.role}, f"{block} on the ToR")
    for service in services:
        announced(lab, service, *lab.nodes)
    return agents


def announced(lab, service, *nodes):
    """Waits until the ToR sends the Service's addresses to these nodes and no others."""
    for address in service.announced():
        wait_equal(lambda: lab.tor.via(address), {node.role for node in nodes},
                   f"{address} on the ToR via {[str(node) for node in nodes]}")


def settle(lab):
    """Waits until all agents have done what the manifests say."""
    return [agent.settled() for node in lab.nodes for agent in node.agents if agent.running()]


def pods(lab, *names, nodes=None):
    """A pod of each name with a server on every node: "one-1", "one-2"; by name."""
    found = {}
    for node in nodes or lab.nodes:
        for name in names:
            pod = lab.pod(node, f"{name}-{node.role[-1]}")
            serve(pod, TARGET)
            found[f"{name}{node.role[-1]}"] = pod
    return found


def steer(lab, node, *addresses):
    """Makes the ToR send these addresses to one node, whatever BGP says."""
    for address in addresses:
        gateway = node.address6 if ":" in address else node.address4
        lab.tor.ip("route", "replace", address, "via", gateway, "metric", "1")


class Plan:
    """What one node's planner wants: outcomes by (address, port, protocol)."""

    def __init__(self, agent):
        self.node = agent.node
        done = agent.node.run(
            program("agentctl"), "plan", "-f", agent.settings["source"]["manifests"],
            "--node", agent.settings["node"], "--config", str(agent.config_file), "--json",
            check=False,
        )
        self.frontends = {
            (frontend["address"], frontend["port"], frontend["protocol"]): frontend
            for item in json.loads(done.stdout)["nat"] for frontend in item["frontends"]
        }

    def outcome(self, address, port, protocol, source):
        return self.frontends[address, port, protocol]["from"][source]


def named(endpoints, hosts):
    """Endpoints as the names that their servers say."""
    names = {}
    for host in hosts:
        names[f"{host.address4}:{TARGET}"] = names[f"[{host.address6}]:{TARGET}"] = host.role
    return {names[endpoint] for endpoint in endpoints}


class Expected:
    """What one client of one address has to see."""

    patience = 5  # seconds to wait for an answer that has to come

    def __init__(self, plans, client, service, kind, family, protocol, at):
        """`at`: the node that an outside client's packets, or those to a node port, come to."""
        here = node_of(client)
        self.client, self.family, self.protocol = client, family, protocol
        self.node = at if here is None or kind == "nodePort" else here
        self.address, self.port = service.address(kind, family, at)
        self.origin = ("pod" if isinstance(client, Pod) else
                       "node" if client is self.node else "outside")
        outcome_ = plans[self.node.role].outcome(self.address, self.port, protocol, self.origin)
        self.verdict, self.masquerade = outcome_["verdict"], outcome_["masquerade"]
        self.hosts = {host.role: host for host, _ in service.backends}
        self.names = named(outcome_["endpoints"], self.hosts.values())
        self.text = f"{client} -> {service} {kind} {self.address}:{self.port}/{protocol} by {self.node}"

    def comes_back(self):
        """False where the answer cannot pass the node that translated the question: a pod of another
        node asked for a node port, keeps its address by the policy, and the endpoint has a shorter
        way to it. That is as with kube-proxy, whose network plugin has to masquerade there."""
        there = node_of(self.client)
        return (self.masquerade or there in (None, self.node) or
                all(node_of(self.hosts[name]) is self.node for name in self.names))

    def source(self, name):
        """The address that the server of that name shall see."""
        server = self.hosts[name]
        if server is self.node or not (self.masquerade or server is self.client):
            return address_of(self.client, self.family)
        return address_of(self.node, self.family)

    def wrong(self):
        """What is not as it shall be, in words; None."""
        if self.verdict != "forward":
            timeout = QUIET if self.verdict == "drop" else self.patience
            got = outcome(self.client, self.address, self.port, self.protocol, timeout=timeout)
            return None if got == self.verdict else f"{self.text}: {self.verdict} expected, got {got}"
        try:
            found = [ask(self.client, self.address, self.port, self.protocol, timeout=self.patience)
                     for _ in range(TRIES if len(self.names) > 1 else 2)]
        except OSError as error:
            return f"{self.text}: forward to {sorted(self.names)} expected, got {error!r}"
        names = {answer.name for answer in found}
        if names != self.names:
            return f"{self.text}: {sorted(self.names)} expected, got {sorted(names)}"
        bad = {(a.name, a.peer) for a in found if a.peer != self.source(a.name)}
        if bad:
            return f"{self.text}: seen as {[(n, self.source(n)) for n, _ in bad]} expected, got {bad}"
        return None


def check(expected, workers=12):
    """Real clients, many at a time, see what is expected; or what they see instead, line by line."""
    with ThreadPoolExecutor(workers) as pool:
        wrong = [text for text in pool.map(Expected.wrong, expected) if text]
    lines = [f"{len(wrong)} of {len(expected)} otherwise than expected:", *wrong[:40]]
    assert expected and not wrong, "\n".join(lines)


def clients_of(lab):
    """Every host that may be a client, but for the ToR."""
    return [lab.client, *lab.nodes, *(pod for node in lab.nodes for pod in node.pods.values())]
