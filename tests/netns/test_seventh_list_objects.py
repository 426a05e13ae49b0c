# SPDX-License-Identifier: Apache-2.0
"""The seventh list of the fault table, objects and configuration: each row was written down before it was tried
(tests/seventh_list.txt)."""

import os
import shutil

import pytest
import yaml
from cluster import VIP
from faults import Table, check
from lab import objects, wait_equal
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401
from test_fourth_list_objects import other
from test_pools_given import pool

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("seventh_list")


def link(target, name):
    """Switches a link as git-sync does: the new one is put over the old."""
    made = name.with_name("made")
    made.symlink_to(target)
    os.replace(made, name)


@rows(801, heals=True)
def the_folder_is_a_link_that_is_switched(world):
    folder = world.lab.manifests
    first, second = folder.with_name("first"), folder.with_name("second")
    folder.rename(first)
    folder.symlink_to(first)
    wait_equal(world.agent.faults, [], "the link to be read")
    shutil.copytree(first, second)
    text = (second / "web.yaml").read_text(encoding="utf-8")
    (second / "web.yaml").write_text(text.replace(VIP, OTHER), encoding="utf-8")
    link(second, folder)
    yield
    wait_equal(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), True, "what is there now")
    yield
    folder.unlink()
    first.rename(folder)


@rows(802, says={f"explain {OTHER}": "headless"})
def a_headless_service_has_an_external_ip(world):
    world.other(externalIPs=[OTHER], type="ClusterIP", clusterIP="None", clusterIPs=["None"])
    yield
    world.remove("other.yaml")


@rows(803, cause=("other.yaml:", "timeoutSeconds"), remedy=ITSELF)
def an_affinity_lasts_for_no_time(world):
    return other(world, lambda service, part: service["spec"].update(
        sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}))


@rows(804, cause=("agentd.yaml:", "listen"), remedy=ITSELF)
def the_api_listens_at_a_port_alone(world):
    agent = world.agent
    agent.write_config(yaml.safe_dump({**agent.settings, "api": {"listen": 9394}}))
    agent.process.send_signal(1)
    yield
    world.reload()


@rows(807, cause=("other.yaml:", "fingerpost.io/announce", "annotation"), remedy=ITSELF)
def an_annotation_stands_among_the_labels(world):
    return other(world, lambda service, part: service["metadata"].update(labels={"fingerpost.io/announce": "false"}))


def advertised(world, **spec):
    """A pool that all have an advertisement of, and another advertisement."""
    def made(name, **more):
        return {"apiVersion": "metallb.io/v1beta1", "kind": "BGPAdvertisement",
                "metadata": objects.metadata(name, "lb"), "spec": more}
    pool(world.lab, "203.0.113.0/24", "fd00:203::/112")
    world.lab.write("all.yaml", made("all"))
    wait_equal(world.agent.faults, [], "pools and an advertisement of all")
    world.lab.write("some.yaml", made("some", **spec))
    yield
    for name in ("some.yaml", "all.yaml", "pools.yaml"):
        world.remove(name)


@rows(808, cause="BGPAdvertisement lb/some", remedy="nodeSelectors")
def an_advertisement_selects_no_node(world):
    return advertised(world, nodeSelectors=[{"matchLabels": {"rack": "nowhere"}}])


@rows(809, cause=("BGPAdvertisement lb/some", "gold"), remedy="pool")
def an_advertisement_names_a_pool_that_is_not_there(world):
    return advertised(world, ipAddressPools=["gold"])


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
