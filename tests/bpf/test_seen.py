# SPDX-License-Identifier: Apache-2.0
"""Each hook counts the packets that it sees: one each, whatever becomes of them."""

import abi
import pytest
from packets import frame
from test_flows import web
from test_verdicts import OTHER, POD1, POD2, VIP, first
from world import CLIENT


def counted(nat, before):
    """What was seen since then."""
    return {hook: count - before[hook] for hook, count in nat.seen().items() if count != before[hook]}


@pytest.mark.parametrize("hook", abi.HOOKS)
def test_a_packet_counts_once(nat, hook, family, protocol):
    """Also one that is none of ours: it is the hook that is asked about."""
    before = nat.seen()
    packet = frame(hook, CLIENT[family], 40000, OTHER[family], 80, protocol)
    nat.send(hook, packet)
    assert counted(nat, before) == {hook: 1}
    nat.send(hook, packet)
    assert counted(nat, before) == {hook: 2}


@pytest.mark.parametrize("way", ("outside", "pod", "node"))
def test_a_packet_to_a_service_counts_once(nat, family, protocol, way):
    web(nat, family, protocol, POD2)
    before = nat.seen()
    hook, packet, ingress = first(way, family, protocol, VIP)
    nat.send(hook, packet, ingress=ingress)
    assert counted(nat, before) == {hook: 1}


def test_the_twin_counts_nothing(nat, family, protocol):
    service = web(nat, family, protocol, POD1)
    before = nat.seen()
    hook, packet, _ = first("outside", family, protocol, VIP)
    assert nat.ask(hook, packet).service == service.id
    assert counted(nat, before) == {}
