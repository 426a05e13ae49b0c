# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, claimed addresses: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from test_fifth_list_claims import V4, swapped, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=2), pytest.mark.shared]
rows = Table("tenth_list")


@rows(1136, cause=("agentd.yaml:", "duration"), remedy=("",))
def claims_are_too_short(world):
    agent = world.agent
    kept = agent.settings["addresses"]
    agent.settings["addresses"] = {**kept, "duration": "2s"}
    agent.write_config()
    agent.reload()
    yield
    agent.settings["addresses"] = kept
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows(1137, cause="agent", remedy=("",), beside=V4)
def the_key_is_not_that_of_the_certificate(world):
    return swapped(world, [world.user.key], [world.other.issue("agent").key])


@rows(1138)
def etcd_is_defragmented(world):
    for member in world.members:
        world.lab.tor.run("curl", "-sSf", "--cacert", str(world.pki.certificate), "--cert", str(world.user.certificate),
                          "--key", str(world.user.key), "-d", "{}", f"{member.url}/v3/maintenance/defragment")
    yield
    world.serves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
