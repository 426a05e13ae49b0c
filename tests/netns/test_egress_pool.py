# SPDX-License-Identifier: Apache-2.0
"""A gateway with several addresses: clients are spread over them and keep theirs, and a change of
addresses or ports touches those whom it concerns, and nobody else."""

import pytest
from lab import wait
from lab.traffic import Connection, serve
from test_egress import PORT, address, egress, pod_object, seen, told, write_nodes
from test_reload import reload

pytestmark = pytest.mark.lab(nat=True, nodes=2)
BOTH = pytest.mark.parametrize("family", (4, 6))
POOL = {4: ["203.0.113.77", "203.0.113.78"], 6: ["fd00:203::77", "fd00:203::78"]}
OTHER = {4: "203.0.113.79", 6: "fd00:203::79"}


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.first, lab.gateway = lab.nodes
    write_nodes(lab, lab.gateway)
    lab.guests = [lab.pod(lab.first, f"guest{number}") for number in range(4)]
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", *map(pod_object, lab.guests))
    lab.agent(lab.first, egress={"enabled": True}, services={"enabled": False})
    lab.keeper = lab.agent(
        lab.gateway, services={"enabled": False}, egress={"gateway": {"addresses": POOL[4] + POOL[6]}},
        routes={"holdDown": {"initial": "0s"}})
    lab.wait_sessions()
    serve(lab.client, PORT)
    return lab


def settled(world, family, pod, among):
    wait(lambda: seen(world, family, pod=pod) in among, f"{pod.role} is seen as one of {among}")
    return seen(world, family, pod=pod)


def of_each(world, family, among):
    """The address of each pod, all of which leave under several of them."""
    found = {pod: settled(world, family, pod, among) for pod in world.guests}
    assert set(found.values()) == set(among)
    return found


def blocks(world, pod, family):
    [client] = [item for item in told(world.keeper)["gateway"]["clients"]
                if item["address"] == address(pod, family)]
    return client["blocks"]


@BOTH
def test_an_address_is_replaced(world, family):
    """Whose address stays has his connection; who had the one that is gone is told so at once, and
    gets another."""
    found = of_each(world, family, POOL[family])
    gone, stays = POOL[family]
    [loser, *_] = [pod for pod, source in found.items() if source == gone]
    [keeper, *_] = [pod for pod, source in found.items() if source == stays]
    assert {block["address"] for block in blocks(world, loser, family)} == {gone}
    server = address(world.client, family)
    with Connection(keeper, server, PORT) as lasting, Connection(loser, server, PORT) as ending:
        assert (lasting.who().peer, ending.who().peer) == (stays, gone)
        reload(world.keeper, {"egress": {"gateway": {
            "addresses": [OTHER[family], stays, *POOL[10 - family]]}}})
        wait(lambda: OTHER[family] in told(world.keeper)["gateway"]["translatesTo"], "the new address")
        with pytest.raises(ConnectionResetError):
            ending.who()
        assert lasting.who().peer == stays
    assert settled(world, family, keeper, [stays]) == stays
    settled(world, family, loser, [stays, OTHER[family]])
    of_each(world, family, [stays, OTHER[family]])
    assert f"{gone}: ports" in world.keeper.log.read_text()
    assert gone not in {block["address"] for block in blocks(world, loser, family)}


def test_ports_are_laid_out_anew(world):
    """Blocks of another size: nobody is told to have ports that another one has."""
    of_each(world, 4, POOL[4])
    reload(world.keeper, {"egress": {"gateway": {
        "addresses": POOL[4] + POOL[6], "ports": "20000-20255", "portBlock": 128}}})
    wait(lambda: told(world.keeper)["gateway"]["ports"]["block"] == 128, "the new size")
    of_each(world, 4, POOL[4])
    given = [(block["address"], block["first"]) for pod in world.guests for block in blocks(world, pod, 4)]
    assert sorted(given) == [(source, first) for source in POOL[4] for first in (20000, 20128)]
