# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, egress: each row was written down before it was tried (tests/seventh_list.txt)."""

import pytest
from faults import Table, check
from lab import objects, wait
from test_egress import egress
from test_fifth_list_egress import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
clients, gateways = Table("seventh_list"), Table("seventh_list")
LISTENS = "import socket, time; s = socket.socket({}, socket.SOCK_DGRAM); s.bind(('{}', 5555)); time.sleep(600)"


def restart(world, agents, change):
    """Agents with another egress than they had; returns what gives it back."""
    kept = [dict(agent.settings["egress"]) for agent in agents]
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


@clients(834, code="egress-gateways-silent",
         cause=("gateway", "does not answer probes"), remedy="egress.port", beside="gateway")
def the_gateways_have_another_port(world):
    back = restart(world, [gate.agents[0] for gate in world.gates], lambda settings: settings.update(port=5556))
    yield
    back()
    yield
    world.leaves()


@clients(837, cause=("Egress internet/nat", "no Node that fingerpost.io/gateway-nodes selects"), remedy="label Nodes",
         beside=("no gateway", "gateway"))
def the_selector_of_gateways_selects_nobody(world):
    """The row expects that it is none. It is one: `role` is empty, and `gateway` is there."""
    world.lab.write("egress.yaml", egress(**{"fingerpost.io/gateway-nodes": "role==,gateway"}))
    yield
    world.lab.write("egress.yaml", egress())
    yield
    world.leaves()


@gateways(835)
def a_program_listens_at_the_port_of_egress(world):
    daemon = world.gate.start("python3", "-c", LISTENS.format("socket.AF_INET", "0.0.0.0"), log="daemon.log")
    wait(lambda: "5555" in world.gate.run("ss", "-Hlun").stdout, "the program")
    yield
    world.leaves()
    daemon.kill()
    daemon.wait()
    yield


@gateways(836, code="egress-gateway-address-of-service",
          cause=("203.0.113.88", "Service default/other"), remedy="another address", beside="203.0.113.88")
def a_gateways_address_is_a_services(world):
    world.lab.write("other.yaml", objects.service("other", ["203.0.113.88"]))
    back = restart(world, [world.gate.agents[0]],
                   lambda settings: settings["gateway"].update(addresses=["203.0.113.88", "fd00:203::88"]))
    yield
    back()
    (world.lab.manifests / "other.yaml").unlink()
    yield
    world.leaves()


@clients.each
def test_on_the_clients_node(world, row):
    check(row, world.of(world.node))


@gateways.each
def test_on_the_gateway(world, row):
    check(row, world.of(world.gate))
