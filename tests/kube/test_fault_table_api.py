# SPDX-License-Identifier: Apache-2.0
"""The fault table, the Kubernetes API: what may stand between it and an agent."""

import os

import pytest
import scripted
from faults import Table, check
from lab import Lab
from lab.authority import DAY, Authority
from setting import HOST, Setting

rows = Table()
STAYS = "all that is known stays in force"


class World(Setting):
    """An agent that asks the API by name, with a token of a file."""

    def __init__(self, lab, folder):
        super().__init__(lab, folder)
        self.token = folder / "token"
        self.token.write_text("first")
        self.api.tokens = {"first"}
        self.begin(host=HOST, user={"tokenFile": str(self.token)})

    def restart(self):
        """The API is away for a moment: whoever watches comes by a new connection."""
        self.api.stop()
        self.api.hang_up()
        self.api.start()

    def refuse(self, pattern, code):
        self.api.fail(pattern, scripted.refuse(code))
        self.api.forget()


@pytest.fixture(name="world", scope="module")
def world_fixture(request, tmp_path_factory):
    """One for each process that runs tests of this file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    with Lab(f"{request.node.nodeid}{worker}", nodes=1) as lab:
        world = World(lab, tmp_path_factory.mktemp("api"))
        yield world
        world.end()


@rows(51, cause=("the API can't be reached: Could not resolve host", STAYS),
      remedy="see: getent hosts NAME")
def its_name_is_not_known(world):
    world.name_hosts()
    world.api.hang_up()
    yield
    world.name_hosts(f"{world.lab.client.address4} {HOST}")


@rows(52, cause=("the API can't be reached", "Connection refused", STAYS),
      remedy="see whether kube-apiserver runs there")
def it_is_dead(world):
    world.api.stop()
    world.api.hang_up()
    yield
    world.api.start()


@rows(53, cause=("Service", "is not in sync: 403"), remedy="allow get, list and watch",
      beside="is not in sync: 403")
def a_right_is_missing(world):
    world.refuse(".", 403)
    yield
    world.api.mend()


@rows(54, cause="401", remedy="renew the token", beside="401")
def the_token_is_an_old_one(world):
    world.api.tokens = {"second"}
    world.api.end_watches()
    yield
    world.token.write_text("second")


@rows(55, cause="is not signed by the CA in", remedy="if the cluster has a new CA, put it there")
def another_authority_has_signed(world):
    good = world.api.context
    world.api.context = world.context(Authority(world.folder / "other", "other"))
    world.restart()
    yield
    world.api.context = good
    world.restart()


@rows(56, cause=("the API can't be reached: it takes questions, and has answered none", STAYS),
      remedy="see whether kube-apiserver there hangs")
def it_hangs(world):
    world.api.fail(".", scripted.hang)
    yield
    world.api.mend()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
