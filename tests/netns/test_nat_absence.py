# SPDX-License-Identifier: Apache-2.0
"""While no agent runs: pods that are born then have their Services, through svc0, and keep what they
have when an agent is back; and established connections live, whatever else fills the table."""

import pytest
from attached import attachments
from lab import wait
from lab.traffic import Connection, Datagrams, ask, serve
from served import FAMILIES, PROTOCOLS, TARGET, Service, address_of, pods, settle, start

pytestmark = pytest.mark.lab(nat=True)
KINDS = ("clusterIP", "loadBalancer", "externalIP")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Endpoints on this node, on another, and in this node's own network."""
    lab.pods = pods(lab, "one")
    lab.near, lab.far, lab.host = (
        Service(lab, name, 10 + at) for at, name in enumerate(("near", "far", "host")))
    serve(lab.nodes[0], TARGET)
    lab.near.write(lab.pods["one1"])
    lab.far.write(lab.pods["one2"])
    lab.host.write(lab.nodes[0])
    lab.agent_here, _ = start(lab)
    return lab


def check(client, service, name, source, kinds):
    for family in FAMILIES:
        for kind in kinds:
            for protocol in PROTOCOLS:
                got = ask(client, *service.address(kind, family), protocol)
                assert (got.name, got.peer) == (name, address_of(source, family)), (
                    service, kind, family, protocol)


def check_all(world, client, source, kinds=KINDS):
    """`source`: as whom the endpoints see the client."""
    check(client, world.near, world.pods["one1"].role, source, kinds)
    check(client, world.far, world.pods["one2"].role, source, kinds)
    check(client, world.host, world.nodes[0].role, source, kinds)


def talks(world, client):
    """What shall go on: connections and streams to each Service, of both families."""
    return [kind(client, *service.address("clusterIP", family))
            for service in (world.near, world.far, world.host) for family in FAMILIES
            for kind in (Connection, Datagrams)]


def test_pods_born_while_no_agent_runs(world):
    """Masqueraded until an agent is back; refused and killed agents are the same to them."""
    agent, node = world.agent_here, world.nodes[0]
    agent.stop()
    good = agent.config_file.read_text(encoding="utf-8")
    agent.write_config("services: nonsense\n")
    agent.start(ready=False)
    assert agent.wait_exit() == 78
    assert "routes and Service NAT stay in the kernel as they are" in agent.log_tail()

    born = world.pod(node, "born")
    check_all(world, born, node)
    assert (born.host_end, "ingress") not in attachments(agent)
    found = talks(world, born)
    for talk in found:
        talk.who()
    before = [talk.who() for talk in found]  # datagrams are a stream now, and stay for two minutes

    agent.write_config(good)
    agent.start()
    settle(world)
    wait(lambda: (born.host_end, "ingress") in attachments(agent), "the programs at the new pod")
    check_all(world, born, born, KINDS[:1])
    assert [talk.who() for talk in found] == before
    for talk in found:
        talk.close()
