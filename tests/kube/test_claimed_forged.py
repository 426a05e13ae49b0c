# SPDX-License-Identifier: Apache-2.0
"""Addresses of a segment while a neighbour forges ARP and NA for them, while cables come and go, and while the wall
clocks of the nodes jump: one holder at most, and what is wrong is told for as long as it is."""

import random
import socket
import struct

import pytest
from lab import wait, wait_equal
from lab.namespace import inverted_sum
from lab.segment import ETH_ARP, ETH_IPV6, Asker
from lab.wall_clock import WallClock
from test_claimed_slow import DURATION, NODES, REQUESTS, V4, World, pass_time

V6 = "2001:db8:5::50"
BOTH = {"own": (V4, V6)}
HOUR = 1 / 24


def claim4(mac):
    """Gratuitous ARP."""
    ip = socket.inet_aton(V4)
    return struct.pack("!6s6sHHHBBH6s4s6s4s", b"\xff" * 6, mac, ETH_ARP, 1, 0x0800, 6, 4, 1, mac, ip, bytes(6), ip)


def claim6(mac):
    """An unsolicited NA."""
    source, target, group = (socket.inet_pton(socket.AF_INET6, text) for text in ("fe80::66", V6, "ff02::1"))
    body = struct.pack("!I16sBB6s", 0x20000000, target, 2, 1, mac)
    check = inverted_sum(source + group + struct.pack("!II", len(body) + 4, 58) + b"\x88\0\0\0" + body)
    return struct.pack("!2s4s6sHIHBB", b"\x33\x33", group[12:], mac, ETH_IPV6, 6 << 28, len(body) + 4, 58, 255) \
        + source + group + b"\x88\0" + check + body


@pytest.fixture(name="world")
def world_fixture(lab, tmp_path):
    world = World(lab, tmp_path, **BOTH)
    asker = Asker(world.segment, BOTH["own"])
    wait(lambda: all(world.segment.at(address) for address in BOTH["own"]), "both addresses", 60)
    yield world
    asker.close()
    world.end()


@NODES
def test_a_storm_of_forged_claims(world):
    """Under ever other MAC addresses: it is told, neither the log nor the store pays for each, and it ends with it."""
    forger, chance = world.segment.guest("forger", 66), random.Random(1)
    holder = world.agents[world.holder()]
    lines, asked, sent = len(holder.log.read_text().splitlines()), world.api.count(REQUESTS), 0
    with forger.entered():
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind(("lan", 0))
    told = set()

    def storm():
        nonlocal sent
        for _ in range(20):
            mac = bytes([2, 0x66, *(chance.randrange(256) for _ in range(4))])
            raw.send(claim4(mac))
            raw.send(claim6(mac))
            sent += 2
        told.update(fault["place"] for _, fault in world.told("another machine has the address"))
        return sent > 2000 and told >= {V4, V6}

    wait(storm, "a storm of which both faults tell", 60)
    raw.close()
    wait(lambda: all(world.segment.at(address) for address in BOTH["own"]), "both addresses again", 30)
    wait_equal(lambda: world.told(""), [], "no fault any more", 30)
    assert len(holder.log.read_text().splitlines()) - lines < sent / 10
    assert world.api.count(REQUESTS) - asked < sent / 10
    assert not [double for double in world.judge.doubles() if set(double.names) <= set(world.agents)]


@NODES
def test_cables_that_come_and_go(world):
    chance = random.Random(2)
    for _ in range(8):
        for node in world.lab.nodes:
            world.segment.cable(node, "down")
            pass_time(chance.uniform(0.02, 0.4))
            world.segment.cable(node, "up")
            pass_time(chance.uniform(0.02, 0.6))
    wait(lambda: all(world.segment.at(address) for address in BOTH["own"]), "both addresses", 30)
    wait_equal(lambda: world.told(""), [], "no fault any more", 30)
    assert world.judge.doubles() == []


@NODES
def test_wall_clocks_that_jump(lab, tmp_path, monkeypatch):
    """Nobody looks at those of others: each is an hour ahead, and an hour behind, at one time or another."""
    clocks, make = {node.role: WallClock(node) for node in lab.nodes}, lab.agent

    def agent(node, **settings):
        made = make(node, start=False, **settings)
        made.wrapper = ("env", *[f"{key}={value}" for key, value in clocks[node.role].environment.items()])
        return made.start()

    monkeypatch.setattr(lab, "agent", agent)
    world = World(lab, tmp_path, **BOTH)
    first = world.holder()
    other = next(name for name in world.agents if name != first)
    for name, days in ((first, HOUR), (first, -HOUR), (other, HOUR), (first, 0), (other, -HOUR)):
        clocks[name].set(days)
        version = world.lease()[0]
        wait(lambda version=version: int(world.lease()[0]) > int(version) + 4, "renewals", 6 * DURATION)
    assert world.judge.holders(V4) == [first] and world.told("") == []
    world.agents[first].kill()
    wait_equal(lambda: world.segment.at(V4), [other], "the other", 4 * DURATION)
    assert world.judge.doubles() == []
    world.agents[first].start()
    world.end()
