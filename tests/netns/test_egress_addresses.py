# SPDX-License-Identifier: Apache-2.0
"""A gateway that translates to addresses of its own: they are announced while packets leave under
them, guarded, and withdrawn when they don't."""

import pytest
from cluster import GUARD_METRIC
from lab import wait, wait_equal
from lab.traffic import Connection, serve
from test_egress import PORT, address, egress, pod_object, seen, write_nodes

pytestmark = pytest.mark.lab(nat=True, nodes=2)
BOTH = pytest.mark.parametrize("family", (4, 6))
SNAT = {4: "203.0.113.77", 6: "fd00:203::77"}
PREFIX = {4: "203.0.113.77/32", 6: "fd00:203::77/128"}


@pytest.fixture(name="world", params=["beside another proxy"])
def world_fixture(lab, request):
    services = {"enabled": request.param == "nat"}
    lab.first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    lab.guest = lab.pod(lab.first, "guest")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.agent(lab.first, egress={"enabled": True}, services=services)
    lab.keeper = lab.agent(
        lab.gateway, services=services, egress={"gateway": {"addresses": list(SNAT.values())}},
        routes={"holdDown": {"initial": "0s"}, "drain": {"shutdown": "1s", "withdraw": "1s"}})
    lab.wait_sessions()
    serve(lab.client, PORT)
    return lab


def announced(world, *families):
    for family, prefix in PREFIX.items():
        nodes = {world.gateway.role} if family in families else set()
        wait_equal(lambda: world.tor.via(prefix), nodes, f"{prefix} on the ToR")


def wait_seen(world, family):
    wait(lambda: seen(world, family) == SNAT[family], f"the pod is seen as {SNAT[family]}")


def row(world, family):
    rows = {item["prefix"]: item for item in world.keeper.json("routes")["items"]}
    return rows[PREFIX[family]]


def guard(family):
    return f"unreachable {SNAT[family]} proto 33 metric {GUARD_METRIC}"


@pytest.mark.parametrize("world", ["nat", "beside another proxy"], indirect=True)
def test_announced_and_guarded(world):
    announced(world, 4, 6)
    for family in (4, 6):
        wait_seen(world, family)
        found = row(world, family)
        assert (found["kind"], found["state"], found["installed"]) == ("gateway", "announced", True)
        assert guard(family) in world.gateway.table("main", family)
        # Nobody here answers for the address, and nothing loops.
        with pytest.raises(OSError) as error:
            Connection(world.client, SNAT[family], PORT, timeout=5).close()
        assert error.value.strerror in ("No route to host", "Network is unreachable")
    assert world.keeper.faults() == []


@BOTH
def test_an_uplink_has_a_route(world, family):
    """Without a way outside the address is withdrawn, and comes back with the way."""
    announced(world, 4, 6)
    router = getattr(world.gateway, f"gateway{family}")
    world.gateway.configure(f"route del default via {router}")
    announced(world, *({4, 6} - {family}))
    found = row(world, family)
    assert (found["state"], found["reason"]) == ("withheld", "gateway-not-proved")
    assert "no way to" in found["reasonText"]
    assert guard(family) in world.gateway.table("main", family)
    wait(lambda: any(SNAT[family] in fault["message"] and fault["code"] == "egress-gateway-address-not-proved"
                     for fault in world.keeper.faults()),
         "a fault that names the address")
    world.gateway.configure(f"route add default via {router}")
    announced(world, 4, 6)
    wait_seen(world, family)
    wait_equal(world.keeper.faults, [], "no faults")


@BOTH
def test_nobody_is_served(world, family):
    """Without a destination of the family there is nothing to prove."""
    announced(world, 4, 6)
    other = "::/0" if family == 4 else "0.0.0.0/0"
    world.write("egress.yaml", egress(destinations=[other]))
    announced(world, 10 - family)
    assert "serves no Egress" in row(world, family)["reasonText"]
    world.write("egress.yaml", egress())
    announced(world, 4, 6)


@BOTH
def test_somebody_else_announces_it(world, family):
    """A routing daemon has put another gateway's route to the address into this node's table."""
    announced(world, 4, 6)
    router = getattr(world.gateway, f"gateway{family}")
    world.gateway.configure(f"route add {PREFIX[family]} via {router} proto bird metric 32")
    wait(lambda: [fault for fault in world.keeper.faults()
                  if SNAT[family] in fault["message"] and fault["code"] == "egress-gateway-address-contested"],
         "a fault about the other one")
    world.gateway.configure(f"route del {PREFIX[family]} via {router} proto bird metric 32")
    wait_equal(world.keeper.faults, [], "no faults")


def test_an_address_of_an_interface(world):
    """It needs no route, neither for others nor as a guard."""
    announced(world, 4, 6)
    for family in (4, 6):
        world.gateway.configure(f"addr add {PREFIX[family]} dev lo")
    announced(world)
    for family in (4, 6):
        wait(lambda: guard(family) not in world.gateway.table("main", family), "no guard")
    assert world.keeper.faults() == []


@BOTH
def test_restart_keeps_it(world, family):
    announced(world, 4, 6)
    monitor = world.monitor()
    wait_seen(world, family)
    with Connection(world.guest, address(world.client, family), PORT) as connection:
        for _ in range(2):
            world.keeper.kill()
            assert connection.who().peer == SNAT[family]
            world.keeper.start()
        assert connection.who().peer == SNAT[family]
    world.keeper.stop()
    assert world.tor.via(PREFIX[family]) == {world.gateway.role}
    world.keeper.start()
    assert monitor.losses() == []


def test_drain(world):
    """The answers of connections need the way back until the last of them has ended."""
    announced(world, 4, 6)
    wait_seen(world, 4)
    with Connection(world.guest, world.client.address4, PORT, timeout=20) as connection:
        assert connection.who().peer == SNAT[4]
        assert world.keeper.ctl("drain", "--no-wait").code == 0
        wait_equal(lambda: world.keeper.json("status")["standing"]["phase"], "drained", "the node's phase")
        announced(world, 4, 6)
        assert connection.who().peer == SNAT[4]
    announced(world)
    assert row(world, 4)["reason"] == "withdrawn" and world.keeper.faults() == []
    assert world.keeper.ctl("undrain").code == 0
    announced(world, 4, 6)
