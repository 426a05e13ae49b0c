# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, pools of addresses: each row was written down before it was tried
(tests/eighth_list.txt)."""

import pytest
from faults import Table, check
from test_fault_table_objects import ITSELF
from test_fifth_list_pools import world_fixture  # noqa: F401
from test_pools_given import announced, service
from test_seventh_list_pools import THIRD, second

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("eighth_list")


@rows(923, cause=("second.yaml:", "addresses"), remedy=ITSELF, beside="second")
def a_pool_is_empty(world):
    return second(world)


@rows(924, cause=("second.yaml:", "avoidBuggyIPs"), remedy=ITSELF, beside="second")
def a_switch_is_a_text(world):
    return second(world, "203.0.113.80/30", avoidBuggyIPs="yes")


@rows(925, cause=("Service default/young", "default/old"), remedy="address", beside="pending, has no")
def two_share_an_address_by_different_words(world):
    single = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}
    asks = {"fingerpost.io/loadBalancerIPs": THIRD}
    service(world.lab, "old", 8, world.pod, annotations={**asks, "fingerpost.io/allow-shared-ip": "one"}, clusterIPs=["10.96.0.8"],
            **single)
    announced(world.lab, THIRD)
    service(world.lab, "young", 9, world.pod, annotations={**asks, "fingerpost.io/allow-shared-ip": "two"}, clusterIPs=["10.96.0.9"],
            ports=[{"name": "p", "port": 81, "protocol": "TCP"}], **single)
    yield
    for name in ("young.yaml", "old.yaml"):
        (world.lab.manifests / name).unlink()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
