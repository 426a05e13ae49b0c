# SPDX-License-Identifier: Apache-2.0
"""agent-cni behind another plugin, with a real agentd: pods of a bridge that leave by their Egress from
the first packet on. The other plugin's part is played; the agent gives no address."""

import json
import os
import subprocess

import pytest
from conftest import PLUGIN
from lab import objects, wait, wait_equal
from lab.namespace import Namespace
from lab.traffic import ask, serve

pytestmark = pytest.mark.lab(nat=True, nodes=2)
PORT = 8080
NET4, NET6 = "10.88.0.{}", "fd88::{}"


class Pod(Namespace):
    """A port of the node's bridge, as the plugin before made it."""

    def __init__(self, lab, node, agent, name, number):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.create(forwarding=False)
        self.node, self.agent, self.container, self.link = node, agent, f"sandbox-{name}", f"veth{number}"
        self.address4, self.address6 = NET4.format(number), NET6.format(number)
        node.configure(f"link add {self.link} type veth peer name eth0 netns {self.name}",
                       f"link set {self.link} master pods up")
        self.configure("link set eth0 up", f"addr add {self.address4}/24 dev eth0",
                       f"addr add {self.address6}/64 dev eth0 nodad",
                       f"route add default via {NET4.format(1)}", f"route add default via {NET6.format(1)}")
        self.previous = {"cniVersion": "1.0.0", "interfaces": [
            {"name": self.link}, {"name": "eth0", "sandbox": f"/run/netns/{self.name}"}],
            "ips": [{"interface": 1, "address": f"{self.address4}/24"},
                    {"interface": 1, "address": f"{self.address6}/64"}]}

    def call(self, command, version="1.0.0", **more):
        """(exit status, document)."""
        config = {"cniVersion": version, "name": "pods", "type": "agent-cni", "egressOnly": True,
                  "socket": str(self.agent.socket), **more}
        if command in ("ADD", "CHECK", "DEL"):
            config["prevResult"] = self.previous
        with self.node.entered():
            process = subprocess.Popen(
                [str(PLUGIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
                    **os.environ, "CNI_COMMAND": command, "CNI_CONTAINERID": self.container, "CNI_IFNAME": "eth0",
                    "CNI_NETNS": f"/run/netns/{self.name}",
                    "CNI_ARGS": f"K8S_POD_NAMESPACE=default;K8S_POD_NAME={self.role.removeprefix('pod-')};"
                                f"K8S_POD_UID=uid-{self.role}"})
        output, _ = process.communicate(json.dumps(config), timeout=100)
        return process.returncode, json.loads(output) if output else None


def pod_object(name, node, *ips):
    """As the API has it while its sandbox is made; with addresses, after that."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": objects.metadata(name, "default", annotations={"egress.coil.cybozu.com/internet": "nat"}),
            "spec": {"nodeName": node.role},
            "status": {"phase": "Pending", "podIPs": [{"ip": ip} for ip in ips]}}


@pytest.fixture(name="world")
def world_fixture(lab):
    """A node with a bridge for its pods, and a gateway; the agent of the first gives no addresses."""
    first, gateway = lab.nodes
    first.configure("link add pods type bridge", "link set pods up", f"addr add {NET4.format(1)}/24 dev pods",
                    f"addr add {NET6.format(1)}/64 dev pods nodad")
    lab.tor.configure(f"route add {NET4.format(0)}/24 via {first.address4}",
                      f"route add {NET6.format(0).removesuffix('0')}/64 via {first.address6}")
    lab.write("nodes.yaml", objects.node(first.role, [first.address4, first.address6]),
              objects.node(gateway.role, [gateway.address4, gateway.address6], {"gateway": "yes"}))
    lab.write("egress.yaml", objects.egress())
    lab.write("pod-one.yaml", pod_object("one", first))
    lab.agent(first, egress={"enabled": True})
    lab.agent(gateway, egress={"gateway": {}})
    lab.wait_sessions()
    serve(lab.client, PORT)
    return lab


def seen(lab, pod, family):
    try:
        return ask(pod, getattr(lab.client, f"address{family}"), PORT, "TCP", timeout=1).peer
    except OSError:
        return None


def agent_of(node):
    return node.agents[0]


def strangers(gateway):
    """Packets that came by the tunnel from somebody who is no client yet."""
    return sum(item["count"] for item in gateway.agents[0].json("egress")["refusals"]
               if item["reason"] == "stranger")


def assert_listed(node, pod):
    """By `agentctl pods` and `agentctl explain`, with the addresses that the other plugin gave."""
    document = agent_of(node).json("pods")
    row = {"namespace": "default", "name": "one", "container": pod.container, "interface": "eth0",
           "hostInterface": pod.link, "addresses": [pod.address4, pod.address6], "pool": None, "block": None,
           "state": "chained", "egress": ["internet/nat"]}
    assert [{**item, "since": None} for item in document["items"]] == [{**row, "since": None}]
    assert document["items"][0]["since"] and document["blocks"] == document["pools"] == []
    assert agent_of(node).json("explain", pod.address6)["tenant"] == document["items"][0]


def test_the_first_packet_goes_to_the_gateway(world):
    """The Pod has no addresses in its status when ADD is over; and CHECK asks for the same once more."""
    first, gateway = world.nodes
    one = Pod(world, first, first.agents[0], "one", 5)
    assert one.call("STATUS", "1.1.0") == (0, None)
    code, result = one.call("ADD")
    assert (code, result) == (0, one.previous), (result, agent_of(first).json("verify"), agent_of(first).faults())
    assert_listed(first, one)
    for family in (4, 6):
        before = strangers(gateway)
        assert seen(world, one, family) is None, "never as itself"
        assert strangers(gateway) > before, "it was sent by the tunnel"
    world.write("pod-one.yaml", pod_object("one", first, one.address4, one.address6))
    for family in (4, 6):
        wait(lambda: seen(world, one, family) == getattr(gateway, f"address{family}"), "the gateway")
    first.agents[0].kill()
    first.agents[0].start()
    assert one.call("CHECK") == (0, None)
    assert_listed(first, one)
    assert one.call("DEL") == one.call("DEL") == (0, None)
    assert agent_of(first).json("pods")["items"] == []
    assert one.link in {link["ifname"] for link in first.ip_json("link")}, "it is the other plugin's"
    assert [seen(world, one, family) for family in (4, 6)] == [gateway.address4, gateway.address6]


def test_what_is_forgotten_is_told_no_more(world):
    """After DEL, GC, or the end of its link, the pod's addresses are those of its status alone."""
    first, _ = world.nodes
    agent = first.agents[0]
    one = Pod(world, first, agent, "one", 5)

    def knows():
        return agent.ctl("explain", one.address4).code == 0

    ends = (lambda: one.call("DEL"), lambda: one.call("GC", "1.1.0", **{"cni.dev/valid-attachments": []}))
    for number, end in enumerate(ends):
        assert one.call("ADD")[0] == 0 and knows()
        assert end() == (0, None)
        world.write("pod-one.yaml", pod_object("one", first, NET4.format(200 + number)))
        wait_equal(knows, False, "the address to be nobody's")
        world.write("pod-one.yaml", pod_object("one", first))


def test_without_egress_it_is_refused(world):
    first, _ = world.nodes
    agent = first.agents[0]
    one = Pod(world, first, agent, "one", 5)
    agent.stop()
    code, answer = one.call("ADD")
    assert (code, answer["code"]) == (1, 11)
    assert one.call("DEL") == (0, None)
    agent.settings["egress"]["enabled"] = False
    agent.write_config()
    agent.start()
    code, answer = one.call("ADD")
    assert code == 1 and "egress is off" in answer["msg"] and answer["details"] == "set egress.enabled: true"
    code, answer = one.call("STATUS", "1.1.0")
    assert (code, answer["code"]) == (1, 50)
    assert one.call("DEL") == (0, None)


def test_a_link_that_does_not_come_is_told(world):
    """An interface with no program on it: ADD fails with the cause, instead of a pod that leaks."""
    first, _ = world.nodes
    agent = first.agents[0]
    agent.settings["services"]["podInterfaces"] = ["none*"]
    agent.write_config()
    agent.stop()
    agent.start()
    one = Pod(world, first, agent, "one", 5)
    code, answer = one.call("ADD")
    assert (code, answer["code"]) == (1, 11) and "not on the host's end" in answer["msg"]
    assert "podInterfaces" in answer["details"]
