# SPDX-License-Identifier: Apache-2.0
"""The plugin and agentd together: what the one decides and the other makes is a pod's network."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import PLUGIN
from lab import objects, wait, wait_equal
from lab.agent import REPOSITORY
from lab.authority import Authority, write_kubeconfig
from lab.namespace import Namespace

pytestmark = pytest.mark.lab(nodes=1)


class Pod(Namespace):
    """A pod whose interface the plugin makes."""

    def __init__(self, lab, node, agent, name):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.create(forwarding=False)
        self.node, self.agent, self.container = node, agent, f"sandbox-{name}"
        self.answer = None

    def call(self, command, version="1.0.0"):
        """(exit status, document)."""
        config = {"cniVersion": version, "name": "pods", "type": "agent-cni", "socket": str(self.agent.socket)}
        with self.node.entered():
            process = subprocess.Popen(
                [str(PLUGIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
                    **os.environ, "CNI_COMMAND": command, "CNI_CONTAINERID": self.container, "CNI_IFNAME": "eth0",
                    "CNI_NETNS": f"/run/netns/{self.name}",
                    "CNI_ARGS": f"K8S_POD_NAMESPACE=default;K8S_POD_NAME={self.role};K8S_POD_UID=uid-{self.role}"})
        output, _ = process.communicate(json.dumps(config), timeout=100)
        return process.returncode, json.loads(output) if output else None

    def add(self):
        code, self.answer = self.call("ADD")
        assert code == 0, self.answer
        return self

    def address(self, family):
        [address] = [ip["address"] for ip in self.answer["ips"] if (":" in ip["address"]) == (family == 6)]
        return address.split("/")[0]


@pytest.fixture(name="setting")
def setting_fixture(lab):
    """A node with one block of four addresses, and its agent."""
    [node] = lab.nodes
    lab.write_nodes()
    lab.write("block.yaml", objects.address_block("pods-0", node.role, "10.224.1.0/30", "fd00:224::100/126",
                                                  pool="default"))
    lab.write("nodes.yaml", *[item for item in node.objects() if item["kind"] != "AddressBlock"])
    return node, lab.agent(node, pods={"enabled": True})


def test_without_an_api_server_as_the_page_says(lab):
    """docs/pods.md, "A cluster without another network": the block that one writes by hand."""
    [node] = lab.nodes
    page = (REPOSITORY / "docs" / "pods.md").read_text(encoding="utf-8")
    section = page.split("## A cluster without another network\n")[1].split("\n## ")[0]
    [block] = [text for text in re.findall(r"^```yaml\n(.*?)^```", section, re.M | re.S) if "kind: AddressBlock" in text]
    lab.manifests.joinpath("block.yaml").write_text(block.replace("NODE", node.role), encoding="utf-8")
    lab.write("nodes.yaml", *[item for item in node.objects() if item["kind"] != "AddressBlock"])
    agent = lab.agent(node, pods={"enabled": True})
    one, two = Pod(lab, node, agent, "one").add(), Pod(lab, node, agent, "two").add()
    for family in (4, 6):
        assert one.ping(two.address(family))
        wait(lambda: lab.client.ping(one.address(family)), "the client to reach the pod by BGP")
    assert agent.json("faults")["items"] == []


def pod_links(node):
    return [link["ifname"] for link in node.ip_json("link") if link.get("ifalias", "").startswith("COIL:")]


def test_a_pod_comes_and_goes(lab, setting):
    """When ADD is over, both families reach the other pod; the ToR's client follows by BGP."""
    node, agent = setting
    one, two = Pod(lab, node, agent, "one").add(), Pod(lab, node, agent, "two").add()
    for family in (4, 6):
        assert one.ping(two.address(family)) and two.ping(one.address(family))
        wait(lambda: lab.client.ping(one.address(family)), "the client to reach the pod")
    assert one.call("CHECK") == (0, None)
    assert one.call("DEL") == one.call("DEL") == (0, None)
    assert len(pod_links(node)) == 1
    code, answer = one.call("CHECK")
    assert (code, answer["code"]) == (1, 3)


def test_add_twice_and_a_restart(lab, setting):
    node, agent = setting
    one = Pod(lab, node, agent, "one").add()
    first = one.answer["ips"]
    agent.stop()
    agent.start()
    assert one.call("CHECK") == (0, None)
    assert one.add().answer["ips"] == first
    assert len(pod_links(node)) == 1
    assert node.ping(one.address(4)) and node.ping(one.address(6))


def test_the_pool_is_used_up(lab, setting):
    """Error 11 with agentd's remedy, STATUS fails, and the pod comes up when there is room."""
    node, agent = setting
    pods = [Pod(lab, node, agent, f"p{number}") for number in range(5)]
    for pod in pods[:4]:
        pod.add()
    code, answer = pods[4].call("ADD")
    assert (code, answer["code"]) == (1, 11) and answer["details"]
    code, answer = pods[4].call("STATUS", "1.1.0")
    assert (code, answer["code"]) == (1, 50) and answer["details"]
    pods[2].call("DEL")
    pods[4].add()
    assert pods[4].ping(pods[0].address(4)) and pods[4].ping(pods[0].address(6))


def test_an_end_without_agentd(lab, setting):
    """What DEL removes by itself, agentd finds to be free."""
    node, agent = setting
    pods = [Pod(lab, node, agent, f"p{number}").add() for number in range(4)]
    agent.stop()
    assert pods[1].call("DEL") == (0, None)
    code, answer = pods[1].call("ADD")
    assert (code, answer["code"]) == (1, 11)
    agent.start()
    late = Pod(lab, node, agent, "late").add()
    assert late.address(4) == pods[1].address(4)


def test_an_end_before_agentd_knows(lab, setting):
    """agentd has just begun and has nothing of its source yet: what it does not know it neither denies nor
    forgets. DEL removes the interface by itself, as without agentd."""
    node, agent = setting
    one, two = Pod(lab, node, agent, "one").add(), Pod(lab, node, agent, "two").add()
    agent.stop()
    shutil.rmtree(agent.settings["paths"]["state"])
    agent.settings["source"] = {"kubernetes": {"kubeconfig": str(write_kubeconfig(
        agent.folder / "kubeconfig", "https://192.0.2.99:6443", Authority(lab.folder, "ca").certificate, {}))}}
    agent.write_config()
    agent.start(ready=False)
    wait(agent.socket.exists, "agentd's socket")
    for command in ("CHECK", "ADD"):
        code, answer = one.call(command)
        assert (code, answer["code"]) == (1, 11), answer
    assert one.call("DEL") == (0, None)
    wait_equal(lambda: len(pod_links(node)), 1, "the other pod's link alone")
    assert node.ping(two.address(4))


def test_many_at_once(lab, setting):
    """Forty pods over one block of 64: each has addresses of its own, and works when its ADD is over."""
    node, agent = setting
    lab.write("block.yaml", objects.address_block("pods-0", node.role, "10.224.1.0/26", "fd00:224::100/122",
                                                  pool="default"))
    pods = [Pod(lab, node, agent, f"p{number}") for number in range(40)]
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        list(pool.map(Pod.add, pods))
    assert len({pod.address(4) for pod in pods}) == len({pod.address(6) for pod in pods}) == 40
    assert all(node.ping(pod.address(4)) and node.ping(pod.address(6)) for pod in pods)
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        assert {code for code, _ in pool.map(lambda pod: pod.call("DEL"), pods)} == {0}
    assert pod_links(node) == []
