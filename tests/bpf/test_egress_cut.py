# SPDX-License-Identifier: Apache-2.0
"""IPv4 packets that are too large for the tunnel, and may be cut: the first fragment goes on, and is
looked at here; the second goes back to the ingress as a copy, which the lab sees
(tests/netns/test_egress.py)."""

import pytest
from abi import UDP
from bpf import REDIRECT
from egress import OUTER, unwrap
from packets import ether, judge
from scapy.layers.inet import IP
from test_egress_client import go_out, packet
from test_egress_gateway import POD, inside, leaves, reply

FITS = 1500 - OUTER[4]  # of a packet: 1472
HEAD = (FITS - 20) & ~7  # bytes behind the IP header of the first fragment: 1448
DATA = bytes(range(256)) * 40


def first(result, sent):
    """Checks the first fragment of what was sent; returns what is behind its IP header."""
    assert result.verdict == REDIRECT and not judge(result.packet)
    found, before = unwrap(result.packet)[2], sent[IP]
    assert (found.id, found.proto) == (before.id, before.proto)
    assert (found.frag, found.flags, found.len) == (before.frag, "MF", 20 + HEAD)
    assert not judge(ether() / found)
    return bytes(found)[20:], bytes(before)[20:20 + HEAD]


@pytest.mark.parametrize("size", (FITS + 1, 1500, 3000))
def test_client_cuts(client, size):
    go_out(client, 4)
    sent = packet(4, payload=DATA[:size - 28], ip={"id": 77})
    found, before = first(client.send("client_in", sent), sent)
    assert found == before
    assert client.drops() == {}


def test_client_cuts_fragments(client):
    """Those that are too large themselves, the first one and a later one."""
    go_out(client, 4)
    for at in (0, 185):
        sent = packet(4, payload=DATA[:1472], ip={"id": 77, "flags": "MF", "frag": at})
        found, before = first(client.send("client_in", sent), sent)
        assert found == before


def test_client_does_not_cut(client):
    """With options, and what the sender forbids to cut; TCP is never so large."""
    go_out(client, 4)
    for fields in ({"flags": "DF"}, {"options": [b"\x94\x04\0\0"]}):
        sent = packet(4, payload=DATA[:1472], ip=fields)
        assert client.send("client_in", sent).verdict == REDIRECT
    assert client.drops() == {"too-big": 2}


@pytest.mark.parametrize("size", (FITS + 1, 1500))
def test_gateway_cuts(gateway, size):
    gateway.client(POD[4])
    left = leaves(gateway, 4, inside(4))
    sent = ether() / reply(4, left, UDP, payload=DATA[:size - 28], ip={"id": 78})
    found, before = first(gateway.send(sent), sent)
    assert found[8:] == before[8:], "but for the port and the checksum"
    assert gateway.drops() == {}
