# SPDX-License-Identifier: Apache-2.0
"""The interface of an address that one node has at a time becomes another: it gets another MAC, as by a bond's failover;
another name; its cable goes out and in many times; it is lost, and made anew."""

from lab import wait, wait_equal
from lab.segment import Asker
from test_claimed import V4, V6

LAB = {"nodes": 3}
OTHER_MAC = "02:00:00:00:05:77"
FLAPS = 20


def test_what_becomes_of_an_interface(setting):
    setting.put(V4, V6)
    setting.begin(group="all", interfaces=["[lw]an"])
    first = setting.holder(V4)
    assert setting.holder(V6) == first
    node, segment = setting.node(first), setting.segment
    # Another MAC: hosts know it at once, and nothing moves.
    segment.names[OTHER_MAC] = first
    wait(lambda: len(setting.judge.announcements(V4)) >= 10 and len(setting.judge.announcements(V6)) >= 5,
         "that nothing is said any more")
    said = len(setting.judge.announcements(V4))
    watch = setting.stopwatch()
    node.configure(f"link set lan address {OTHER_MAC}")
    told = wait(lambda: [claim.at for claim in setting.judge.announcements(V4) if claim.mac == OTHER_MAC], "its word")
    print(f"all are told of the other MAC after {watch.seconds(told[0]):.2f} s")
    assert watch.seconds(told[0]) < 1
    for address, family in ((V4, "-4"), (V6, "-6")):
        wait_equal(lambda address=address, family=family: segment.client.ip_json(
            family, "neigh", "show", "to", address)[0].get("lladdr"), OTHER_MAC, f"the cache of {address}", 5)
    wait(lambda: len([claim for claim in setting.judge.announcements(V4) if claim.mac == OTHER_MAC]) >= 5,
         "announcements", 5)
    assert len(setting.judge.announcements(V4)) > said
    assert segment.at(V4) == [first]
    # Another name: it stays, and rows say the name.
    node.configure("link set lan name wan")
    wait_equal(lambda: setting.row(first)["interface"], "wan", "the other name")
    assert setting.row(first)["state"] == "held" and segment.client.ping(V4) and segment.client.ping(V6)
    node.configure("link set wan name lan")
    wait_equal(lambda: setting.row(first)["interface"], "lan", "the name of before")
    assert setting.judge.holders(V4) == [first]
    # A loose cable: never two holders, and all is well when it holds still.
    asker = Asker(segment, (V4, V6))
    for _ in range(FLAPS):
        segment.cable(node, "down")
        segment.cable(node, "up")
    holder = setting.holder(V4)
    wait_equal(lambda: setting.row(first)["why"], None if holder == first else "another node has it", "rest")
    assert setting.holder(V6) == holder
    # Lost, and made anew under the same name.
    segment.switch.configure(f"link del p{segment.places[holder]}")
    [second] = wait(lambda: [name for name in setting.judge.now(V4) if name != holder], "another holder")
    wait_equal(lambda: setting.row(holder)["why"], "no Ethernet interface has an address in its network", "why not here")
    segment.plug(setting.node(holder), segment.places[holder])
    wait_equal(lambda: setting.row(holder)["why"], "another node has it", "that it may again")
    for name in setting.agents:
        wait_equal(lambda name=name: setting.faults(name), {}, "no fault")
    asker.close()
    assert setting.judge.doubles() == []
    assert segment.at(V4) == [second]
