# SPDX-License-Identifier: Apache-2.0
"""A pod's namespace that is not what it should be, or works against the plugin while that is in it.

An ADD may fail there. What it must not do is act elsewhere: the node and another pod are the same
afterwards, to the last link, address, route, neighbour and setting."""

import pytest
from conftest import Refusal

SHOWN = ("link", "addr", "route show table all", "-6 route show table all", "neigh", "rule", "netns list-id")
SETTINGS = "find /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf /proc/sys/net/ipv4/ip_forward -type f " \
    "-perm -u+r ! -name stable_secret ! -path '*/all/*' | sort | xargs grep -H ."


def seen(namespace):
    """All that is in it, apart from counters, times and what the kernel numbers by itself."""
    text = {words: namespace.ip(*words.split()) for words in SHOWN[:-1]}
    text["settings"] = namespace.run("sh", "-c", SETTINGS).stdout
    return text


@pytest.fixture(name="other")
def other_fixture(node, agent):
    other = node.pod("other")
    node.call("ADD", other, "c0")
    return other


def attempt(node, pod):
    try:
        node.call("ADD", pod, "c1")
    except Refusal as refusal:
        assert refusal.code == 101 or refusal.code == 102
        assert refusal.remedy
        return False
    return True


# Run over and over, while pods come: it has all rights in its own namespace.
RACES = {
    "renames": "ip link set eth0 name evil; ip link set evil down; ip link set evil name eth0",
    "deletes": "ip link del eth0",
    "moves": "ip link set eth0 netns $OTHER",
    "takes the name": "ip link add eth0 type veth peer name eth1; ip link del eth1",
    "floods": "ip addr flush dev eth0; ip route flush table main; ip neigh flush dev eth0",
    "bridges": "ip link add br0 type bridge; ip link set eth0 master br0; ip link set br0 name eth0; ip link del br0",
}


@pytest.mark.parametrize("race", RACES)
def test_a_process_that_races(node, agent, pod, other, race):
    """Thirty times: some ADDs win, some lose, and none of it is seen elsewhere."""
    elsewhere = node.pod("elsewhere")
    before = seen(node.host), seen(other)
    agent.wire = lambda key, document: (200, {"applied": 1})
    loop = RACES[race].replace("$OTHER", elsewhere.name)
    pod.start("sh", "-c", f"while :; do {loop}; done", log="race.log")
    for _ in range(30):
        agent.given = 3
        attempt(node, pod)
        node.call("DEL", pod, "c1")
    assert (seen(node.host), seen(other)) == before


# No packet passes, in or out, not even by the loopback; netlink is none of netfilter's business.
DROP_ALL = """
table netdev evil { chain in { type filter hook ingress device lo priority -500; policy drop; }; }
table inet evil {
    chain in { type filter hook input priority -500; policy drop; }
    chain out { type filter hook output priority -500; policy drop; }
    chain on { type filter hook forward priority -500; policy drop; }
}
"""


def test_a_strange_place(node, agent, pod, other):
    """Links of other kinds and names, a default route, a thousand neighbours, IPv6 off, a ruleset that drops all:
    it is wired all the same, or says what is in its way."""
    pod.run("nft", "-f", "-", text=DROP_ALL)
    pod.set_sysctls({"net/ipv6/conf/all/disable_ipv6": 1, "net/ipv4/conf/all/forwarding": 1})
    pod.configure(
        "link add br0 type bridge", "link set br0 up", "addr add 10.1.2.4/32 dev br0",
        "link add up0 type veth peer name veth1", "link add vethpod4 type veth peer name veth2",
        "link add tun7 type vxlan id 7 dev br0 dstport 4789", "rule add pref 10 lookup 77",
        "route add blackhole default table 77", "route add 192.0.2.0/24 dev br0",
        *[f"neigh add 10.200.{number // 256}.{number % 256} lladdr 02:00:00:00:00:01 dev br0 nud stale"
          for number in range(1000)],
        *[f"link add x{number} type veth peer name y{number}" for number in range(40)],
    )
    before = seen(node.host), seen(other)
    agent.given = 3
    assert attempt(node, pod)
    assert pod.ip_json("neigh", "show", "192.0.2.7", "dev", "eth0")[0]["state"] == ["PERMANENT"]
    node.call("DEL", pod, "c1")
    assert (seen(node.host), seen(other)) == before


def test_a_default_route_that_is_there(node, agent, pod, other):
    pod.configure("link add br0 type bridge", "link set br0 up", "route add default dev br0")
    before = seen(node.host), seen(other)
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert "route 0.0.0.0/0 in the pod: File exists" in refusal.value.message
    assert (seen(node.host), seen(other)) == before
    assert pod.table("main") == ["default dev br0 scope link"]
