# SPDX-License-Identifier: Apache-2.0
"""`trace` of a live agent: for every frontend and client what the planner says, and the flows of real
connections."""

import json
import urllib.parse

import pytest
import schema
from lab.traffic import Connection, outcome, serve
from served import (FAMILIES, KINDS, PROTOCOLS, QUIET, TARGET, Plan, Service, address_of, pods,
                    start)

NAT = pytest.mark.lab(nat=True)


def place(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def trace(agent, source, destination, protocol):
    query = urllib.parse.urlencode(
        {"source": source, "destination": destination, "protocol": protocol}
    )
    document = json.loads(agent.get(f"/v1/trace?{query}"))
    schema.check(document)
    return document


def lost(document):
    """The sentences that say so of what is forwarded."""
    return [step["text"] for step in document["steps"] if step["text"].endswith(": it is lost")]


def expected(outcome, source, name):
    """What a new flow's trace says, by the planner's outcome."""
    addresses = [endpoint.rsplit(":", 1)[0].strip("[]") for endpoint in outcome["endpoints"]]
    masquerade = None
    if outcome["verdict"] == "forward":
        masquerade = outcome["masquerade"] or ("hairpin" if source in addresses else False)
    return {
        "verdict": outcome["verdict"],
        "reason": outcome["reason"],
        "service": name,
        "endpoints": outcome["endpoints"],
        "masquerade": masquerade,
    }


@NAT
def test_trace_says_what_the_planner_wants(lab):
    hosts = pods(lab, "one")
    services = []
    for number, (policy, backends) in enumerate([
        ("Cluster", [hosts["one1"], hosts["one2"]]),
        ("Local", [hosts["one1"], hosts["one2"]]),
        ("Local", [hosts["one2"]]),
        ("Cluster", [lab.nodes[0], lab.nodes[1]]),
        ("Cluster", []),
    ], 10):
        service = Service(lab, f"web{number}", number)
        service.write(*backends, externalTrafficPolicy=policy, internalTrafficPolicy=policy)
        services.append(service)
    agent, _ = start(lab)
    plan, [node, other] = Plan(agent), lab.nodes
    clients = {
        "outside": (lab.client, "eth0"),
        "pod": (hosts["one1"], hosts["one1"].host_end),
        "pod elsewhere": (hosts["one2"], "eth0"),
        "node": (node, "host"),
        "other node": (other, "eth0"),
    }
    count = 0
    for service in services:
        for kind, family, protocol in (
            (k, f, p) for k in KINDS for f in FAMILIES for p in PROTOCOLS
        ):
            address, port = service.address(kind, family, node)
            for who, (client, where) in clients.items():
                source = address_of(client, family)
                origin = "pod" if "pod" in who else "node" if who == "node" else "outside"
                got = trace(agent, source, place(address, port), protocol)
                want = expected(
                    plan.outcome(address, port, protocol, origin), source,
                    f"default/{service.name}:{protocol.lower()}",
                )
                assert {key: got[key] for key in want} == want, (who, kind, family, protocol)
                assert got["in"] == where and got["flow"] is None
                assert not lost(got)
                assert got["picked"] in (got["endpoints"] or [None])
                count += 1
    assert count == 5 * 4 * 2 * 2 * 5

    # The same by agentctl, and what has no frontend.
    web = services[0].of["loadBalancer"][0]
    answer = agent.ctl("trace", lab.client.address4, f"{web}:80/TCP")
    assert answer.code == 0 and f"{lab.client.address4} -> {web}:80/TCP: forward\n" in answer.out
    for source, destination, verdict, reason in (
        (lab.client.address4, f"{web}:81", "pass", "none"),
        (node.address4, f"{web}:81", "reject", "unmapped-port"),
        (node.address4, "10.96.0.10:81", "reject", "undefined-port"),
        (lab.client.address4, "10.96.0.99:80", "drop", "unallocated"),
    ):
        document = trace(agent, source, destination, "TCP")
        assert (document["verdict"], document["reason"]) == (verdict, reason), destination
        assert (document["service"], document["endpoints"]) == (None, [])


def loopback(lab, agent, source, to):
    """What becomes of who asks from there, and whether the trace says that it is lost."""
    got = outcome(lab.nodes[0], *to, source=source, timeout=QUIET)
    told = trace(agent, source, place(*to), "TCP")
    assert (told["in"], told["verdict"]) == ("host", "forward")
    return got, len(lost(told))


@NAT
def test_trace_says_what_becomes_of_a_loopback_address(lab):
    """The program forwards it. But the kernel sends no ::1 anywhere, and takes in nothing for
    127.0.0.1 unless it is told to. An endpoint on the node itself is reached within lo."""
    hosts, node = pods(lab, "one"), lab.nodes[0]
    serve(node, TARGET)
    services = [Service(lab, f"web{number}", number) for number in (10, 11, 12)]
    for service, host in zip(services, (hosts["one1"], hosts["one2"], node)):
        service.write(host)
    agent = start(lab)[0]
    ports = {family: [service.address("nodePort", family, node) for service in services]
             for family in FAMILIES}
    for family, source in ((4, "127.0.0.1"), (6, "::1")):
        assert [loopback(lab, agent, source, to) for to in ports[family]] == [
            ("drop", 1), ("drop", 1), ("forward", 0)]
    for service in services:
        assert loopback(lab, agent, "::1", service.address("clusterIP", 6)) == ("drop", 1)
    node.set_sysctls({f"net/ipv4/conf/{name}/route_localnet": 1 for name in ("lo", "svc0")})
    for service, to in zip(services, ports[4]):
        assert loopback(lab, agent, "127.0.0.1", to) == ("forward", 0)
        to = service.address("clusterIP", 4)
        assert loopback(lab, agent, "127.0.0.1", to) == ("forward", 0)
    node.set_sysctls({"net/ipv4/conf/lo/accept_local": 0})
    assert loopback(lab, agent, node.address4, ports[4][0]) == ("drop", 1)


@NAT
def test_trace_knows_a_real_flow(lab):
    hosts = pods(lab, "one")
    guest = lab.pod(lab.nodes[0], "guest-1")
    service = Service(lab)
    service.write(hosts["one1"], hosts["one2"])
    agent, _ = start(lab, service)
    address = service.of["clusterIP"][0]
    with Connection(guest, address, 80) as connection:
        source = place(guest.address4, connection.socket.getsockname()[1])
        connection.who()
        document = trace(agent, source, f"{address}:80", "TCP")
        assert document["flow"]["established"] and document["flow"]["direction"] == "forward"
        assert document["flow"]["source"] == source and not document["flow"]["masquerade"]
        assert document["flow"]["destination"] in document["endpoints"]
        back = trace(agent, document["flow"]["destination"], source, "TCP")
        assert back["flow"]["direction"] == "reply"
        assert back["flow"]["source"] == f"{address}:80" and back["flow"]["destination"] == source

        # A new flow would be refused; this one goes on.
        service.write()
        agent.settled()
        document = trace(agent, source, f"{address}:80", "TCP")
        assert document["verdict"] == "reject" and document["flow"]["established"]
        assert trace(agent, guest.address4, f"{address}:80", "TCP")["flow"] is None
