# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, Consul: each row was written down before it was tried (tests/fifth_list.txt)."""

import itertools

import pytest
from faults import Table, check
from lab import wait_equal
from lab.traffic import serve
from node_agent import RULES, NodeConsul
from test_services import HTTP, SERVED, state, write

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("fifth_list")
NUMBERS = itertools.count()


class World:
    """One node that registers `web` with its Consul agent."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        self.pod = lab.pod(self.node, "one")
        serve(self.pod, 8080)
        folder = self.node.folder / "consul"
        folder.mkdir()
        self.consul = NodeConsul(self.node, folder)
        self.token = folder / "token"
        self.give_token()
        lab.write_nodes()
        write(lab, self.pod)
        self.agent = lab.agent(self.node, consul={"clusterID": "lab", "address": self.consul.address,
                                                  "tokenFile": str(self.token), "resync": "1s"})
        self.serves()

    def give_token(self):
        self.accessor, secret = self.consul.token(f"{RULES}# {next(NUMBERS)}\n")
        self.token.write_text(secret + "\n", encoding="ascii")

    def serves(self):
        wait_equal(lambda: state(self.consul, HTTP), SERVED, "what NAT has proved")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows(612, cause="token", remedy="consul.tokenFile")
def the_token_is_deleted(world):
    world.consul.ask("DELETE", f"/v1/acl/token/{world.accessor}")
    yield
    world.give_token()
    yield
    world.serves()


@rows(613, cause=("Consul", "consul.sock"), remedy="consul.address")
def the_agent_of_consul_is_stopped(world):
    world.consul.kill()
    yield
    world.consul.start()
    yield
    world.serves()


@rows(614, heals=True)
def somebody_deregisters_the_service(world):
    world.consul.deregister(HTTP)
    yield
    world.serves()
    yield


@rows(615, cause=("token", "No such file"), remedy="file")
def the_file_of_the_token_is_gone(world):
    kept = world.token.read_text(encoding="ascii")
    world.token.unlink()
    yield
    world.token.write_text(kept, encoding="ascii")
    yield
    world.serves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
