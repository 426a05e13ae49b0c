# SPDX-License-Identifier: Apache-2.0
"""Who reaches a Service from where, as whom: every client, kind of address and place of endpoints,
for each family and protocol, by real sockets under strict rp_filter and as the planner says.

A cell of the table is one line of a failure: "pod-guest-1 -> mixed clusterIP 10.96.0.11:80/TCP by
node1: ['pod-one-1'] expected, got ...".
"""

import pytest
from lab.traffic import serve
from served import (
    FAMILIES,
    KINDS,
    PROTOCOLS,
    TARGET,
    Expected,
    Plan,
    Service,
    check,
    clients_of,
    node_of,
    pods,
    start,
    steer,
)

NAT = pytest.mark.lab(nat=True)

# Policy Cluster and Local of traffic from outside, the same of traffic from inside.
POLICIES = [(external, internal) for external in ("Cluster", "Local") for internal in ("Cluster", "Local")]


@pytest.fixture(name="world")
def world_fixture(lab):
    """Pods with and without servers, servers in the hosts' own network, and the packets of what is
    outside for whatever Service on the way to node1."""
    if hasattr(lab, "hosts_by_place"):  # shared
        return lab
    hosts = pods(lab, "one")
    for node in lab.nodes:
        serve(node, TARGET)
        lab.pod(node, f"guest-{node.role[-1]}")
    lab.hosts_by_place = {
        "local pod": [hosts["one1"]],
        "remote pod": [hosts["one2"]],
        "both pods": [hosts["one1"], hosts["one2"]],
        "local host": [lab.nodes[0]],
        "remote host": [lab.nodes[1]],
        "none": [],
    }
    return lab


def services_of(lab, *places):
    """A Service of each policy for each place of its endpoints, written and steered to node1."""
    if hasattr(lab, "served"):
        return lab.served
    services = []
    for place in places:
        for external, internal in POLICIES:
            service = Service(lab, f"{place}-{external}-{internal}".lower().replace(" ", "-"),
                              10 + len(services))
            service.write(*lab.hosts_by_place[place], externalTrafficPolicy=external,
                          internalTrafficPolicy=internal)
            services.append(service)
    agents = start(lab)
    node1 = lab.nodes[0]
    for service in services:
        steer(lab, node1, *service.announced(), *service.of["clusterIP"])
    lab.served = services, {agent.node.role: Plan(agent) for agent in agents}
    return lab.served


def table(lab, services, plans, family, protocol, kinds=KINDS):
    """Every cell: an outside client and both nodes' own by way of node1."""
    node1 = lab.nodes[0]
    cells = [
        Expected(plans, client, service, kind, family, protocol, node1)
        for service in services for kind in kinds for client in clients_of(lab)
    ]
    return [cell for cell in cells if cell.comes_back()]


def of_verdict(cells, verdict):
    return [cell for cell in cells if cell.verdict == verdict]


@NAT
@pytest.mark.shared
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("family", FAMILIES)
def test_pods_as_endpoints(world, family, protocol):
    services, plans = services_of(world, "local pod", "remote pod", "both pods")
    cells = table(world, services, plans, family, protocol)
    assert len(of_verdict(cells, "forward")) > 200
    assert any(cell.client.role in cell.names for cell in cells), "no pod that is its own endpoint"
    check(of_verdict(cells, "forward"))


@NAT
@pytest.mark.shared
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("family", FAMILIES)
def test_hosts_as_endpoints(world, family, protocol):
    """Trap 15 of the contract among them: the endpoint is the client's own host."""
    services, plans = services_of(world, "local host", "remote host")
    cells = table(world, services, plans, family, protocol)
    assert any(cell.client is node_of(cell.client) and cell.names == {cell.client.role}
               for cell in cells)
    check(of_verdict(cells, "forward"))


@NAT
@pytest.mark.shared
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("family", FAMILIES)
def test_refused_and_dropped(world, family, protocol):
    """No endpoint anywhere is ECONNREFUSED at once, only remote ones under Local is silence."""
    services, plans = services_of(world, "none", "remote pod")
    cells = table(world, services, plans, family, protocol)
    rejects, drops = of_verdict(cells, "reject"), of_verdict(cells, "drop")
    assert {cell.origin for cell in rejects} == {"outside", "pod", "node"}
    assert {cell.origin for cell in drops} == {"outside", "pod", "node"}
    check(rejects, workers=24)
    check(drops, workers=48)
