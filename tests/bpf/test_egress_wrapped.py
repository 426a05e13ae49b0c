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
from test_egress_source import PORT_MAC, bridge_fixture  # noqa: F401: a fixture
from world import MACS, POD1, POD2, REMOTE


@pytest.fixture(name="wrapped")
def wrapped_fixture(client, family):
    go_out(client, family)
    for gateway in (GATEWAY, OTHER_GATEWAY):
        client.maps["egress_doors"][Address.of(gateway[family])] = 1

    def wrapped(pod=POD1, gateway=GATEWAY, dport=PORT, mac=MACS["pod1p"]):
        address = pod[family] if isinstance(pod, dict) else pod
        inner = bytes(frame("pod_in", address, 1000, OUTSIDE[family], 53, UDP))[ETHER:]
        ether = Ether(src=mac, dst=MACS["pod1"])
        return fou(address, gateway[family], inner, dport=dport, frame=ether)

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


@pytest.mark.parametrize("known", (True, False), ids=("with-egress", "without"))
def test_only_under_its_own_address(client, family, wrapped, known):
    """The gateway knows a client by the outer source: nobody sends under another's, be that a pod
    of this node, one that has no Egress, or one of another node."""
    client.control.flags = POD_TUNNELS
    client.write()
    if known:
        client.pod(POD2[family])
    forged = [(wrapped(), "pod2"), (wrapped(POD2), "pod1"), (wrapped(REMOTE), "pod1")]
    for sent, interface in forged:
        assert client.twin(sent, interface).cause == "source"
        assert client.send("client_in", sent, interface).verdict == SHOT
    assert client.drops() == {"source": len(forged)}
    result, _ = answer(client, family, reply(family))
    assert bytes(result.packet)[ETHER:] == reply(family), "POD1 has no tunnel of its own"
    for sent, interface in ((wrapped(), "pod1"), (wrapped(POD2), "pod2")):
        assert client.send("client_in", sent, interface).verdict == NEXT
    assert client.drops() == {"source": len(forged)}


@pytest.mark.parametrize("known", (True, False), ids=("with-egress", "without"))
def test_only_by_its_port_of_a_bridge(client, family, wrapped, bridge, known):
    client.control.flags = POD_TUNNELS
    client.write()
    if not known:
        del client.maps["egress_pods"][Address.of(bridge)]
    client.world.ip(f"neighbour add {bridge} lladdr {PORT_MAC} dev br9 nud permanent\n")
    own, forged = wrapped(bridge, mac=PORT_MAC), wrapped(bridge)
    assert client.send("client_in", own, "pod1").verdict == SHOT, "not behind the bridge"
    assert client.send("client_in", forged, "port2").verdict == SHOT
    assert client.send("client_in", own, "port1").verdict == NEXT
    if known:
        assert client.send("client_in", own, "port2").verdict == SHOT, "the port is known by now"
    assert client.drops() == {"source": 2 + known}


def test_nobody_answers_for_a_gateway(client, family, wrapped):
    """FoU under a gateway's address puts a packet into a pod, and takes a flow to that gateway. Only
    the gateway's own interface has it, where its pod is on this node."""
    bits = 32 if family == 4 else 128
    ether = Ether(src=MACS["pod1p"], dst=MACS["pod1"])
    forged = fou(GATEWAY[family], POD2[family], reply(family), frame=ether)
    assert client.send("client_in", forged).verdict == SHOT
    assert client.drops() == {"source": 1}
    foreign = fou(REMOTE[family], POD2[family], reply(family), frame=ether)
    assert client.send("client_in", foreign).verdict == NEXT, "a tunnel of the pod's own"
    client.world.ip(f"route add {GATEWAY[family]}/{bits} dev pod1\n")
    try:
        assert client.send("client_in", forged).verdict == NEXT
        assert client.send("client_in", forged, "pod2").verdict == SHOT
    finally:
        client.world.ip(f"route del {GATEWAY[family]}/{bits} dev pod1\n")
    assert client.drops() == {"source": 2}
