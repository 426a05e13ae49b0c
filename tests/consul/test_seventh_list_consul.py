# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, Consul: each row was written down before it was tried (tests/seventh_list.txt)."""

import pytest
from faults import Table, check
from test_fifth_list_consul import world_fixture  # noqa: F401
from test_services import HTTP

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("seventh_list")


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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
