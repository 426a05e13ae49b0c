# SPDX-License-Identifier: Apache-2.0
"""The client's twin: it says of a pod's packet what the program does with it, and leaves nothing
behind."""

import pytest
from abi import SCTP, TCP, UDP
from bpf import NEXT, REDIRECT, SHOT
from egress import (
    GATEWAY, GATEWAY_USED, HOLD_UNKNOWN, OTHER_GATEWAY, OUTER, SET_MAX, TOLD_HERE, TOLD_INBOUND,
    TOLD_PINNED, TOLD_POD, unwrap,
)
from packets import frame
from scapy.layers.inet import IP
from test_egress_client import (
    IN_NARROW, NARROW, OUTSIDE, go_out, packet, ping,
)
from world import NODE, NOWHERE, POD1, POD2, REMOTE

VERDICT = {"passed": NEXT, "sent": REDIRECT, "dropped": SHOT}
BITS = {4: 96 + 32, 6: 32}  # in front of a prefix in the trie


def written(client):
    """All that a packet may leave behind."""
    counts = [client.maps["egress_gateways"][SET_MAX + slot].packets for slot in range(3)]
    pins = [(bytes(key), bytes(value)) for key, value in client.pins().items()]
    return len(client.maps["egress_pods"]), counts, pins, client.drops()


def plain(result):
    """What comes out, but for the number that each packet gets anew."""
    out = result.packet
    if IP in out:
        out[IP].id = 0
        out[IP].chksum = 0
    return bytes(out)


def ask(client, sent):
    """What the twin says; the program then does the same."""
    before = written(client)
    told = client.twin(sent)
    assert written(client) == before
    done = client.send("client_in", sent)
    assert done.verdict == VERDICT[told.found]
    assert plain(told) == plain(done) or told.found == "dropped"
    new = {name: count - before[3].get(name, 0) for name, count in client.drops().items()
           if count != before[3].get(name, 0)}
    assert new == ({told.cause: 1} if told.found == "dropped" else {})
    return told


@pytest.mark.parametrize("protocol", (TCP, UDP))
def test_sent(client, family, protocol):
    number = go_out(client, family)
    told = ask(client, packet(family, protocol))
    assert (told.found, told.cause, told.flags) == ("sent", None, TOLD_POD)
    assert (told.set, told.gateway) == (number, number * SET_MAX)
    assert (told.bits, told.stay, told.mtu) == (BITS[family], 0, 1500)
    assert told.out == client.world.index["eth0"]
    outer, _, inner = unwrap(told.packet)
    assert outer.dst == GATEWAY[family] and len(bytes(outer)) == len(bytes(inner)) + OUTER[family]
    assert ask(client, packet(family, protocol)).flags == TOLD_POD | TOLD_PINNED


def test_echo(client, family):
    go_out(client, family)
    assert ask(client, ping(family, POD1[family], OUTSIDE[family])).found == "sent"


def test_prefixes(client, family):
    """Which prefix decided: the longer one."""
    go_out(client, family)
    stay = BITS[family] + 8
    told = ask(client, packet(family, dst=REMOTE[family]))
    assert (told.found, told.set, told.bits, told.stay) == ("passed", 0, BITS[family], stay)
    narrow = client.set([OTHER_GATEWAY[family]])
    client.route(1, NARROW[family], narrow)
    told = ask(client, packet(family, dst=IN_NARROW[family]))
    assert (told.found, told.set, told.stay) == ("sent", narrow, stay)
    assert told.bits == BITS[family] + int(NARROW[family].split("/")[1])


def test_dropped(client, family):
    number = go_out(client, family)
    client.gateway(number, 0, None)
    assert ask(client, packet(family)).cause == "no-gateway"
    client.gateway(number, 0, NOWHERE[family])
    assert ask(client, packet(family)).cause == "no-route"
    assert ask(client, packet(family, SCTP)).cause == "protocol"
    client.pod(POD1[family], held=True)
    told = ask(client, packet(family))
    assert (told.cause, told.set) == ("held", number)


def test_strangers(client, family):
    sent = frame("pod_in", POD2[family], 1000, OUTSIDE[family], 53, UDP)
    told = ask(client, sent)
    assert (told.found, told.flags, told.set) == ("passed", 0, 0)
    client.control.flags = HOLD_UNKNOWN
    client.write()
    assert ask(client, sent).cause == "held"


def test_a_flow_that_began_outside(client, family):
    go_out(client, family)
    came = frame("pod_out", OUTSIDE[family], 53, POD1[family], 1000, TCP)
    client.send("client_out", came)
    told = ask(client, packet(family, TCP, flags="A"))
    assert (told.found, told.flags) == ("passed", TOLD_POD | TOLD_INBOUND)
    client.send("client_out", frame("pod_out", OUTSIDE[family], 54, POD1[family], 1000, UDP))
    told = ask(client, packet(family, dport=54))
    assert (told.found, told.flags) == ("passed", TOLD_POD | TOLD_INBOUND)


def test_a_gateway_that_drains(client, family):
    """A new flow is refused, or chooses another; one that was begun stays."""
    number = go_out(client, family, [GATEWAY[family], OTHER_GATEWAY[family]])
    first = ask(client, packet(family))
    client.state(number, first.gateway % SET_MAX, GATEWAY_USED)
    assert ask(client, packet(family)).gateway == first.gateway
    assert ask(client, packet(family, sport=1001)).gateway != first.gateway


def test_this_node_is_the_gateway(client, family):
    go_out(client, family, [NODE[family]])
    told = ask(client, packet(family))
    assert (told.found, told.out) == ("sent", 1) and told.flags == TOLD_POD | TOLD_HERE
