# SPDX-License-Identifier: Apache-2.0
"""The fault table, pods: sysctls of the node's ends that somebody changes, which the agent may not mend."""

import shutil
from pathlib import Path

import pytest
from faults import Table, check
from lab import objects, wait
from lab.pod_wiring import WiredPod

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


class World:
    """A node with two pods, and no service NAT, which would tell of forwarding itself."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        lab.write("node.yaml", *[item for item in self.node.objects() if item["kind"] != "AddressBlock"],
                  objects.address_block("pods-0", self.node.role, "10.224.1.0/30", "fd00:224::100/126"))
        self.agent = lab.agent(self.node, pods={"enabled": True})
        self.pods = [WiredPod(lab, self.node, self.agent, name).add() for name in ("one", "two")]
        self.end = self.pods[0].plan["hostInterface"]

    def sysctl(self, key, value):
        self.node.set_sysctls({key.replace(".", "/"): value})

    def reaches(self):
        for family in (4, 6):
            wait(lambda: self.pods[0].ping(self.pods[1].address(family)), "pod one to reach pod two")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows(401, code="pod-end-accepts-ra",
      cause=("net.ipv6.conf.veth", ".accept_ra: is 2 on the node's end of Pod default/one, and not 0",
                  "router advertisements"), remedy=("sysctl -w net.ipv6.conf.veth", ".accept_ra=0"))
def an_end_listens_to_router_advertisements(world):
    world.sysctl(f"net.ipv6.conf.{world.end}.accept_ra", 2)
    yield
    world.sysctl(f"net.ipv6.conf.{world.end}.accept_ra", 0)


@rows(402, code="pod-node-not-forwarding", health="failed",
      cause=("net.ipv4.ip_forward: is 0, and not 1: no packet reaches a pod",),
      remedy="sysctl -w net.ipv4.ip_forward=1")
def the_node_forwards_no_ipv4(world):
    world.sysctl("net.ipv4.ip_forward", 0)
    yield
    world.sysctl("net.ipv4.ip_forward", 1)
    world.reaches()


@rows(403, code="pod-node-not-forwarding", health="failed",
      cause=("net.ipv6.conf.all.forwarding: is 0, and not 1: no packet reaches a pod",),
      remedy="sysctl -w net.ipv6.conf.all.forwarding=1")
def the_node_forwards_no_ipv6(world):
    world.sysctl("net.ipv6.conf.all.forwarding", 0)
    yield
    world.sysctl("net.ipv6.conf.all.forwarding", 1)
    world.reaches()


@rows(404, code="pod-end-not-forwarding",
      cause=("net.ipv4.conf.veth", ".forwarding: is 0 on the node's end of Pod default/one, and not 1",
                  "what the pod sends is not forwarded"), remedy=("sysctl -w net.ipv4.conf.veth", ".forwarding=1"))
def an_end_forwards_nothing(world):
    world.sysctl(f"net.ipv4.conf.{world.end}.forwarding", 0)
    yield
    world.sysctl(f"net.ipv4.conf.{world.end}.forwarding", 1)
    world.reaches()


@rows(405, code="pod-end-without-ipv6",
      cause=("net.ipv6.conf.veth", ".disable_ipv6: is 1 on the node's end of Pod default/one, and not 0"),
      remedy=("sysctl -w net.ipv6.conf.veth", ".disable_ipv6=0"), beside="this route of a pod cannot be written")
def an_end_has_no_ipv6(world):
    world.sysctl(f"net.ipv6.conf.{world.end}.disable_ipv6", 1)
    yield
    world.sysctl(f"net.ipv6.conf.{world.end}.disable_ipv6", 0)
    world.reaches()


@rows(407, code="pod-end-mac-changed",
      cause=("Pod default/one", "is cut off", "veth", "has the MAC address 02:11:22:33:44:55 now"),
      remedy=("ip link set veth", "address "))
def an_end_gets_another_mac_address(world):
    [link] = world.node.ip_json("link", "show", world.end)
    world.node.ip("link", "set", world.end, "address", "02:11:22:33:44:55")
    yield
    world.node.ip("link", "set", world.end, "address", link["address"])
    world.reaches()


@rows(408, code="pod-end-enslaved",
      cause=("Pod default/one", "is cut off", "is a port of bridge br9"), remedy=("ip link set veth", "nomaster"))
def an_end_is_put_into_a_bridge(world):
    world.node.ip("link", "add", "br9", "type", "bridge")
    world.node.ip("link", "set", world.end, "master", "br9")
    yield
    world.node.ip("link", "set", world.end, "nomaster")
    world.node.ip("link", "del", "br9")
    world.reaches()


@rows(409, code="pod-end-without-arp",
      cause=("Pod default/one", "is cut off", "has no ARP"), remedy=("ip link set veth", "arp on"))
def an_end_has_no_arp(world):
    world.node.ip("link", "set", world.end, "arp", "off")
    yield
    world.node.ip("link", "set", world.end, "arp", "on")
    world.reaches()


@rows(410, code="pod-end-mtu-reduced",
      cause=("Pod default/one", "has MTU 1400 now, and the pod was given 1500"), remedy=("ip link set veth", "mtu 1500"))
def an_end_gets_a_smaller_mtu(world):
    world.node.ip("link", "set", world.end, "mtu", "1400")
    yield
    world.node.ip("link", "set", world.end, "mtu", "1500")


@rows(411)
def an_end_gets_a_larger_mtu(world):
    world.node.ip("link", "set", world.end, "mtu", "9000")
    yield
    world.node.ip("link", "set", world.end, "mtu", "1500")


@rows(412, code="pod-end-mtu-reduced",
      cause=("Pod default/one", "has MTU 1000 now", "all of IPv6"), remedy=("ip link set veth", "mtu 1500"))
def an_end_is_too_small_for_ipv6(world):
    world.node.ip("link", "set", world.end, "mtu", "1000")
    yield
    world.node.ip("link", "set", world.end, "mtu", "1500")
    world.sysctl(f"net.ipv6.conf.{world.end}.accept_ra", 0)
    world.reaches()


@rows(413, heals=True)
def a_cleaner_removes_the_agents_socket(world):
    Path(world.agent.socket).unlink()
    yield
    wait(lambda: world.agent.ctl("status", "--brief").code == 0, "the socket")
    yield


@rows(414, heals=True)
def a_cleaner_removes_the_state(world):
    state = Path(world.agent.settings["paths"]["state"])
    found = {path.name for path in state.iterdir()}
    shutil.rmtree(state)
    yield
    wait(lambda: state.is_dir() and {path.name for path in state.iterdir()} == found, "its files")
    yield


@rows(406, code="pod-end-not-forwarding",
      cause=".forwarding: is 0 on the node's end of Pod default/two", remedy=".forwarding=1")
def a_pod_goes_with_its_fault(world):
    world.sysctl(f"net.ipv4.conf.{world.pods[1].plan['hostInterface']}.forwarding", 0)
    yield
    world.pods[1].delete()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
