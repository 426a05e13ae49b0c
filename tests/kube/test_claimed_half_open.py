# SPDX-License-Identifier: Apache-2.0
"""The store of a holder of addresses hears nothing more, or is not heard any more, and no connection is reset: packets
vanish on the way. The claim ends in time, the next node takes over, and nobody has the address beside another."""

import time

from lab import wait, wait_equal
from lab.segment import Asker
from test_claimed import DURATION, V4

LAB = {"nodes": 3}
# What the router between does with packets of one direction.
WAYS = {
    "answers vanish": ("route {} blackhole {}/32", "-6 route {} blackhole {}/128"),
    "questions vanish": ("rule {} from {} pref 10 blackhole", "-6 rule {} from {} pref 10 blackhole"),
}


def swallow(setting, node, way, verb):
    for line, address in zip(WAYS[way], (node.address4, node.address6)):
        setting.lab.tor.ip(*line.format(verb, address).split())


def stores_fault(setting, name):
    return [fault for fault in setting.agents[name].faults()
            if fault["subsystem"] == "addresses" and "can't be asked for" in fault["message"]]


def test_packets_vanish_between_a_holder_and_the_store(setting):
    setting.put(V4)
    setting.begin()
    asker = Asker(setting.segment, [V4])
    for way in WAYS:
        first = setting.holder()
        node, renewed = setting.node(first), setting.lease()["renewTime"]
        wait(lambda renewed=renewed: setting.lease()["renewTime"] != renewed, "a renewal")
        swallow(setting, node, way, "add")
        watch = setting.stopwatch()
        # A renewal that was heard, and not answered, counts from then for all others.
        setting.moved(first, watch, 2 * DURATION)
        wait(lambda first=first: stores_fault(setting, first), "the fault", 2 * DURATION)
        print(f"{way}: {stores_fault(setting, first)[0]['message']}")
        assert not setting.segment.has(node, V4)
        swallow(setting, node, way, "del")
        begun = time.monotonic()
        wait_equal(lambda first=first: setting.agents[first].faults(), [], "no fault", 60)
        print(f"{way}: all is well {time.monotonic() - begun:.1f} s after packets pass again")
        wait_equal(lambda first=first: setting.row(first)["why"], "another node has it", "what is known")
    asker.close()
    assert setting.judge.doubles() == []
