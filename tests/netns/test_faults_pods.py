# SPDX-License-Identifier: Apache-2.0
"""Faults of a node that gives pods their addresses."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from doctor_mistakes import CNI, OURS, Patient, etc
from faults import Table, check, wait_quiet
from lab import objects, wait, wait_equal
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


@rows("pod-end-accepts-ra", cause=("net.ipv6.conf.veth", ".accept_ra: is 2 on the node's end of Pod default/one, and not 0",
                                        "router advertisements"), remedy=("sysctl -w net.ipv6.conf.veth", ".accept_ra=0"))
def an_end_listens_to_router_advertisements(world):
    world.sysctl(f"net.ipv6.conf.{world.end}.accept_ra", 2)
    yield
    world.sysctl(f"net.ipv6.conf.{world.end}.accept_ra", 0)


@rows("pod-node-not-forwarding", health="failed", cause=("net.ipv4.ip_forward: is 0, and not 1: no packet reaches a pod",),
      remedy="sysctl -w net.ipv4.ip_forward=1")
def the_node_forwards_no_ipv4(world):
    world.sysctl("net.ipv4.ip_forward", 0)
    yield
    world.sysctl("net.ipv4.ip_forward", 1)
    world.reaches()


@rows("pod-node-not-forwarding", health="failed",
      cause=("net.ipv6.conf.all.forwarding: is 0, and not 1: no packet reaches a pod",),
      remedy="sysctl -w net.ipv6.conf.all.forwarding=1")
def the_node_forwards_no_ipv6(world):
    world.sysctl("net.ipv6.conf.all.forwarding", 0)
    yield
    world.sysctl("net.ipv6.conf.all.forwarding", 1)
    world.reaches()


@rows("pod-end-not-forwarding",
      cause=("net.ipv4.conf.veth", ".forwarding: is 0 on the node's end of Pod default/one, and not 1",
                  "what the pod sends is not forwarded"), remedy=("sysctl -w net.ipv4.conf.veth", ".forwarding=1"))
def an_end_forwards_nothing(world):
    world.sysctl(f"net.ipv4.conf.{world.end}.forwarding", 0)
    yield
    world.sysctl(f"net.ipv4.conf.{world.end}.forwarding", 1)
    world.reaches()


@rows("pod-end-without-ipv6",
      cause=("net.ipv6.conf.veth", ".disable_ipv6: is 1 on the node's end of Pod default/one, and not 0"),
      remedy=("sysctl -w net.ipv6.conf.veth", ".disable_ipv6=0"), beside="this route of a pod cannot be written")
def an_end_has_no_ipv6(world):
    world.sysctl(f"net.ipv6.conf.{world.end}.disable_ipv6", 1)
    yield
    world.sysctl(f"net.ipv6.conf.{world.end}.disable_ipv6", 0)
    world.reaches()


@rows("pod-end-mac-changed", cause=("Pod default/one", "is cut off", "veth", "has the MAC address 02:11:22:33:44:55 now"),
      remedy=("ip link set veth", "address "))
def an_end_gets_another_mac_address(world):
    [link] = world.node.ip_json("link", "show", world.end)
    world.node.ip("link", "set", world.end, "address", "02:11:22:33:44:55")
    yield
    world.node.ip("link", "set", world.end, "address", link["address"])
    world.reaches()


@rows("pod-end-enslaved", cause=("Pod default/one", "is cut off", "is a port of bridge br9"),
      remedy=("ip link set veth", "nomaster"))
def an_end_is_put_into_a_bridge(world):
    world.node.ip("link", "add", "br9", "type", "bridge")
    world.node.ip("link", "set", world.end, "master", "br9")
    yield
    world.node.ip("link", "set", world.end, "nomaster")
    world.node.ip("link", "del", "br9")
    world.reaches()


@rows("pod-end-without-arp", cause=("Pod default/one", "is cut off", "has no ARP"), remedy=("ip link set veth", "arp on"))
def an_end_has_no_arp(world):
    world.node.ip("link", "set", world.end, "arp", "off")
    yield
    world.node.ip("link", "set", world.end, "arp", "on")
    world.reaches()


@rows("pod-end-mtu-reduced", cause=("Pod default/one", "has MTU 1400 now, and the pod was given 1500"),
      remedy=("ip link set veth", "mtu 1500"))
def an_end_gets_a_smaller_mtu(world):
    world.node.ip("link", "set", world.end, "mtu", "1400")
    yield
    world.node.ip("link", "set", world.end, "mtu", "1500")


@rows()
def an_end_gets_a_larger_mtu(world):
    world.node.ip("link", "set", world.end, "mtu", "9000")
    yield
    world.node.ip("link", "set", world.end, "mtu", "1500")


@rows("pod-end-mtu-reduced", cause=("Pod default/one", "has MTU 1000 now", "all of IPv6"),
      remedy=("ip link set veth", "mtu 1500"))
def an_end_is_too_small_for_ipv6(world):
    world.node.ip("link", "set", world.end, "mtu", "1000")
    yield
    world.node.ip("link", "set", world.end, "mtu", "1500")
    world.sysctl(f"net.ipv6.conf.{world.end}.accept_ra", 0)
    world.reaches()


@rows(heals=True)
def a_cleaner_removes_the_agents_socket(world):
    Path(world.agent.socket).unlink()
    yield
    wait(lambda: world.agent.ctl("status", "--brief").code == 0, "the socket")
    yield


@rows(heals=True)
def a_cleaner_removes_the_state(world):
    state = Path(world.agent.settings["paths"]["state"])
    found = {path.name for path in state.iterdir()}
    shutil.rmtree(state)
    yield
    wait(lambda: state.is_dir() and {path.name for path in state.iterdir()} == found, "its files")
    yield


@rows("pod-end-not-forwarding", cause=".forwarding: is 0 on the node's end of Pod default/two", remedy=".forwarding=1")
def a_pod_goes_with_its_fault(world):
    world.sysctl(f"net.ipv4.conf.{world.pods[1].plan['hostInterface']}.forwarding", 0)
    yield
    world.pods[1].delete()
    yield
    world.pods[1] = WiredPod(world.lab, world.node, world.agent, "fresh").add()


def write_nodes(world, *blocks):
    world.lab.write("node.yaml", *[item for item in world.node.objects() if item["kind"] != "AddressBlock"], *blocks)


@rows("pod-interface-gone", within=1, cause=("Pod default/three", "interface"), remedy="pod")
def somebody_deletes_a_pods_interface(world):
    pod = WiredPod(world.lab, world.node, world.agent, "three").add()
    world.node.ip("link", "del", pod.plan["hostInterface"])
    yield
    pod.delete()
    yield


@rows(within=1, heals=True)
def somebody_removes_routes_and_alias(world):
    pod = world.pods[0]
    for family in (4, 6):
        world.node.ip(f"-{family}", "route", "del", pod.address(family), "dev", world.end)
    world.node.configure(f'link set {world.end} alias ""')
    yield
    wait_equal(lambda: world.node.ip_json("link", "show", world.end)[0].get("ifalias"), pod.plan["alias"], "the alias")
    yield
    world.reaches()


@rows("pod-address-outside-blocks", within=1, cause=("Pod default/one", "block"), remedy="AddressBlock", beside="block")
def the_block_is_deleted(world):
    write_nodes(world)
    yield
    write_nodes(world, objects.address_block("pods-0", world.node.role, "10.224.1.0/30", "fd00:224::100/126"))
    yield
    world.reaches()


@rows(within=1)
def rp_filter_is_strict_on_a_pods_interface(world):
    key = f"net.ipv4.conf.{world.end}.rp_filter"
    before = world.node.run("sysctl", "-n", key).stdout.strip()
    world.sysctl(key, 1)
    yield
    wait(lambda: world.pods[0].ping(world.pods[1].address(4)), "pod one to reach pod two")
    world.sysctl(key, before)


BLOCK = "10.224.1.0/30"


def shown(world, *words):
    return world.node.ip("route", "show", *words)


@rows(within=1, heals=True)
def a_blackhole_replaces_the_route_to_a_pod(world):
    address = world.pods[0].address(4)
    world.node.ip("route", "replace", "blackhole", address)
    yield
    wait(lambda: f"dev {world.end}" in shown(world, f"{address}/32"), "the route")
    yield
    world.reaches()


@rows("pod-address-stray", within=1, cause=(".", "eth0", "is not given to pods: a route leads to it"),
      remedy="delete the route")
def a_route_to_a_free_address_leads_elsewhere(world):
    taken = {pod.address(4) for pod in world.pods}
    [free, *_] = [f"10.224.1.{last}" for last in range(4) if f"10.224.1.{last}" not in taken]
    world.node.ip("route", "add", f"{free}/32", "dev", "eth0")
    yield
    world.node.ip("route", "del", f"{free}/32", "dev", "eth0")


@rows(within=1, heals=True)
def somebody_removes_the_guard_of_the_block(world):
    before = shown(world, BLOCK)
    assert "unreachable" in before
    world.node.ip("route", "flush", BLOCK)
    yield
    wait(lambda: shown(world, BLOCK) == before, "the guard")
    yield


@rows("pod-end-down", within=1, cause=("Pod default/one", "is down"), remedy="ip link set veth")
def a_pods_interface_is_set_down(world):
    world.node.ip("link", "set", world.end, "down")
    yield
    world.node.ip("link", "set", world.end, "up")
    yield
    world.node.ip("addr", "replace", "fe80::1/64", "dev", world.end, "nodad")
    world.reaches()


@rows("pod-no-free-address", within=1, cause=("default", "address"), remedy="AddressBlock", beside="address")
def a_pod_is_to_start_and_no_address_is_free(world):
    more = [WiredPod(world.lab, world.node, world.agent, name).add() for name in ("five", "six")]
    late = WiredPod(world.lab, world.node, world.agent, "late")
    assert late.want()[0] == 503
    yield
    for pod in more:
        pod.delete()
    late.add()
    yield
    late.delete()


@rows(within=1)
def somebody_empties_the_state_folder(world):
    for path in Path(world.agent.settings["paths"]["state"]).iterdir():
        path.unlink()
    yield
    world.reaches()
    yield


def test_another_list_sorts_before_ours(world):
    asked = SimpleNamespace(node=world.node, agent=world.agent, settings=world.agent.settings, wrapper=())
    with etc(asked, {CNI: OURS, "cni/net.d/05-cilium.conflist": '{"plugins": [{"type": "cilium-cni"}]}'}):
        [line] = [line for line in Patient.doctor(asked) if line["check"] == "pods.network"]
    assert all(name in str(line) for name in ("05-cilium.conflist", "10-fingerpost.conflist")), line
    assert line["remedy"], line
    wait_quiet(world.agent, "nothing to be wrong")


@rows(within=1, heals=True)
def somebody_deletes_the_rule_of_pods(world):
    rules = world.node.ip("rule")
    for rule in rules.splitlines():
        number, words = rule.split(":", 1)
        if number not in ("0", "32766", "32767"):
            world.node.ip("rule", "del", "pref", number)
    yield
    wait(lambda: world.node.ip("rule") == rules, "the rule to be back")
    world.reaches()
    yield


def test_the_program_of_the_plugin_is_gone(world):
    asked = SimpleNamespace(node=world.node, agent=world.agent, settings=world.agent.settings, wrapper=())
    with etc(asked, {CNI: OURS, "opt/cni/bin/bridge": ""}, plugin=None):
        [line] = [line for line in Patient.doctor(asked) if line["check"] == "pods.plugin"]
    assert (line["verdict"], line["remedy"]) == ("failed", "agent-cni install, as root")
    assert line["found"].startswith("/opt/cni/bin/agent-cni: "), line
    wait_quiet(world.agent, "nothing to be wrong")


@rows("pod-address-outside-blocks", within=1, cause=("Pod default/one", "is in no block of this node"), remedy="AddressBlock",
      beside="block")
def the_block_is_another_nodes(world):
    def block(node):
        return objects.address_block("pods-0", node, "10.224.1.0/30", "fd00:224::100/126")
    write_nodes(world, block("node9"), objects.node("node9", ["10.0.9.2", "fd00:0:0:9::2"]))
    yield
    write_nodes(world, block(world.node.role))
    yield
    world.reaches()


def test_our_list_of_plugins_is_gone(world):
    asked = SimpleNamespace(node=world.node, agent=world.agent, settings=world.agent.settings, wrapper=())
    with etc(asked, {"cni/net.d/.keep": ""}):
        lines = [line for line in Patient.doctor(asked) if line["check"] == "pods.network"]
    assert len(lines) == 1, lines
    assert "/etc/cni/net.d" in lines[0]["found"] and lines[0]["remedy"] == "agent-cni install, as root", lines
    wait_quiet(world.agent, "nothing to be wrong")


@rows(within=1)
def a_second_block_comes(world):
    world.lab.write("more.yaml", objects.address_block("pods-1", world.node.role, "10.224.1.4/30", "fd00:224::104/126", index=1))
    wait(lambda: "blackhole 10.224.1.4/30 proto 30" in world.node.table(119), "the second block")
    yield
    (world.lab.manifests / "more.yaml").unlink()


def restore(pod):
    """What a pod loses with its interface."""
    plan = pod.plan
    [link] = pod.node.ip_json("link", "show", plan["hostInterface"])
    pod.configure("link set eth0 up", *(f"addr replace {address} dev eth0 nodad" for address in plan["addresses"]))
    for gateway in plan["gateways"]:
        pod.configure(f"neigh replace {gateway} lladdr {link['address']} nud permanent dev eth0")
        if ":" not in gateway:
            pod.configure(f"route replace {gateway} dev eth0 scope link")
    pod.configure(*(f"route replace {route['to']} via {route['via']} dev eth0" for route in plan["routes"]))


@rows("pod-end-unplugged", within=1, cause="default/one", remedy="ip link set")
def a_pods_own_end_is_set_down(world):
    pod = world.pods[0]
    pod.ip("link", "set", "eth0", "down")
    yield
    restore(pod)
    yield
    world.reaches()


@rows("pod-address-local", cause=("Pod default/one", "is cut off: lo has its address 10.224.1."),
      remedy="ip addr del 10.224.1.")
def the_node_has_a_pods_address(world):
    address = f"{world.pods[0].address(4)}/32"
    world.node.ip("addr", "add", address, "dev", "lo")
    yield
    world.node.ip("addr", "del", address, "dev", "lo")
    yield
    world.reaches()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
