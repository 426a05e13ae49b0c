# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, data plane: each row was written down before it was tried (tests/fifth_list.txt)."""

import ctypes
import os
from pathlib import Path

import pytest
from attached import call
from bpf import structure, u32, u64
from faults import Table, check
from lab import wait, wait_equal
from lab.traffic import ask
from test_fault_table_data import FOLLOWS, pinned, world_fixture  # noqa: F401
from test_firewall import table
from test_third_list_data import defaults, served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("fifth_list")
PROGRAM_LOAD, LINK_CREATE, SCHED_CLS, TCX_INGRESS, BEFORE = 5, 28, 3, 46, 1 << 3
# r0 = TCX_PASS; exit
PASSES = bytes.fromhex("b700000000000000" "9500000000000000")

LoadAttributes = structure("LoadAttributes", ("type", u32), ("count", u32), ("insns", u64), ("license", u64),
                           ("rest", u32 * 24))
LinkAttributes = structure("LinkAttributes", ("program", u32), ("ifindex", u32), ("type", u32), ("flags", u32),
                           ("relative", u32), ("pad", u32), ("revision", u64))


def stranger_before_ours(node, device):
    """Somebody's program that lets all pass, first of all at an interface; it is there while the answer is open."""
    attributes = LoadAttributes(type=SCHED_CLS, count=2)
    attributes.point("insns", ctypes.create_string_buffer(PASSES))
    attributes.point("license", ctypes.create_string_buffer(b"GPL"))
    program = call(PROGRAM_LOAD, attributes)
    [index] = [link["ifindex"] for link in node.ip_json("link", "show", device)]
    with node.entered():
        return call(LINK_CREATE, LinkAttributes(program=program, ifindex=index, type=TCX_INGRESS, flags=BEFORE))


@rows(635, heals=True)
def somebody_removes_the_pins_of_the_maps(world):
    folder = Path(world.agent.settings["paths"]["bpf"])
    found = pinned(folder)
    for name in found:
        (folder / name).unlink()
    yield
    wait_equal(lambda: pinned(folder), found, "the pins")
    yield
    served(world)


@rows(636, heals=True)
def a_strangers_program_is_before_ours(world):
    """NAT puts itself in front again, where the kernel has TCX."""
    world.link = stranger_before_ours(world.node, "eth0")
    yield
    address, port = world.web.address("loadBalancer", 4)
    wait(lambda: ask(world.lab.client, address, port, timeout=0.5).name, "NAT to be first again")
    yield
    os.close(world.link)


@rows(637)
def an_interfaces_switch_that_ipv6_does_not_go_by(world):
    world.sysctl("net.ipv6.conf.eth0.forwarding", 0)
    yield
    world.sysctl("net.ipv6.conf.eth0.forwarding", 1)
    yield
    defaults(world)
    served(world)


@rows(638, cause=("interface eth0", "the router 10.0.1.9, to which a default route leads by eth0, does not answer"),
      remedy="ip neigh", beside=FOLLOWS)
def the_default_route_leads_to_a_router_that_is_not_there(world):
    world.node.ip("route", "replace", "default", "via", "10.0.1.9")
    yield
    defaults(world)
    served(world)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


walls = Table("fifth_list")


@walls(639, heals=True)
def somebody_flushes_the_ruleset(world):
    before = table(world.node)
    world.node.run("nft", "flush", "ruleset")
    yield
    wait_equal(lambda: table(world.node), before, "the table")
    yield


@walls(640, heals=True)
def somebody_empties_our_sets(world):
    before = table(world.node)
    for line in before.splitlines():
        if line.strip().startswith("set "):
            world.node.run("nft", "flush", "set", "inet", "fingerpost", line.split()[1])
    yield
    wait_equal(lambda: table(world.node), before, "the elements")
    yield


@walls.each
def test_firewall(world, row):
    if "firewall" not in world.agent.settings["services"]:
        world.agent.settings["services"]["firewall"] = {"mode": "mark"}
        world.agent.write_config()
        world.agent.reload()
    wait(lambda: world.agent.json("status")["firewall"]["there"], "the table")
    check(row, world)
