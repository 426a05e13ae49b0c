# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, claimed addresses: each row was written down before it was tried
(tests/seventh_list.txt)."""

import pytest
from faults import Table, check
from test_fifth_list_claims import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=2), pytest.mark.shared]
rows = Table("seventh_list")
ARP_IGNORE = "net.ipv4.conf.lan.arp_ignore"


@rows(838, cause=("addresses.interfaces", "lan7"), remedy="there")
def an_interface_is_named_that_is_not_there(world):
    agent = world.agent
    claims = agent.settings["addresses"]
    agent.settings["addresses"] = {**claims, "interfaces": ["lan", "lan7"]}
    agent.write_config()
    agent.reload()
    yield
    agent.settings["addresses"] = claims
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows(839, cause=ARP_IGNORE, remedy="sysctl -w")
def the_holder_answers_no_arp(world):
    node = world.node
    node.run("sysctl", "-qw", f"{ARP_IGNORE}=8")
    yield
    node.run("sysctl", "-qw", f"{ARP_IGNORE}=0")
    yield
    world.serves()


@rows(840, cause=("lan", "ARP"), remedy="ip link set lan arp on")
def arp_is_off_at_the_holders_interface(world):
    node = world.node
    node.ip("link", "set", "lan", "arp", "off")
    yield
    node.ip("link", "set", "lan", "arp", "on")
    yield
    world.serves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
