# SPDX-License-Identifier: Apache-2.0
"""What becomes of addresses that an agent has given when its record of them is damaged or gone."""

import json

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
    codes = {fault["code"] for fault in agent.faults()}
    assert ("pool-record-empty" in codes) == (how is DAMAGED["empty"]), codes
    [aside] = (agent.folder / "state").glob("addresses.json.damaged-*")
    assert '"web"' in aside.read_text() or how is not DAMAGED["cut off"]
    agent.stop()
    agent.start()
    agent.settled()
    assert pool_faults(agent) == []
    gets(agent, web=OWN)


@ONE
def test_a_record_of_many_is_read(world):
    """Of 12,000 Services, which is more than a MiB: nobody is renumbered by a restart."""
    agent = world.given
    agent.stop()
    path = agent.folder / "state/addresses.json"
    record = json.loads(path.read_text())
    record["services"] += [{"namespace": "default", "name": f"gone-{number:05}-{'x' * 20}",
                            "addresses": [f"198.18.{number >> 8}.{number & 255}"]} for number in range(12000)]
    path.write_text(json.dumps(record))
    assert path.stat().st_size > 1 << 20
    (agent.folder / "state/addresses.json.copy").write_text(path.read_text())
    older(world)
    agent.start()
    gets(agent, web=OWN, aaa=["203.0.113.65", "fd00:203::41"])
    assert pool_faults(agent) == []


def lose(agent, gone):
    for name in ("addresses.json", "addresses.json.copy"):
        if gone:
            (agent.folder / "state" / name).unlink()
        else:
            damage(agent, DAMAGED["cut off"], name)


@ONE
@pytest.mark.parametrize("gone", [False, True], ids=["damaged", "gone"])
def test_the_maps_of_nat_say_whose_an_address_is(world, gone):
    """Nobody is renumbered; who has none waits only where a record is there that can't be read."""
    agent = world.given
    agent.stop()
    lose(agent, gone)
    older(world)
    monitor = world.monitor()
    agent.start()
    gets(agent, web=OWN, aaa=["203.0.113.65", "fd00:203::41"] if gone else [])
    if not gone:
        told(agent, "who lacks an address is given none")
        wait(lambda: "record-unreadable" in agent.ctl("services").out, "the reason")
    announced(world, FIRST, FIRST6)
    service(world, "held", 3, world.web_pod, ingress=["203.0.113.67", "fd00:203::43"])
    announced(world, "203.0.113.67")
    assert monitor.losses(FIRST) == []


@ONE
@pytest.mark.parametrize("gone", [False, True], ids=["damaged", "gone"])
def test_one_address_that_nobody_is_known_to_have_is_for_a_person(world, gone):
    """Without NAT's maps: it stays announced, and all else goes on; a status or a removed route decides."""
    agent = world.given
    agent.stop()
    agent.settings["services"]["enabled"] = False
    agent.write_config()
    agent.start()
    announced(world, FIRST, FIRST6)
    agent.stop()
    lose(agent, gone)
    older(world)
    monitor = world.monitor()
    agent.start()
    told(agent, "nobody knows which Service was given it")
    announced(world, FIRST, FIRST6)
    service(world, "held", 3, world.web_pod, ingress=["203.0.113.67", "fd00:203::43"])
    announced(world, "203.0.113.67")
    assert given(agent).get("aaa", []) == [] and given(agent).get("web", []) == []
    agent.stop()
    agent.start()
    told(agent, "nobody knows which Service was given it")
    announced(world, FIRST, FIRST6, "203.0.113.67")

    # A status says whose one is; the other one is nobody's.
    service(world, "web", 1, world.web_pod, ingress=[FIRST])
    wait_equal(lambda: [fault.split(":")[0] for fault in pool_faults(agent) if "nobody knows" in fault],
               ["fd00"], "that one alone")
    [fault] = [each for each in agent.faults() if "nobody knows" in each["message"]]
    world.nodes[0].run(*fault["remedy"].split("has: ")[1].split())
    if gone:
        gets(agent, web=[FIRST, "fd00:203::41"], aaa=["203.0.113.65", FIRST6])
        wait_equal(lambda: pool_faults(agent), [], "no fault")
    else:
        gets(agent, aaa=[])
        told(agent, "who lacks an address is given none")
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
