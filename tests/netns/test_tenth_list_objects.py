# SPDX-License-Identifier: Apache-2.0
"""The tenth list of the fault table, objects and configuration: each row was written down before it was tried
(tests/tenth_list.txt)."""

import os

import pytest
from faults import Table, check
from lab import objects, wait
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401
from test_fourth_list_objects import other, reload
from test_third_list_bgp import WITHOUT, restart_agent

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("tenth_list")
CONFLICT = """<<<<<<< HEAD
  name: web
=======
  name: shop
>>>>>>> shop
"""


@rows(1107, cause="web.yaml:", remedy=ITSELF)
def a_manifest_has_the_marks_of_a_conflict(world):
    assert "  name: web\n" in world.web
    world.write(world.web.replace("  name: web\n", CONFLICT, 1))
    yield
    world.write(world.web)


@rows(1108, cause=("other.yaml:", "internalTrafficPolicy"), remedy=ITSELF)
def an_internal_policy_is_misspelt(world):
    return other(world, lambda service, part: service["spec"].update(internalTrafficPolicy="local"))


@rows(1109, cause=("other.yaml:", "sessionAffinity"), remedy=ITSELF)
def an_affinity_is_a_boolean(world):
    return other(world, lambda service, part: service["spec"].update(sessionAffinity=True))


def another(world):
    return objects.service("other", [OTHER]), objects.slice_of("other", [objects.endpoint("10.224.0.1", world.node.role)])


@rows(1110, cause=("other.yaml", "may not be read"), remedy="let the user that the agent runs as read it")
def a_manifest_may_not_be_read(world):
    """As root the agent may read all: it is started without these rights."""
    restart_agent(world, ("setpriv", "--bounding-set", WITHOUT, "--inh-caps", WITHOUT))
    draft, file = world.lab.manifests / ".other", world.lab.manifests / "other.yaml"
    world.lab.write(draft.name, *another(world))
    os.chown(draft, 65534, 65534)
    draft.chmod(0o600)
    draft.rename(file)
    yield
    file.unlink()
    restart_agent(world)


@rows(1111)
def a_manifest_ends_in_yml(world):
    world.lab.write("other.yml", *another(world))
    wait(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), "the other Service")
    yield
    world.remove("other.yml")


@rows(1112, cause=("agentd.yaml:", "snatPorts"), remedy=ITSELF)
def ports_are_the_wrong_way_around(world):
    return reload(world, "services:\n", "services:\n  snatPorts: 65535-10000\n")


@rows(1113, cause=("agentd.yaml:", "mode"), remedy=ITSELF)
def the_firewall_is_on(world):
    return reload(world, "services:\n", "services:\n  firewall: {mode: on}\n")


@rows(1114, cause=("agentd.yaml:", "path", "firewall"), remedy=ITSELF)
def the_firewall_marks_what_goes_past_it(world):
    return reload(world, "services:\n", "services:\n  path: direct\n  firewall: {mode: mark}\n")


@rows(1115, cause=("agentd.yaml:", "probeInterval"), remedy=ITSELF)
def probes_come_too_often(world):
    return reload(world, "services:\n", "egress: {probeInterval: 10ms}\nservices:\n")


@rows(1116, cause=("agentd.yaml:", "uplinks"), remedy=ITSELF)
def a_key_stands_a_level_too_high(world):
    return reload(world, "services:\n", "uplinks: [eth0]\nservices:\n")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
