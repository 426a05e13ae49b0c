# SPDX-License-Identifier: Apache-2.0
"""A gateway that translates to several addresses: who gets which, and what comes back to them."""

import pytest
from abi import UDP
from bpf import REDIRECT, SHOT
from egress import PORT, unwrap
from packets import frame, judge
from scapy.layers.inet import UDP as Udp
from test_egress_gateway import FIRST, OTHER, POD, SERVER, SIZE, head_of, inside, tunnel
from world import NODE

FIRST_ADDRESS = {4: "203.0.113.77", 6: "2001:db8:203::77"}
SECOND_ADDRESS = {4: "203.0.113.78", 6: "2001:db8:203::78"}
PLACES = (FIRST_ADDRESS, SECOND_ADDRESS)


@pytest.fixture(name="pool")
def pool_fixture(gateway, family):
    gateway.translate_to(*PLACES)
    for who in (POD, OTHER):
        gateway.client(who[family])
    return gateway


def leave(gateway, family, number, src=POD, **what):
    """The address and port under which a datagram leaves; None: it does not."""
    sent = gateway.send(tunnel(family, inside(family, src=src, sport=30000 + number, **what), src=src))
    if sent.verdict != REDIRECT:
        assert sent.verdict == SHOT
        return None
    assert not judge(sent.packet)
    head = head_of(sent.packet, family)
    return head.src, head[Udp].sport


def test_a_client_keeps_to_one_address(pool, family):
    """All blocks of a client are of one address, and clients are spread over them."""
    found = {src: {leave(pool, family, number, places)[0] for number in range(2 * SIZE + 1)}
             for src, places in (("first", POD), ("second", OTHER))}
    assert sorted(map(len, found.values())) == [1, 1]
    assert set.union(*found.values()) == {place[family] for place in PLACES}


def test_the_same_port_of_both(pool, family):
    """Each address has all its ports: those of one take none of the other's."""
    pool.control.address_blocks = 1
    pool.write()
    ports = [[leave(pool, family, number, src)[1] for number in range(8)] for src in (POD, OTHER)]
    assert set(ports[0]) == set(ports[1]) == set(range(FIRST, FIRST + 8))


def test_another_address_when_the_own_is_full(pool, family):
    pool.control.address_blocks = 1
    pool.write()
    left = [leave(pool, family, number) for number in range(2 * SIZE)]
    assert {address for address, _ in left[:SIZE]} == {left[0][0]}
    assert {address for address, _ in left[SIZE:]} == {place[family] for place in PLACES} - {left[0][0]}
    assert len(set(left)) == 2 * SIZE
    assert leave(pool, family, 0, OTHER) is None
    assert pool.drops() == {"blocks": 1}


@pytest.mark.parametrize("places", [(None, SECOND_ADDRESS), (FIRST_ADDRESS, None, SECOND_ADDRESS)])
def test_a_gap(pool, family, places):
    """Nothing leaves by a place where there is no address, whoever's it would be."""
    pool.translate_to(*places)
    pool.control.address_blocks = 1
    pool.write()
    kept = {place[family] for place in places if place}
    left = [leave(pool, family, number, src) for number in range(SIZE) for src in (POD, OTHER)]
    assert {found[0] for found in left if found} == kept
    assert len({found for found in left if found}) == len([found for found in left if found])


def test_an_address_that_is_gone(pool, family):
    """Ports that a client has of it are passed over: it gets others."""
    gone, _ = leave(pool, family, 0)
    pool.translate_to(*(None if place[family] == gone else place for place in PLACES))
    left = [leave(pool, family, number) for number in range(1, SIZE)]
    assert {address for address, _ in left} == {place[family] for place in PLACES} - {gone}


def test_answers_come_back(pool, family):
    for src in (POD, OTHER):
        address, port = leave(pool, family, 0, src)
        result = pool.send(frame("uplink_in", SERVER[family], 53, address, port, UDP))
        assert result.verdict == REDIRECT
        outer, _, inner = unwrap(result.packet)
        assert (outer.dst, inner.src, inner.dst) == (src[family], SERVER[family], src[family])


def test_the_port_of_tunnels_is_theirs(pool, family):
    """FoU goes to another address: from these a datagram may leave by any port."""
    pool.control.snat_first, pool.control.client_blocks = PORT - 3, 1
    pool.write()
    assert PORT in [leave(pool, family, number)[1] for number in range(SIZE)]


def test_no_client_reaches_any_of_them(pool, family):
    for place in PLACES + (NODE,):
        assert leave(pool, family, 0, dst=place) is None
    assert pool.drops() == {"nested": 3}


def test_the_twin_proves_each(pool, family):
    for number, place in enumerate(PLACES):
        found, _, _, result = pool.twin(tunnel(family, inside(family)), source=number)
        assert found == "sent" and head_of(result.packet, family).src == place[family]
    assert pool.twin(tunnel(family, inside(family)), source=len(PLACES))[0] == "dropped"
    assert pool.twin(tunnel(family, inside(family)), source=1 << 31)[0] == "dropped"
