# SPDX-License-Identifier: Apache-2.0
"""Faults of egress, as the client's node and the gateways tell them."""

import os
import socket
import time
from copy import deepcopy
from pathlib import Path

import pytest
from attached import attachments, strip
from faults import ITSELF, Table, check
from lab import objects, wait, wait_equal
from lab.traffic import open_socket, serve
from moments import Stopwatch
from nat_world import pinned
from test_egress import PORT, address, egress, pod_object, seen

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
gateways, clients = Table(), Table()
DROPS = """
table inet wall {
    chain forward { type filter hook forward priority filter; udp dport 5555 drop; }
}
"""


class World:
    """A pod on the first node leaves by the other two; `agent` is that whose word counts."""

    def __init__(self, lab):
        self.lab = lab
        self.node, *self.gates = lab.nodes
        self.gate = self.gates[0]
        self.write_nodes(*self.gates)
        self.pod = lab.pod(self.node, "guest")
        lab.write("egress.yaml", egress())
        lab.write("pods.yaml", pod_object(self.pod))
        off = {"enabled": False}
        lab.agent(self.node, egress={"enabled": True}, services=off)
        for node in self.gates:
            lab.agent(node, egress={"gateway": {"ports": "2000-2127", "blocksPerClient": 2}}, services=off)
        lab.wait_sessions()
        serve(lab.client, PORT)
        self.client = lab.client
        self.leaves()

    def of(self, host):
        self.agent = host.agents[0]
        return self

    def write_nodes(self, *gates, addresses=None):
        self.lab.write("nodes.yaml", *(
            item for node in self.lab.nodes for item in [
                objects.node(node.role, (addresses or {}).get(node.role, [node.address4, node.address6]),
                             {"gateway": "yes"} if node in gates else {}),
                *node.objects()[1:]]))

    def leaves(self):
        wanted = {4: {gate.address4 for gate in self.gates}, 6: {gate.address6 for gate in self.gates}}
        self.guest = self.pod
        for family in (4, 6):
            wait(lambda family=family: seen(self, family) in wanted[family], "the pod leaves by a gateway")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@gateways(within=1)
def somebody_deletes_the_qdisc_of_the_uplink(world):
    world.gate.run("tc", "qdisc", "add", "dev", "eth0", "clsact", check=False)
    world.gate.run("tc", "qdisc", "del", "dev", "eth0", "clsact")
    yield
    world.leaves()


@gateways("nat-router-missing", within=1, cause=("routes", "no route leads to another router"), remedy="ip route add default",
          beside="route")
def the_gateways_default_routes_are_gone(world):
    for family in ("-4", "-6"):
        world.gate.ip(family, "route", "del", "default")
    yield
    for gateway in (world.gate.gateway4, world.gate.gateway6):
        world.gate.ip("route", "replace", "default", "via", gateway)
    yield
    world.leaves()


@clients("egress-unknown", within=1, cause=("guest", "Egress internet/nowhere", "does not exist"), remedy="create it",
         says={"explain default/pod-guest": "fault     Egress internet/nowhere: does not exist"})
def an_annotation_names_nothing(world):
    world.lab.write("pods.yaml", pod_object(world.pod, "nowhere"))
    yield
    world.lab.write("pods.yaml", pod_object(world.pod))
    yield
    world.leaves()


@clients("egress-gateways-one-address", within=1, cause=("Egress internet/nat", "Node node2 and Node node3 have one address"),
         remedy="give each Node an InternalIP of its own")
def two_gateways_have_one_address(world):
    one, two = world.gates
    world.write_nodes(*world.gates, addresses={two.role: [one.address4, two.address6]})
    yield
    world.write_nodes(*world.gates)
    yield
    world.leaves()


@gateways("egress-gateway-ports-exhausted", within=1, lingers=10, cause="source ports", remedy="egress.gateway.ports")
def the_ports_are_used_up(world):
    world.write_nodes(world.gate)
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by this gateway alone")
    flows = [open_socket(world.pod, address(world.client, 4), socket.SOCK_STREAM, 0, "", 1) for _ in range(160)]
    for flow in flows:
        flow.setblocking(False)
        flow.connect_ex((address(world.client, 4), PORT))
    yield
    for flow in flows:
        flow.close()
    world.write_nodes(*world.gates)


@clients("egress-gateways-silent", within=5, cause=("gateway", "10.0."), remedy="UDP port 5555", beside="gateway")
def a_firewall_on_the_way_drops_fou(world):
    world.lab.tor.run("nft", "-f", "-", text=DROPS)
    yield
    world.lab.tor.run("nft", "delete", "table", "inet", "wall")
    yield
    world.leaves()


@clients("egress-no-node-selected", within=1, cause="Egress internet/nat", remedy="label", beside="gateway")
def the_label_is_taken_from_all_nodes(world):
    world.write_nodes()
    yield
    world.write_nodes(*world.gates)
    yield
    world.leaves()


@pytest.mark.parametrize("role", ("client", "gateway"))
def test_pins_that_somebody_removes_come_back(world, role):
    """Maps and links: a program goes with the pin of its link, and service NAT is off here."""
    node = world.node if role == "client" else world.gate
    world.write_nodes(world.gate)
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by this gateway alone")
    folder = Path(node.agents[0].settings["paths"]["bpf"])
    found = pinned(folder)
    watch = Stopwatch(node.agents[0].process.pid, os.getpid())
    for name in found:
        (folder / name).unlink()
    wait_equal(lambda: pinned(folder), found, "the pins")
    assert watch.seconds(time.monotonic()) < 2
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by it again")
    assert watch.seconds(time.monotonic()) < 4
    world.write_nodes(*world.gates)
    world.leaves()


LAYER = "egress-links"


@clients("egress-default-route-shared", within=1, cause=("Egress internet/", "0.0.0.0/0", "is also a destination of Egress"),
         remedy="only one of the two", beside="is also a destination of Egress")
def a_pod_names_two_egresses_with_one_destination(world):
    world.lab.write("second.yaml", egress("second"))
    world.lab.write("pods.yaml", pod_object(world.pod, "nat,second"))
    yield
    world.lab.write("pods.yaml", pod_object(world.pod))
    (world.lab.manifests / "second.yaml").unlink()
    yield
    world.leaves()


@clients(within=1, heals=True)
def the_program_is_detached_from_the_pods_interface(world):
    before = attachments(world.agent, LAYER)
    assert any(device == world.pod.host_end for device, _ in before), before
    strip(world.agent, world.pod.host_end, LAYER)
    yield
    wait_equal(lambda: attachments(world.agent, LAYER), before, "the programs to be back")
    yield
    world.leaves()


@clients("object-prefix-unreadable", within=1, cause=("egress.yaml:", "0.0.0.0/33"), remedy=("",))
def a_destination_is_too_long(world):
    world.lab.write("egress.yaml", egress(destinations=("0.0.0.0/33", "::/0")))
    yield
    world.lab.write("egress.yaml", egress())
    yield
    world.leaves()


LISTENS = "import socket, time; s = socket.socket({}, socket.SOCK_DGRAM); s.bind(('{}', 5555)); time.sleep(600)"


def restart(world, agents, change):
    """Agents with another egress than they had; returns what gives it back."""
    kept = [deepcopy(agent.settings["egress"]) for agent in agents]
    for agent in agents:
        agent.stop()
        change(agent.settings["egress"])
        agent.write_config()
        agent.start()

    def back():
        for agent, egress_ in zip(agents, kept):
            agent.stop()
            agent.settings["egress"] = egress_
            agent.write_config()
            agent.start()
    return back


@clients("egress-gateways-silent", within=5, cause=("gateway", "does not answer probes"), remedy="egress.port",
         beside="gateway")
def the_gateways_have_another_port(world):
    back = restart(world, [gate.agents[0] for gate in world.gates], lambda settings: settings.update(port=5556))
    yield
    back()
    yield
    world.leaves()


@clients("egress-no-node-selected", within=1,
         cause=("Egress internet/nat", "no Node that fingerpost.io/gateway-nodes selects"), remedy="label Nodes",
         beside=("no gateway", "gateway"))
def the_selector_of_gateways_selects_nobody(world):
    """The row expects that it is none. It is one: `role` is empty, and `gateway` is there."""
    world.lab.write("egress.yaml", egress(**{"fingerpost.io/gateway-nodes": "role==,gateway"}))
    yield
    world.lab.write("egress.yaml", egress())
    yield
    world.leaves()


@gateways(within=1)
def a_program_listens_at_the_port_of_egress(world):
    daemon = world.gate.start("python3", "-c", LISTENS.format("socket.AF_INET", "0.0.0.0"), log="daemon.log")
    wait(lambda: "5555" in world.gate.run("ss", "-Hlun").stdout, "the program")
    yield
    world.leaves()
    daemon.kill()
    daemon.wait()
    yield


@gateways("egress-gateway-address-of-service", within=1, cause=("203.0.113.88", "Service default/other"),
          remedy="another address", beside="203.0.113.88")
def a_gateways_address_is_a_services(world):
    world.lab.write("other.yaml", objects.service("other", ["203.0.113.88"]))
    back = restart(world, [world.gate.agents[0]],
                   lambda settings: settings["gateway"].update(addresses=["203.0.113.88", "fd00:203::88"]))
    yield
    back()
    (world.lab.manifests / "other.yaml").unlink()
    yield
    world.leaves()


@gateways(within=1)
def the_gateway_does_not_forward(world):
    """A fault was expected; but packets go past the stack, and leave as before."""
    world.write_nodes(world.gate)
    wait(lambda: seen(world, 4) == world.gate.address4, "the pod to leave by this gateway alone")
    world.gate.run("sysctl", "-qw", "net.ipv4.ip_forward=0")
    yield
    assert seen(world, 4) == world.gate.address4
    world.gate.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    world.write_nodes(*world.gates)
    yield
    world.leaves()


@clients("egress-gateway-unreachable", within=5, cause=("Egress internet/nat", "no route leads there"), remedy="ip route get",
         beside="gateway")
def there_is_no_route_to_a_gateway(world):
    world.node.ip("route", "add", "unreachable", world.gate.address4)
    yield
    world.node.ip("route", "del", "unreachable", world.gate.address4)
    yield
    world.leaves()


@clients(within=1)
def a_gateways_node_is_cordoned(world):
    def write(**spec):
        world.lab.write("nodes.yaml", *(
            item for node in world.lab.nodes for item in [
                {**objects.node(node.role, [node.address4, node.address6], {"gateway": "yes"} if node in world.gates else {}),
                 "spec": spec if node is world.gate else {}}, *node.objects()[1:]]))
    write(unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    yield
    world.leaves()
    write()
    yield


@clients(within=1, heals=True)
def somebody_removes_the_pins_of_egress(world):
    folder = Path(world.agent.settings["paths"]["bpf"])
    before = pinned(folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_dir() and not path.name.endswith(".debug"):
            path.unlink()
    yield
    wait(lambda: pinned(folder) >= before, "the pins to be back")
    world.leaves()
    yield


@clients(within=1)
def two_egresses_have_the_same_destinations(world):
    lab = world.lab
    pod = lab.pod(world.node, "other")
    lab.write("second.yaml", egress("second"), pod_object(pod, "second"))
    yield
    world.leaves()
    (lab.manifests / "second.yaml").unlink()
    yield


@clients("object-field-empty", within=1, cause=("second.yaml:", "destinations"), remedy=ITSELF)
def an_egress_has_no_destinations(world):
    world.lab.write("second.yaml", egress("second", ()))
    yield
    (world.lab.manifests / "second.yaml").unlink()


@gateways("nat-uplink-down", within=1, cause="eth0", remedy="ip link set eth0 up", beside=("route", "no way", "answer"))
def the_uplink_of_a_gateway_is_down(world):
    gate = world.gate
    gate.ip("link", "set", "eth0", "down")
    yield
    gate.ip("link", "set", "eth0", "up")
    gate.ip("addr", "replace", f"{gate.address6}/64", "dev", "eth0", "nodad")
    for gateway in (gate.gateway4, gate.gateway6):
        gate.ip("route", "replace", "default", "via", gateway)
    yield
    world.leaves()


@clients("object-prefix-unreadable", within=1, cause=("egress.yaml:", "198.18.0.7"), remedy=ITSELF)
def a_destination_has_no_length(world):
    world.lab.write("egress.yaml", egress(destinations=("0.0.0.0/0", "::/0", "198.18.0.7")))
    yield
    world.lab.write("egress.yaml", egress())
    yield
    world.leaves()


@clients(within=5)
def the_agent_of_a_gateway_is_killed(world):
    agent = world.gate.agents[0]
    agent.kill()
    world.leaves()
    agent.start()
    yield
    world.leaves()


@gateways.each
def test_on_the_gateway(world, row):
    check(row, world.of(world.gate))


@clients.each
def test_on_the_clients_node(world, row):
    check(row, world.of(world.node))
