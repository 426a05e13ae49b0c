# SPDX-License-Identifier: Apache-2.0
"""What a pod wraps for a gateway by itself."""

import pytest
from abi import UDP, Address
from bpf import NEXT, SHOT
from egress import GATEWAY, OTHER_GATEWAY, POD_TUNNELS, PORT, fou
from packets import ETHER, frame
from scapy.layers.inet import Ether
from test_egress_answers import answer, reply
from test_egress_client import OUTSIDE, go_out, packet
from world import MACS, POD1, POD2, REMOTE


@pytest.fixture(name="wrapped")
def wrapped_fixture(client, family):
    go_out(client, family)
    for gateway in (GATEWAY, OTHER_GATEWAY):
        client.maps["egress_doors"][Address.of(gateway[family])] = 1

    def wrapped(pod=POD1, gateway=GATEWAY, dport=PORT):
        inner = bytes(frame("pod_in", pod[family], 1000, OUTSIDE[family], 53, UDP))[ETHER:]
        ether = Ether(src=MACS["pod1p"], dst=MACS["pod1"])
        return fou(pod[family], gateway[family], inner, dport=dport, frame=ether)

    return wrapped


def test_is_dropped(client, family, wrapped):
    """For whatever gateway, and also of a pod that has no Egress; nothing else is."""
    client.stay(GATEWAY[family])
    dropped = [wrapped(), wrapped(gateway=OTHER_GATEWAY), wrapped(pod=POD2)]
    for sent in dropped:
        assert client.twin(sent).cause == "pod-tunnel"
        assert client.send("client_in", sent).verdict == SHOT
    assert client.drops() == {"pod-tunnel": len(dropped)}
    for sent in (wrapped(gateway=REMOTE), wrapped(dport=PORT + 1)):
        assert client.send("client_in", sent).verdict == NEXT


def test_may_be_let(client, family, wrapped):
    """Then what a gateway answers without a flow of ours is the pod's own affair."""
    client.control.flags = POD_TUNNELS
    client.write()
    client.stay(GATEWAY[family])
    result, _ = answer(client, family, reply(family))
    assert bytes(result.packet)[ETHER:] == reply(family), "it has no tunnel of its own yet"
    client.forget()
    assert client.send("client_in", wrapped()).verdict == NEXT
    result, sent = answer(client, family, reply(family))
    assert result.verdict == NEXT and bytes(result.packet) == bytes(sent)
    client.send("client_in", packet(family))
    result, _ = answer(client, family, reply(family))
    assert bytes(result.packet)[ETHER:] == reply(family), "a flow of ours is ours"
