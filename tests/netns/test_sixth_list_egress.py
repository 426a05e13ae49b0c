# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, egress: each row was written down before it was tried (tests/sixth_list.txt)."""

import pytest
from attached import attachments, strip
from faults import Table, check
from lab import wait_equal
from test_egress import egress, pod_object
from test_fifth_list_egress import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nat=True, nodes=3), pytest.mark.shared]
rows = Table("sixth_list")
LAYER = "egress-links"


@rows(732, cause=("Egress internet/", "0.0.0.0/0", "is also a destination of Egress"), remedy="only one of the two",
      beside="is also a destination of Egress")
def a_pod_names_two_egresses_with_one_destination(world):
    world.lab.write("second.yaml", egress("second"))
    world.lab.write("pods.yaml", pod_object(world.pod, "nat,second"))
    yield
    world.lab.write("pods.yaml", pod_object(world.pod))
    (world.lab.manifests / "second.yaml").unlink()
    yield
    world.leaves()


@rows(733, heals=True)
def the_program_is_detached_from_the_pods_interface(world):
    before = attachments(world.agent, LAYER)
    assert any(device == world.pod.host_end for device, _ in before), before
    strip(world.agent, world.pod.host_end, LAYER)
    yield
    wait_equal(lambda: attachments(world.agent, LAYER), before, "the programs to be back")
    yield
    world.leaves()


@rows(734, cause=("egress.yaml:", "0.0.0.0/33"), remedy=("",))
def a_destination_is_too_long(world):
    world.lab.write("egress.yaml", egress(destinations=("0.0.0.0/33", "::/0")))
    yield
    world.lab.write("egress.yaml", egress())
    yield
    world.leaves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world.of(world.node))
