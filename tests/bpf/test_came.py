# SPDX-License-Identifier: Apache-2.0
"""By which interface a packet has to come: the one that leads back to its source."""

import socket
import subprocess

import abi
import pytest
from bpf import NEXT, REDIRECT, SHOT
from lab import wait_equal
from maps import tuple_of
from packets import frame
from scapy.layers.inet import Ether
from test_egress_source import BRIDGED, PORT_MAC
from test_flows import begin, reply_to, web
from test_fragments import cut, datagram
from test_verdicts import CLIENT, LB, NODE, POD1, POD2, REMOTE, VIP
from world import MACS

WRONG = "reverse-path"
GOES = (NEXT, REDIRECT)


@pytest.fixture(autouse=True)
def told_fixture(nat):
    """The agent has said what each interface is."""
    index = nat.world.index
    nat.interface(index["eth0"], back=abi.BACK_ANY)
    for name in ("pod1", "pod2"):
        nat.interface(index[name], back=index[name])
    for slot in range(8):  # what earlier tests have left there
        nat.maps["came"][slot] = abi.Came()


def asked(nat, flow):
    """By which interface packets of a tuple came when the kernel was asked last; None: it was not."""
    half = nat.flow(flow)
    words = nat.maps["came"][half.slot]
    word = words.forward if half.half == abi.HALF_FORWARD else words.reply
    return word & 0xFFFFFFFF if word >> 32 == half.check else None


@pytest.mark.parametrize("masquerade", (True, False), ids=("masqueraded", "kept"))
def test_answers(nat, family, protocol, masquerade):
    outcomes = {} if masquerade else {"outcomes": {abi.OUTSIDE: "forward"}}
    web(nat, family, protocol, POD2, LB, **outcomes)
    _, result = begin(nat, "outside", family, protocol, LB)
    answer = reply_to("pod_in", result.packet, protocol)
    assert nat.send("pod_in", answer, "pod1").verdict == SHOT
    assert nat.state(tuple_of(answer)) in ("half-open", "unanswered"), "it told nothing"
    assert nat.send("uplink_in", reply_to("uplink_in", result.packet, protocol)).verdict == SHOT
    for _ in range(2):
        assert nat.send("pod_in", answer, "pod2").verdict in GOES
        assert asked(nat, tuple_of(answer)) == nat.world.index["pod2"]
        assert nat.send("pod_in", answer, "pod1").verdict == SHOT
    assert nat.refusals() == {WRONG: 4}


def test_answers_of_another_nodes_pod(nat, family, protocol):
    """By whatever uplink they come; and by no pod's interface."""
    web(nat, family, protocol, REMOTE)
    _, result = begin(nat, "outside", family, protocol)
    assert nat.send("pod_in", reply_to("pod_in", result.packet, protocol)).verdict == SHOT
    assert nat.send("uplink_in", reply_to("uplink_in", result.packet, protocol)).verdict == REDIRECT
    assert nat.refusals() == {WRONG: 1}


SOURCES = {  # of a request: (hook, interface, source, whether it goes)
    "own": ("pod_in", "pod1", POD1, True), "another pod's": ("pod_in", "pod2", POD1, False),
    "a client's": ("pod_in", "pod1", CLIENT, False), "the node's": ("pod_in", "pod1", NODE, False),
    "a pod's elsewhere": ("pod_in", "pod1", REMOTE, False),
    "a client outside": ("uplink_in", "eth0", CLIENT, True),
    "a pod elsewhere": ("uplink_in", "eth0", REMOTE, True),
    "a pod's, outside": ("uplink_in", "eth0", POD1, False),
    "a pod by the stack": ("svc_out", "pod1", POD1, True),
    "another pod's by the stack": ("svc_out", "pod2", POD1, False),
    "a client by the stack": ("svc_out", "eth0", CLIENT, True),
    "a client's by the stack": ("svc_out", "pod1", CLIENT, False),
    "from nobody knows where": ("svc_out", "lo", POD1, True),
    "this node itself": ("svc_out", None, NODE, True),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_requests(nat, family, protocol, kind):
    """Before anything is spent on them, and whether or not the networks of pods are known."""
    hook, by, source, goes = SOURCES[kind]
    web(nat, family, protocol, POD2)
    sent = frame(hook, source[family], 40000, VIP[family], 80, protocol)
    where = {"ingress": by or 0} if hook == "svc_out" else {"device": by}
    told = nat.ask(hook, sent, flags=abi.DRY_CAME, **where)
    for nets in (True, False):
        assert (nat.send(hook, sent, **where).verdict in GOES) is goes
        nat.set_nets("pod", [])
        nat.write_control()
    assert nat.refusals() == ({} if goes else {WRONG: 2}) and bool(nat.halves()) is goes
    assert (told.act, told.cause) == ((abi.FORWARD, "none") if goes else (abi.DROP, WRONG))
    if goes and by not in (None, "lo"):
        assert asked(nat, tuple_of(sent)) == nat.world.index[by]


def test_requests_of_a_flow(nat, family, protocol):
    web(nat, family, protocol, POD2)
    sent, _ = begin(nat, "pod", family, protocol)
    assert nat.send("pod_in", sent, "pod2").verdict == SHOT
    assert nat.send("pod_in", sent).verdict == NEXT
    assert nat.flow(tuple_of(sent)).packets == 2 and nat.refusals() == {WRONG: 1}


def test_a_flow_without_its_word(nat, family, protocol):
    """Of an agent that had none, or with the word of another flow in its slot: it is asked for."""
    web(nat, family, protocol, POD2)
    sent, _ = begin(nat, "pod", family, protocol)
    flow = tuple_of(sent)
    half = nat.flow(flow)
    for word in (0, (half.check ^ 1) << 32 | nat.world.index["pod2"]):
        nat.maps["came"][half.slot] = abi.Came(word, word)
        assert nat.send("pod_in", sent, "pod2").verdict == SHOT
        assert nat.send("pod_in", sent).verdict == NEXT and asked(nat, flow) == nat.world.index["pod1"]


def test_where_nothing_is_told(nat, family, protocol):
    """An interface that the agent has not come to yet, or one of an older agent's."""
    web(nat, family, protocol, POD2)
    nat.interface(nat.world.index["pod1"])
    nat.interface(nat.world.index["pod2"])
    sent, _ = begin(nat, "pod", family, protocol)
    assert nat.send("pod_in", sent, "pod2").verdict == NEXT and asked(nat, tuple_of(sent)) is None


def test_link_local(nat, protocol):
    web(nat, 6, protocol, POD2)
    sent = frame("pod_in", "fe80::5", 40000, VIP[6], 80, protocol)
    nat.send("pod_in", sent)
    assert WRONG not in nat.refusals()


def test_an_address_that_moves(nat, family, protocol):
    web(nat, family, protocol, POD2)
    sent, _ = begin(nat, "pod", family, protocol)
    bits = 32 if family == 4 else 128
    try:
        nat.world.ip(f"route replace {POD1[family]}/{bits} dev pod2\n")
        def verdicts():
            return [nat.send("pod_in", sent, device).verdict for device in ("pod2", "pod1")]
        wait_equal(verdicts, [NEXT, SHOT], "an answer is good for a jiffy")
    finally:
        nat.world.ip(f"route replace {POD1[family]}/{bits} dev pod1\n")


def test_a_rule_for_what_a_pod_sends(nat, family, protocol):
    """It says where the pod's packets go, and nothing of those to it."""
    web(nat, family, protocol, POD2)
    gateway = "192.0.2.1" if family == 4 else "2001:db8:2::1"

    def ip(words):
        subprocess.run(["ip", f"-{family}", *words.split()], check=True)

    ip(f"route add default via {gateway} dev eth0 table 77")
    ip("rule add iif pod1 lookup 77")
    try:
        sent, _ = begin(nat, "pod", family, protocol)
        assert nat.send("pod_in", sent).verdict == NEXT
        assert nat.send("pod_in", sent, "pod2").verdict == SHOT
    finally:
        ip("rule del iif pod1 lookup 77")
        ip("route flush table 77")


@pytest.fixture(name="bridge")
def bridge_fixture(nat, family):
    net, own, pod = BRIDGED[family]
    nat.world.ip(f"""link add br9 type bridge
link add port1 type veth peer name port1p
link set port1 master br9
link set port1 up
link set port1p up
link set br9 up
address add {own}/{net.split('/')[1]} dev br9{' nodad' if family == 6 else ''}
""")
    for name in ("br9", "port1"):
        nat.world.index[name] = socket.if_nametoindex(name)
        nat.interface(nat.world.index[name], back=nat.world.index["br9"])
    yield pod
    nat.world.ip("link del br9\nlink del port1\n")


def test_ports_of_a_bridge(nat, family, protocol, bridge):
    """Who is behind one of them has to have the hardware address of the neighbour, if it is known."""
    web(nat, family, protocol, POD2)

    def send(device, mac=PORT_MAC):
        sent = frame("pod_in", bridge, 40000, VIP[family], 80, protocol)
        return nat.send("pod_in", Ether(src=mac, dst=MACS["pod1"]) / sent.payload, device).verdict

    nat.world.MACS["port1"] = nat.world.MACS["br9"] = MACS["pod1"]
    assert send("pod1") == SHOT
    assert send("port1") == NEXT
    nat.maps["flows"].clear()
    nat.world.ip(f"neighbour add {bridge} lladdr {PORT_MAC} dev br9 nud permanent\n")
    assert send("port1", "02:00:00:00:09:06") == SHOT
    assert send("port1") == NEXT
    assert nat.send("uplink_in", frame("uplink_in", bridge, 40000, VIP[family], 80, protocol)).verdict == SHOT


def test_a_gateway_in_a_vlan_of_the_bridge(nat, family, protocol, bridge):
    """Routes to its pods lead by that interface, behind which there is the same bridge; and to no other one's."""
    web(nat, family, protocol, POD2)
    net, own, _ = BRIDGED[family]
    nat.world.ip(f"""link add gate9 type veth peer name gate9p
link set gate9p master br9
link set gate9 up
link set gate9p up
address del {own}/{net.split('/')[1]} dev br9
address add {own}/{net.split('/')[1]} dev gate9{' nodad' if family == 6 else ''}
""")
    index = nat.world.index
    index["gate9"] = socket.if_nametoindex("gate9")
    sent = frame("pod_in", bridge, 40000, VIP[family], 80, protocol)
    sent = Ether(src=PORT_MAC, dst=MACS["pod1"]) / sent.payload
    nat.world.MACS["port1"] = MACS["pod1"]
    nat.interface(index["gate9"], back=index["gate9"])
    assert nat.send("pod_in", sent, "port1").verdict == SHOT
    nat.interface(index["gate9"], back=index["br9"])
    nat.world.ip(f"neighbour add {bridge} lladdr {PORT_MAC} dev gate9 nud permanent\n")
    assert nat.send("pod_in", Ether(src="02:00:00:00:09:06", dst=MACS["pod1"]) / sent.payload, "port1").verdict == SHOT
    assert nat.send("pod_in", sent, "pod1").verdict == SHOT
    assert nat.send("pod_in", sent, "port1").verdict == NEXT
    nat.world.ip("link del gate9\n")


def test_fragments(nat, family, protocol):
    """Each comes by that interface. A first one that does not spoils no datagram's others, and a later
    one is not left to the stack to be joined there."""
    service = web(nat, family, protocol, POD2)
    pieces = cut(datagram("pod_in", family, protocol, POD1, VIP))
    assert nat.send("pod_in", pieces[1], "pod2").verdict == SHOT
    assert nat.send("pod_in", pieces[0], "pod2").verdict == SHOT
    assert len(nat.maps["fragments"]) == 0
    assert nat.send("pod_in", pieces[0]).verdict == NEXT
    assert nat.send("pod_in", pieces[1], "pod2").verdict == SHOT
    assert [nat.send("pod_in", piece).verdict for piece in pieces[1:]] == [NEXT, NEXT]
    assert (nat.refusals(0), nat.refusals(service.id)) == ({WRONG: 1}, {WRONG: 2})


def test_passing_fragments_are_left_alone(nat, family, protocol):
    """What is for no Service is the stack's, wherever it came."""
    for piece in cut(datagram("pod_in", family, protocol, CLIENT, REMOTE)):
        assert nat.send("pod_in", piece).verdict == NEXT
    assert nat.refusals() == {}
