# SPDX-License-Identifier: Apache-2.0
"""What becomes of addresses that an agent has given when its record of them is damaged or gone."""

import pytest
from lab import wait, wait_equal
from test_pools_given import (FIRST, FIRST6, ONE, announced, given, gets, pool_faults, service, withdrawn,
                              world_fixture)

assert world_fixture
OWN = [FIRST, FIRST6]
DAMAGED = {"cut off": lambda text: text[:len(text) // 2], "empty": lambda text: "",
           "zeroes": lambda text: "\0" * len(text),
           "another version": lambda text: text.replace('"version":1', '"version":9'),
           "another document": lambda text: "[]"}


def damage(agent, how, *names):
    for name in names:
        path = agent.folder / "state" / name
        text = path.read_text()
        path.write_text(how(text))
        assert path.read_text() != text


def older(lab):
    """A Service that would be first, were all given anew."""
    service(lab, "aaa", 2, lab.web_pod)


def told(agent, words):
    wait(lambda: [fault for fault in pool_faults(agent) if words in fault], f"a fault that says {words}")


@ONE
@pytest.mark.parametrize("how", DAMAGED.values(), ids=DAMAGED)
def test_the_second_copy_counts(world, how):
    agent = world.given
    agent.stop()
    damage(agent, how, "addresses.json")
    older(world)
    agent.start()
    gets(agent, web=OWN, aaa=["203.0.113.65", "fd00:203::41"])
    told(agent, "its second copy counts")
    [aside] = (agent.folder / "state").glob("addresses.json.damaged-*")
    assert '"web"' in aside.read_text() or how is not DAMAGED["cut off"]
    agent.stop()
    agent.start()
    agent.settled()
    assert pool_faults(agent) == []
    gets(agent, web=OWN)


@ONE
@pytest.mark.parametrize("gone", [False, True], ids=["damaged", "gone"])
def test_without_a_record_the_node_stays_as_it_is_until_somebody_decides(world, gone):
    agent = world.given
    both = ("addresses.json", "addresses.json.copy")
    agent.stop()
    for name in both:
        if gone:
            (agent.folder / "state" / name).unlink()
        else:
            damage(agent, DAMAGED["cut off"], name)
    older(world)
    monitor = world.monitor()
    agent.start()
    told(agent, "it stays as it is")
    announced(world, FIRST, FIRST6)
    assert monitor.losses(FIRST) == [] and given(agent).get("aaa", []) == []
    agent.stop()
    agent.start()
    told(agent, "it stays as it is")

    # Statuses say whose they are.
    service(world, "web", 1, world.web_pod, ingress=OWN)
    gets(agent, web=OWN)
    if not gone:  # whether there were others is not known yet
        wait(lambda: "record-unreadable" in agent.ctl("services").out, "the reason")
        agent.stop()
        (agent.folder / "state/addresses.json").write_text("{}")
        agent.start()
    gets(agent, web=OWN, aaa=["203.0.113.65", "fd00:203::41"])
    wait_equal(lambda: pool_faults(agent), [], "no fault")
    assert monitor.losses(FIRST) == []


@ONE
def test_all_is_given_anew_where_somebody_says_so(world):
    agent = world.given
    agent.stop()
    damage(agent, DAMAGED["zeroes"], "addresses.json", "addresses.json.copy")
    older(world)
    (agent.folder / "state/addresses.json").write_text("{}")
    agent.start()
    gets(agent, aaa=OWN, web=["203.0.113.65", "fd00:203::41"])
    withdrawn(world, "203.0.113.66")
