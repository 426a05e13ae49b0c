# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, what stands before the API: each row was written down before it was tried
(tests/sixth_list.txt)."""

from faults import Table, check
from scripted import WATCH
from test_fault_table_api import world_fixture  # noqa: F401

rows = Table("sixth_list")


def end_at_once(request):
    request.begin()
    request.chunk(b"")


@rows(737, cause="the watch ended too soon", remedy="time limit", beside="the watch ended too soon")
def a_proxy_ends_each_watch(world):
    world.api.fail(WATCH, end_at_once)
    world.api.end_watches()
    yield
    world.api.mend()


@rows(738, cause="kubeconfig", remedy="kubeconfig")
def the_kubeconfig_was_overwritten(world):
    file = world.folder / "kubeconfig"
    kept = file.read_text(encoding="utf-8")
    file.write_text("# moved to the other machine\n", encoding="utf-8")
    world.agent.reload()
    yield
    file.write_text(kept, encoding="utf-8")
    world.agent.reload()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
