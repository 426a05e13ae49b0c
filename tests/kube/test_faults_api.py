# SPDX-License-Identifier: Apache-2.0
"""Faults of a Kubernetes API, a scripted one, and of what stands between it and an agent."""

import os

import pytest
import scripted
from faults import Table, check
from lab import Lab
from lab.authority import DAY, HOUR, Authority
from scripted import WATCH, server_context
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


@rows("api-unreachable", cause=("the API can't be reached: Could not resolve host", STAYS), remedy="see: getent hosts NAME")
def its_name_is_not_known(world):
    world.name_hosts()
    world.api.hang_up()
    yield
    world.name_hosts(f"{world.lab.client.address4} {HOST}")


@rows("api-unreachable", cause=("the API can't be reached", "Connection refused", STAYS),
      remedy="see whether kube-apiserver runs there")
def it_is_dead(world):
    world.api.stop()
    world.api.hang_up()
    yield
    world.api.start()


@rows("api-kind-out-of-sync", cause=("Service", "is not in sync: 403"), remedy="allow get, list and watch",
      beside="is not in sync: 403")
def a_right_is_missing(world):
    world.refuse(".", 403)
    yield
    world.api.mend()


@rows("api-kind-out-of-sync", cause="401", remedy="renew the token", beside="401")
def the_token_is_an_old_one(world):
    world.api.tokens = {"second"}
    world.api.end_watches()
    yield
    world.token.write_text("second")


@rows("api-unreachable", cause="is not signed by the CA in", remedy="if the cluster has a new CA, put it there")
def another_authority_has_signed(world):
    good = world.api.context
    world.api.context = world.context(Authority(world.folder / "other", "other"))
    world.restart()
    yield
    world.api.context = good
    world.restart()


@rows("api-unreachable", cause=("the API can't be reached: it takes questions, and has answered none", STAYS),
      remedy="see whether kube-apiserver there hangs")
def it_hangs(world):
    world.api.fail(".", scripted.hang)
    yield
    world.api.mend()


def serve(world, context):
    world.api.context = context
    world.restart()


@rows("api-unreachable", cause=("certificate has expired", STAYS), remedy="renew the API's certificate")
def its_certificate_has_expired(world):
    good = world.api.context
    serve(world, world.context(world.pki, "old", begin=-DAY, end=-HOUR))
    yield
    serve(world, good)


@rows("api-unreachable", cause=("matches target host name", STAYS), remedy="ask under a name that the API's certificate has")
def its_certificate_has_another_name(world):
    good = world.api.context
    serve(world, server_context(world.pki.issue("moved", hosts=["192.0.2.99", "other.lab"])))
    yield
    serve(world, good)


@rows("api-kind-out-of-sync", cause="is not in sync: 503", remedy="kube-apiserver", beside="is not in sync: 503")
def a_balancer_before_it_has_no_server(world):
    world.refuse(".", 503)
    yield
    world.api.mend()


@rows("api-unreachable", cause=("cannot read the token", "No such file", STAYS), remedy="see that the file is there")
def the_file_of_the_token_is_gone(world):
    token = world.token.read_text()
    world.token.unlink()
    world.api.end_watches()
    yield
    world.token.write_text(token)


@rows("api-kind-out-of-sync", cause="is not in sync: 429", remedy=("",), beside="is not in sync: 429")
def it_has_too_many_requests(world):
    world.refuse(".", 429)
    yield
    world.api.mend()


@rows("api-kind-out-of-sync", cause="the answer is no JSON", remedy="who it is that answers", beside="the answer is no JSON")
def a_proxy_answers_with_a_web_page(world):
    world.api.fail(".", scripted.raw(b"<!DOCTYPE html><html><body>Please log in.</body></html>"))
    world.api.forget()
    world.api.end_watches()
    yield
    world.api.mend()


def end_at_once(request):
    request.begin()
    request.chunk(b"")


@rows("api-kind-out-of-sync", within=15, cause="the watch ended too soon", remedy="time limit",
      beside="the watch ended too soon")
def a_proxy_ends_each_watch(world):
    world.api.fail(WATCH, end_at_once)
    world.api.end_watches()
    yield
    world.api.mend()


@rows("kubeconfig-malformed", within=1, cause="kubeconfig", remedy="kubeconfig")
def the_kubeconfig_was_overwritten(world):
    file = world.folder / "kubeconfig"
    kept = file.read_text(encoding="utf-8")
    file.write_text("# moved to the other machine\n", encoding="utf-8")
    world.agent.reload()
    yield
    file.write_text(kept, encoding="utf-8")
    world.agent.reload()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
