# SPDX-License-Identifier: Apache-2.0
"""The node of test_faults_{pools,blocks}.py: one that gives Services addresses of pools."""

import pytest
from served import pods
from test_pools_given import ALLOCATE, FIRST, FIRST6, announced, pool, service

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
