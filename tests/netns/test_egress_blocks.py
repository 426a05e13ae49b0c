# SPDX-License-Identifier: Apache-2.0
"""Blocks of source ports go back when their flows are over: a burst is not kept for life."""

import re

import pytest
from lab import wait, wait_equal
from lab.traffic import Connection, serve
from test_egress import BOTH, PORT, address, egress, pod_object, seen, told, write_nodes

pytestmark = pytest.mark.lab(nat=True, nodes=2)
BLOCK, BLOCKS, EACH = 8, 8, 4
TIMEOUTS = {"tcpOpening": "2s", "tcpHalfClosed": "2s", "tcpClosed": "2s",
            "udp": "2s", "udpStream": "2s"}


@pytest.fixture(name="world")
def world_fixture(lab):
    first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    lab.bursts, lab.third = [lab.pod(first, "one"), lab.pod(first, "two")], lab.pod(first, "three")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", *map(pod_object, (*lab.bursts, lab.third)))
    lab.agent(first, egress={"enabled": True}, services={"enabled": False})
    lab.agent(lab.gateway, services={"enabled": False}, egress={"gateway": {
        "ports": f"20000-{20000 + BLOCKS * BLOCK - 1}", "portBlock": BLOCK, "blocksPerClient": EACH,
        "timeouts": TIMEOUTS}})
    lab.wait_sessions()
    for block in (first.block4, first.block6):
        wait_equal(lambda: lab.tor.via(block), {first.role}, "the pods' block on the ToR")
    serve(lab.client, PORT)
    return lab


def use(world):
    gateway = told(world.gateway.agents[0])["gateway"]
    blocks = {item["address"]: item["blocks"] for item in gateway["clients"]}
    return gateway["ports"]["blocksUsed"], blocks


def burst(world, pod, family):
    def connects():
        return Connection(pod, address(world.client, family), PORT, timeout=2)

    first = wait(connects, f"{pod} is served")
    return [first, *(connects() for _ in range(EACH * BLOCK - 1))]


@BOTH
def test_after_a_burst(world, family):
    kept = None
    for pod in world.bursts:
        held = burst(world, pod, family)
        kept = kept or held.pop()
        for connection in held:
            connection.close()
    used, blocks = use(world)
    assert used == BLOCKS and all(len(blocks[address(pod, family)]) == EACH for pod in world.bursts)
    assert seen(world, family, pod=world.third) is None, "nothing is left for the third"
    def full():
        return [fault for fault in world.gateway.agents[0].faults() if re.search(
            rf"no block of source ports is left: {BLOCKS} are of 2 clients, \d of them idle; \S+ has {EACH}$",
            fault["message"])]
    (fault,) = wait(full, "who has the blocks")
    assert fault["code"] == "egress-gateway-blocks-exhausted"
    assert "blocksPerClient" in fault["remedy"] or "portBlock" in fault["remedy"]
    wait(lambda: seen(world, family, pod=world.third), "the third pod gets a block", timeout=60)
    wait(lambda: use(world)[0] <= 4, "the rest goes back, too", timeout=60)
    one, two = (use(world)[1][address(pod, family)] for pod in world.bursts)
    port = kept.who().port
    assert any(block["first"] <= port <= block["last"] for block in one), "what a connection has stays"
    assert len(one) <= 2 and len(two) == 1
    lines = world.gateway.agents[0].log.read_text()
    assert f"are taken back from, given to {address(world.bursts[1], family)}" in lines
    for connection in burst(world, world.bursts[1], family):
        connection.close()
