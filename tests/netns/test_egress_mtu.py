# SPDX-License-Identifier: Apache-2.0
"""Links of all sizes on the way to a gateway and beyond: TCP, UDP and ICMP come through whole, in both
directions, fragments as well; whether senders look for what fits, or let routers cut what they send.
"client's node" and "gateway" have both a link that is narrower than that of the node at the other end
of the tunnel: only a router tells that node. A tunnel of IPv6 takes 48 bytes, so that links that carry it have 1328 at
least; one of IPv4 may be as narrow as 1280."""

import pytest
from lab import wait
from lab.traffic import Connection, Datagrams
from test_egress import PORT, address, told, wait_seen, world_fixture  # noqa: F401

pytestmark = [
    pytest.mark.lab(nat=True, nodes=2),
    pytest.mark.parametrize("world", ["beside another proxy"], indirect=True),
]
PLACES = ("pod", "client's node", "gateway", "outside")
# Family, and whether senders let routers cut; in IPv6 none may.
WAYS = {"v4": (4, False), "v4, cuttable": (4, True), "v6": (6, False)}
SIZES = {4: (1500, 1499, 1400, 1328, 1281, 1280), 6: (1500, 1499, 1400, 1329, 1328)}
BULK = bytes(range(256)) * 1024


def ends_of(world, place):
    """The two ends of a link, each as a host and its device."""
    first, gateway = world.nodes
    return {
        "pod": ((world.guest, "eth0"), (first, world.guest.host_end)),
        "client's node": ((first, "eth0"), (world.tor, first.role)),
        "gateway": ((gateway, "eth0"), (world.tor, gateway.role)),
        "outside": ((world.client, "eth0"), (world.tor, "client")),
    }[place]


def forget(world, family):
    """No host knows any more what a way had room for."""
    for host in (world.guest, world.client, world.tor, *world.nodes):
        host.ip(f"-{family}", "route", "flush", "cache")


def whole(world, family, size):
    """All kinds of packets about as large as the link, and larger, both ways."""
    target = address(world.client, family)
    with Connection(world.guest, target, PORT, timeout=20) as connection:
        assert connection.put(BULK) and connection.get(len(BULK))
    for length in (size - 120, size - 28, size + 100, 4000):
        with Datagrams(world.guest, target, PORT, timeout=0.3) as datagrams:
            data = (b"0123456789abcdef" * 256)[:length]
            # Who may not be cut has to learn what fits: the first such datagram is lost.
            wait(lambda data=data: datagrams.put(data), f"a datagram of {length} bytes arrives")
            wait(lambda length=length: datagrams.get(length), f"a datagram of {length} bytes comes back")
        wait(lambda length=length: world.guest.ping(target, length, timeout=1), f"a ping of {length} bytes")


@pytest.mark.parametrize("place,way", [(place, way) for place in PLACES for way in WAYS
                                       if way != "v4" or place in ("client's node", "gateway")])
def test_sizes(world, place, way):
    family, cuttable = WAYS[way]
    for host in (world.guest, world.client):
        host.set_sysctls({"net/ipv4/ip_no_pmtu_disc": int(cuttable)})
    wait_seen(world, family, world.gateways)
    with Connection(world.guest, address(world.client, family), PORT, timeout=20) as old:
        for size in SIZES[family]:
            for host, device in ends_of(world, place):
                host.ip("link", "set", device, "mtu", str(size))
            forget(world, family)
            whole(world, family, size)
            # One that began when there was more room, and has to learn.
            assert old.put(BULK) and old.get(len(BULK))
    refused = {(item["side"], item["reason"]) for host in world.nodes
               for item in told(host.agents[0])["refusals"]}
    # What follows a fragment that was answered by an error goes nowhere either.
    assert {reason for _, reason in refused} <= {"too-big", *(("fragment",) if family == 6 else ())}
