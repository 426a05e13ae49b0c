# SPDX-License-Identifier: Apache-2.0
"""The second list of the fault table, objects and configuration: each row was written down before it was tried."""

import os
import shutil
import signal
import subprocess

import pytest
import yaml
from cluster import VIP
from faults import Table, check
from lab import objects
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows(225, cause=("folder.yaml", "is a folder, not a file"), remedy=ITSELF)
def a_manifest_is_a_folder(world):
    """Expected: told by its name, since what is in it is not read."""
    folder = world.lab.manifests / "folder.yaml"
    folder.mkdir()
    yield
    folder.rmdir()


@rows(226, cause=("pipe.yaml", "is a named pipe, not a file"), remedy=ITSELF)
def a_manifest_is_a_pipe(world):
    """Expected: told, and never waited for."""
    os.mkfifo(world.lab.manifests / "pipe.yaml")
    yield
    world.remove("pipe.yaml")


@rows(227, cause=("loop.yaml", "is a link that leads in a circle"), remedy=ITSELF)
def a_link_leads_to_itself(world):
    """Expected: told by the file's name."""
    (world.lab.manifests / "loop.yaml").symlink_to("loop.yaml")
    yield
    world.remove("loop.yaml")


@rows(228, health="healthy")
def a_manifest_is_a_list_as_kubectl_prints(world):
    """Expected: no fault; the List's items count as documents of their own."""
    items = list(yaml.safe_load_all(world.web))
    world.write(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    yield
    world.write(world.web)


@rows(229, cause=("other.yaml:", '"10.96.0.300" is not an IP address'), remedy=ITSELF)
def a_cluster_ip_is_no_address(world):
    """Expected: told by file and line; the other addresses of the Service stand."""
    world.other(OTHER, clusterIP="10.96.0.300", clusterIPs=["10.96.0.300"])
    yield
    world.remove("other.yaml")


@rows(230, cause=("AddressBlock default-0", "has 10.224.0.9, an address of Service default/other"),
      remedy="give the Service an address of its own")
def an_address_is_in_a_pod_block(world):
    """Expected: told by name, since a pod may have it."""
    world.other("10.224.0.9")
    yield
    world.remove("other.yaml")


@rows(231, cause=("AddressBlock default-0", "overlaps AddressBlock default-99 of node node7"),
      remedy="delete the AddressBlock in which its node has no pods")
def blocks_of_two_nodes_overlap(world):
    """Expected: told, with both blocks' names: two nodes would announce the same pods."""
    world.lab.write("blocks.yaml", objects.node("node7", ["10.0.7.2"]),
                    objects.address_block("default-99", "node7", "10.224.0.0/28"))
    yield
    world.remove("blocks.yaml")


@rows(232, cause=("Node node1", "its InternalIP 10.0.1.2 is also Node node7's"),
      remedy="delete the Node that is none any more")
def two_nodes_have_one_address(world):
    """Expected: told with both names, since a copy of a machine joins like this."""
    world.lab.write("copy.yaml", objects.node("node7", ["10.0.1.2"]))
    yield
    world.remove("copy.yaml")


@rows(233, says={f"explain {OTHER}": f"{OTHER} is announced"})
def an_address_is_mapped_into_ipv6(world):
    """Expected to be refused; but Kubernetes takes it for the IPv4 address, and so does the agent."""
    world.other("::ffff:203.0.113.30")
    yield
    world.remove("other.yaml")


@rows(234, says={f"explain {VIP}": f"{VIP} is announced"})
def an_address_has_a_leading_zero(world):
    """Expected to be refused; but Kubernetes reads it as decimal, and so does the agent."""
    world.write(world.web.replace(VIP, "203.0.113.010", 1))
    yield
    world.write(world.web)


@rows(235, cause=("web.yaml:", "addressType"), remedy=ITSELF, beside="addressType")
def a_slice_has_addresses_of_the_other_family(world):
    """Expected: told by file and line."""
    world.write(world.web.replace("addressType: IPv4", "addressType: IPv6", 1))
    yield
    world.write(world.web)


@rows(236, cause=("other.yaml:", "type", "twice"), remedy=ITSELF)
def a_key_is_written_twice(world):
    """Expected: refused by file and line, since YAML has no answer which one counts."""
    world.write("apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec:\n"
                "  type: ClusterIP\n  type: LoadBalancer\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows(237, cause=("agentd.yaml:1:1", "source is missing"), remedy=ITSELF)
def the_configuration_is_empty_at_a_reload(world):
    """Expected: refused for its missing source; the old one stays in force."""
    world.agent.config_file.write_text("")
    world.agent.process.send_signal(signal.SIGHUP)
    yield
    world.reload()


@rows(238, cause=("nothing can be written here any more", "No space left on device"), remedy="make room on that file system")
def the_disk_of_the_state_is_full(world):
    """Nothing has to be written until a drain, which is refused then."""
    state = world.agent.settings["paths"]["state"]
    full(world, state)
    answer = world.agent.ctl("drain")
    assert answer.code != 0 and "No space left on device" in answer.err, answer
    yield
    subprocess.run(["umount", state], check=True)


def full(world, folder):
    """A file system without a free page over a folder: the agent's own process lives in the same mounts."""
    kept = world.node.folder / "kept"
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "full", folder], check=True)
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    subprocess.run(["dd", "if=/dev/zero", f"of={folder}/filler", "bs=4k"], stderr=subprocess.DEVNULL, check=False)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
