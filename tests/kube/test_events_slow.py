# SPDX-License-Identifier: Apache-2.0
"""Events that can't be written: nothing waits for them, and there is an end to trying."""

import pytest
import scripted
from lab import objects, wait, wait_equal
from test_troubles import lab_fixture, setting_fixture  # noqa: F401  fixtures
from world import address_of

EVENTS = "^POST .*/events$"
TRIES = 6


def put_twin(setting, number):
    """A Service with the address and port of another one, which is older by its name."""
    twin = objects.service(f"z{number}", [address_of(number)], policy="Local")
    twin["metadata"]["uid"] = f"uid-of-z{number}"
    setting.api.put(twin)


def writes(setting):
    return setting.agent.json("status")["writes"]


def test_a_slow_api_delays_nothing(lab, setting):
    setting.api.fail(EVENTS, scripted.silence)
    setting.begin()
    monitor = setting.world.monitor(lab)
    put_twin(setting, 1)
    wait(lambda: setting.api.count(EVENTS), "an Event to be written")
    wait_equal(lambda: writes(setting)["running"], 1, "status to say so")
    for number in (50, 51, 52):
        setting.world.add(number)
        setting.world.reached("while the Event is under way")
    assert writes(setting)["running"] == 1 and writes(setting)["written"] == 0
    setting.api.mend()
    setting.api.hang_up()
    wait_equal(lambda: len(setting.api.items("Event")), 1, "the Event", 60)
    assert setting.world.lost(monitor) == []
    (event,) = setting.api.items("Event")
    assert event["regarding"]["name"] == "z1" and event["reason"] == "PortTaken"


@pytest.mark.timeout(200)
def test_what_is_forbidden_is_a_fault_and_given_up(setting):
    """After about half a minute: an API server that has just started forbids all for a moment."""
    setting.api.fail(EVENTS, scripted.refuse(403))
    setting.begin()
    put_twin(setting, 1)
    (item,) = wait(lambda: [item for item in writes(setting)["items"] if item["tries"]], "a try")
    assert item["outcome"] == "refused" and item["why"] == "403: on purpose"
    (fault,) = setting.fault("owners of Services are not told")
    assert "rbac.yaml" in fault["remedy"]
    wait_equal(lambda: writes(setting)["dropped"], 1, "it to be given up")
    assert setting.api.count(EVENTS) == TRIES
    setting.api.mend()
    put_twin(setting, 2)
    wait(lambda: not [fault for fault in setting.agent.faults() if fault["place"] == "Events"],
         "the end of the fault")
    assert [event["regarding"]["name"] for event in setting.api.items("Event")] == ["z2"]
