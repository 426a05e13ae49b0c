# SPDX-License-Identifier: Apache-2.0
"""Forwarding that is off: of the interface of a pod, of a gateway's uplink, of the node."""

import pytest
from lab import wait
from test_egress import BOTH, seen, wait_seen, world_fixture  # noqa: F401

pytestmark = pytest.mark.lab(nat=True, nodes=3)
ALL = {4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding"}
ALONE = pytest.mark.parametrize("world", ["beside another proxy"], indirect=True)


def codes(agent):
    return {(fault["code"], fault["place"]) for fault in agent.faults()}


def told(agent, code, key):
    wait(lambda: (code, key.replace("/", ".")) in codes(agent), f"{code} of {key}")


def switch(host, family, interface, on):
    host.set_sysctls({f"net/ipv{family}/conf/{interface}/forwarding": on})


@BOTH
@pytest.mark.parametrize("world", ["nat", "beside another proxy"], indirect=True)
def test_a_pods_interface(world, family):
    """The kernel has no route for what comes by it, in IPv6 as well; where NAT is on, it is NAT's fault alone."""
    wait_seen(world, family, world.gateways)
    name, agent = world.guest.host_end, world.first.agents[0]
    nat = agent.settings["services"]["enabled"]
    switch(world.first, family, name, 0)
    told(agent, "nat-interface-not-forwarding" if nat else "egress-pod-interface-not-forwarding",
         f"net/ipv{family}/conf/{name}/forwarding")
    assert len(agent.faults()) == 1
    assert seen(world, family) is None
    switch(world.first, family, name, 1)
    wait_seen(world, family, world.gateways)
    wait(lambda: agent.faults() == [], "no fault is left")


@BOTH
@ALONE
def test_a_gateways_uplink(world, family):
    wait_seen(world, family, world.gateways)
    agent = world.gateways[0].agents[0]
    switch(world.gateways[0], family, "eth0", 0)
    told(agent, "egress-uplink-not-forwarding", f"net/ipv{family}/conf/eth0/forwarding")
    switch(world.gateways[0], family, "eth0", 1)
    wait(lambda: agent.faults() == [], "no fault is left")


@BOTH
@ALONE
def test_the_node(world, family):
    """One fault, and none of its interfaces."""
    wait_seen(world, family, world.gateways)
    agent = world.first.agents[0]
    world.first.set_sysctls({ALL[family]: 0})
    told(agent, "egress-forwarding-off", ALL[family])
    assert [fault["code"] for fault in agent.faults()] == ["egress-forwarding-off"]
    assert seen(world, family) is None
    world.first.set_sysctls({ALL[family]: 1})
    wait_seen(world, family, world.gateways)
    wait(lambda: agent.faults() == [], "no fault is left")
