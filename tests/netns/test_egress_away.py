# SPDX-License-Identifier: Apache-2.0
"""Gateways that fail, and gateways that leave: what their clients' nodes find out, and how soon."""

import os
import time

import pytest
from lab import wait, wait_equal
from lab.traffic import Connection
from moments import Stopwatch
from test_egress import BOTH, PORT, address, seen, states, told, wait_seen, world_fixture  # noqa: F401

pytestmark = [
    pytest.mark.lab(nat=True, nodes=3),
    pytest.mark.parametrize("world", ["beside another proxy"], indirect=True),
]
TIMES = {"drain": {"shutdown": "1s", "withdraw": "1s"}}


def used(world, family):
    """(the gateway that the pod's flows take, the other one)"""
    wait_seen(world, family, world.gateways)
    wait(lambda: all(gateway["answersProbes"] for item in told(world.first.agents[0])["items"]
                     for gateway in item["gateways"]), "all gateways have answered")
    by = seen(world, family)
    host, other = sorted(world.gateways, key=lambda gateway: address(gateway, family) != by)
    return host, other


def kill(world, host):
    """As if its power were cut: nothing comes from it any more."""
    world.tor.run("nft", "-f", "-", text=f"""table netdev cut-{host.role} {{
        chain arriving {{ type filter hook ingress device {host.role} priority 0; policy drop; }}
    }}""")


def revive(world, host):
    world.tor.run("nft", "delete", "table", "netdev", f"cut-{host.role}")


def faults(world):
    return [fault["code"] for fault in world.first.agents[0].json("faults")["items"]]


@BOTH
def test_a_gateway_dies(world, family):
    """New connections leave by the other within two seconds, whatever routes and the API say."""
    host, other = used(world, family)
    kill(world, host)
    watch = Stopwatch(world.first.agents[0].process.pid, os.getpid())
    wait_seen(world, family, [other])
    assert watch.seconds(time.monotonic()) < 2.5  # a connection that is not answered takes one of them
    wait_equal(lambda: states(world)[address(host, family)], "silent", "its state")
    assert states(world)[address(other, family)] == "active"
    assert "egress-gateway-silent" in faults(world)
    # The next agent knows, though it has never heard of this gateway.
    world.first.agents[0].kill()
    world.first.agents[0].start()
    assert states(world)[address(host, family)] == "silent"
    assert seen(world, family) == address(other, family)
    with Connection(world.guest, address(world.client, family), PORT, timeout=20) as connection:
        revive(world, host)
        wait_equal(lambda: states(world)[address(host, family)], "active", "its state")
        assert connection.put(b"x" * 1000)
    wait_seen(world, family, [host])
    wait(lambda: not faults(world), "no fault is left")


def test_all_are_silent(world):
    """Then the way to them may be what is broken: nothing is taken away, and it is told."""
    host, other = used(world, 4)
    for gateway in (host, other):
        kill(world, gateway)
    wait(lambda: faults(world).count("egress-gateways-silent") == 4, "all are told")
    assert set(states(world).values()) == {"active"}
    for gateway in (host, other):
        revive(world, gateway)
    wait_seen(world, 4, [host])
    wait(lambda: not faults(world), "no fault is left")


def test_agents_of_gateways_die(world):
    """The data plane is what is probed."""
    used(world, 4)
    before = {item["address"]: item["packets"] for listed in told(world.first.agents[0])["items"]
              for item in listed["gateways"]}
    for host in world.gateways:
        host.agents[0].kill()
    seconds = time.monotonic() + 3
    wait(lambda: time.monotonic() > seconds, "silence would show by then")
    assert states(world) == dict.fromkeys(before, "active") and not faults(world)


@BOTH
def test_drain(world, family):
    """New flows go elsewhere at once, old ones stay until they end; and back."""
    host, other = used(world, family)
    agent = host.agents[0]
    agent.settings["routes"] = TIMES
    agent.write_config()
    agent.reload()
    with Connection(world.guest, address(world.client, family), PORT, timeout=20) as connection:
        assert connection.who().peer == address(host, family)
        assert agent.ctl("drain", "--no-wait").code == 0
        wait_equal(lambda: states(world)[address(host, family)], "draining", "its state")
        assert {seen(world, family) for _ in range(20)} == {address(other, family)}
        assert connection.put(b"x" * 1000) and not faults(world)
        wait_equal(lambda: agent.json("status")["standing"]["phase"], "drained", "the node's drain")
        gateway = told(agent)["gateway"]
        assert (gateway["phase"], gateway["connections"]) == ("draining", 1)
        assert connection.put(b"x" * 1000)
    answer = agent.ctl("drain")
    assert answer.code == 0 and answer.out.endswith("gateway withdrawn; 0 connections\n")
    wait_equal(lambda: states(world)[address(host, family)], "withdrawn", "its state")
    assert agent.ctl("undrain").code == 0
    wait_equal(lambda: states(world)[address(host, family)], "active", "its state")
    wait_seen(world, family, [host])
