# SPDX-License-Identifier: Apache-2.0
"""A segment that is in two for a while, with hosts in both halves: who has an address says so again when they are one, and
no host looks for it in a place where it was before."""

from lab import wait, wait_equal
from lab.control_plane import ADDRESS4
from lab.segment import Asker
from test_claimed import DURATION, V4, V6

LAB = {"nodes": 3}
BAR = 1  # second; the figure is printed


class Halves:
    """One node and a host of its half, against all others; both hosts know where the addresses are."""

    def __init__(self, setting, alone):
        self.setting, self.alone = setting, alone
        self.inside = setting.segment.guest("inside", 8)
        for address in (V4, V6):
            name = setting.holder(address)
            wait(lambda address=address: self.inside.ping(address), "an answer", 10)
            wait_equal(lambda address=address: setting.segment.cached(address, self.inside), name, "the other cache")

    def cut(self, *without_api):
        self.setting.segment.split(self.setting.node(self.alone), self.inside)
        for name in without_api:
            self.setting.node(name).configure(f"route add blackhole {ADDRESS4}/32")

    def heal(self, *without_api):
        """A stopwatch that runs from when it is one again."""
        for name in without_api:
            self.setting.node(name).configure(f"route del blackhole {ADDRESS4}/32")
        watch = self.setting.stopwatch()
        self.setting.segment.join()
        return watch

    def right(self, watch, *addresses):
        """Both caches come to name whoever has it, with nobody who asks: the seconds until he had told all."""
        took = 0
        for address in addresses:
            [name] = self.setting.segment.at(address)
            told = wait(lambda address=address, name=name: self.setting.judge.first_word(address, name, watch.at),
                        f"the word of {name}")
            took = max(took, watch.seconds(told))
            for host in (self.inside, self.setting.segment.client):
                wait_equal(lambda address=address, host=host: self.setting.segment.cached(address, host), name,
                           f"{host}'s cache of {address}", 20)
        print(f"they are told after {took:.2f} s")
        for address in addresses:
            assert self.inside.ping(address) and self.setting.segment.client.ping(address)
        return took


def both_at(setting, *names):
    """Both addresses at one of these nodes."""
    for address in (V4, V6):
        wait(lambda address=address: [name for name in setting.segment.at(address) if name in names],
             f"{address} at {names}", DURATION + 4)
        wait(lambda address=address: len(setting.segment.at(address)) == 1, "one holder")


def begin(setting):
    setting.put(V4, V6)
    setting.begin()
    setting.holder(V4)
    setting.holder(V6)


def test_the_half_without_the_api_loses_it_and_finds_it_again(setting):
    begin(setting)
    alone = setting.holder(V4)
    halves = Halves(setting, alone)
    asker = Asker(setting.segment, (V4, V6))
    moved = [address for address in (V4, V6) if setting.segment.at(address) == [alone]]
    halves.cut(alone)
    others = [name for name in setting.agents if name != alone]
    both_at(setting, *others)
    for address in moved:
        wait(lambda address=address: setting.segment.client.ping(address), "an answer", 10)
        assert setting.segment.cached(address, halves.inside) == alone, "what a host behind the cut believes"
    wait(lambda: all(setting.lease(address)["renewTime"] != setting.lease(address)["acquireTime"]
                     for address in moved), "renewals")
    assert halves.right(halves.heal(alone), *moved) <= BAR
    wait_equal(lambda: setting.row(alone)["state"], "other", "what it knows")
    asker.close()
    assert setting.judge.doubles() == []


def test_the_holders_half_keeps_it_and_is_heard_again(setting):
    begin(setting)
    alone = setting.holder(V4)
    halves = Halves(setting, alone)
    asker = Asker(setting.segment, (V4, V6))
    others = [name for name in setting.agents if name != alone]
    halves.cut(*others)
    both_at(setting, alone)
    for address in (V4, V6):
        assert halves.inside.ping(address)
        assert not setting.segment.client.ping(address, timeout=0.3)
    wait(lambda: all(setting.faults(name) for name in others), "that they tell of it", 20)
    said = {address: len(setting.judge.announcements(address)) for address in (V4, V6)}
    assert halves.right(halves.heal(*others), V4, V6) <= BAR
    for address in (V4, V6):
        wait(lambda address=address: len(setting.judge.announcements(address)) > said[address],
             f"that {alone} says again that it has {address}", 3)
    asker.close()
    assert setting.judge.doubles() == []
    assert setting.judge.holders(V4)[-1] == alone
