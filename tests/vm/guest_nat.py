# SPDX-License-Identifier: Apache-2.0
"""Service NAT on another kernel, by real sockets: one case for each verdict, family, protocol and
hook. Runs inside the guest; test_nat.py boots it.

One lab serves all cases, since commands are what costs time here. What each client has to see is
asked of the planner, as in tests/netns/test_nat_paths.py.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab import Lab  # noqa: E402
from served import (  # noqa: E402
    FAMILIES,
    PROTOCOLS,
    Expected,
    Plan,
    Service,
    pods,
    start,
    steer,
)

# What a packet goes through: who sends it, to which kind of address, of which Service if it is to be
# forwarded. A reply passes the hooks of the other direction; see the walk in agent/bpf/nat.bpf.c.
WAYS = {
    "uplink-masqueraded": ("client", "loadBalancer", "remote"),
    "uplink-preserved": ("client", "loadBalancer", "local"),
    "uplink-node-port": ("client", "nodePort", "remote"),
    "pod-remote": ("guest", "clusterIP", "remote"),
    "pod-local": ("guest", "clusterIP", "local"),
    "pod-hairpin": ("one", "clusterIP", "local"),
    "svc0-remote": ("node", "clusterIP", "remote"),
    "svc0-local": ("node", "clusterIP", "local"),
    "lo-remote": ("node", "nodePort", "remote"),
    "lo-local": ("node", "nodePort", "local"),
}
REFUSED = ("uplink-masqueraded", "pod-remote", "svc0-remote", "lo-remote")
# The node's own packets to its own node port are sent on whatever the policy: no drop at lo.
CASES = (
    [("forward", way) for way in WAYS] + [("reject", way) for way in REFUSED]
    + [("drop", way) for way in REFUSED[:3]]
)


@pytest.fixture(name="world", scope="module")
def world_fixture():
    with Lab("vm-nat", nat=True) as lab:
        node1 = lab.nodes[0]
        found = pods(lab, "one")
        lab.clients = {"client": lab.client, "node": node1, "one": found["one1"],
                       "guest": lab.pod(node1, "guest")}
        lab.services = {
            "local": Service(lab, "local", 10, externalTrafficPolicy="Local"),
            "remote": Service(lab, "remote", 11),
            "reject": Service(lab, "reject", 12),
            "drop": Service(lab, "drop", 13, externalTrafficPolicy="Local",
                            internalTrafficPolicy="Local"),
        }
        lab.services["local"].write(found["one1"])
        lab.services["remote"].write(found["one2"])
        lab.services["reject"].write()
        lab.services["drop"].write(found["one2"])
        agents = start(lab)
        lab.plans = {agent.node.role: Plan(agent) for agent in agents}
        for service in lab.services.values():
            steer(lab, node1, *service.announced())
        yield lab
        lab.show_logs()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("verdict, way", CASES, ids=["-".join(case) for case in CASES])
def test_packet(world, verdict, way, family, protocol):
    client, kind, service = WAYS[way]
    service = world.services[service if verdict == "forward" else verdict]
    cell = Expected(world.plans, world.clients[client], service, kind, family, protocol,
                    world.nodes[0])
    assert cell.verdict == verdict, "the plan is another one"
    cell.patience = 20
    assert cell.wrong() is None
