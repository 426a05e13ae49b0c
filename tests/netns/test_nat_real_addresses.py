# SPDX-License-Identifier: Apache-2.0
"""Addresses that are somebody's stay whole, whatever a Service's status says of them: who has them
answers on every port but the Service's own, and no route of ours speaks of them."""

import pytest
from lab import wait
from lab.traffic import outcome, serve
from served import FAMILIES, PORT, PROTOCOLS, Service, address_of, pods, start

pytestmark = pytest.mark.lab(nat=True)
APPLIANCE = ("203.0.113.200", "fd00:203::c8")
ELSEWHERE = 389  # a port of whoever has the address
OURS = [f"proto {number}" for number in (31, 32, 33)]


def our_routes(node, addresses):
    """Routes of the agent to one of these addresses, in whatever table."""
    lines = [line for family in FAMILIES
             for line in node.run("ip", f"-{family}", "route", "show", "table", "all").stdout.split("\n")
             if any(ours in line for ours in OURS)]
    return [line for line in lines if not {*line.split()[:2]}.isdisjoint(addresses)]


def guests(lab):
    return [lab.pod(node, f"guest-{node.role[-1]}") for node in lab.nodes]


def fates(hosts, addresses, port):
    return {(host, address, protocol): outcome(host, address, port, protocol)
            for host in hosts for address in addresses for protocol in PROTOCOLS}


def all_answer(cases):
    assert cases == dict.fromkeys(cases, "forward")


def test_an_appliance_keeps_its_other_ports(lab):
    """Of another loadBalancerClass: pods and clients meet the Service on its port; on all others,
    and the nodes on every port, the appliance."""
    hosts = pods(lab, "one")
    service = Service(lab, "appliance", 60, loadBalancerClass="f5.com/lb")
    service.of["loadBalancer"] = APPLIANCE
    service.write(hosts["one1"], hosts["one2"])
    for address in APPLIANCE:
        lab.client.ip("addr", "add", address, "dev", "lo")
        lab.tor.ip("route", "add", address, "via", address_of(lab.client, 6 if ":" in address else 4))
    serve(lab.client, ELSEWHERE)
    asking = guests(lab)  # before the agents, who so have seen to them when they are ready
    agents = start(lab)
    all_answer(fates([*asking, *lab.nodes], APPLIANCE, ELSEWHERE))
    all_answer(fates(asking, APPLIANCE, PORT))
    assert [our_routes(node, APPLIANCE) for node in lab.nodes] == [[], []]
    said = agents[0].json("explain", APPLIANCE[0])
    assert said["reason"] == "other-class" and "f5.com/lb" in said["reasonText"]


def test_nodes_and_gateways_keep_their_addresses(lab):
    """As balancers write that forward on the nodes themselves: the status has the Nodes' addresses."""
    node1, node2 = lab.nodes
    hosts = pods(lab, "one")
    service = Service(lab, "klipper", 61)
    nodes = [address_of(node, family) for node in lab.nodes for family in FAMILIES]
    gateways = [getattr(node, f"gateway{family}") for node in lab.nodes for family in FAMILIES]
    service.of["loadBalancer"] = (*nodes, *gateways)
    service.write(hosts["one1"], hosts["one2"])
    for host in (*lab.nodes, lab.tor):
        serve(host, ELSEWHERE)
    asking = guests(lab)
    agents = start(lab)
    assert [our_routes(node, [*nodes, *gateways]) for node in lab.nodes] == [[], []]
    all_answer(fates([lab.client, node1, *asking], nodes, ELSEWHERE))
    all_answer(fates([lab.client], nodes, PORT))

    all_answer(fates(asking, gateways, ELSEWHERE))

    told = [f"{fault['place']}: {fault['message']}" for fault in agents[0].faults()]
    assert any(f"{node2.gateway4} is not announced: it is in the network of another Node" in line
               for line in told)
    assert (f"Service default/klipper: {node2.address4} is not announced: it is a Node's own "
            "address: node2") in told
    assert any(node1.gateway4 in line and "connected to its network" in line for line in told)
    said = agents[0].json("explain", node2.address6)
    assert said["reason"] == "node-address" and "node2" in said["reasonText"]


def test_a_range_of_load_balancers_bounds_what_a_status_takes(lab):
    """A status that names a client: with services.loadBalancerIPs the client stays in touch."""
    node1, node2 = lab.nodes
    hosts = pods(lab, "one")
    client = [address_of(lab.client, family) for family in FAMILIES]
    service = Service(lab, "thief", 62)
    service.of["loadBalancer"] = tuple(client)
    service.write(hosts["one1"], hosts["one2"])
    for host in (lab.client, node2):
        serve(host, ELSEWHERE)
    agents = start(lab, services={"loadBalancerIPs": ["203.0.113.0/24", "fd00:203::/64"]})
    assert [our_routes(node, client) for node in lab.nodes] == [[], []]
    all_answer(fates([node1, *guests(lab)], client, ELSEWHERE))
    all_answer(fates([lab.client], [address_of(node2, family) for family in FAMILIES], ELSEWHERE))
    assert agents[0].json("explain", client[0])["reason"] == "outside-ranges"


def test_an_address_that_an_interface_gets_is_given_back(lab):
    """An address that is announced goes when an interface has it, and comes when it no longer has."""
    node1, _ = lab.nodes
    hosts = pods(lab, "one")
    service = Service(lab, "web", 63)
    service.write(hosts["one1"], hosts["one2"])
    start(lab, service)
    address = service.of["loadBalancer"][0]
    node1.ip("addr", "add", f"{address}/32", "dev", "eth0")
    wait(lambda: not our_routes(node1, [address]), "the routes to go")
    wait(lambda: lab.tor.via(address) == {"node2"}, "node1 not to announce it")
    node1.ip("addr", "del", f"{address}/32", "dev", "eth0")
    wait(lambda: lab.tor.via(address) == {"node1", "node2"}, "node1 to announce it again")
