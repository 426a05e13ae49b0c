# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, addresses of pods: each row was written down before it was tried
(tests/eighth_list.txt)."""

from types import SimpleNamespace

import pytest
from doctor_mistakes import CNI, OURS, Patient, etc
from faults import Table, check, wait_quiet
from lab import wait
from test_fault_table_pods import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("eighth_list")


@rows(935, heals=True)
def somebody_deletes_the_rule_of_pods(world):
    rules = world.node.ip("rule")
    for rule in rules.splitlines():
        number, words = rule.split(":", 1)
        if number not in ("0", "32766", "32767"):
            world.node.ip("rule", "del", "pref", number)
    yield
    wait(lambda: world.node.ip("rule") == rules, "the rule to be back")
    world.reaches()
    yield


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@pytest.mark.parametrize("number", [934])
def test_the_program_of_the_plugin_is_gone(world, number):
    asked = SimpleNamespace(node=world.node, agent=world.agent, settings=world.agent.settings, wrapper=())
    with etc(asked, {CNI: OURS, "opt/cni/bin/bridge": ""}, plugin=None):
        [line] = [line for line in Patient.doctor(asked) if line["check"] == "pods.plugin"]
    assert (line["verdict"], line["remedy"]) == ("failed", "agent-cni install, as root"), number
    assert line["found"].startswith("/opt/cni/bin/agent-cni: "), line
    wait_quiet(world.agent, "nothing to be wrong")
