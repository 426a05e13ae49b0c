# SPDX-License-Identifier: Apache-2.0
"""The soak's parts of egress gateways, each with gateways on nodes and with gateways in pods: what
tests/netns/test_egress_kills.py does for seconds, a hundred times; and a GiB each way, compared.
"""

from gateways import Kills, Transfer, World
from lab import Lab

GIB = 1 << 30
SAID_EVERY = 20
# Whether gateways are in pods, and what the lab is made of.
KINDS = {"nodes": (False, 4), "pods": (True, 2)}


def gateway_kills(options, seed, say):
    """Half of `--kills` with each kind of gateway: not a flow may be harmed."""
    harm, count = {}, max(options.kills // 2, 1)
    for kind, (in_pods, nodes) in KINDS.items():
        with Lab(f"soak-gateway-kills-{kind}", nodes=nodes, nat=True) as lab:
            world = World(lab, in_pods=in_pods)
            kills = Kills(world, seed)
            for number in range(count):
                kills.kill()
                if (number + 1) % SAID_EVERY == 0:
                    say(f"gateway_kills: {number + 1} of {count}, gateways: {kind}")
            harm[kind] = kills.stop()
            world.at_home()
    return {"passed": not any(harm.values()), "killsOfEach": count, "harmed": harm}


def gateway_transfers(options, seed, say):
    """A GiB each way (`--siege`: less) over each family, by a gateway; the seed has nothing to choose."""
    harm, size = {}, round(GIB * min(options.siege, 1))
    for kind, (in_pods, nodes) in KINDS.items():
        with Lab(f"soak-gateway-transfers-{kind}", nodes=nodes, nat=True) as lab:
            world = World(lab, in_pods=in_pods)
            streams = {stream.family: stream for stream in world.streams}.values()
            transfers = [Transfer(lab, stream, size) for stream in streams]
            for transfer in transfers:
                transfer.start()
            for transfer in transfers:
                transfer.join()
            say(f"gateway_transfers: {[transfer.done for transfer in transfers]} bytes, gateways: {kind}")
            harm[kind] = [error for error in (transfer.stop() for transfer in transfers) if error]
    return {"passed": not any(harm.values()), "bytesEachWay": size, "harmed": harm}


PARTS = (gateway_kills, gateway_transfers)
