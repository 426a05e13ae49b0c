# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, Consul: each row was written down before it was tried (tests/seventh_list.txt)."""

import pytest
from faults import Table, check
from lab import wait, wait_equal
from moments import log_size
from test_fifth_list_consul import world_fixture  # noqa: F401
from test_services import HTTP

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("seventh_list")


def failures(agent):
    return agent.json("status")["consul"]["failures"]


@rows(818, cause=("127.0.0.1:8300", "does not answer as Consul's agent"), remedy="consul.address")
def the_address_is_the_servers_port(world):
    agent = world.agent
    kept = agent.settings["consul"]["address"]
    agent.settings["consul"]["address"] = "http://127.0.0.1:8300"
    agent.write_config()
    agent.reload()
    yield
    agent.settings["consul"]["address"] = kept
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows(819, cause=("Permission denied", "web"), remedy="policy")
def the_token_may_write_other_services(world):
    _, secret = world.consul.token('service_prefix "" { policy = "read" }\nservice_prefix "other" { policy = "write" }\n')
    world.token.write_text(secret + "\n", encoding="ascii")
    yield
    world.give_token()
    yield
    world.serves()


@rows(820, cause=HTTP, remedy="deregister")
def somebody_has_a_service_under_our_id(world):
    world.consul.register(ID=HTTP, Name="theirs", Port=9999, Address="192.0.2.9")
    yield
    world.consul.deregister(HTTP)
    yield
    world.serves()


@pytest.mark.parametrize("number", [819])
def test_a_refusal_is_told_until_it_is_mended(world, number):
    """Consul can be read all the time; that it is so is no news of what it refuses."""
    _, secret = world.consul.token('service_prefix "" { policy = "read" }\n')
    world.token.write_text(secret + "\n", encoding="ascii")
    wait(world.agent.faults, "the refusal to be told")
    told, refused = log_size(world.agent), failures(world.agent)
    wait(lambda: failures(world.agent) >= refused + 3, "three more refusals")
    world.give_token()
    world.serves()
    wait_equal(world.agent.faults, [], "it to be over")
    with open(world.agent.log, encoding="utf-8") as log:
        log.seek(told)
        assert log.read().count("no longer") == 1, number


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
