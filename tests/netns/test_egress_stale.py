# SPDX-License-Identifier: Apache-2.0
"""A gateway whose agent is dead or hangs knows no pod that comes since. It says so in its answers to
probes; new pods leave by others, pods that it knows stay, and both sides tell."""

import os
import signal
import time

import pytest
from lab import wait, wait_equal
from lab.traffic import Connection, serve
from test_egress import BOTH, PORT, address, egress, pod_object, seen, states, told, write_nodes

pytestmark = pytest.mark.lab(nat=True, nodes=3)
STALE_S, SOON_S, GRAIN_S = 10, 2, 2
NEW_PODS = 8


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.first, *lab.gateways = lab.nodes
    write_nodes(lab, *lab.gateways)
    lab.guest = lab.pod(lab.first, "guest")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.agent(lab.first, egress={"enabled": True}, services={"enabled": False})
    for node in lab.gateways:
        lab.agent(node, egress={"gateway": {}}, services={"enabled": False})
    lab.wait_sessions()
    for block in (lab.first.block4, lab.first.block6):
        wait_equal(lambda: lab.tor.via(block), {lab.first.role}, "the pods' block on the ToR")
    serve(lab.client, PORT)
    for family in (4, 6):
        wait(lambda: seen(lab, family), "the pod is served")
    old = time.monotonic() + GRAIN_S
    wait(lambda: time.monotonic() > old, "the pod is older than what a heartbeat tells apart")
    return lab


def roll_out(world):
    """New pods, as many that each gateway would have some of them."""
    pods = [world.pod(world.first, f"new{at}") for at in range(NEW_PODS)]
    world.write("pods.yaml", pod_object(world.guest), *(pod_object(pod) for pod in pods))
    return pods


def of_code(node, code):
    return [fault for fault in node.agents[0].faults() if fault["code"] == code]


def wait_stale(world, gateway, wanted="stale"):
    wait(lambda: {states(world)[address(gateway, family)] for family in (4, 6)} == {wanted},
         f"{gateway.role} is {wanted}", timeout=STALE_S + SOON_S + 8)


def served(world, pods, family):
    return [seen(world, family, protocol, pod) for pod in pods for protocol in ("TCP", "UDP")]


@pytest.mark.parametrize("how", ("killed", "hung"))
def test_new_pods_leave_by_others(world, how):
    old = {family: seen(world, family) for family in (4, 6)}
    bad = next(node for node in world.gateways if node.address4 == old[4])
    [good] = [node for node in world.gateways if node is not bad]
    agent = bad.agents[0]
    pid = agent.process.pid
    kept = Connection(world.guest, world.client.address4, PORT)
    if how == "killed":
        agent.kill()
    else:
        os.kill(pid, signal.SIGSTOP)
    pods = roll_out(world)
    wait_stale(world, bad)
    for family in (4, 6):
        wait(lambda: set(served(world, pods, family)) == {address(good, family)},
             "all new pods are served, by the other gateway", timeout=SOON_S + NEW_PODS)
        assert {seen(world, family) for _ in range(4)} == {old[family]}, "who was known stays"
    assert kept.who().peer == old[4]
    [fault, _] = of_code(world.first, "egress-gateway-stale")
    assert fault["place"] == "Egress internet/nat" and bad.address4 in fault["message"]
    if how == "killed":
        agent.start()
    else:
        os.kill(pid, signal.SIGCONT)
    wait_stale(world, bad, "active")
    wait(lambda: {peer for family in (4, 6) for peer in served(world, pods, family)} == {
        address(node, family) for node in world.gateways for family in (4, 6)}, "both are used again")
    wait_equal(world.first.agents[0].faults, [], "no fault is left")
    assert kept.who().peer == old[4]
    kept.close()
    if how == "hung":
        wait_equal(lambda: of_code(bad, "egress-gateway-not-following"), [], "nor on the gateway")


def test_all_are_stale(world):
    """Then they are used as before, and the faults say so: pods that they know are served."""
    old = {family: seen(world, family) for family in (4, 6)}
    for node in world.gateways:
        node.agents[0].kill()
    wait(lambda: len(of_code(world.first, "egress-gateways-stale")) == 4, "a fault of each",
         timeout=STALE_S + 10)
    assert set(states(world).values()) == {"active"}
    assert {family: seen(world, family) for family in (4, 6)} == old
    for node in world.gateways:
        node.agents[0].start()
    wait_equal(world.first.agents[0].faults, [], "no fault is left")


@BOTH
def test_a_restart_moves_nobody(world, family):
    """No state is another one at any time while both gateways' agents are restarted."""
    used = seen(world, family)
    log = world.first.agents[0].log
    for node in world.gateways:
        node.agents[0].stop()
        node.agents[0].start()
        assert seen(world, family) == used
        assert told(node.agents[0])["gateway"]["phase"] == "serving"
    assert "learns of no new clients" not in log.read_text()
