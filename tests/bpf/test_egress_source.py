# SPDX-License-Identifier: Apache-2.0
"""Whose packets leave as a pod's: those that come by the pod's own interface, and no others."""

import socket

import pytest
from abi import TCP, UDP, Address
from bpf import NEXT, REDIRECT, SHOT
from egress import TOLD_POD
from packets import frame
from scapy.layers.inet import Ether
from test_egress_client import OUTSIDE, check_tunnel, go_out, packet, ping
from world import MACS, POD1, POD2, REMOTE

BRIDGED = {4: ("10.244.9.0/24", "10.244.9.1", "10.244.9.5"),
           6: ("fd00:244:9::/64", "fd00:244:9::1", "fd00:244:9::5")}
PORT_MAC = "02:00:00:00:09:05"



@pytest.mark.parametrize("kind", ("tcp", "udp", "echo"))
def test_another_pods_interface(client, family, kind):
    """Nothing is spent on a forged packet: no state, no gateway's port."""
    go_out(client, family)
    forged = {"tcp": lambda: packet(family, TCP, flags="S"), "udp": lambda: packet(family, UDP),
              "echo": lambda: ping(family, POD1[family], OUTSIDE[family])}[kind]()
    for _ in range(2):
        assert client.send("client_in", forged, "pod2").verdict == SHOT
    assert client.drops() == {"source": 2}
    assert not client.pins()
    check_tunnel(client.send("client_in", forged), forged, family)
    assert client.send("client_in", forged, "pod2").verdict == SHOT, "nor while the flow lives"
    assert client.drops() == {"source": 3}



def test_pods_with_an_egress_of_their_own(client, family):
    """Each leaves as itself alone, whichever speaks first."""
    go_out(client, family)
    client.pod(POD2[family])
    own = frame("pod_in", POD2[family], 1000, OUTSIDE[family], 53, UDP)
    forged = packet(family)
    assert client.send("client_in", own, "pod2").verdict == REDIRECT
    assert client.send("client_in", forged, "pod2").verdict == SHOT
    assert client.send("client_in", own).verdict == SHOT
    check_tunnel(client.send("client_in", forged), forged, family)


def test_inside_the_cluster_the_kernel_decides(client, family):
    go_out(client, family)
    assert client.send("client_in", packet(family, dst=REMOTE[family]), "pod2").verdict == NEXT
    assert client.drops() == {}


def test_an_address_that_moves(client, family):
    """The kernel's route says which interface it is, also where another one was the pod's."""
    go_out(client, family)
    sent = packet(family)
    check_tunnel(client.send("client_in", sent), sent, family)
    bits = 32 if family == 4 else 128
    try:
        client.world.ip(f"route replace {POD1[family]}/{bits} dev pod2\n")
        assert client.send("client_in", sent, "pod2").verdict == REDIRECT
        assert client.send("client_in", sent).verdict == SHOT
    finally:
        client.world.ip(f"route replace {POD1[family]}/{bits} dev pod1\n")


def test_twin(client, family):
    """It says so, and writes nothing."""
    go_out(client, family)
    told = client.twin(packet(family), "pod2")
    assert (told.found, told.cause, told.flags) == ("dropped", "source", TOLD_POD)
    client.twin(packet(family))
    assert client.maps["egress_pods"][Address.of(POD1[family])].ifindex == 0
    assert client.drops() == {} and not client.pins()


@pytest.fixture(name="bridge")
def bridge_fixture(client, family):
    net, own, pod = BRIDGED[family]
    nodad = " nodad" if family == 6 else ""
    client.world.ip(f"""link add br9 type bridge
link add port1 type veth peer name port1p
link add port2 type veth peer name port2p
link set port1 master br9
link set port2 master br9
link set port1 up
link set port2 up
link set port1p up
link set port2p up
link set br9 up
address add {own}/{net.split('/')[1]} dev br9{nodad}
""")
    for name in ("br9", "port1", "port2"):
        client.world.index[name] = socket.if_nametoindex(name)
    for name in ("port1", "port2"):
        client.maps["egress_bridges"][client.world.index[name]] = client.world.index["br9"]
    go_out(client, family)
    client.pod(pod)
    yield pod
    client.world.ip("link del br9\nlink del port1\nlink del port2\n")


def bridged(family, pod, mac=PORT_MAC):
    sent = frame("pod_in", pod, 1000, OUTSIDE[family], 53, UDP)
    return Ether(src=mac, dst=MACS["pod1"]) / sent.payload


def test_ports_of_a_bridge(client, family, bridge):
    """The port that spoke first is the pod's, as long as it is there."""
    sent = bridged(family, bridge)
    assert client.send("client_in", sent, "pod1").verdict == SHOT, "not behind the bridge"
    assert client.send("client_in", sent, "port1").verdict == REDIRECT
    assert client.send("client_in", sent, "port2").verdict == SHOT
    assert client.send("client_in", sent, "port1").verdict == REDIRECT
    assert client.drops() == {"source": 2}
    del client.maps["egress_bridges"][client.world.index["port1"]]  # it is gone
    assert client.send("client_in", sent, "port2").verdict == REDIRECT


def test_a_port_that_the_agent_knows(client, family, bridge):
    """No packet decides, neither the first one nor one that comes when the port is gone."""
    row = client.maps["egress_pods"][Address.of(bridge)]
    row.port = client.world.index["port1"]
    client.maps["egress_pods"][Address.of(bridge)] = row
    sent = bridged(family, bridge)
    assert client.send("client_in", sent, "port2").verdict == SHOT
    assert client.send("client_in", sent, "port1").verdict == REDIRECT
    del client.maps["egress_bridges"][client.world.index["port1"]]
    assert client.send("client_in", sent, "port2").verdict == SHOT
    assert client.drops() == {"source": 2}


def test_a_known_neighbour_behind_a_bridge(client, family, bridge):
    """Who is first has to have the hardware address by which the kernel knows the pod."""
    client.world.ip(f"neighbour add {bridge} lladdr {PORT_MAC} dev br9 nud permanent\n")
    other = bridged(family, bridge, "02:00:00:00:09:06")
    assert client.send("client_in", other, "port2").verdict == SHOT
    assert client.send("client_in", bridged(family, bridge), "port1").verdict == REDIRECT
    assert client.drops() == {"source": 1}


@pytest.fixture(name="gateway")
def gateway_fixture(client, family):
    """The bridge has no address: the route to the pod leads to a veth whose other end is a port."""
    net, own, pod = BRIDGED[family]
    nodad = " nodad" if family == 6 else ""
    client.world.ip(f"""link add br9 type bridge
link add br9.100 type veth peer name gate9
link add port1 type veth peer name port1p
link add port2 type veth peer name port2p
link set gate9 master br9
link set port1 master br9
link set port2 master br9
link set gate9 up
link set port1 up
link set port2 up
link set br9 up
link set br9.100 up
address add {own}/{net.split('/')[1]} dev br9.100{nodad}
""")
    for name in ("br9", "br9.100", "port1", "port2"):
        client.world.index[name] = socket.if_nametoindex(name)
    for name in ("br9.100", "port1", "port2"):
        client.maps["egress_bridges"][client.world.index[name]] = client.world.index["br9"]
    go_out(client, family)
    client.pod(pod)
    yield pod
    client.world.ip("link del br9\nlink del br9.100\nlink del port1\nlink del port2\n")


def test_a_gateway_in_a_vlan(client, family, gateway):
    """As behind the bridge itself: who is first has the pod's hardware address, and no other port is the pod's."""
    client.world.ip(f"neighbour add {gateway} lladdr {PORT_MAC} dev br9.100 nud permanent\n")
    sent, other = bridged(family, gateway), bridged(family, gateway, "02:00:00:00:09:06")
    assert client.send("client_in", other, "port2").verdict == SHOT
    assert client.send("client_in", sent, "pod1").verdict == SHOT, "not behind the bridge"
    assert client.send("client_in", sent, "port1").verdict == REDIRECT
    assert client.send("client_in", sent, "port2").verdict == SHOT
    assert client.drops() == {"source": 3}
    del client.maps["egress_bridges"][client.world.index["port1"]]  # it is gone
    assert client.send("client_in", sent, "port2").verdict == REDIRECT
