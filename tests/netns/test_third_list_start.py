# SPDX-License-Identifier: Apache-2.0
"""The third list of the fault table, starts: each row was written down before it was tried (tests/third_list.txt)."""

import pytest
from faults import Table, check
from lab import wait
from test_fault_table_start import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows(339, cause=("api.listen", "Address already in use"), remedy="name another port there")
def the_port_of_metrics_is_taken(world):
    other = world.node.start("python3", "-m", "http.server", "9394", "--bind", "127.0.0.1", log="metrics.log")
    wait(lambda: ":9394" in world.node.run("ss", "-Hltn").stdout, "the other program")
    world.agent.settings["api"] = {"listen": "127.0.0.1:9394"}
    world.restart()
    yield
    other.kill()
    other.wait()
    del world.agent.settings["api"]
    world.restart()


@rows(340, cause="the folder of manifests is missing", remedy="make it, or name another", health="failed", beside="not announced")
def the_folder_of_manifests_never_was_there(world):
    away = world.lab.manifests.rename(world.lab.manifests.with_name("elsewhere"))
    world.restart(ready=False)
    wait(world.agent.socket.exists, "the agent's socket")
    yield
    away.rename(world.lab.manifests)
    world.served()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
