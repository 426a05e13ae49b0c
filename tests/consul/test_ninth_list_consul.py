# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, Consul: each row was written down before it was tried
(tests/ninth_list.txt)."""

import shutil

import pytest
from faults import Table, check
from test_fifth_list_consul import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("ninth_list")


@rows(1039, cause=("there is no token in", "consul/token"), remedy="write the token into the file of consul.tokenFile")
def the_file_of_the_token_is_empty(world):
    secret = world.token.read_text(encoding="ascii")
    world.token.write_text("", encoding="ascii")
    yield
    world.token.write_text(secret, encoding="ascii")
    yield
    world.serves()


@rows(1040)
def consul_is_started_without_its_data(world):
    """Its tokens are gone as well: the agent is given another one at once."""
    world.consul.kill()
    shutil.rmtree(world.consul.folder / "data")
    world.consul.start()
    world.give_token()
    world.serves()
    yield
    yield


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
