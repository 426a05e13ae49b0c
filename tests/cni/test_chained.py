# SPDX-License-Identifier: Apache-2.0
"""Behind another plugin, for egress only: its interface is found and proved, its result passed on."""

import pytest
from conftest import Refusal


def previous(version="1.0.0"):
    ips = [{"interface": 1, "address": "10.9.0.5/24", "gateway": "10.9.0.1"},
           {"interface": 1, "address": "fd09::5/64"}, {"interface": 2, "address": "10.99.0.1/16"}]
    if version < "1":
        ips = [{"version": "6" if ":" in ip["address"] else "4", **ip} for ip in ips]
    return {"cniVersion": version, "dns": {"nameservers": ["10.0.0.10"]},
            "interfaces": [{"name": "veth9", "mac": "02:00:00:00:00:01"},
                           {"name": "eth0", "sandbox": "/run/netns/x"},
                           {"name": "bridge0"}],
            "ips": ips, "routes": [{"dst": "0.0.0.0/0", "gw": "10.9.0.1"}]}


@pytest.fixture(name="pair")
def pair_fixture(node, agent, pod):
    """What the plugin before made: a port of a bridge."""
    node.host.configure("link add bridge0 type bridge", "link set bridge0 up",
                        f"link add veth9 type veth peer name eth0 netns {pod.name}",
                        "link set veth9 master bridge0 up alias theirs")
    pod.configure("addr add 10.9.0.5/24 dev eth0", "link set eth0 up")
    agent.wire = lambda key, document: (200, {"applied": 1})
    return node.host.ip_json("link", "show", "dev", "veth9")[0]


@pytest.mark.parametrize("version", ("0.3.1", "0.4.0", "1.0.0", "1.1.0"))
def test_what_came_is_passed_on(node, agent, pod, pair, version):
    result = node.call("ADD", pod, "c1", version, egressOnly=True, prevResult=previous(version))
    assert result == previous(version)
    (_, body), (_, ends) = agent.asked
    assert body["egressOnly"] and body["addresses"] == ["10.9.0.5", "fd09::5"]
    assert ends["hostIndex"] == pair["ifindex"] and ends["hostMAC"] == pair["address"]
    assert node.host.ip_json("link", "show", "dev", "veth9")[0]["ifalias"] == "theirs"


def test_its_interface_stays(node, agent, pod, pair):
    node.call("ADD", pod, "c1", egressOnly=True, prevResult=previous())
    node.call("CHECK", pod, "c1", egressOnly=True, prevResult=previous())
    node.stop_agent()
    node.call("DEL", pod, "c1", egressOnly=True, prevResult=previous())
    assert "veth9" in node.links()


def test_the_other_end_must_be_the_nodes(node, agent, pod, pair):
    """A pod's interface that leads to another namespace: by its number there it could be any link."""
    other = node.pod("other")
    pod.configure("link del eth0")
    for number in range(20):
        other.configure(f"link add x{number} type veth peer name y{number}")
    other.configure(f"link add z index {node.host.ip_json('link', 'show', 'dev', 'up0')[0]['ifindex'] + 100} "
                    f"type veth peer name eth0 netns {pod.name}")
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1", egressOnly=True, prevResult=previous())
    assert refusal.value.code == 102
    assert not agent.asked


@pytest.mark.parametrize("kind", ("bridge", "veth"))
def test_an_interface_that_does_not_lead_to_the_node(node, agent, pod, kind):
    pod.configure(f"link add eth0 type {kind}")
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1", egressOnly=True, prevResult=previous())
    assert refusal.value.code == 7 and "no veth" in refusal.value.message


@pytest.mark.parametrize("config, said", (
    ({"egressOnly": True}, "no plugin before"),
    ({"prevResult": previous()}, "another plugin before"),
    ({"egressOnly": True, "prevResult": {"ips": []}}, "no address"),
    ({"egressOnly": True, "prevResult": {"ips": [{"address": "10.1.1.1"}]}}, "an address and its length"),
))
def test_a_place_in_the_chain_that_is_wrong(node, agent, pod, config, said):
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1", **config)
    assert said in refusal.value.message and not agent.asked
