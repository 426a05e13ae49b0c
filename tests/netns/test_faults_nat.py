# SPDX-License-Identifier: Apache-2.0
"""Faults of service NAT itself: its programs, maps and interface, and the interfaces of pods."""

import ctypes
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import siege
from attached import attachments, call, strip
from bpf import structure, u32, u64
from faults import Table, check
from lab import wait, wait_equal
from lab.lab import mount_bpffs
from lab.traffic import Connection, ask
from nat_world import FOLLOWS, asks, pinned, served, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows, small = Table(), Table()


@rows()
def svc0_is_down(world):
    world.node.ip("link", "set", "svc0", "down")
    yield


@rows()
def svc0_is_deleted(world):
    world.node.ip("link", "del", "svc0")
    yield


@rows("nat-endpoint-unreachable", cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside="no way to")
def a_pods_interface_is_down(world):
    """Expected: as a route that is gone, since the kernel drops the route with it."""
    world.node.ip("link", "set", world.one.host_end, "down")
    yield
    world.restore_pod(world.one)
    world.announced(world.web, world.single)


@rows()
def a_pods_interface_goes_and_the_slice_follows(world):
    """Expected: no fault, as a pod's deletion is none; the other pod serves on."""
    pod = world.lab.pod(world.node, "third")
    world.web.write(world.two, pod)
    yield
    world.lab.remove_pod(pod)
    world.web.write(world.one, world.two)


VIP = "203.0.113.10"


@rows()
def the_pins_are_deleted(world):
    """Expected: no harm while the agent runs: they are made again, and nothing is lost."""
    folder = Path(world.agent.settings["paths"]["bpf"])
    found = pinned(folder)
    world.node.run("sh", "-c", f"find {folder} -type f -delete; find {folder} -mindepth 1 -type d -delete")
    wait_equal(lambda: pinned(folder), found, "the pins")
    yield
    world.announced(world.web, world.single)


@rows()
def svc0_has_another_name(world):
    """Expected: svc0 is there again, as after a deletion."""
    world.node.ip("link", "set", "svc0", "down")
    world.node.ip("link", "set", "svc0", "name", "svc9")
    wait(lambda: "svc0" in str(world.node.ip("-br", "link")), "svc0 again")
    yield


@rows("address-of-interface", cause=VIP, remedy=f"ip addr del {VIP} dev lo")
def the_address_stands_on_the_loopback(world):
    """Expected: what keepalived or an older balancer left is told: this machine takes the address for its own."""
    world.node.ip("addr", "add", f"{VIP}/32", "dev", "lo")
    yield
    world.node.ip("addr", "del", f"{VIP}/32", "dev", "lo")
    world.announced(world.web)


@rows("address-cluster-ip-local", cause=("Service default/web", "is an address of interface nodelocaldns, too"),
      remedy="ip addr del")
def a_cache_has_a_cluster_ip_on_an_interface(world):
    address, _ = world.web.address("clusterIP", 4)
    world.node.ip("link", "add", "nodelocaldns", "type", "bridge")
    world.node.ip("addr", "add", f"{address}/32", "dev", "nodelocaldns")
    yield
    world.node.ip("link", "del", "nodelocaldns")
    served(world)


@rows()
def networkmanager_touches_svc0(world):
    world.node.ip("addr", "add", "192.168.1.7/24", "dev", "svc0")
    world.node.ip("link", "set", "svc0", "mtu", "1280")
    yield
    world.node.ip("addr", "flush", "dev", "svc0", "scope", "global")
    served(world)


@rows("nat-endpoint-unreachable", cause=("no way to", "it is an address of lo, too"), remedy="ip addr del", beside=FOLLOWS)
def a_pods_address_stands_on_lo(world):
    world.node.ip("addr", "add", f"{world.one.address4}/32", "dev", "lo")
    yield
    world.node.ip("addr", "del", f"{world.one.address4}/32", "dev", "lo")
    served(world)


@rows("nat-endpoint-unreachable", cause=("no way to", "has no carrier"), remedy="ip -br link", beside=FOLLOWS)
def a_pods_own_end_is_down(world):
    pod = world.one
    pod.ip("link", "set", "eth0", "down")
    yield
    traced = world.agent.json("trace", world.lab.client.address4, f"{world.single.announced()[0]}:80/TCP")
    assert "which has no carrier: it is lost" in str(traced), traced
    pod.ip("link", "set", "eth0", "up")
    pod.configure(f"addr replace {pod.address6}/128 dev eth0 nodad",
                  f"route replace default via {world.node.address4} dev eth0 onlink",
                  "route replace default via fe80::1 dev eth0")
    served(world)


@rows()
def svc0p_is_set_down(world):
    world.node.ip("link", "set", "svc0p", "down")
    yield
    served(world)


@rows()
def somebody_deletes_the_qdisc_of_the_uplink(world):
    world.node.run("tc", "qdisc", "add", "dev", "eth0", "clsact", check=False)
    world.node.run("tc", "qdisc", "del", "dev", "eth0", "clsact")
    yield
    served(world)


PROGRAM_LOAD, LINK_CREATE, SCHED_CLS, TCX_INGRESS, BEFORE = 5, 28, 3, 46, 1 << 3
# r0 = TCX_PASS; exit
PASSES = bytes.fromhex("b700000000000000" "9500000000000000")
LoadAttributes = structure("LoadAttributes", ("type", u32), ("count", u32), ("insns", u64), ("license", u64),
                           ("rest", u32 * 24))
LinkAttributes = structure("LinkAttributes", ("program", u32), ("ifindex", u32), ("type", u32), ("flags", u32),
                           ("relative", u32), ("pad", u32), ("revision", u64))


def stranger_before_ours(node, device):
    """Somebody's program that lets all pass, first of all at an interface; it is there while the answer is open."""
    attributes = LoadAttributes(type=SCHED_CLS, count=2)
    attributes.point("insns", ctypes.create_string_buffer(PASSES))
    attributes.point("license", ctypes.create_string_buffer(b"GPL"))
    program = call(PROGRAM_LOAD, attributes)
    [index] = [link["ifindex"] for link in node.ip_json("link", "show", device)]
    with node.entered():
        return call(LINK_CREATE, LinkAttributes(program=program, ifindex=index, type=TCX_INGRESS, flags=BEFORE))


@rows(within=1, heals=True)
def somebody_removes_the_pins_of_the_maps(world):
    folder = Path(world.agent.settings["paths"]["bpf"])
    found = pinned(folder)
    for name in found:
        (folder / name).unlink()
    yield
    wait_equal(lambda: pinned(folder), found, "the pins")
    yield
    served(world)


@rows(within=1, heals=True)
def a_strangers_program_is_before_ours(world):
    """NAT puts itself in front again, where the kernel has TCX."""
    world.link = stranger_before_ours(world.node, "eth0")
    yield
    address, port = world.web.address("loadBalancer", 4)
    wait(lambda: ask(world.lab.client, address, port, timeout=0.5).name, "NAT to be first again")
    yield
    os.close(world.link)


@rows(within=1, heals=True)
def our_program_is_detached_from_a_pods_interface(world):
    before = attachments(world.agent)
    strip(world.agent, world.one.host_end)
    yield
    wait_equal(lambda: attachments(world.agent), before, "the programs to be back")
    yield
    served(world)


@rows(within=1)
def somebody_renames_a_pods_interface(world):
    world.node.ip("link", "set", world.one.host_end, "name", "vethcalix7")
    yield
    served(world)
    world.node.ip("link", "set", "vethcalix7", "name", world.one.host_end)
    yield
    served(world)


@rows("nat-pins-without-bpffs", within=1, cause=("/bpf", "is not on a bpf file system"), remedy="mount -t bpf")
def somebody_unmounts_the_bpf_file_system(world):
    folder = world.agent.settings["paths"]["bpf"]
    subprocess.run(["umount", "-l", folder], check=True)
    yield
    mount_bpffs(folder)
    yield
    served(world)


class Small:
    """A node that has room for few connections."""

    def __init__(self, lab):
        self.lab = siege.build(lab, maps={"flows": 1024})
        self.agent = lab.agent_here


@small("nat-flows-full", within=1, lingers=10, cause=("services.maps.flows", "full"), remedy="raise services.maps.flows")
def the_table_of_flows_is_full(world):
    where = world.lab.web.address("loadBalancer", 4)
    held = []
    with suppress(OSError):
        while len(held) < 1200:
            held.append(Connection(world.lab.client, *where, timeout=0.5))
    yield
    for connection in held:
        connection.close()
    yield


@rows(within=5)
def the_agent_is_killed_and_started_again(world):
    world.agent.kill()
    world.agent.start()
    yield
    served(world)
    yield


@rows("nat-pod-silent", within=5, cause=("nobody answers for 10.224.",), remedy="see that the pod", beside=FOLLOWS)
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


@rows.each
def test_told_and_gone(world, row):
    check(row, world)


@small.each
def test_full(lab, row):
    check(row, Small(lab))
