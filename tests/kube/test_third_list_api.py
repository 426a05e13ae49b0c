# SPDX-License-Identifier: Apache-2.0
"""The third list of the fault table, the Kubernetes API: each row was written down before it was tried
(tests/third_list.txt)."""

from faults import Table, check
from lab.authority import DAY, HOUR
from scripted import server_context
from test_fault_table_api import STAYS, world_fixture  # noqa: F401

rows = Table()


def serve(world, context):
    world.api.context = context
    world.restart()


@rows(335, cause=("certificate has expired", STAYS), remedy="renew the API's certificate")
def its_certificate_has_expired(world):
    good = world.api.context
    serve(world, world.context(world.pki, "old", begin=-DAY, end=-HOUR))
    yield
    serve(world, good)


@rows(336, cause=("matches target host name", STAYS), remedy="ask under a name that the API's certificate has")
def its_certificate_has_another_name(world):
    good = world.api.context
    serve(world, server_context(world.pki.issue("moved", hosts=["192.0.2.99", "other.lab"])))
    yield
    serve(world, good)


@rows(337, cause="is not in sync: 503", remedy="kube-apiserver", beside="is not in sync: 503")
def a_balancer_before_it_has_no_server(world):
    world.refuse(".", 503)
    yield
    world.api.mend()


@rows(338, cause=("cannot read the token", "No such file", STAYS), remedy="see that the file is there")
def the_file_of_the_token_is_gone(world):
    world.token.unlink()
    world.api.end_watches()
    yield
    world.token.write_text("first")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
