# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, the data plane: each row was written down before it was tried
(tests/ninth_list.txt). Row 1022 is missing: a chain of output that drops is not told (docs/troubleshooting.md)."""

import pytest
from faults import Table, check
from lab.traffic import Datagrams
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401
from test_third_list_data import served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("ninth_list")


@rows(1019)
def the_agent_is_killed_and_started_again(world):
    world.agent.kill()
    world.agent.start()
    yield
    served(world)
    yield


def asks(world, service):
    """Clients that get no answer; who asks makes the kernel look for the pod."""
    address = next(each for each in service.announced() if ":" not in each)
    for _ in range(3):
        with Datagrams(world.lab.client, address, 80) as flow:
            try:
                flow.who()
            except OSError:
                pass


@rows(1020, cause=("nobody answers for 10.224.",), remedy="see that the pod", beside=FOLLOWS)
def a_pod_loses_its_address(world):
    pod = world.one
    pod.ip("addr", "del", f"{pod.address4}/32", "dev", "eth0")
    world.node.ip("neigh", "flush", "dev", pod.host_end)
    asks(world, world.single)
    yield
    pod.ip("addr", "add", f"{pod.address4}/32", "dev", "eth0")
    pod.ip("route", "replace", "default", "via", world.node.address4, "dev", "eth0", "onlink")
    asks(world, world.single)
    yield
    served(world)


@rows(1021, cause=("nobody answers for 10.224.",), remedy="ip route get", beside=FOLLOWS)
def the_route_leads_to_another_pod(world):
    one, two = world.one, world.two
    world.node.ip("route", "replace", f"{one.address4}/32", "dev", two.host_end)
    asks(world, world.single)
    yield
    world.node.ip("route", "replace", f"{one.address4}/32", "dev", one.host_end)
    yield
    served(world)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
