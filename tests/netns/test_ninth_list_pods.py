# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, addresses of pods: each row was written down before it was tried
(tests/ninth_list.txt)."""

from types import SimpleNamespace

import pytest
from doctor_mistakes import Patient, etc
from faults import Table, check, wait_quiet
from lab import objects
from test_fault_table_pods import world_fixture  # noqa: F401
from test_fifth_list_pods import write_nodes

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("ninth_list")


@rows(1034, code="pod-address-outside-blocks",
      cause=("Pod default/one", "is in no block of this node"), remedy="AddressBlock", beside="block")
def the_block_is_another_nodes(world):
    def block(node):
        return objects.address_block("pods-0", node, "10.224.1.0/30", "fd00:224::100/126")
    write_nodes(world, block("node9"), objects.node("node9", ["10.0.9.2", "fd00:0:0:9::2"]))
    yield
    write_nodes(world, block(world.node.role))
    yield
    world.reaches()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@pytest.mark.parametrize("number", [1035])
def test_our_list_of_plugins_is_gone(world, number):
    asked = SimpleNamespace(node=world.node, agent=world.agent, settings=world.agent.settings, wrapper=())
    with etc(asked, {"cni/net.d/.keep": ""}):
        lines = [line for line in Patient.doctor(asked) if line["check"] == "pods.network"]
    assert len(lines) == 1, (number, lines)
    assert "/etc/cni/net.d" in lines[0]["found"] and lines[0]["remedy"] == "agent-cni install, as root", lines
    wait_quiet(world.agent, "nothing to be wrong")
