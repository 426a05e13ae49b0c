# SPDX-License-Identifier: Apache-2.0
"""The guard at uplinks: with unknown pods held, what is forwarded from an interface that the agent has
not seen to does not leave the cluster."""

from abi import UDP
from bpf import NEXT, SHOT
from egress import HOLD_UNKNOWN
from packets import frame
from test_egress_client import CLUSTER, OUTSIDE
from world import NODE, POD1, REMOTE


def test_guard(client, family):
    client.stay(CLUSTER[family])
    out = frame("uplink_out", POD1[family], 1000, OUTSIDE[family], 53, UDP)
    masqueraded = frame("uplink_out", NODE[family], 1000, OUTSIDE[family], 53, UDP)
    inside = frame("uplink_out", POD1[family], 1000, REMOTE[family], 53, UDP)
    assert client.leave(out).verdict == NEXT  # unknown pods may pass
    client.control.flags = HOLD_UNKNOWN
    client.write()
    assert client.leave(out).verdict == client.leave(masqueraded).verdict == SHOT
    assert client.leave(inside).verdict == NEXT
    assert client.drops() == {"held": 2}
    own = client.hooks["client_guard"].run(bytes(out), ifindex=client.world.index["eth0"])
    assert own.verdict == NEXT
    client.maps["egress_seen"][client.world.index["pod1"]] = 1
    assert client.leave(out).verdict == client.leave(masqueraded).verdict == NEXT
