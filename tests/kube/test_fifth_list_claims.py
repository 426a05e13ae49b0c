# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, claimed addresses and their store: each row was written down before it was tried
(tests/fifth_list.txt)."""

import shutil

import pytest
from faults import Table, check
from lab import wait, wait_equal
from lab.authority import Authority
from lab.segment import Segment
from test_etcd import Member

pytestmark = [pytest.mark.lab(nodes=2), pytest.mark.shared]
rows = Table("fifth_list")
STORES = ("192.0.3.1", "192.0.3.2", "192.0.3.3")
V4 = "198.51.100.50"
DURATION = 5


class World:
    """Two nodes with agents on a segment, and an etcd of three members behind their router."""

    def __init__(self, lab):
        self.lab = lab
        lab.write_nodes()
        for address in STORES:
            lab.tor.ip("address", "add", f"{address}/32", "dev", "lo")
        self.pki, self.other = Authority(lab.folder / "pki"), Authority(lab.folder / "other")
        self.user = self.pki.issue("agent")
        self.members = [Member(lab.tor, address, STORES, self.pki) for address in STORES]
        self.segment = Segment(lab)
        self.stranger = self.segment.guest("stranger", 99)
        claims = {"own": [V4], "interfaces": ["lan"], "duration": f"{DURATION}s", "failback": "never",
                  "etcd": {"endpoints": [member.url for member in self.members], "caFile": str(self.pki.certificate),
                           "certFile": str(self.user.certificate), "keyFile": str(self.user.key)}}
        self.agents = {node.role: lab.agent(node, addresses=claims) for node in lab.nodes}
        self.serves()

    @property
    def node(self):
        [name] = wait(lambda: self.segment.at(V4), f"a holder of {V4}", 60)
        return next(node for node in self.lab.nodes if node.role == name)

    @property
    def agent(self):
        return self.agents[self.node.role]

    def serves(self):
        """One node has the address, and the client reaches it there."""
        wait(lambda: len(self.segment.at(V4)) == 1 and self.segment.client.ping(V4), f"a holder of {V4}", 60)
        for agent in self.agents.values():
            wait_equal(agent.faults, [], "no fault", 60)

    def anew(self, agent):
        """Files are read for each connection: that of an agent that starts is a new one."""
        agent.stop()
        agent.start()


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


def swapped(world, files, others):
    """Files have other contents, and an agent starts with them."""
    agent = world.agent
    kept = [file.read_bytes() for file in files]
    for file, other in zip(files, others):
        shutil.copy(other, file)
    world.anew(agent)
    yield
    for file, content in zip(files, kept):
        file.write_bytes(content)
    world.anew(agent)
    yield
    world.serves()


@rows(601, cause=(V4, "02:00:00:00:05:63"), remedy="that machine")
def a_stranger_has_the_address(world):
    world.stranger.ip("addr", "add", f"{V4}/32", "dev", "lan")
    world.segment.announce(world.stranger, V4)
    yield
    world.stranger.ip("addr", "del", f"{V4}/32", "dev", "lan")
    yield
    world.serves()


@rows(602, cause=("lan", "is down"), remedy="ip link set lan up")
def the_interface_is_set_down(world):
    node = world.node
    node.ip("link", "set", "lan", "down")
    yield
    node.ip("link", "set", "lan", "up")
    node.ip("addr", "replace", f"2001:db8:5::{node.role[-1]}/64", "dev", "lan", "nodad")
    yield
    world.serves()


@rows(603, heals=True)
def somebody_removes_the_address(world):
    node = world.node
    node.ip("addr", "del", f"{V4}/32", "dev", "lan")
    yield
    wait_equal(lambda: world.segment.at(V4), [node.role], "the address to be back")
    yield
    world.serves()


@rows(604, cause=(V4, "lo"), remedy="ip addr del")
def keepalived_has_left_the_address_on_lo(world):
    node = world.node
    node.ip("addr", "add", f"{V4}/32", "dev", "lo")
    yield
    node.ip("addr", "del", f"{V4}/32", "dev", "lo")
    yield
    world.serves()


@rows(605, cause="etcd", remedy="addresses.etcd.endpoints", beside="etcd")
def all_members_are_stopped(world):
    for member in world.members:
        member.kill()
    yield
    for member in world.members:
        member.start()
    yield
    world.serves()


@rows(606, cause="certificate", remedy="addresses.etcd.certFile", beside="etcd")
def the_certificate_is_of_another_authority(world):
    yield from swapped(world, world.user, world.other.issue("agent"))


@rows(607, cause="certificate", remedy="addresses.etcd.caFile", beside="etcd")
def the_authority_is_not_that_of_etcd(world):
    yield from swapped(world, [world.pki.certificate], [world.other.certificate])


@rows(608, cause="etcd", remedy="member", beside="etcd")
def two_of_three_members_are_stopped(world):
    for member in world.members[1:]:
        member.kill()
    yield
    for member in world.members[1:]:
        member.start()
    yield
    world.serves()


@rows(609)
def one_of_three_members_is_stopped(world):
    world.members[0].kill()
    yield
    world.members[0].start()
    yield
    world.serves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
