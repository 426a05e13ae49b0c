# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, Consul: each row was written down before it was tried
(tests/tenth_list.txt)."""

import pytest
from faults import Table, check
from test_fifth_list_consul import world_fixture  # noqa: F401
from lab import wait_equal
from test_services import HTTP

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("tenth_list")


def ours(world):
    """The ids of our own check of the service."""
    return [check_["CheckID"] for check_ in world.consul.json("GET", "/v1/agent/checks").values()
            if (check_["ServiceID"], check_["Name"]) == (HTTP, "Fingerpost")]


@rows(1139, heals=True)
def somebody_deregisters_our_check(world):
    """What Consul itself asks of the service begins anew with the registration, and passes when it has asked."""
    [check_id] = ours(world)
    world.consul.ask("PUT", f"/v1/agent/check/deregister/{check_id}")
    yield
    wait_equal(lambda: ours(world), [check_id], "the check to be back")
    yield
    world.serves()


@rows(1140, cause=("agentd.yaml:", "address"), remedy=("",))
def the_address_has_no_scheme(world):
    agent = world.agent
    kept = agent.settings["consul"]["address"]
    agent.settings["consul"]["address"] = "127.0.0.1:8500"
    agent.write_config()
    agent.reload()
    yield
    agent.settings["consul"]["address"] = kept
    agent.write_config()
    agent.reload()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
