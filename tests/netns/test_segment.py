# SPDX-License-Identifier: Apache-2.0
"""The judge of addresses that one host of a segment has at a time: what it finds, and that it can find."""

import pytest
from lab import wait, wait_equal
from lab.holders import CLOSE, SILENCE, Answers, Gap, Sightings, holder_of
from lab.segment import Asker, Judge, Segment, Served

V4, V6 = "198.51.100.50", "2001:db8:5::50"


def seen(*rows):
    sightings = Sightings()
    for name, *times in rows:
        for at in times:
            sightings.add(name, at)
    return sightings


def test_who_woke_up_is_no_holder():
    """Else the next fault would be said to be about other addresses than it is."""
    def rows(**states):
        return {name: [{"address": "198.51.100.9", "state": "other"}, {"address": V4, "state": state}]
                for name, state in states.items()}
    assert holder_of(V4, ["node1"], rows(node1="held", node2="other")) == "node1"
    assert holder_of(V4, ["node1"], rows(node1="held", node2="held")) is None
    assert holder_of(V4, ["node1", "node2"], rows(node1="held", node2="other")) is None
    assert holder_of(V4, ["node2"], rows(node1="held", node2="other")) is None
    assert holder_of(V4, [], rows(node1="held", node2="other")) is None
    assert holder_of(V4, ["node1"], rows(node1="taking", node2="other")) is None


def test_one_after_the_other_is_no_double():
    assert seen(("a", 0, 0.1, 0.2), ("b", 0.2 + CLOSE, 1), ("a", 2)).doubles(V4) == []


def test_who_is_seen_while_another_has_it_is_a_double():
    sightings = Sightings()
    for name, at in (("a", 0), ("a", 0.1), ("b", 0.15), ("a", 0.2), ("b", 0.25), ("b", 0.5)):
        sightings.add(name, at)
    [double] = sightings.doubles(V4)
    assert (double.names, double.begin, round(double.seconds, 3)) == (("a", "b"), 0.15, 0.05)
    assert sightings.order == ["a", "b", "a", "b"]


def test_so_is_who_takes_it_too_soon():
    [double] = seen(("a", 0), ("b", CLOSE / 2)).doubles(V4)
    assert (double.names, double.seconds) == (("a", "b"), 0)


def test_a_silence_ends_a_stretch():
    assert len(seen(("a", 0, SILENCE + 0.01)).stretches()) == 2


def test_the_longest_silence_of_who_is_served():
    answers = Answers()
    for at in (0, 1, 2, 5, 6):
        answers.add(at)
    assert answers.longest(0.5, 1.5) == Gap(0, 1)
    assert answers.longest(1.5, 5.5) == Gap(2, 5)
    assert answers.longest(3, 4) == Gap(2, 5)
    assert answers.longest(5.5, 7) is None
    # Nobody asked from 2.5 to 4.7, so that it may have been silent for 0.8 s.
    assert answers.longest(0, 6, [Gap(2.5, 4.7)]) == Gap(0, 1)
    assert answers.longest(3, 4, [Gap(1.5, 3), Gap(4.5, 7)]) == Gap(3.5, 5)


@pytest.mark.lab(nodes=1)
def test_a_planted_double_is_found(lab):
    segment = Segment(lab)
    first, second = segment.guest("first", 8), segment.guest("second", 9)
    judge, asker = Judge(segment), Asker(segment, (V4, V6))
    first.configure(f"addr add {V4}/32 dev lan", f"addr add {V6}/128 dev lan nodad")
    for address in (V4, V6):
        wait_equal(lambda address=address: judge.now(address), ["first"], "the first holder")
    served = Served(segment, (V4, V6))
    wait(lambda: all(len(answers.times) > 5 for answers in served.answers.values()), "answers")
    assert judge.doubles() == []
    second.configure(f"addr add {V4}/32 dev lan", f"addr add {V6}/128 dev lan nodad")
    for address in (V4, V6):
        wait_equal(lambda address=address: judge.now(address), ["first", "second"], "the second")
    wait(lambda: {double.address for double in judge.doubles() if double.seconds > 0.1} == {V4, V6}, "doubles")
    for worker in (served, asker, judge):
        worker.close()
    assert {double.names for double in judge.doubles()} <= {("first", "second"), ("second", "first")}
    segment.remove()


@pytest.mark.lab(nodes=1)
def test_two_halves_of_a_segment_hear_nothing_of_each_other(lab):
    segment = Segment(lab)
    [node] = lab.nodes
    inside = segment.guest("inside", 8)
    assert inside.ping("198.51.100.1") and segment.client.ping("198.51.100.1")
    segment.split(node, inside)
    assert inside.ping("198.51.100.1") and not segment.client.ping("198.51.100.1", timeout=0.2)
    segment.join()
    wait(lambda: segment.client.ping("198.51.100.1", timeout=0.2), "one segment again")
    segment.mute(node)
    assert not segment.client.ping("198.51.100.1", timeout=0.2)
    segment.mute(node, False)
    wait(lambda: segment.client.ping("198.51.100.1", timeout=0.2), "the node again")
    segment.remove()
