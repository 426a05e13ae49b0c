# SPDX-License-Identifier: Apache-2.0
"""Addresses that one node of a segment has at a time without any Kubernetes: a folder of manifests, and
claims that a real etcd keeps, with TLS and client certificates."""

import os
import random
import signal
import time

import pytest
from lab import Lab, wait, wait_equal
from lab.authority import Authority
from lab.segment import Asker, Judge, Segment, Served
from moments import Stopwatch
from test_etcd import Member

STORE = "192.0.3.9"
V4, V6 = "198.51.100.50", "2001:db8:5::50"
DURATION = 5


class World:
    """Three nodes with agents on a segment, and an etcd behind their router."""

    def __init__(self, lab, duration=DURATION, own=(V4, V6)):
        self.lab = lab
        self.write_nodes(lab)
        lab.tor.ip("address", "add", f"{STORE}/32", "dev", "lo")
        pki = Authority(lab.folder / "pki")
        user = pki.issue("agent")
        self.etcd = Member(lab.tor, STORE, (STORE,), pki)
        self.segment = Segment(lab)
        self.judge = Judge(self.segment)
        store = {"endpoints": [f"https://{STORE}:2300", self.etcd.url], "caFile": str(pki.certificate),
                 "certFile": str(user.certificate), "keyFile": str(user.key)}
        claims = {"own": list(own), "interfaces": ["lan"], "duration": f"{duration}s", "failback": "never",
                  "etcd": store}
        self.agents = {node.role: lab.agent(node, addresses=claims) for node in lab.nodes}

    @staticmethod
    def write_nodes(lab, unready=None):
        """Nodes of a folder are ready unless they say that they are not."""
        nodes = [item for node in lab.nodes for item in node.objects()]
        for item in nodes:
            if item["kind"] == "Node" and item["metadata"]["name"] == unready:
                item["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        lab.write("nodes.yaml", *nodes)

    def holder(self, address):
        [name] = wait(lambda: self.segment.at(address), f"a holder of {address}", 60)
        wait(lambda: self.segment.client.ping(address), f"{name} to answer for {address}", 10)
        wait_equal(lambda: self.segment.cached(address), name, "the client's cache")
        return name

    def row(self, name, address):
        [row] = [row for row in self.agents[name].json("addresses")["items"] if row["address"] == address]
        return row

    def faults(self, name):
        return [fault for fault in self.agents[name].faults() if fault["subsystem"] == "addresses"]

    def close(self):
        self.judge.close()
        self.segment.remove()


@pytest.fixture(name="world")
def world_fixture(request):
    with Lab(request.node.nodeid, nodes=3) as lab:
        world = World(lab, **getattr(request, "param", {}))
        yield world
        world.close()


def test_claims_are_kept_in_etcd(world):
    for address in (V4, V6):
        name = world.holder(address)
        assert world.row(name, address)["state"] == "held"
        for other in set(world.agents) - {name}:
            wait_equal(lambda other=other, address=address: world.row(other, address)["holder"], name,
                       "what others know")
    # It is written that its node is not ready, and then no more.
    unready = world.holder(V4)
    world.write_nodes(world.lab, unready)
    wait(lambda: set(world.segment.at(V4)) - {unready}, "another holder", 30)
    wait_equal(lambda: world.row(unready, V4)["why"], "the Node is not Ready", "why not here")
    world.write_nodes(world.lab)
    wait_equal(lambda: world.row(unready, V4)["state"], "other", "the end of that")
    # The agent of the holder goes: its kernel lets go of the address before another has it.
    first = world.holder(V4)
    watch = Stopwatch(*(agent.process.pid for agent in world.agents.values()), world.etcd.process.pid)
    world.agents.pop(first).kill()
    wait(lambda: set(world.segment.at(V4)) - {first}, "another holder", 30)
    second = world.holder(V4)
    assert watch.seconds(wait(lambda: world.judge.first_word(V4, second, watch.at), "its word")) <= DURATION + 2
    # etcd is away for everybody, so that all claims end; it comes back.
    world.etcd.kill()
    wait_equal(lambda: world.segment.at(V4) + world.segment.at(V6), [], "no holder without etcd", DURATION + 3)
    for name in world.agents:
        fault = wait(lambda name=name: world.faults(name), "a fault", 30)[0]
        assert "addresses.etcd.endpoints" in fault["remedy"], fault
    world.etcd.start()
    third = world.holder(V4)
    world.holder(V6)
    for name in world.agents:
        wait_equal(lambda name=name: world.faults(name), [], "no fault any more", 30)
    before = [unready, first, second] if third == second else [unready, first, second, third]
    # The holder dies, and no other node may have it: the record still names the dead one.
    world.agents.pop(third).kill()
    [other] = world.agents
    world.write_nodes(world.lab, other)
    wait_equal(lambda: (world.row(other, V4)["state"], world.row(other, V4).get("holder")), ("barred", None),
               "that nobody has it", DURATION + 3)
    assert "nobody has it" in world.agents[other].ctl("explain", V4).out
    assert world.judge.holders(V4) == before


def test_answers_of_etcd_vanish_on_the_way(world):
    """No connection of the holder's is reset: its claim ends in time, another node takes over, and none has it beside
    another."""
    first = world.holder(V4)
    [node] = [node for node in world.lab.nodes if node.role == first]
    asker = Asker(world.segment, [V4])
    world.lab.tor.ip("route", "add", "blackhole", f"{node.address4}/32")
    begun = time.monotonic()
    wait(lambda: [name for name in world.segment.at(V4) if name != first], "another holder", 2 * DURATION)
    print(f"another has it after {time.monotonic() - begun:.1f} s")
    assert not world.segment.has(node, V4)
    wait(lambda: "can't be asked for" in str(world.faults(first)), "the fault", 2 * DURATION)
    world.lab.tor.ip("route", "del", "blackhole", f"{node.address4}/32")
    wait_equal(lambda: world.faults(first), [], "no fault", 60)
    asker.close()
    assert world.judge.doubles() == []


MANY = [f"198.51.100.{host}" for host in range(50, 70)]


@pytest.mark.parametrize("world", [{"duration": 10, "own": MANY}], indirect=True)
def test_a_planned_restart_of_etcd_takes_no_address_away(world):
    """Neither of nodes that hold some nor of those that only watch: no watch holds up its end."""
    served = Served(world.segment, MANY)
    for address in MANY:
        world.holder(address)
    for _ in range(2):
        begin = time.monotonic()
        world.etcd.stop()
        ended = time.monotonic()
        world.etcd.start()
        wait(lambda: all(served.answers[address].times[-1] > ended + 8 for address in MANY), "a claim's time", 60)
        gaps = {address: gap.end - gap.begin for address in MANY
                if (gap := served.answers[address].longest(begin, time.monotonic()))}
        print(f"etcd ended after {ended - begin:.1f} s; the longest gap: {max(gaps.values(), default=0):.2f} s")
        assert ended - begin < 3 and max(gaps.values(), default=0) < 1, gaps
    served.close()
    assert world.judge.doubles() == []


KEPT = 1.2  # lease_keepable_ms() of claims of 5 s


def pulses(world, chance, count, least, most):
    """etcd stands still for so long, again and again: what it was asked is done late, and all at once. Returns what
    claims have told meanwhile."""
    told = []
    for _ in range(count):
        world.etcd.process.send_signal(signal.SIGSTOP)
        end = time.monotonic() + chance.uniform(least, most)
        wait(lambda end=end: told.extend(fault["message"] for name in world.agents for fault in world.faults(name))
             or time.monotonic() > end, "the end of a pulse", 20)
        world.etcd.process.send_signal(signal.SIGCONT)
        rest = time.monotonic() + chance.uniform(1, 2)
        wait(lambda rest=rest: time.monotonic() > rest, "etcd to work", 20)
    return told


def test_an_etcd_that_stands_still_again_and_again(world):
    """For less than a write may take: nothing moves. For longer: told, and never two holders."""
    chance = random.Random(int(os.environ.get("CLAIM_SEED", 1)))
    first = world.holder(V4)
    served, begin = Served(world.segment, [V4]), time.monotonic()
    pulses(world, chance, 10, 0.1, KEPT - 0.3)
    gap = served.answers[V4].longest(begin, time.monotonic())
    assert world.judge.holders(V4) == [first] and (gap is None or gap.end - gap.begin < 0.5), gap
    told = pulses(world, chance, 8, KEPT + 0.3, DURATION)
    served.close()
    assert [words for words in told if "can't be kept above" in words or "can't be asked for" in words], told
    world.holder(V4)
    for name in world.agents:
        wait_equal(lambda name=name: world.faults(name), [], "no fault any more", 60)
    assert world.judge.doubles() == []
