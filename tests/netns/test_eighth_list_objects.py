# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, objects and configuration: each row was written down before it was tried
(tests/eighth_list.txt)."""

import subprocess

import pytest
import yaml
from faults import Table, check
from lab import objects, wait_equal
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401
from test_fourth_list_objects import other

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("eighth_list")


@rows(902, cause=("other.yaml:", "203.0.113.30/32"), remedy=ITSELF)
def an_external_ip_has_a_length(world):
    return other(world, lambda service, part: service["spec"].update(externalIPs=["203.0.113.30/32"]))


@rows(909, cause=("other.yaml:", "http"), remedy=ITSELF)
def two_ports_have_one_name(world):
    return other(world, lambda service, part: service["spec"].update(
        ports=[{"name": "http", "port": 80}, {"name": "http", "port": 81}]))


def configured(world, **sections):
    agent = world.agent
    settings = {**agent.settings, **{name: {**agent.settings.get(name, {}), **keys} for name, keys in sections.items()}}
    agent.write_config(yaml.safe_dump(settings))
    agent.process.send_signal(1)
    yield
    world.reload()


@rows(911, cause=("web.yaml", "Not a directory"), remedy="name a folder in source.manifests", health="failed")
def the_folder_of_manifests_is_a_file(world):
    """Nothing has been read since the start, which is worse than the list expects."""
    agent = world.agent
    kept = agent.settings["source"]

    def start(source):
        agent.stop()
        agent.settings["source"] = source
        agent.write_config()
        agent.start(ready=False)
    start({"manifests": str(world.lab.manifests / "web.yaml")})
    yield
    start(kept)
    yield


@rows(912, cause=("agentd.yaml:", "table"), remedy=ITSELF)
def the_table_is_a_name(world):
    return configured(world, routes={"table": "bgp"})


@rows(915, cause=("state", "nothing can be written here any more"), remedy="mount -o remount,rw")
def the_state_becomes_read_only(world):
    folder = world.agent.settings["paths"]["state"]
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    world.other(OTHER)
    wait_equal(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), True, "the other Service")
    yield
    subprocess.run(["umount", "-l", folder], check=True)
    world.remove("other.yaml")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
