# SPDX-License-Identifier: Apache-2.0
"""A running agent says of packets what kube-proxy (nftables) is known to make of them.

The other tests here hold the agent against a model of the contract; what is expected here is
written by delivery (kube_proxy.py), and nothing of the model takes part in it. One agent is given all
Services of a round at once and asked by GET /v1/trace: each question for both families and, unless
it names a port, both protocols.
"""

import http.client
import itertools
import json
import os

import clusters
import kube_proxy
import live
import pytest
from kube_proxy import PROTOCOLS, REFUSED, SETTINGS, SOURCES, STATES, TARGET, Case
from lab import objects
from lab.agent import merged

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


# Who is who

def endpoint_address(letter, family):
    if letter in "ho":
        return SOURCES["node" if letter == "h" else "neighbour"][0][family == 6]
    host, first = (1, "a") if letter < "e" else (2, "r") if letter < "v" else (9, "x")
    return clusters.POD_ADDRESSES[family].format(host, ord(letter) - ord(first) + 1)


def target(letter, port, family):
    address = endpoint_address(letter, family)
    return f"[{address}]:{port}" if family == 6 else f"{address}:{port}"


def places(number, family):
    """The addresses of the Service with that number, and its NodePort on the node's own."""
    four = {
        "cluster": f"10.96.0.{number}", "lb": f"203.0.113.{number}",
        "lb2": f"203.0.113.{number + 128}", "external": f"198.51.100.{number}",
        "unallocated": "10.96.200.1", "nodePort": "192.0.2.1", "secondPort": "192.0.2.11",
        "loopback": "127.0.0.1", "shared": "198.51.100.250", "own": "192.0.2.11",
        "neighbour": "192.0.2.2",
    }
    six = {
        "cluster": f"fd00:96::{number:x}", "lb": f"fd00:203::{number:x}",
        "lb2": f"fd00:203::1:{number:x}", "external": f"fd00:198::{number:x}",
        "unallocated": "fd00:96::c801", "nodePort": "fd00:192::1", "secondPort": "fd00:192::11",
        "loopback": "::1", "shared": "fd00:198::fa", "own": "fd00:192::11",
        "neighbour": "fd00:192::2",
    }
    return four if family == 4 else six


# Objects

def ports_of(number, spec):
    if "ports" in spec:
        return spec["ports"]
    return [{"name": p.lower(), "port": 80, "protocol": p, "targetPort": TARGET,
             "nodePort": 30000 + number} for p in PROTOCOLS]


def filled(value, number):
    """Addresses of this Service have its number in them."""
    if isinstance(value, list):
        return [text.format(n=number) if isinstance(text, str) else text for text in value]
    return value


def service(number, case):
    """All kinds of addresses in both families, with what the case has otherwise laid over it."""
    both = [places(number, family) for family in (4, 6)]
    spec = {"externalIPs": [own["external"] for own in both], "externalTrafficPolicy": "Cluster",
            "clusterIPs": [own["cluster"] for own in both], "ipFamilies": ["IPv4", "IPv6"]}
    spec |= {name: filled(value, number) for name, value in case.spec.items()}
    spec |= {"ports": ports_of(number, case.spec), "clusterIP": spec["clusterIPs"][0]}
    made = objects.service(f"s{number}", [own[kind] for own in both for kind in ("lb", "lb2")], **spec)
    for entry in made["status"]["loadBalancer"]["ingress"]:
        if case.proxied and entry["ip"] in [own[case.proxied] for own in both]:
            entry["ipMode"] = "Proxy"
    made["metadata"]["labels"] = case.labels
    return made


def endpoint(word, family):
    """`a:state@hint+hint`"""
    word, _, hints = word.partition("@")
    letter, _, state = word.partition(":")
    conditions = dict(zip(("ready", "serving", "terminating"), STATES[state]))
    made = {
        "addresses": [endpoint_address(letter, family)],
        "conditions": {name: value for name, value in conditions.items() if value is not None},
    }
    if letter != "x":
        made["nodeName"] = "node-1" if letter < "e" or letter == "h" else "node-2"
    for hint in filter(None, hints.split("+")):
        kind = "forNodes" if hint.startswith("node") else "forZones"
        made.setdefault("hints", {}).setdefault(kind, []).append({"name": hint})
    return made


def slices(number, case):
    for family, (index, text) in itertools.product((4, 6), enumerate(case.endpoints.split("|"))):
        words = text.split()
        own = int(words.pop(0)) if words and words[0].isdecimal() else 0
        ports = [{"name": port.get("name", ""), "protocol": port["protocol"],
                  "port": own or port["targetPort"]} for port in ports_of(number, case.spec)]
        yield objects.slice_of(f"s{number}", [endpoint(word, family) for word in words],
                               family=f"IPv{family}", ports=ports, suffix=f"v{family}-{index}")


def node(zone):
    labels = {} if zone is None else {"topology.kubernetes.io/zone": zone}
    return objects.node(clusters.NODE, SOURCES["node"][0], labels)


def manifests(cases, with_slices=True, zone="zone-a"):
    things = [node(zone)]
    for number, case in enumerate(cases, 1):
        if case.endpoints is not None:
            things.append(service(number, case))
            things += slices(number, case) if with_slices else []
    return things


# Questions

def bracketed(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def source_of(who, number, family):
    """(address, where it comes in)"""
    if who in SOURCES:
        addresses, where = SOURCES[who]
        return addresses[family == 6], where
    if who in ("lb", "lb2"):  # the node itself, by an address that it serves
        return places(number, family)[who], "host"
    return endpoint_address(who, family), f"veth{ord(who) - ord('a') + 1}"


def expected(outcome, family):
    """(verdict, reason, endpoints, masquerade)"""
    words = outcome.split()
    if outcome in REFUSED:
        return (*REFUSED[outcome], [], None)
    masquerade = {"masq": True, "hairpin": "hairpin"}.get(words[-1], False)
    chosen = words[:-1] if masquerade else words
    pairs = [word.partition(":") for word in chosen]
    ends = sorted(target(letter, port or TARGET, family) for letter, _, port in pairs)
    return "forward", "none", ends, masquerade


def questions(number, case):
    """(text, family, source, where, destination, port, protocol, outcome)"""
    for line in filter(None, map(str.strip, case.asked.splitlines())):
        question, outcome = line.split(" = ")
        who, where = (side.split() for side in question.split(" > "))
        families = [int(who.pop(0))] if who[0].isdecimal() else (4, 6)
        for sender, place, family in itertools.product(who, where, families):
            name, _, port = place.partition(":")
            port, _, protocol = port.partition("/")
            given = port or (30000 + number if name.endswith(("Port", "loopback")) else 80)
            source, into = source_of(sender, number, family)
            for kind in [protocol] if protocol else PROTOCOLS:
                yield (f"{case.name}: {sender} > {place}", family, source, into,
                       places(number, family)[name], given, kind, outcome)


def agrees(got, verdict, reason, endpoints, masquerade):
    if len(endpoints) == 1 and masquerade == "hairpin" and got["masquerade"] is True:
        masquerade = True
    if got["hook"] is None and verdict == "pass":
        reason = "none"  # no program sees it
    said = got["verdict"], got["reason"], sorted(got["endpoints"]), got["masquerade"]
    return said == (verdict, reason, endpoints, masquerade)


def differences(site, cases, changed=lambda outcome: outcome):
    """Lines of what the agent says otherwise, and the number of questions."""
    lines, count = [], 0
    for number, case in enumerate(cases, 1):
        for text, family, source, into, address, port, protocol, outcome in questions(number, case):
            code, got = site.get("trace", source=source, destination=bracketed(address, port),
                                 protocol=protocol, **{"in": into})
            assert code == 200, f"{text}: {got}"
            want = expected(changed(outcome), family)
            count += 1
            if not agrees(got, *want):
                said = {name: got[name] for name in ("verdict", "reason", "endpoints", "masquerade")}
                lines.append(f"  {text} IPv{family}/{protocol}: {said}, {want} expected")
    return lines, count


# Rounds

@pytest.fixture(name="site", scope="module")
def site_fixture(request):
    """One for all tests here: to start an agent takes longer than most of them."""
    with live.Site(f"{request.node.nodeid}-{os.getpid()}") as site:
        site.start(SETTINGS)
        yield site


def once_deleted(outcome):
    """What becomes of a question when all slices go: what was decided before the endpoints stays."""
    kept = [word for word in REFUSED if word != "drop"]
    return outcome if outcome in kept else "reject"


def check(site, title, cases, settings, changed=lambda outcome: outcome, **how):
    site.feed(manifests(cases, **how), settings)
    lines, count = differences(site, cases, changed)
    return [f"{title}: {len(lines)} of {count}", *lines] if lines else []


def test_packets(site):
    cases = kube_proxy.CASES
    wrong = check(site, "with slices", cases, SETTINGS)
    wrong += check(site, "without slices", cases, SETTINGS, once_deleted, with_slices=False)
    for settings, zone, cases in kube_proxy.ROUNDS:
        title = f"{settings}, zone {zone}"
        wrong += check(site, title, cases, merged(SETTINGS, settings), zone=zone)
    assert not wrong, "\n".join(wrong)


def test_changes(site):
    """Of what was there before nothing is left."""
    inside = {"type": "ClusterIP", "externalIPs": []}
    for step in kube_proxy.STEPS:
        cases = [Case(f"{endpoints}", inside, endpoints, f"pod > cluster = {outcome}")
                 for endpoints, outcome in step]
        wrong = check(site, f"{step}", cases, SETTINGS)
        assert not wrong, "\n".join(wrong)


def metrics(site):
    """Samples by name and labels."""
    site.api.request("GET", "/metrics")
    lines = site.api.getresponse().read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def test_ports_without_local_endpoints(site):
    name = "kubeproxy_sync_proxy_rules_no_local_endpoints_total"
    for policies, endpoints, internal, external in kube_proxy.WITHOUT_LOCAL:
        site.feed(manifests([Case("", kube_proxy.SINGLE | policies, endpoints, "")]), SETTINGS)
        found = metrics(site)
        assert found[f'{name}{{traffic_policy="internal"}}'] == str(internal), endpoints
        assert found[f'{name}{{traffic_policy="external"}}'] == str(external), endpoints


def told(site, address, number):
    """(status, headers, document) of a health port; None if there is none."""
    try:
        with site.node.connect(address, number) as connection:
            client = http.client.HTTPConnection(address, number)
            client.sock = connection
            client.request("GET", "/any/path")
            answer = client.getresponse()
            return answer.status, answer.headers, json.loads(answer.read())
    except ConnectionRefusedError:
        return None


def test_health_ports(site):
    rows = list(enumerate(kube_proxy.HEALTH, 1))
    cases = [Case("", {**policies, "type": kind, "healthCheckNodePort": 31000 + number}, endpoints, "")
             for number, (policies, kind, endpoints, _) in rows]
    site.feed(manifests(cases), SETTINGS)
    for (number, row), address in itertools.product(rows, SOURCES["node"][0]):
        found, count = told(site, address, 31000 + number), row[-1]
        if count is None:
            assert found is None, row
            continue
        status, headers, document = found
        assert status == (200 if count else 503), row
        assert headers["X-Load-Balancing-Endpoint-Weight"] == str(count), row
        assert headers["Content-Type"] == "application/json"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert document == {
            "service": {"namespace": "default", "name": f"s{number}"},
            "localEndpoints": count, "serviceProxyHealthy": True,
        }, row
