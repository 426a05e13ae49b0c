# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, addresses of pods: each row was written down before it was tried
(tests/seventh_list.txt)."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from doctor_mistakes import CNI, OURS, Patient, etc
from faults import Table, check, wait_quiet
from lab.pod_wiring import WiredPod
from test_fault_table_pods import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("seventh_list")


@rows(831, cause=("default", "address"), remedy="AddressBlock", beside="address")
def a_pod_is_to_start_and_no_address_is_free(world):
    more = [WiredPod(world.lab, world.node, world.agent, name).add() for name in ("three", "four")]
    late = WiredPod(world.lab, world.node, world.agent, "late")
    assert late.want()[0] == 503
    yield
    for pod in more:
        pod.delete()
    late.add()
    yield
    late.delete()


@rows(833)
def somebody_empties_the_state_folder(world):
    for path in Path(world.agent.settings["paths"]["state"]).iterdir():
        path.unlink()
    yield
    world.reaches()
    yield


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@pytest.mark.parametrize("number", [832])
def test_another_list_sorts_before_ours(world, number):
    asked = SimpleNamespace(node=world.node, agent=world.agent, settings=world.agent.settings, wrapper=())
    with etc(asked, {CNI: OURS, "cni/net.d/05-cilium.conflist": '{"plugins": [{"type": "cilium-cni"}]}'}):
        [line] = [line for line in Patient.doctor(asked) if line["check"] == "pods.network"]
    assert all(name in str(line) for name in ("05-cilium.conflist", "10-fingerpost.conflist")), line
    assert line["remedy"], number
    wait_quiet(world.agent, "nothing to be wrong")
