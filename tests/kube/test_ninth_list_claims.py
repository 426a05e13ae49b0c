# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, claimed addresses: each row was written down before it was tried
(tests/ninth_list.txt)."""

import pytest
from faults import Table, check
from lab import wait
from lab.segment import mac_of
from test_fifth_list_claims import V4, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=2), pytest.mark.shared]
rows = Table("ninth_list")


@rows(1036)
def etcd_is_started_anew_member_by_member(world):
    holder = world.node.role
    for member in world.members:
        member.stop()
        member.start()
        wait(lambda member=member: answers(world, member), "the member to answer", 30)
    yield
    assert world.node.role == holder
    world.serves()
    yield


def answers(world, member):
    done = world.lab.tor.run("curl", "-sS", "--max-time", "2", "--cacert", str(world.pki.certificate), "--cert",
                             str(world.user.certificate), "--key", str(world.user.key), f"{member.url}/health", check=False)
    return '"health":"true"' in done.stdout


def at(node):
    return [info for link in node.ip_json("-4", "addr", "show", "dev", "lan") for info in link["addr_info"]
            if info["local"] == V4]


@rows(1037)
def the_interface_gets_another_mac_address(world):
    node = world.node
    before = node.ip_json("link", "show", "lan")[0]["address"]
    node.ip("link", "set", "lan", "address", mac_of(200))
    yield
    wait(lambda: world.segment.client.ping(V4), "the client to reach it by the new one")
    node.ip("link", "set", "lan", "address", before)
    yield
    world.serves()


@rows(1038, heals=True)
def somebody_makes_the_address_last_for_ever(world):
    node = world.node
    node.ip("addr", "replace", f"{V4}/32", "dev", "lan", "valid_lft", "forever", "preferred_lft", "forever")
    yield
    wait(lambda: (found := at(node)) and found[0]["valid_life_time"] < 3600, "the address to have a lifetime")
    yield


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
