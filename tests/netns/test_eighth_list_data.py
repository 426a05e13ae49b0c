# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, the data plane: each row was written down before it was tried
(tests/eighth_list.txt). Row 919 is missing: this kernel has no VRFs."""

import pytest
from faults import Table, check
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401
from test_third_list_data import defaults, served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("eighth_list")


@rows(920)
def a_macvlan_is_made_on_the_uplink(world):
    node = world.node
    node.ip("link", "add", "macvtap7", "link", "eth0", "type", "macvlan", "mode", "bridge")
    node.ip("link", "set", "macvtap7", "up")
    yield
    served(world)
    node.ip("link", "del", "macvtap7")
    yield


@rows(921, cause=("services.uplinks", "eth0"), remedy="name one that is there", beside=(*FOLLOWS, "uplink"))
def the_uplink_has_another_name(world):
    node = world.node
    world.agent.settings["services"]["uplinks"] = ["eth0"]
    world.reload()
    node.ip("link", "set", "eth0", "down")
    node.ip("link", "set", "eth0", "name", "ens3")
    node.ip("link", "set", "ens3", "up")
    node.ip("addr", "replace", f"{node.address6}/64", "dev", "ens3", "nodad")
    defaults(world)
    yield
    node.ip("link", "set", "ens3", "down")
    node.ip("link", "set", "ens3", "name", "eth0")
    node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    yield
    del world.agent.settings["services"]["uplinks"]
    world.reload()
    served(world)


@rows(922)
def the_uplink_is_set_up_again(world):
    node = world.node
    node.ip("addr", "flush", "dev", "eth0")
    node.ip("link", "set", "eth0", "down")
    node.ip("link", "set", "eth0", "up")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    world.restore_uplink()
    yield
    served(world)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
