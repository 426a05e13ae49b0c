# SPDX-License-Identifier: Apache-2.0
"""How soon clients learn that a Service has no endpoints."""

import time

import pytest
from lab.traffic import outcome
from served import FAMILIES, Service, pods, settle, start

pytestmark = pytest.mark.lab(nodes=1, nat=True)
TIMES, MOST_S = 10, 5  # a SYN is sent again after a second: 10 s in all, if an answer is missed


def test_refused_at_once(lab):
    """By TCP, from the same machine, in both families."""
    [node] = lab.nodes
    guest = pods(lab, "guest")["guest1"]
    web = Service(lab)
    web.write()
    start(lab)
    settle(lab)
    took = {}
    for client in (node, guest):
        for family in FAMILIES:
            begin = time.monotonic()
            fates = {outcome(client, *web.address("clusterIP", family)) for _ in range(TIMES)}
            took[client.role, family] = time.monotonic() - begin
            assert fates == {"reject"}
    assert max(took.values()) < MOST_S, took


def test_a_datagram_is_refused_by_an_error(lab):
    """UDP knows no reset: an ICMP error, as of kube-proxy."""
    [node] = lab.nodes
    guest = pods(lab, "guest")["guest1"]
    web = Service(lab)
    web.write()
    start(lab)
    settle(lab)
    for client in (node, guest):
        for family in FAMILIES:
            assert outcome(client, *web.address("clusterIP", family), "UDP") == "reject"
