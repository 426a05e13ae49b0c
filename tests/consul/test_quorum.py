# SPDX-License-Identifier: Apache-2.0
"""Three Consul servers, of which two die: the third has no leader, for real. It answers stale reads
and nothing else, and what Services do meanwhile has to be in KV when the others are back."""

import urllib.error

import pytest
from consul import Consul
from controller import PREFIX, key_of, service
from lab import wait
from test_export import NODES, documents, wait_for

FOREIGN = f"{PREFIX}/services/cluster2-default-x-http/clusters/cluster2"


@pytest.fixture(name="servers")
def servers_fixture(tmp_path):
    servers = []
    try:
        for i in range(3):
            servers.append(Consul(tmp_path / f"consul-{i}", 3, servers[:]))
        yield servers
    finally:
        for one in servers:
            one.close()


@pytest.fixture(name="consul")
def consul_fixture(servers):
    """The one that stays; it leads or follows, as it happens."""
    return servers[0]


def has_no_leader(consul):
    try:
        consul.ask("PUT", "/v1/kv/lab/none", b"")
    except urllib.error.HTTPError as error:
        return error.code == 500 and b"No cluster leader" in error.read()
    return False


def test_two_of_three_servers_die_and_come_back(consul, servers, kube, start):
    consul.put(FOREIGN, "{}")
    kube.put(service("a"), service("b"), service("changes"))
    controller = start()
    wait_for(consul, {FOREIGN, NODES, key_of("a"), key_of("b"), key_of("changes")})
    servers[1].kill()
    servers[2].kill()
    wait(lambda: has_no_leader(consul), "there is no leader", timeout=60)
    kube.remove("Service", "b")
    kube.put(service("c"), service("changes", ports=[("http", 80, 31000)]))
    controller.said("No cluster leader")
    assert controller.running()
    servers[1].start(alone=False)
    servers[2].start(alone=False)
    wait_for(consul, {FOREIGN, NODES, key_of("a"), key_of("c"), key_of("changes")}, timeout=90)
    wait(lambda: '"port":31000' in documents(consul)[key_of("changes")], "the change")
    assert documents(consul)[FOREIGN] == "{}"
    lock = consul.entries(PREFIX)[f"{PREFIX}/leadership/transformers-leader"]
    assert lock["Session"]


def test_the_server_that_is_asked_dies_and_the_cluster_lives(consul, servers, kube, start):
    """The others write on; the controller has only this one's address, and waits for it."""
    kube.put(service("a"))
    controller = start()
    wait_for(consul, {NODES, key_of("a")})
    consul.kill()
    wait(lambda: servers[1].leads(), "another leads", timeout=60)
    servers[1].remove(key_of("a"))
    kube.put(service("b"))
    controller.said("exports: https://127.0.0.1")
    consul.start()
    wait_for(servers[1], {NODES, key_of("a"), key_of("b")}, timeout=90)
