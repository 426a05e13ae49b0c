# SPDX-License-Identifier: Apache-2.0
"""Routes that the programs keep for a tick of the kernel's clock: a flow follows a change of routes,
takes no other flow's way, and what the twins say is true at once."""

import random
import subprocess
from contextlib import contextmanager

import abi
import pytest
from bpf import REDIRECT, SHOT
from egress import GATEWAY
from lab import wait
from packets import frame
from test_egress_client import go_out, packet
from test_egress_gateway import POD, SERVER, inside, tunnel
from test_flows import web
from test_verdicts import CLIENT, POD1, VIP, ends
from world import MACS

ROUNDS = 12  # of a change: most come within the tick of the packet before
PODS = {4: "10.244.9.{}", 6: "fd00:244:9::{:x}"}


class Routes:
    """Changes routes within a fraction of a tick: one `ip` that runs all the time."""

    def __init__(self):
        self.ip = subprocess.Popen(["stdbuf", "-oL", "ip", "-oneline", "-batch", "-"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def change(self, *commands):
        """They are in force when this returns: what the last one shows comes after them."""
        self.ip.stdin.write("".join(f"{command}\n" for command in (*commands, "link show lo")))
        self.ip.stdin.flush()
        assert "LOOPBACK" in self.ip.stdout.readline()

    def close(self):
        self.ip.communicate()
        assert self.ip.returncode == 0


@pytest.fixture(name="routes")
def routes_fixture(world):  # pylint: disable=unused-argument # `ip` is of its namespace
    routes = Routes()
    yield routes
    routes.close()


@contextmanager
def unreachable(routes, address):
    """While this holds, no way leads there."""
    routes.change(f"route add unreachable {address} metric 1")
    try:
        yield
    finally:
        routes.change(f"route del unreachable {address} metric 1")


@contextmanager
def pod_gone(routes, family):
    routes.change(f"route del {POD1[family]} dev pod1",
                  f"route add unreachable {POD1[family]}")
    try:
        yield
    finally:
        routes.change(f"route del unreachable {POD1[family]}",
                      f"route add {POD1[family]} dev pod1")


def ask_web(family, protocol):
    return frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, protocol)


def test_a_flow_follows_a_change(nat, family, routes):
    """Within ticks, and back."""
    web(nat, family, abi.UDP, POD1)
    sent = ask_web(family, abi.UDP)
    assert nat.send("uplink_in", sent).verdict == REDIRECT
    with pod_gone(routes, family):
        wait(lambda: nat.send("uplink_in", sent).verdict == SHOT, "the route is gone", 0.1)
    wait(lambda: nat.send("uplink_in", sent).verdict == REDIRECT, "the route is back", 0.1)


def test_what_is_kept_is_no_bigger_than_the_next_hop(nat, family):
    """The size is a part of the question."""
    web(nat, family, abi.UDP, POD1)
    small = ask_web(family, abi.UDP)
    ip_ = {"flags": "DF"} if family == 4 else {}
    large = frame("uplink_in", CLIENT[family], 40000, VIP[family], 80, abi.UDP, payload=b"x" * 1600,
                  ip=ip_)
    for _ in range(3):
        assert ends(nat.send("uplink_in", small).packet)[2:] == (POD1[family], 8080)
        nat.send("uplink_in", large, complete=False)
    assert nat.refusals() == {"too-big": 3}


def test_many_next_hops_at_once(nat, family, world):
    """Flows to 400 endpoints, half of which can't be reached, in any order: to each its own."""
    pods = [PODS[family].format(number) for number in range(1, 201 if family == 4 else 401)]
    ways = {pod: bool(number % 2) for number, pod in enumerate(pods)}
    world.ip("".join(f"route add {pod} via {'192.0.2.1' if family == 4 else '2001:db8:2::1'}\n"
                     if there else f"route add unreachable {pod}\n" for pod, there in ways.items()))
    try:
        flows = []
        for number, (pod, there) in enumerate(ways.items()):
            web_port = 1000 + number
            nat.service(VIP[family], web_port, [(pod, 8080)], protocol=abi.UDP)
            sent = frame("uplink_in", CLIENT[family], 40000, VIP[family], web_port, abi.UDP)
            flows.append((sent, there))
        for seed in range(3):
            random.Random(seed).shuffle(flows)
            for sent, there in flows:
                assert nat.send("uplink_in", sent).verdict == (REDIRECT if there else SHOT)
    finally:
        world.ip("".join(f"route del {pod}\n" if there else f"route del unreachable {pod}\n"
                         for pod, there in ways.items()))


def test_nat_twin(nat, family, routes):
    """What an agent asks for just after a change is what holds now."""
    web(nat, family, abi.UDP, POD1)
    sent = ask_web(family, abi.UDP)
    for _ in range(ROUNDS):
        wait(lambda: nat.send("uplink_in", sent).verdict == REDIRECT, "the way is back", 0.1)
        with pod_gone(routes, family):
            assert nat.ask("uplink_in", sent).route
        assert not nat.ask("uplink_in", sent).route


def test_client_twin(client, family, routes):
    go_out(client, family)
    sent = packet(family)
    routes.change(f"neighbour replace {GATEWAY[family]} lladdr {MACS['eth0p']} dev eth0")
    for _ in range(ROUNDS):
        assert client.twin(sent).found == "sent"
        with unreachable(routes, GATEWAY[family]):
            assert client.twin(sent).cause == "no-route"
    routes.change(f"neighbour del {GATEWAY[family]} dev eth0")


def test_gateway_twin(gateway, family, routes):
    gateway.client(POD[family])
    sent = tunnel(family, inside(family))
    for _ in range(ROUNDS):
        wait(lambda: gateway.send(sent).verdict == REDIRECT, "the way is back", 0.1)
        assert gateway.twin(sent)[0] == "sent"
        with unreachable(routes, SERVER[family]):
            assert gateway.twin(sent)[0] == "no-route"
