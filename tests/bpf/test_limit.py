# SPDX-License-Identifier: Apache-2.0
"""The rate of refusals per receiver: may_answer() of agent/bpf/packet/reject.h."""

import time

import pytest
from abi import Address, Control
from packets import ether, network
from scapy.layers.inet import UDP

SOURCES = {4: ("198.51.100.7", "198.51.100.8"), 6: ("2001:db8:51::7", "2001:db8:51::8")}
families = pytest.mark.parametrize("family", (4, 6))
HOUR_MS = 3600 * 1000  # longer than any test


@pytest.fixture(name="ask")
def ask_fixture(icmp):
    """ask(family, interval_ms): whether one more answer to a source may be sent."""

    def ask(family, interval_ms, source=None):
        source = source or SOURCES[family][0]
        control = Control()
        control.icmp_interval_ms[family == 6] = interval_ms
        icmp.control[0] = control
        icmp.arguments[0] = icmp.Arguments(src=Address.of(source))
        packet = ether() / network(source, {4: "10.96.0.10", 6: "fd00:96::10"}[family]) / UDP()
        return icmp.limit.run(bytes(packet), icmp.index["eth0"]).verdict

    return ask


@families
def test_a_burst_of_six(ask, family):
    assert [ask(family, HOUR_MS) for _ in range(8)] == [1] * 6 + [0] * 2


@families
def test_each_source_has_its_own(ask, family):
    for _ in range(6):
        ask(family, HOUR_MS)
    assert ask(family, HOUR_MS) == 0
    assert ask(family, HOUR_MS, SOURCES[family][1]) == 1


def test_families_have_their_own_interval(ask):
    for _ in range(6):
        ask(4, HOUR_MS)
    assert ask(4, HOUR_MS) == 0
    assert [ask(6, 0) for _ in range(20)] == [1] * 20


@families
def test_no_limit(ask, icmp, family):
    assert [ask(family, 0) for _ in range(20)] == [1] * 20
    assert len(icmp.limits) == 0


@families
def test_credit_grows(ask, icmp, family):
    """The word is when there was no credit: half an hour earlier is half an answer more."""
    source = Address.of(SOURCES[family][0])
    for _ in range(7):
        ask(family, HOUR_MS)
    half = HOUR_MS * 1000000 // 2
    icmp.limits[source] = icmp.limits[source].value - half
    assert ask(family, HOUR_MS) == 0
    icmp.limits[source] = icmp.limits[source].value - half
    assert [ask(family, HOUR_MS), ask(family, HOUR_MS)] == [1, 0]


@families
def test_credit_has_an_end(ask, icmp, family):
    ask(family, HOUR_MS)
    source = Address.of(SOURCES[family][0])
    icmp.limits[source] = time.monotonic_ns() - 1000 * HOUR_MS * 1000000 & (1 << 64) - 1
    assert [ask(family, HOUR_MS) for _ in range(7)] == [1] * 6 + [0]


@families
def test_a_processor_that_is_late_has_no_credit(ask, icmp, family):
    """It read the clock, then it was held up, and others answered: the word is of its future."""
    source = Address.of(SOURCES[family][0])
    ask(family, HOUR_MS)
    word = time.monotonic_ns() + HOUR_MS * 1000000
    icmp.limits[source] = word
    assert ask(family, HOUR_MS) == 0
    assert icmp.limits[source].value == word


@families
def test_refusals_cost_nothing(ask, icmp, family):
    for _ in range(6):
        ask(family, HOUR_MS)
    before = icmp.limits[Address.of(SOURCES[family][0])].value
    assert ask(family, HOUR_MS) == 0
    assert icmp.limits[Address.of(SOURCES[family][0])].value == before
