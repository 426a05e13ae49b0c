# SPDX-License-Identifier: Apache-2.0
"""The judge is judged: kube-proxy itself makes of random packets in random clusters what judge.py
says of them, and the running agent is held against that one (tests/property/test_nat_live.py).

Kube-proxy's own nftables package (tests/kube/programs/kubeproxy) is fed the clusters and packets of
the property tests, one family after the other, and follows each packet through the rules that it
wrote. A cluster is a seed; a run takes the seeds from PROPERTY_SEED (0 by default) on,
PROPERTY_JUDGED of them, with PROPERTY_PACKETS packets each.
"""

import json
import os
import random
import subprocess
import sys
import typing
from collections import Counter
from pathlib import Path

import pytest
from lab.kube_programs import program

sys.path.append(str(Path(__file__).resolve().parents[1] / "property"))

import clusters  # noqa: E402
import judge  # noqa: E402
import kube_proxy_feed  # noqa: E402
import live  # noqa: E402
import model  # noqa: E402
from test_nat_live import Drawer  # noqa: E402

FIRST = int(os.environ.get("PROPERTY_SEED", "0"))
COUNT = int(os.environ.get("PROPERTY_JUDGED", "600"))
PACKETS = int(os.environ.get("PROPERTY_PACKETS", "60"))
NO_FRONTEND = "no frontend"
# What must be among the packets that were compared.
SORTS = ("pass", "forward", "drop", "reject", ("masquerade", True), ("masquerade", False),
         "IPv4", "IPv6", "clusterIP", "loadBalancer", "externalIP", "nodePort", NO_FRONTEND,
         "no-endpoints", "no-local-endpoints", "source-range", "undefined-port", "unallocated",
         "unmapped-port")


class Case(typing.NamedTuple):
    """One family of a cluster."""

    seed: int
    family: int
    things: list
    settings: dict
    found: dict  # model.all_frontends()
    contested: set  # places, as in `found`
    pod_ranges: list
    packets: list

    def claim(self, packet):
        """(service, kind, service port) of the frontend that the packet is for; None."""
        return self.found.get(packet.place())


# What is drawn

def contested_places(things, settings):
    """14.1 says who has them; with kube-proxy it is whoever it heard of last."""
    node = model.this_node(things, clusters.NODE)
    count = Counter()
    for service in model.of_kind(things, "Service"):
        for family in (4, 6):
            if model.is_served(service, family, settings):
                claims = model.claims(things, service, family, settings, node)
                count.update({(address, model.protocol_of(port), number, id(port))
                              for address, number, _, port in claims})
    places = Counter(claim[:3] for claim in count)
    return {place for place, claimants in places.items() if claimants > 1}


def cases_of(seed):
    things, settings = clusters.cluster(random.Random(seed))
    things = live.as_seen(things)
    found = model.all_frontends(things, settings, clusters.NODE)
    drawer = Drawer(random.Random(seed), things, settings, found)
    packets = [drawer.packet()[0] for _ in range(PACKETS)]
    contested = contested_places(things, settings)
    for family in (4, 6):
        ranges = model.read_ranges(judge.pod_ranges(things, settings), family)
        mine = [p for p in packets if model.read_address(p.destination).version == family]
        yield Case(seed, family, things, settings, found, contested, ranges, mine)


# What is left out, and why

def is_a_case_of_many_ranges(case):
    """kube-proxy knows pods of a family by one range."""
    return len(case.pod_ranges) > 1


def comes_elsewhere(case, packet):
    """By an interface where our program doesn't stand: it has no say there."""
    return packet.origin == judge.ELSEWHERE


def has_a_forged_source(case, packet):
    """14.18: its source is behind another interface. kube-proxy leaves that to the kernel's rp_filter, of which the
    tracer knows nothing."""
    return judge.is_forged(case.things, case.settings, packet)


def has_a_borrowed_source(case, packet):
    """Made here with a Service's address for source: the tracer tells the node by its addresses."""
    return packet.origin == judge.HERE and packet.source not in live.OWN_ADDRESSES[case.family]


def is_for_a_contested_place(case, packet):
    """14.1: ours is an order, kube-proxy's is chance."""
    return packet.place() in case.contested


def is_for_a_contested_address(case, packet):
    """One Service's ClusterIP, another's ingress address: kube-proxy has an answer for the ports of
    neither, and which one is chance as well."""
    address = model.read_address(packet.destination)
    services = model.of_kind(case.things, "Service")
    return (any(address in model.cluster_ips(service) for service in services)
            and any(address in model.ingress_ips(service, case.settings) for service in services))


def is_for_another_proxy(case, packet):
    """14.2: kube-proxy is not told of such a Service at all, so that its address is unallocated."""
    held_by = judge.holder(case.things, model.read_address(packet.destination))
    if not held_by or not model.is_other_proxys(held_by, case.settings):
        return False
    return judge.is_led(packet) or not case.claim(packet)


def has_copies_that_differ(case, service, ports_of):
    """14.12 says which of an endpoint's copies counts; with kube-proxy it is chance. Of each slice,
    `ports_of` says which ports matter."""
    first = {}
    for piece in model.slices_of(case.things, service, case.family):
        for port in ports_of(piece):
            for entry in piece.get("endpoints") or []:
                endpoint = model.read_endpoint(entry, case.family, clusters.NODE)
                if endpoint and first.setdefault((endpoint["address"], port), endpoint) != endpoint:
                    return True
    return False


def is_for_copies_that_differ(case, packet):
    claim = case.claim(packet)
    return claim and has_copies_that_differ(
        case, claim[0], lambda piece: model.port_numbers(piece, claim[2]))


def is_for_another_frontend_at_last(case, packet):
    """14.13: an endpoint on the node, where it is a frontend as well, is forwarded to. kube-proxy
    looks at the packet once more behind DNAT, and refuses it if that frontend has no endpoints."""
    claim = case.claim(packet)
    targets = model.endpoints_of(case.things, claim[0], claim[2], case.family,
                                 clusters.NODE) if claim else {}
    return any((address, packet.protocol, number) in case.found for address, number in targets)


def is_a_pod_by_its_way_in(case, packet):
    """14.4: where no range of pods is known, a pod's interface makes its sender one; kube-proxy
    takes nobody for a pod then, so that policy Local holds for all."""
    claim = case.claim(packet)
    return (claim and claim[1] != "clusterIP" and packet.origin == judge.POD
            and not case.pod_ranges and model.is_local(claim[0], "externalTrafficPolicy"))


def is_for_an_address_nobody_leads_here(case, packet):
    """14.14, 14.16, 14.17: no route leads the node's own packets to the program for what is
    somebody's real address, or another load balancer's; kube-proxy translates them."""
    if not case.claim(packet):
        return False
    node = model.this_node(case.things, clusters.NODE)
    return judge.is_unled(case.things, case.settings, node, case.found, packet)


LEFT_OUT = (is_for_an_address_nobody_leads_here, comes_elsewhere, has_a_forged_source, has_a_borrowed_source, is_for_a_contested_place,
            is_for_a_contested_address, is_for_another_proxy, is_for_copies_that_differ,
            is_for_another_frontend_at_last, is_a_pod_by_its_way_in)


def is_masqueraded_by_contract(case, packet):
    """14.4: where no range of pods is known, who comes by an uplink to a ClusterIP is masqueraded,
    as the node itself; kube-proxy without a range for pods takes nobody for a stranger there."""
    claim = case.claim(packet)
    return (claim and claim[1] == "clusterIP" and not case.pod_ranges
            and packet.origin != judge.POD)


# Both answers, in the same words: (verdict, endpoints, masquerade)

def answer(verdict, endpoints, masquerade):
    return (verdict, sorted(endpoints), masquerade) if verdict == "forward" else (verdict, [], None)


def judged(case, packet):
    """(reason, answer) of the judge."""
    want = judge.judge(case.things, case.settings, clusters.NODE, packet, case.found)
    if want["reason"] == "unmapped-port":
        return want["reason"], answer("pass", [], None)  # 14.10: the guard is ours alone
    return want["reason"], answer(want["verdict"], want["endpoints"], bool(want["masquerade"]))


def traced(fate):
    outputs = fate["Outputs"] or ["PASS"]
    if outputs[0] in ("PASS", "DROP", "REJECT"):
        return answer("+".join(outputs).lower(), [], None)
    return answer("forward", outputs, fate["Masquerade"])


def without_masquerade(given):
    return *given[:2], None


# The comparison

def ask(folder, cases):
    """kube-proxy's answers, one for each case."""
    questions, answers = folder / "questions.json", folder / "answers.json"
    questions.write_text(json.dumps([
        kube_proxy_feed.question(case.things, case.settings, case.family,
                                 next(iter(case.pod_ranges), None), case.packets)
        for case in cases
    ]), encoding="utf-8")
    done = subprocess.run(
        [program("kube-proxy-oracle"), "-test.run=^TestOracle$"], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, "ORACLE_QUESTIONS": str(questions), "ORACLE_ANSWERS": str(answers)})
    assert done.returncode == 0, done.stdout[-5000:]
    return json.loads(answers.read_text(encoding="utf-8"))


@pytest.fixture(name="answered", scope="module")
def answered_fixture(tmp_path_factory):
    """[(case, kube-proxy's answer)]"""
    cases = [case for seed in range(FIRST, FIRST + COUNT) for case in cases_of(seed)
             if not is_a_case_of_many_ranges(case)]
    return list(zip(cases, ask(tmp_path_factory.mktemp("oracle"), cases), strict=True))


def differences(case, given, count):
    """Lines of what kube-proxy says otherwise; what was compared is counted."""
    for packet, fate in zip(case.packets, given["Packets"] or [], strict=True):
        excuse = next((check for check in LEFT_OUT if check(case, packet)), None)
        count[excuse.__name__ if excuse else "compared"] += 1
        if excuse:
            continue
        (reason, expected), got = judged(case, packet), traced(fate)
        claim = case.claim(packet)
        if is_masqueraded_by_contract(case, packet):
            expected, got = without_masquerade(expected), without_masquerade(got)
        count.update({expected[0], reason, claim[1] if claim else NO_FRONTEND,
                      f"IPv{case.family}", ("masquerade", expected[2])})
        if got != expected:
            yield (f"PROPERTY_SEED={case.seed} PROPERTY_JUDGED=1, IPv{case.family}: {packet}\n"
                   f"  kube-proxy {got}\n  the judge  {expected} {reason}")


@pytest.fixture(name="comparison", scope="module")
def comparison_fixture(answered):
    """(differences, what was compared and what was left out, by how often)"""
    count = Counter()
    wrong = [line for case, given in answered for line in differences(case, given, count)]
    print(f"compared: {count}")
    return wrong, count


def test_kube_proxy_agrees_with_the_judge(comparison):
    wrong, _ = comparison
    assert not wrong, "\n".join([f"{len(wrong)} differences, the first of them:", *wrong[:20]])


@pytest.mark.skipif(COUNT * PACKETS < 10000, reason="too few were asked for to tell")
def test_enough_of_each_sort_was_compared(comparison):
    _, count = comparison
    assert count["compared"] > COUNT * PACKETS / 2, count
    for sort in SORTS:
        assert count[sort] > count["compared"] / 2000, f"{sort} of {count}"
    for check in LEFT_OUT:
        assert count[check.__name__] < count["compared"] / 5, f"{check.__name__} of {count}"


def expected_health(case):
    """7.1, 7.3: as ours, by namespace/name."""
    services = [service for service in model.of_kind(case.things, "Service")
                if model.is_served(service, case.family, case.settings)]
    found = {"/".join(model.key(service)):
             model.health(case.things, service, case.family, clusters.NODE)
             for service in services}
    return {name: health for name, health in found.items() if health}


def named_ports(piece):
    return [(port.get("name") or "", model.protocol_of(port), port["port"])
            for port in piece.get("ports") or [] if port.get("port")]


def test_kube_proxy_has_the_same_health_ports(answered):
    wrong, ports = [], 0
    for case, given in answered:
        if any(has_copies_that_differ(case, service, named_ports)
               for service in model.of_kind(case.things, "Service")):
            continue
        expected = expected_health(case)
        ports += len(expected)
        if given["Health"] != expected:
            wrong.append(f"PROPERTY_SEED={case.seed} PROPERTY_JUDGED=1, IPv{case.family}: "
                         f"kube-proxy {given['Health']}, the model {expected}")
    assert not wrong, "\n".join(wrong[:20])
    assert ports or COUNT < 100
