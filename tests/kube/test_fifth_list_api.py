# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, what the API refuses and what is done to it: each row was written down before it
was tried (tests/fifth_list.txt)."""

import pytest
from faults import Table, check
from giving import Controllers, begin, gets, pool, serves_pools, service, sweep
from lab import wait
from lab.agent import REPOSITORY, Answer, program
from lab.kube_api import MERGE, path_of
from test_claimed import V4, Setting

LAB = {"nodes": 3}
claims, controllers = Table("fifth_list"), Table("fifth_list")
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


@claims(610, cause=("leases", "forbidden"), remedy="addresses.yaml", beside="forbidden")
def the_right_to_leases_is_taken(world):
    world.plane.kubectl("delete", "-f", str(DEPLOY / "addresses.yaml"))
    yield
    world.plane.kubectl("apply", "-f", str(DEPLOY / "addresses.yaml"))
    yield
    world.holder(timeout=60)


@claims(611, heals=True)
def somebody_deletes_the_lease(world):
    before = world.metadata()["uid"]
    world.plane.kubectl("delete", "lease", "-n", "kube-system", world.metadata()["name"])
    yield
    wait(lambda: world.metadata()["uid"] != before, "another Lease")
    yield
    world.holder()


@claims.each
def test_claims(world, row):
    check(row, world)


class Leader:
    """A controller, asked as the table asks agents."""

    def __init__(self, controller):
        self.controller, self.log, self.process = controller, controller.log, controller.process

    def faults(self):
        return self.controller.status()["faults"]

    def ctl(self, _, *options):
        socket = self.controller.folder / "run" / "controller.sock"
        command = (program("agentctl"), "--socket", str(socket), "controller", *options)
        done = self.controller.host.run(*command, check=False)
        return Answer(done.returncode, done.stdout, done.stderr)


class Leading:
    """A controller that has given a Service its address."""

    def __init__(self, cluster, plane):
        self.plane, self.controllers = plane, Controllers(cluster, plane)
        self.agent = Leader(begin(self.controllers()))
        plane.put(pool("203.0.113.0/29"), service("web"))
        gets(plane, web=["203.0.113.0"])


@pytest.fixture(name="leading")
def leading_fixture(cluster, plane):
    sweep(plane)
    world = Leading(cluster, plane)
    yield world
    world.controllers.end()
    sweep(plane)


@controllers(630, heals=True)
def somebody_deletes_the_lease_of_the_election(world):
    world.plane.api.request("DELETE", ELECTION, {})
    yield
    wait(world.agent.controller.leads, "it to lead")
    yield


@controllers(631)
def another_program_writes_an_address(world):
    """Once; its own address is put back."""
    world.plane.api.request("PATCH", path_of("Service", name="web") + "/status",
                            {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}}, MERGE)
    gets(world.plane, web=["203.0.113.0"])
    yield


@controllers(631, cause=("Service default/web", "field manager other-lb", "writes over its addresses again and again"),
             remedy="--show-managed-fields")
def another_program_writes_addresses_again_and_again(world):
    for _ in range(6):  # more than have to be put back: two that come close together count as one
        world.plane.api.request("PATCH", path_of("Service", name="web") + "/status?fieldManager=other-lb",
                                {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}}, MERGE)
        gets(world.plane, web=["203.0.113.0"])
    yield


@controllers(629, cause=("IPAddressPool", "no such kind any more"), remedy="crds-metallb.yaml")
def the_definition_of_pools_is_missing(world):
    world.plane.kubectl("delete", "crd", "ipaddresspools.metallb.io", "--timeout=60s")
    yield
    world.plane.kubectl("apply", "-f", str(DEPLOY / "crds-metallb.yaml"))
    wait(lambda: serves_pools(world.plane), "the API to serve pools")
    world.plane.put(pool("203.0.113.0/29"))


@controllers.each
def test_controllers(leading, row):
    check(row, leading)
