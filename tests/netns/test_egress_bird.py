# SPDX-License-Identifier: Apache-2.0
"""Gateways whose routes come by BIRD, with BFD, as birdconf/node-egress.conf has it: a gateway that is
silent loses its route, and with that its pods, long before anybody tells the API."""

import pytest
from gateways import World
from lab import wait, wait_equal
from lab.traffic import Connection

# The one thing that would find out as well.
NO_PROBES = {"probeInterval": "1h"}
pytestmark = pytest.mark.lab(nat=True, nodes=4, bfd=True)


@pytest.fixture(name="world")
def world_fixture(lab):
    return World(lab, egress=NO_PROBES)


def silence(lab, host):
    """Nothing comes from it any more, and no link is down."""
    lab.tor.run("nft", "-f", "-", text=f"""table netdev cut-{host.role} {{
        chain arriving {{ type filter hook ingress device {host.role} priority 0; policy drop; }}
    }}""")


def check_routes(world, node):
    """Only gateways' own addresses come to a node; below lies what refuses one that is gone."""
    for family, net in ((4, "10.0.100.0/24"), (6, "fd00:0:0:100::/64")):
        lines = [line for line in node.table("main", family) if "proto bird" in line]
        assert {line.split()[0] for line in lines if " via " in line} == {
            gate.address(family) for gate in world.gates}, lines
        assert any(line.startswith(f"unreachable {net}") for line in lines), lines


def test_bfd_takes_the_route(world):
    lab, node = world.lab, world.nodes[0]
    gone, stays = world.gates
    check_routes(world, node)
    mine = [stream for stream in world.streams if stream.pod.node is node]
    kept = [Connection(stream.pod, stream.target(lab), 8080) for stream in mine if stream.home is stays]
    before = [connection.who() for connection in kept]
    silence(lab, gone.host)
    for family in (4, 6):
        wait_equal(lambda: world.states(node)[gone.address(family)], "away", f"{gone}, IPv{family}")
    assert any(fault["code"] == "egress-gateway-unreachable" for fault in node.agents[0].faults())
    for stream in mine:
        wait(lambda: world.gate_of(stream.pod, stream.family) is stays, f"{stream.pod} leaves by {stays}")
    assert [connection.who() for connection in kept] == before
    lab.tor.run("nft", "delete", "table", "netdev", f"cut-{gone.host.role}")
    world.at_home()
    assert [connection.who() for connection in kept] == before
    for connection in kept:
        connection.close()
    wait_equal(node.agents[0].faults, [], "no fault is left")
