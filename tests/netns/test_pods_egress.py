# SPDX-License-Identifier: Apache-2.0
"""A pod that is given addresses leaves by its Egress from its first packet on: nobody has written its
addresses into its status by then. Its gateway lets it out once that is done."""

import pytest
from lab import objects, wait
from lab.pod_wiring import WiredPod
from lab.traffic import ask, serve

pytestmark = pytest.mark.lab(nat=True, nodes=2)
PORT = 8080


def pod_object(name, node, egress, *ips):
    """As the API has it while its sandbox is made; with addresses, after that."""
    key = "egress.coil.cybozu.com/internet"
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": objects.metadata(name, "default", annotations={key: "nat"} if egress else {}),
            "spec": {"nodeName": node.role},
            "status": {"phase": "Pending", "podIPs": [{"ip": ip} for ip in ips]}}


@pytest.fixture(name="world")
def world_fixture(lab):
    first, gateway = lab.nodes
    lab.write("nodes.yaml", objects.node(first.role, [first.address4, first.address6]),
              objects.node(gateway.role, [gateway.address4, gateway.address6], {"gateway": "yes"}),
              *gateway.objects()[1:])
    lab.write("block.yaml", objects.address_block("pods-0", first.role, "10.224.1.0/28", "fd00:224::100/124",
                                                  pool="default"))
    lab.write("egress.yaml", objects.egress())
    for name in ("one", "plain"):
        lab.write(f"pod-{name}.yaml", pod_object(name, first, name != "plain"))
    lab.agent(first, pods={"enabled": True}, egress={"enabled": True})
    lab.agent(gateway, egress={"gateway": {}})
    lab.wait_sessions()
    serve(lab.client, PORT)
    return lab


def address(host, family):
    return getattr(host, f"address{family}")


def seen(lab, pod, family):
    try:
        return ask(pod, address(lab.client, family), PORT, "TCP", timeout=1).peer
    except OSError:
        return None


def refused(gateway):
    """Packets that came by the tunnel from somebody who is no client yet."""
    return sum(item["count"] for item in gateway.agents[0].json("egress")["refusals"]
               if item["reason"] == "stranger")


def test_the_first_packet_goes_to_the_gateway(world):
    first, gateway = world.nodes
    plain = WiredPod(world, first, first.agents[0], "plain").add()
    for family in (4, 6):
        wait(lambda: seen(world, plain, family) == plain.address(family), "the pods' block at the client")
    one = WiredPod(world, first, first.agents[0], "one").add()
    for family in (4, 6):
        before = refused(gateway)
        assert seen(world, one, family) is None, "never as itself"
        assert refused(gateway) > before, "it was sent by the tunnel"
    world.write("pod-one.yaml", pod_object("one", first, True, one.address(4), one.address(6)))
    for family in (4, 6):
        wait(lambda: seen(world, one, family) == address(gateway, family), "the gateway to let it out")
    listed = {item["name"]: item for item in first.agents[0].json("pods")["items"]}
    assert listed["one"]["egress"] == ["internet/nat"] and listed["plain"]["egress"] == []
