# SPDX-License-Identifier: Apache-2.0
"""agentctl doctor and the host's own firewall: a port that has to come in is named if no rule accepts it, and none is
named that some rule may accept."""

import contextlib

import pytest
from doctor_firewalls import CLOSED, IPTABLES_CLOSED, IPTABLES_OPEN, OPEN, iptables
from doctor_mistakes import Patient, health_port, nft, proc
from lab import Lab

pytestmark = pytest.mark.xdist_group("doctor-firewall")  # one lab for all


@pytest.fixture(name="patient", scope="module")
def patient_fixture():
    with Lab("doctor-firewall", nodes=1, nat=True) as lab:
        lab.wait_sessions()
        yield Patient(lab)


def closed(patient):
    """The ports that the doctor names, each with the line that opens it."""
    items = [item for item in patient.doctor() if item["check"] == "firewall.input"]
    ports = [int(item["found"].split("TCP port ")[1].split(":")[0]) for item in items]
    for port, item in zip(ports, items):
        assert f"tcp dport {port} accept" in item["remedy"], items
    return set(ports)


@pytest.mark.parametrize("name", CLOSED)
def test_what_no_rule_accepts_is_named(patient, name):
    rules, ports = CLOSED[name]
    with nft(patient, rules, "inet fw"):
        assert closed(patient) == ports


def test_what_a_rule_may_accept_is_not(patient):
    """A table for each way: a drop of any would be final."""
    with contextlib.ExitStack() as stack:
        for name, rules in OPEN.items():
            stack.enter_context(nft(patient, rules.replace("inet fw", f"inet {name}", 1), f"inet {name}"))
        assert closed(patient) == set()


def test_the_remedy_mends_it(patient):
    """Word for word, and no session is lost by it."""
    with nft(patient, CLOSED["policy"][0], "inet fw"):
        for item in [item for item in patient.doctor() if item["check"] == "firewall.input"]:
            patient.node.run(*item["remedy"].split(",")[0].split())
        assert closed(patient) == set()


@pytest.mark.parametrize("rules, ports", [(IPTABLES_CLOSED, {179}), (IPTABLES_OPEN, set())], ids=["closed", "open"])
def test_rules_of_iptables(patient, rules, ports):
    with iptables(patient, rules):
        assert closed(patient) == ports


def test_a_health_port_of_a_service(patient):
    with contextlib.ExitStack() as stack:
        stack.enter_context(health_port(patient, 31999))
        stack.enter_context(nft(patient, OPEN["ports"], "inet fw"))
        assert closed(patient) == {31999}


@pytest.mark.parametrize("values, check, found, remedy", [
    ({"nf_conntrack_count": 950, "nf_conntrack_max": 1000}, "firewall.conntrack", "950 of 1000", "nf_conntrack_max"),
    ({"nf_conntrack_helper": 1}, "firewall.helpers", "nf_conntrack_helper: is 1", "nf_conntrack_helper=0"),
], ids=["full", "helper"])
def test_connection_tracking(patient, values, check, found, remedy):
    with proc(patient, "net/netfilter", values):
        items = [item for item in patient.doctor() if item["check"] == check]
    assert [found in item["found"] and remedy in item["remedy"] for item in items] == [True], items


def test_a_table_with_room(patient):
    with proc(patient, "net/netfilter", {"nf_conntrack_count": 10, "nf_conntrack_max": 1000}):
        assert patient.doctor() == []
