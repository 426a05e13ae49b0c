# SPDX-License-Identifier: Apache-2.0
"""A tenant who means harm: with more endpoints than there is room for, and with addresses that are
others'. It costs nobody else anything. In numbers, and with latencies, it is part of the soak."""

import pytest
import siege
from lab.traffic import ask, serve
from served import FAMILIES, KINDS, address_of, announced

pytestmark = pytest.mark.lab(nodes=1, nat=True)
ELSEWHERE = 389  # a port of whoever has the address
CROWDS, EACH = 8, 500


def unharmed(world, service, pod):
    for family in FAMILIES:
        for client, kind in [(world.client, kind) for kind in KINDS[1:]] + [(world.guest, "clusterIP")]:
            got = ask(client, *service.address(kind, family, world.node))
            assert got.name == pod.role, (service, kind, family)


def keep_their_addresses(world):
    """The node and a pod, on ports that no Service has."""
    for host in (world.node, world.guest):
        for family in FAMILIES:
            assert ask(world.client, address_of(host, family), ELSEWHERE).name == host.role
            assert ask(world.pods["two1"], address_of(host, family), ELSEWHERE).name == host.role


def test_a_hostile_tenant(lab):
    world = siege.build(lab, maps={"endpoints": 2000, "services": 64})
    agent, (one, two) = world.agent_here, world.pods.values()
    for host in (world.node, world.guest):
        serve(host, ELSEWHERE)
    held, before = siege.hold(world, 2), siege.announced_of(world.node)
    assert set(world.web.of["loadBalancer"]) <= set(before)
    for number in range(CROWDS):
        world.write(f"crowd{number}.yaml", *siege.crowd(f"crowd{number}", EACH))
    world.write("thefts.yaml", *siege.thefts(world))
    agent.settled()
    full = [fault for fault in agent.faults() if "crowd" in fault["place"]]
    assert full and all("hostile" in f"{fault}" for fault in full), agent.faults()
    assert siege.announced_of(world.node) == before
    keep_their_addresses(world)

    # The neighbours go on: with what they have, with changes, and with more of it.
    for pod in (one, two, one):
        world.web.write(pod)
        agent.settled()
        unharmed(world, world.web, pod)
    fresh = siege.Neighbour(world, "fresh", 33)
    fresh.write(one)
    agent.settled()
    announced(world, fresh, world.node)
    unharmed(world, fresh, one)
    assert siege.broken(held) == 0
    assert {item["service"].split("/")[0] for item in agent.json("verify")["items"]} == {"hostile"}
