# SPDX-License-Identifier: Apache-2.0
"""Faults of claimed addresses kept by an etcd: the segment, the interface, the store."""

import json
import shutil

import pytest
from faults import Table, check
from lab import wait, wait_equal
from lab.authority import Authority
from lab.segment import Segment, mac_of
from test_etcd import Member

pytestmark = [pytest.mark.lab(nodes=2), pytest.mark.shared]
rows = Table()
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


@rows("claim-address-contested", within=1, cause=(V4, "02:00:00:00:05:63"), remedy="that machine")
def a_stranger_has_the_address(world):
    world.stranger.ip("addr", "add", f"{V4}/32", "dev", "lan")
    world.segment.announce(world.stranger, V4)
    yield
    world.stranger.ip("addr", "del", f"{V4}/32", "dev", "lan")
    yield
    world.serves()


@rows("claim-interface-down", within=1, cause=("lan", "is down"), remedy="ip link set lan up")
def the_interface_is_set_down(world):
    node = world.node
    node.ip("link", "set", "lan", "down")
    yield
    node.ip("link", "set", "lan", "up")
    node.ip("addr", "replace", f"2001:db8:5::{node.role[-1]}/64", "dev", "lan", "nodad")
    yield
    world.serves()


@rows(within=1, heals=True)
def somebody_removes_the_address(world):
    node = world.node
    node.ip("addr", "del", f"{V4}/32", "dev", "lan")
    yield
    wait_equal(lambda: world.segment.at(V4), [node.role], "the address to be back")
    yield
    world.serves()


@rows("claim-address-elsewhere", within=1, cause=(V4, "lo"), remedy="ip addr del")
def keepalived_has_left_the_address_on_lo(world):
    node = world.node
    node.ip("addr", "add", f"{V4}/32", "dev", "lo")
    yield
    node.ip("addr", "del", f"{V4}/32", "dev", "lo")
    yield
    world.serves()


@rows("claim-write-failed", within=2, cause="etcd", remedy="addresses.etcd.endpoints", beside="etcd")
def all_members_are_stopped(world):
    for member in world.members:
        member.kill()
    yield
    for member in world.members:
        member.start()
    yield
    world.serves()


@rows("claim-write-failed", within=2, cause="certificate", remedy="addresses.etcd.certFile", beside="etcd")
def the_certificate_is_of_another_authority(world):
    yield from swapped(world, world.user, world.other.issue("agent"))


@rows("claim-write-failed", within=2, cause="certificate", remedy="addresses.etcd.caFile", beside="etcd")
def the_authority_is_not_that_of_etcd(world):
    yield from swapped(world, [world.pki.certificate], [world.other.certificate])


@rows("claim-write-failed", within=5, cause="etcd", remedy="member", beside="etcd")
def two_of_three_members_are_stopped(world):
    for member in world.members[1:]:
        member.kill()
    yield
    for member in world.members[1:]:
        member.start()
    yield
    world.serves()


@rows(within=5)
def one_of_three_members_is_stopped(world):
    world.members[0].kill()
    yield
    world.members[0].start()
    yield
    world.serves()


ARP_IGNORE = "net.ipv4.conf.lan.arp_ignore"


@rows("claim-interfaces-unmatched", within=1, cause=("addresses.interfaces", "lan7"), remedy="there")
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


@rows("claim-arp-ignored", within=1, cause=ARP_IGNORE, remedy="sysctl -w")
def the_holder_answers_no_arp(world):
    node = world.node
    node.run("sysctl", "-qw", f"{ARP_IGNORE}=8")
    yield
    node.run("sysctl", "-qw", f"{ARP_IGNORE}=0")
    yield
    world.serves()


@rows("claim-interface-without-arp", within=1, cause=("lan", "ARP"), remedy="ip link set lan arp on")
def arp_is_off_at_the_holders_interface(world):
    node = world.node
    node.ip("link", "set", "lan", "arp", "off")
    yield
    node.ip("link", "set", "lan", "arp", "on")
    yield
    world.serves()


@rows("claim-interface-without-network", within=1, cause=("interface lan", "has no IPv4 network"), remedy="ip addr add",
      beside="198.51.100.50")
def the_holders_interface_loses_its_address(world):
    node = world.node
    address = next(line.split()[1] for line in node.ip("-4", "addr", "show", "dev", "lan").splitlines()
                   if "inet " in line and "/32" not in line)
    node.ip("addr", "del", address, "dev", "lan")
    yield
    node.ip("addr", "add", address, "dev", "lan")
    yield
    world.serves()


def stores(world, endpoints):
    agent = world.agent
    kept = agent.settings["addresses"]
    agent.settings["addresses"] = {**kept, "etcd": {**kept["etcd"], "endpoints": endpoints}}
    agent.write_config()
    world.anew(agent)
    yield
    agent.settings["addresses"] = kept
    agent.write_config()
    world.anew(agent)
    yield
    world.serves()


@rows("claim-write-failed", within=2, cause="http://192.0.3", remedy="write https:// in addresses.etcd.endpoints",
      beside="198.51.100.50")
def etcd_speaks_tls(world):
    return stores(world, [member.url.replace("https", "http") for member in world.members])


def auth(world, what, body, token=""):
    """A request of etcd's, by a certificate of nobody: it refuses those that have a name."""
    pair = world.pki.issue("nobody", "")
    answer = world.lab.tor.run("curl", "-sS", "--cacert", str(world.pki.certificate), "--cert", str(pair.certificate),
                               "--key", str(pair.key), "-d", json.dumps(body), "-H", f"Authorization: {token}",
                               f"{world.members[0].url}/v3/auth/{what}").stdout
    return json.loads(answer)


@rows("claim-write-failed", within=2, cause="CommonName of client", remedy="etcdctl auth disable", beside="198.51.100.50")
def etcd_wants_a_user(world):
    auth(world, "user/add", {"name": "root", "password": "secret"})
    auth(world, "role/add", {"name": "root"})
    auth(world, "user/grant", {"user": "root", "role": "root"})
    auth(world, "enable", {})
    yield
    token = auth(world, "authenticate", {"name": "root", "password": "secret"})["token"]
    auth(world, "disable", {}, token)
    yield
    world.serves()


def answers(world, member):
    done = world.lab.tor.run("curl", "-sS", "--max-time", "2", "--cacert", str(world.pki.certificate), "--cert",
                             str(world.user.certificate), "--key", str(world.user.key), f"{member.url}/health", check=False)
    return '"health":"true"' in done.stdout


@rows(within=5)
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


def at(node):
    return [info for link in node.ip_json("-4", "addr", "show", "dev", "lan") for info in link["addr_info"]
            if info["local"] == V4]


@rows(within=1)
def the_interface_gets_another_mac_address(world):
    node = world.node
    before = node.ip_json("link", "show", "lan")[0]["address"]
    node.ip("link", "set", "lan", "address", mac_of(200))
    yield
    wait(lambda: world.segment.client.ping(V4), "the client to reach it by the new one")
    node.ip("link", "set", "lan", "address", before)
    yield
    world.serves()


@rows(within=1, heals=True)
def somebody_makes_the_address_last_for_ever(world):
    node = world.node
    node.ip("addr", "replace", f"{V4}/32", "dev", "lan", "valid_lft", "forever", "preferred_lft", "forever")
    yield
    wait(lambda: (found := at(node)) and found[0]["valid_life_time"] < 3600, "the address to have a lifetime")
    yield


@rows("config-duration-short", within=1, cause=("agentd.yaml:", "duration"), remedy=("",))
def claims_are_too_short(world):
    agent = world.agent
    kept = agent.settings["addresses"]
    agent.settings["addresses"] = {**kept, "duration": "2s"}
    agent.write_config()
    agent.reload()
    yield
    agent.settings["addresses"] = kept
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows("claim-write-failed", within=2, cause="agent", remedy=("",), beside=V4)
def the_key_is_not_that_of_the_certificate(world):
    return swapped(world, [world.user.key], [world.other.issue("agent").key])


@rows(within=5)
def etcd_is_defragmented(world):
    for member in world.members:
        world.lab.tor.run("curl", "-sSf", "--cacert", str(world.pki.certificate), "--cert", str(world.user.certificate),
                          "--key", str(world.user.key), "-d", "{}", f"{member.url}/v3/maintenance/defragment")
    yield
    world.serves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
