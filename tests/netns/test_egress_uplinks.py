# SPDX-License-Identifier: Apache-2.0
"""A gateway with two uplinks, behind routers that check sources: its one address is of the network of
one of them, and what leaves by the other is dropped there. A fault says so."""

import pytest
from lab import wait, wait_equal
from lab.traffic import serve
from test_egress import BOTH, PORT, address, egress, pod_object, seen, write_nodes

pytestmark = pytest.mark.lab(nat=True, nodes=2)
ROUTER = {4: "10.9.2.1", 6: "fd00:9:2::1"}
SECOND = {4: "10.9.2.2", 6: "fd00:9:2::2"}
BITS = {4: 24, 6: 64}
OUTSIDE = {4: "192.0.2.0/24", 6: "2001:db8:c::/64"}


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    lab.guest = lab.pod(lab.first, "guest")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.agent(lab.first, egress={"enabled": True}, services={"enabled": False})
    lab.keeper = lab.agent(lab.gateway, egress={"gateway": {}}, services={"enabled": False})
    lab.wait_sessions()
    lab.tor.configure(f"link add second type veth peer name eth1 netns {lab.gateway.name}",
                      *(f"addr add {ROUTER[family]}/{BITS[family]} dev second" for family in (4, 6)),
                      "link set second up")
    lab.gateway.configure(*(f"addr add {SECOND[family]}/{BITS[family]} dev eth1" for family in (4, 6)),
                          "link set eth1 up")
    serve(lab.client, PORT)
    return lab


def strangers(world):
    return [fault["message"] for fault in world.keeper.faults() if fault["code"] == "egress-gateway-source-of-other-uplink"]


def lead(world, family, *ways):
    hops = " ".join(f"nexthop via {router} dev {link}" for router, link in ways)
    world.gateway.ip(f"-{family}", "route", "replace", "default", *hops.split())


@BOTH
def test_the_other_uplink(world, family):
    wait(lambda: seen(world, family) == address(world.gateway, family), "the pod leaves by the gateway")
    assert strangers(world) == []
    first = (getattr(world.gateway, f"gateway{family}"), "eth0")
    lead(world, family, first, (ROUTER[family], "eth1"))
    wait_equal(lambda: strangers(world), [
        f"what leaves by eth1, whose address is {SECOND[family]}, has {address(world.gateway, family)} "
        "of eth0 as its source: routers that check sources drop it"], "a fault names both")
    if family == 4:  # Linux checks no sources of IPv6 by itself
        world.gateway.ip("route", "add", OUTSIDE[4], "via", ROUTER[4], "dev", "eth1")
        wait(lambda: seen(world, family) is None, "the router drops it")
        world.gateway.ip("route", "del", OUTSIDE[4], "via", ROUTER[4], "dev", "eth1")
    world.gateway.ip(f"-{family}", "route", "del", "default")
    lead(world, family, first)
    wait_equal(lambda: strangers(world), [], "no fault is left")
    wait(lambda: seen(world, family) == address(world.gateway, family), "the pod is served")


def test_addresses_of_the_configuration(world):
    """The fabric has routes to them, or a proof tells."""
    lead(world, 4, (world.gateway.gateway4, "eth0"), (ROUTER[4], "eth1"))
    wait(lambda: strangers(world), "the fault")
    world.keeper.settings["egress"] = {"gateway": {"addresses": ["203.0.113.77"]}}
    world.keeper.write_config()
    world.keeper.reload()
    wait_equal(lambda: strangers(world), [], "no fault is left")
