# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, Consul: each row was written down before it was tried (tests/sixth_list.txt)."""

import signal

import pytest
from faults import Table, check
from test_fifth_list_consul import world_fixture  # noqa: F401
from lab import wait
from test_services import HTTP

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("sixth_list")


@rows(735, cause="consul.sock", remedy="Consul")
def the_agent_of_consul_hangs(world):
    world.consul.process.send_signal(signal.SIGSTOP)
    yield
    world.consul.process.send_signal(signal.SIGCONT)
    yield
    world.serves()


@rows(736, heals=True)
def somebody_registers_our_service_with_another_port(world):
    found = world.consul.services()[HTTP]
    world.consul.register(ID=HTTP, Name=found["Service"], Port=found["Port"] + 1, Address=found["Address"],
                          Tags=found["Tags"], Meta=found["Meta"])
    yield
    wait(lambda: world.consul.services()[HTTP]["Port"] == found["Port"], "our port")
    world.serves()
    yield


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
