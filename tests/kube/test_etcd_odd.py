# SPDX-License-Identifier: Apache-2.0
"""Claims in an etcd behind a balancer, and one that refuses logins: what is asked, how often, and over what."""

import time

import pytest
from lab import Lab, wait
from scripted_etcd import VERSION, WATCH, ScriptedEtcd
from test_etcd import Claimant

ADDRESS = "192.0.2.1"


@pytest.fixture(name="host")
def host_fixture(request):
    with Lab(request.node.nodeid, nodes=1) as lab:
        host = lab.nodes[0]
        host.ip("address", "add", f"{ADDRESS}/32", "dev", "lo")
        yield host


def rest(seconds):
    wait(lambda end=time.monotonic() + seconds: time.monotonic() > end, "some time", seconds + 10)


def test_a_balancer_that_closes_idle_connections_ends_no_watch(host):
    """The endpoint is asked once more over another connection, once in a second at most, and that is all."""
    etcd = ScriptedEtcd(host, ADDRESS).start()
    one = Claimant(host, etcd)
    one.watch()
    begun = time.monotonic()
    wait(lambda: etcd.close_idle() or time.monotonic() > begun + 4, "a balancer's work", 10)
    assert etcd.count(WATCH) == 1 and one.watching == [""], (etcd.asked, one.watching)
    assert 2 <= etcd.count(VERSION, begun) <= 5, etcd.asked
    # Where nobody listens any more the watch ends.
    etcd.stop()
    etcd.close_idle()
    wait(lambda: one.watching[-1] != "", "the end of the watch", 5)
    one.end()
