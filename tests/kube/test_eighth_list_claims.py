# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, claimed addresses: each row was written down before it was tried
(tests/eighth_list.txt)."""

import json

import pytest
from faults import Table, check
from test_fifth_list_claims import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=2), pytest.mark.shared]
rows = Table("eighth_list")


@rows(936, cause=("interface lan", "has no IPv4 network"), remedy="ip addr add", beside="198.51.100.50")
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


@rows(937, cause="http://192.0.3", remedy="write https:// in addresses.etcd.endpoints", beside="198.51.100.50")
def etcd_speaks_tls(world):
    return stores(world, [member.url.replace("https", "http") for member in world.members])


def auth(world, what, body, token=""):
    """A request of etcd's, by a certificate of nobody: it refuses those that have a name."""
    pair = world.pki.issue("nobody", "")
    answer = world.lab.tor.run("curl", "-sS", "--cacert", str(world.pki.certificate), "--cert", str(pair.certificate),
                               "--key", str(pair.key), "-d", json.dumps(body), "-H", f"Authorization: {token}",
                               f"{world.members[0].url}/v3/auth/{what}").stdout
    return json.loads(answer)


@rows(938, cause="CommonName of client", remedy="etcdctl auth disable", beside="198.51.100.50")
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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
