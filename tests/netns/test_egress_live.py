# SPDX-License-Identifier: Apache-2.0
"""Everything that an Egress or a configuration says is changed while pods run. Who is concerned is
served as it says then; a connection of somebody else goes on, by the same gateway and port."""

import time

import pytest
from lab import wait
from lab.traffic import Connection
from test_egress import (BOTH, PORT, address, egress, pod_object, seen, wait_seen,  # noqa: F401
                         world_fixture)
from test_reload import reload

pytestmark = [
    pytest.mark.lab(nat=True, nodes=3),
    pytest.mark.parametrize("world", ["beside another proxy"], indirect=True),
]
BULK = bytes(range(256)) * 1024


def write_other(world, **spec):
    """The Egress of the pod that is concerned."""
    made = egress("other", **spec.pop("annotations", {}))
    made["spec"].update(spec)
    world.write("other.yaml", made)


def change_egress(world, family):
    """Yields after each change of an Egress, and of the pod's annotation, once it is in force."""
    other, outside = world.other, address(world.client, family)
    gates = {address(host, family) for host in world.gateways}

    def seen_as(hosts):
        wait(lambda: seen(world, family, pod=other) in hosts, f"{other} is seen as one of {hosts}")

    seen_as(gates)
    write_other(world, destinations=["198.51.100.0/24", "2001:db8:ff::/48"])
    seen_as({address(other, family)})
    yield "destinations that leave the host outside out"
    write_other(world, destinations=[outside + ("/32" if family == 4 else "/128")])
    seen_as(gates)
    yield "destinations that name it"
    write_other(world, sessionAffinity="None")
    wait(lambda: {seen(world, family, pod=other) for _ in range(24)} == gates, "each flow chooses")
    yield "no affinity"
    write_other(world, fouSourcePortAuto=True)
    wait(lambda: len({seen(world, family, pod=other) for _ in range(12)}) == 1, "the pod chooses again")
    yield "FoU's source port by the flow, and affinity again"
    for host in world.gateways:
        write_other(world, annotations={
            "fingerpost.io/gateway-nodes": f"kubernetes.io/hostname={host.role}"})
        seen_as({address(host, family)})
        yield f"{host} as the only gateway"
    (world.manifests / "other.yaml").unlink()
    wait(lambda: seen(world, family, pod=other) is None, "the pod is held")
    yield "no Egress"
    write_other(world)
    seen_as(gates)
    world.write("other-pod.yaml", pod_object(other, annotation=None))
    seen_as({address(other, family)})
    yield "no annotation"
    world.write("other-pod.yaml", pod_object(other, annotation="other"))
    seen_as(gates)


def configure(agent, changes):
    """A reload is seen by its time, which is told in whole seconds."""
    loaded = agent.json("status")["config"]["loadedAt"]
    wait(lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) > loaded, "another second")
    reload(agent, changes)


def change_configuration(world, family):
    client, gateway = world.first.agents[0], world.gateways[0].agents[0]
    configure(client, {"egress": {"probeInterval": "100ms"}})
    yield "probes twice as often"
    outside = address(world.client, family) + ("/32" if family == 4 else "/128")
    configure(client, {"egress": {"inCluster": [outside]}})
    wait(lambda: seen(world, family, pod=world.other) == address(world.other, family), "it stays in the cluster")
    yield "an outside that counts as inside"
    configure(client, {"egress": {"inCluster": []}})
    gates = {address(host, family) for host in world.gateways}
    wait(lambda: seen(world, family, pod=world.other) in gates, "it leaves")
    yield "and outside again"
    configure(gateway, {"egress": {"gateway": {"drain": "5s", "timeouts": {"udp": "20s", "icmp": "10s"}}}})
    yield "timeouts of a gateway"
    configure(gateway, {"egress": {"gateway": {"blocksPerClient": 4}}})
    yield "fewer blocks for a client"


@BOTH
@pytest.mark.parametrize("changes", (change_egress, change_configuration))
def test_nobody_else_notices(world, family, changes):
    world.other = world.pod(world.first, "other")
    world.write("other-pod.yaml", pod_object(world.other, annotation="other"))
    write_other(world)
    wait_seen(world, family, world.gateways)
    with Connection(world.guest, address(world.client, family), PORT, timeout=20) as kept:
        before = kept.who()
        assert before.peer in {address(host, family) for host in world.gateways}
        for what in changes(world, family):
            assert kept.put(BULK) and kept.get(len(BULK)), what
            assert kept.who() == before, what


@BOTH
def test_another_egress(world, family):
    """A pod is given an Egress with other gateways: its connections are told so at once. They don't go
    on to a gateway whose client the pod is no more, which would drop what they send."""
    second, third = world.gateways
    for name, host in (("second", second), ("third", third)):
        world.write(f"{name}.yaml", egress(name, **{
            "fingerpost.io/gateway-nodes": f"kubernetes.io/hostname={host.role}"}))
    world.write("pods.yaml", pod_object(world.guest, annotation="second"))
    wait_seen(world, family, [second])
    with Connection(world.guest, address(world.client, family), PORT, timeout=10) as connection:
        assert connection.who().peer == address(second, family)
        world.write("pods.yaml", pod_object(world.guest, annotation="third"))
        wait_seen(world, family, [third])
        with pytest.raises(ConnectionResetError):
            connection.who()
