# SPDX-License-Identifier: Apache-2.0
"""What is not forwarded: refused where nothing serves, left unanswered where another node may, or
where an address is nobody's; and what is not ours at all goes on as it came."""

import errno

import pytest
from lab import wait
from lab.traffic import ask, outcome, serve
from served import (
    FAMILIES,
    KINDS,
    NO_HOLD,
    PORT,
    PROTOCOLS,
    QUIET,
    TARGET,
    Service,
    address_of,
    pods,
    settle,
    start,
    steer,
)

pytestmark = pytest.mark.lab(nat=True)
ONE = pytest.mark.lab(nodes=1, nat=True)
FREE = {4: "10.96.200.200", 6: "fd00:96::c8c8"}


def cells(lab, service, kinds=KINDS):
    """(client, address, port, protocol) by way of the first node: from outside, a pod, and itself."""
    node = lab.nodes[0]
    guest = node.pods.get("guest") or lab.pod(node, "guest")
    return [
        (client, *service.address(kind, family, node), protocol)
        for client in (lab.client, guest, node) for kind in kinds
        for family in FAMILIES for protocol in PROTOCOLS
    ]


def fates(cases, timeout=QUIET):
    return {case: outcome(*case, timeout=timeout) for case in cases}


@ONE
def test_a_host_endpoint_that_is_a_frontend_is_judged_once(lab):
    """14.13: what listens on the node, where that is a NodePort nobody serves. Who asks for the
    NodePort is refused; who was sent there by another Service is not."""
    node = lab.nodes[0]
    serve(node, TARGET)
    service, other = Service(lab), Service(lab, "other", 20)
    other.node_port = TARGET
    service.write(node)
    other.write()
    cases = cells(lab, service)  # with a pod that is there when the agent starts
    start(lab, service)
    steer(lab, node, *service.of["clusterIP"])
    assert fates(cases, timeout=5) == dict.fromkeys(cases, "forward")
    cases = cells(lab, other, ["nodePort"])
    assert fates(cases, timeout=5) == dict.fromkeys(cases, "reject")


@ONE
def test_ports_that_the_service_does_not_have(lab):
    """Of a ClusterIP: refused. Of a LoadBalancer or external address: refused too, by the guard;
    and never answered by what listens on the node."""
    node = lab.nodes[0]
    hosts = pods(lab, "one")
    serve(node, 81)
    service = Service(lab)
    service.write(hosts["one1"])
    start(lab, service)
    steer(lab, node, *service.of["clusterIP"])
    cases = [(client, address, 81, protocol)
             for client, address, _, protocol in cells(lab, service, KINDS[:3])]
    assert fates(cases, timeout=5) == dict.fromkeys(cases, "reject")


@ONE
def test_cluster_ips_that_nobody_has(lab):
    """Silence, on every port, also for the node itself."""
    node = lab.nodes[0]
    guest = lab.pod(node, "guest")
    hosts = pods(lab, "one")
    service = Service(lab)
    service.write(hosts["one1"])
    start(lab, service)
    steer(lab, node, *FREE.values())
    cases = [(client, FREE[family], port, protocol)
             for client in (lab.client, guest, node) for family in FAMILIES
             for protocol in PROTOCOLS for port in (80, 30010)]
    assert fates(cases) == dict.fromkeys(cases, "drop")


@ONE
def test_a_refusal_is_ours_and_not_a_closed_port(lab):
    """Without endpoints a node port is refused though a process of the node listens there. (In
    test_nat_paths.py all other refusals are on addresses that nobody has.)"""
    node = lab.nodes[0]
    service = Service(lab)
    service.write()
    serve(node, service.node_port)
    start(lab)
    cases = cells(lab, service, ["nodePort"])
    assert fates(cases, timeout=5) == dict.fromkeys(cases, "reject")


@ONE
def test_the_first_refusal_comes_at_once(lab):
    """Of UDP, where the kernel does not ask twice."""
    node = lab.nodes[0]
    service = Service(lab)
    service.write()
    start(lab)
    steer(lab, node, *service.announced(), *service.of["clusterIP"])
    udp = [case for case in cells(lab, service) if case[3] == "UDP"]
    for client, address, port, _ in udp:
        assert client.icmp_error(address, port, timeout=2) == errno.ECONNREFUSED, (client, address)


@ONE
def test_source_ranges(lab):
    """They hold for the LoadBalancer addresses alone, for pods and the node as well, and before
    anything else is asked: who is not in them is left without an answer even if nothing serves."""
    node = lab.nodes[0]
    hosts = pods(lab, "one", "in")
    allowed = hosts["in1"]
    ranges = [f"{allowed.address4}/32", f"{allowed.address6}/128"]
    service = Service(lab, loadBalancerSourceRanges=ranges)
    service.write(hosts["one1"])
    empty = Service(lab, "empty", 11, loadBalancerSourceRanges=ranges)
    empty.write()
    start(lab, service)
    steer(lab, node, *service.announced(), *empty.announced(), *service.of["clusterIP"])
    strangers = cells(lab, service, ["loadBalancer"]) + cells(lab, empty, ["loadBalancer"])
    assert fates(strangers) == dict.fromkeys(strangers, "drop")
    others = cells(lab, service, ["clusterIP", "externalIP", "nodePort"])
    assert fates(others, timeout=5) == dict.fromkeys(others, "forward")
    for family in FAMILIES:
        for protocol in PROTOCOLS:
            address = service.address("loadBalancer", family)
            assert ask(allowed, *address, protocol).name == "pod-one-1"
            assert outcome(allowed, *empty.address("loadBalancer", family), protocol) == "reject"


@ONE
def test_ranges_follow_their_service(lab):
    node = lab.nodes[0]
    hosts = pods(lab, "one")
    service = Service(lab, loadBalancerSourceRanges=["192.0.2.0/24", "2001:db8:c::/64"])
    service.write(hosts["one1"])
    start(lab, service)
    where = service.address("loadBalancer", 4)
    assert outcome(lab.client, *where) == "forward"
    service.write(hosts["one1"], loadBalancerSourceRanges=["198.51.100.0/24"])
    settle(lab)
    assert outcome(lab.client, *where, timeout=QUIET) == "drop"
    assert outcome(lab.client, *service.address("loadBalancer", 6)) == "forward", "no range of IPv6"
    assert outcome(node, *where, timeout=QUIET) == "drop"
    service.write(hosts["one1"], loadBalancerSourceRanges=[])
    settle(lab)
    assert outcome(lab.client, *where) == "forward"


@ONE
def test_services_of_another_proxy(lab):
    """Their ClusterIPs are known, and their packets go on as they came: here to the client's host,
    which has such an address."""
    node = lab.nodes[0]
    guest = lab.pod(node, "guest")
    foreign = Service(lab, "foreign", 20)
    items = foreign.objects(slices=False)
    items[0]["metadata"]["labels"] = {"service.kubernetes.io/service-proxy-name": "another"}
    lab.write("foreign.yaml", *items)
    start(lab)
    for family in FAMILIES:
        address = foreign.of["clusterIP"][family == 6]
        lab.client.ip("addr", "add", address, "dev", "lo")
        lab.tor.ip("route", "add", address, "via", address_of(lab.client, family))
    serve(lab.client, PORT)
    for family in FAMILIES:
        for protocol in PROTOCOLS:
            where = foreign.address("clusterIP", family)
            assert ask(guest, *where, protocol).peer == address_of(guest, family)
            assert ask(node, *where, protocol).peer == address_of(node, family)


@ONE
def test_one_address_of_two_services(lab):
    """Trap 3: only the port without endpoints is refused."""
    node = lab.nodes[0]
    hosts = pods(lab, "one")
    full, empty = Service(lab, "full", 10), Service(lab, "empty", 11)
    empty.spec["externalIPs"] = list(full.of["externalIP"])
    full.write(hosts["one1"])
    empty.write()
    items = empty.objects()
    for port in items[0]["spec"]["ports"]:
        port["port"] = 81
    lab.write("empty.yaml", *items)
    start(lab, full)
    steer(lab, node, *full.of["externalIP"])
    for family in FAMILIES:
        address, _ = full.address("externalIP", family)
        for protocol in PROTOCOLS:
            for client in (lab.client, node):
                assert outcome(client, address, PORT, protocol) == "forward"
                assert outcome(client, address, 81, protocol) == "reject"


@ONE
def test_refusals_turn_into_service_and_back(lab):
    """Each on the same socket: a UDP client that was refused is served once an endpoint is there."""
    node = lab.nodes[0]
    hosts = pods(lab, "one")
    guest = lab.pod(node, "guest")
    service = Service(lab)
    service.write()
    start(lab)
    steer(lab, node, *service.announced())
    where = service.address("clusterIP", 4)
    for number in range(5):
        for client in (guest, node):
            assert outcome(client, *where, "UDP", source_port=41000) == "reject", number
        service.write(hosts["one1"])
        settle(lab)
        for client in (guest, node):
            assert outcome(client, *where, "UDP", source_port=41000) == "forward", number
        service.write()
        settle(lab)


@ONE
def test_refusals_are_counted_with_their_last_packet(lab):
    node = lab.nodes[0]
    guest = lab.pod(node, "guest")
    service = Service(lab)
    service.write()
    [agent] = start(lab)
    where = service.address("clusterIP", 4)
    for _ in range(3):
        assert outcome(guest, *where, "UDP", source_port=41001) == "reject"

    def told():
        said = agent.json("services")
        [item] = [item for item in said["items"] if item["name"] == "web"]
        return "41001" in str(item) and "no-endpoints" in str(item)

    wait(told, "the refusals in agentctl services")


@pytest.mark.parametrize("settings, hidden", [
    ({"externalIPs": []}, "externalIP"),
    ({"loadBalancerIPs": ["198.51.100.0/24"]}, "loadBalancer"),
], ids=["externalIPs", "loadBalancerIPs"])
@ONE
def test_addresses_outside_the_ranges_are_not_ours(lab, settings, hidden):
    """CVE-2020-8554: whoever may write a Service may not take any address he likes."""
    node = lab.nodes[0]
    hosts = pods(lab, "one")
    guest = lab.pod(node, "guest")
    service = Service(lab)
    service.write(hosts["one1"])
    start(lab, services=settings, routes=NO_HOLD)
    for family in FAMILIES:
        address, port = service.address(hidden, family)
        assert outcome(guest, address, port) not in ("forward", "drop")
        assert outcome(guest, *service.address("clusterIP", family)) == "forward"
        lab.client.ip("addr", "add", address, "dev", "lo")
        lab.tor.ip("route", "add", address, "via", address_of(lab.client, family))
    serve(lab.client, PORT, TARGET)
    for family in FAMILIES:
        assert ask(guest, *service.address(hidden, family)).name == "client"
