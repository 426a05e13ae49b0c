# SPDX-License-Identifier: Apache-2.0
"""The fifth list of the fault table, pools of addresses: each row was written down before it was tried
(tests/fifth_list.txt)."""

import pytest
from faults import Table, check
from test_pools_given import ALLOCATE, FIRST, FIRST6, announced, pool, service
from served import pods

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("fifth_list")
SECOND = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": {"name": "second", "namespace": "lb"},
          "spec": {"addresses": [f"{FIRST}/31"]}}


class World:
    """A pool of four addresses of each family, and a Service that has one."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        lab.write_nodes()
        [self.pod] = pods(lab, "one").values()
        pool(lab, f"{FIRST}/30", f"{FIRST6}/126")
        service(lab, "web", 1, self.pod)
        self.agent = lab.agent(self.node, **ALLOCATE)
        announced(lab, FIRST, FIRST6)


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows(627, cause=("Service default/last", "lb"), remedy="pool", beside=("address",))
def the_pool_is_used_up(world):
    names = ("two", "three", "four", "last")
    for number, name in enumerate(names, 2):
        service(world.lab, name, number, world.pod)
        if name != "last":
            announced(world.lab, FIRST.replace("64", str(62 + number + 1)))
    yield
    for name in names:
        (world.lab.manifests / f"{name}.yaml").unlink()


@rows(628, cause=("lb/second", "older IPAddressPool lb/lb"), remedy="take the range out of one of the two")
def a_second_pool_overlaps_the_first(world):
    world.lab.write("second.yaml", SECOND)
    yield
    (world.lab.manifests / "second.yaml").unlink()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
