# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, what the API refuses and what is done to it: each row was written down before it
was tried (tests/fifth_list.txt)."""

import yaml

import pytest
from faults import Table, check
from giving import Controllers, addresses, begin, gets, pool, service, sweep
from lab import wait, wait_equal
from lab.agent import REPOSITORY
from lab.kube_api import path_of
from test_claimed import V4, Setting

LAB = {"nodes": 3}
claims, controllers = Table(), Table()
DEPLOY = REPOSITORY / "deploy" / "kubernetes"
ELECTION = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fingerpost-controller"


class Claims(Setting):
    """Three nodes with agents, of which one has the address; its word counts."""

    def __init__(self, lab):
        super().__init__(lab)
        self.put(V4)
        self.begin()
        self.agent = self.agents[self.holder()]


@pytest.fixture(name="world", scope="module")
def world_fixture(cluster):
    cluster.play_kubelets()
    world = Claims(cluster)
    yield world
    world.end()


@claims(610, cause=("leases", "forbidden"), remedy="addresses.yaml", beside="")
def the_right_to_leases_is_taken(world):
    world.plane.kubectl("delete", "-f", str(DEPLOY / "addresses.yaml"))
    yield
    world.plane.kubectl("apply", "-f", str(DEPLOY / "addresses.yaml"))
    world.holder(timeout=60)


@claims(611)
def somebody_deletes_the_lease(world):
    before = world.metadata()["uid"]
    world.plane.kubectl("delete", "lease", "-n", "kube-system", world.metadata()["name"])
    wait(lambda: world.metadata()["uid"] != before, "another Lease")
    yield
    world.holder()


@claims.each
def test_claims(world, row):
    check(row, world)
