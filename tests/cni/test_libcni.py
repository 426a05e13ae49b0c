# SPDX-License-Identifier: Apache-2.0
"""libcni itself, which container runtimes call plugins by (cnitool), with the reference plugins.

It converts results between versions, keeps them, hands them on in a chain, and gives them back for
CHECK and DEL: what it does with ours only it can show."""

import json
import os

import pytest
from conftest import PLUGIN
from lab.kube_programs import program

REFERENCE = "/usr/lib/cni"
ARGS = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-1;K8S_POD_UID=uid-1"
VERSIONS = ("0.3.1", "0.4.0", "1.0.0", "1.1.0")
HOST_LOCAL = {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/24"}], [{"subnet": "fd09::/64"}]],
              "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}


class Runtime:
    """A folder with one list of plugins, which is called as cnitool does."""

    def __init__(self, node):
        self.node, self.folder = node, node.folder / "net.d"
        self.name = f"pods-{node.host.name}"  # libcni keeps results of all networks in one folder
        self.folder.mkdir()

    def configure(self, version, *plugins):
        text = json.dumps({"cniVersion": version, "name": self.name, "plugins": plugins})
        (self.folder / "10-pods.conflist").write_text(text, encoding="ascii")

    def ours(self, **more):
        return {"type": "agent-cni", "socket": str(self.node.socket), **more}

    def call(self, command, pod, **capabilities):
        """(exit status, document or text)."""
        done = self.node.host.run(
            "env", f"NETCONFPATH={self.folder}", f"CNI_PATH={PLUGIN.parent}:{REFERENCE}", f"CNI_ARGS={ARGS}",
            f"CAP_ARGS={json.dumps(capabilities)}", program("cnitool"), command, self.name,
            f"/run/netns/{pod.name}", check=False)
        output = done.stdout or done.stderr
        return done.returncode, json.loads(output) if output.startswith("{") else output

    def good(self, command, pod, **capabilities):
        code, answer = self.call(command, pod, **capabilities)
        assert code == 0, answer
        return answer


@pytest.fixture(name="runtime")
def runtime_fixture(node, agent):
    assert os.path.exists(f"{REFERENCE}/ptp"), "containernetworking-plugins are not installed"
    return Runtime(node)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_life(node, agent, pod, runtime, version):
    runtime.configure(version, runtime.ours())
    before = node.links()
    result = runtime.good("add", pod)
    assert [address["address"] for address in result["ips"]] == ["10.1.2.3/32", "fd01::3/128"]
    assert node.host.ping("10.1.2.3") and node.host.ping("fd01::3")
    if version != "0.3.1":
        runtime.good("check", pod)
    runtime.good("del", pod)
    runtime.good("del", pod)
    assert node.links() == before and agent.pods == {}


@pytest.mark.parametrize("version", ("0.4.0", "1.0.0"))
def test_others_behind_it(node, agent, pod, runtime, version):
    """They find the pod's interface and its addresses in our result."""
    runtime.configure(version, runtime.ours(),
                      {"type": "tuning", "mtu": 1300},
                      {"type": "bandwidth", "ingressRate": 8000000, "ingressBurst": 8000000})
    runtime.good("add", pod)
    assert pod.ip_json("link", "show", "dev", "eth0")[0]["mtu"] == 1300
    assert "tbf" in node.host.run("tc", "qdisc", "show", "dev", "vethpod3").stdout
    runtime.good("del", pod)
    assert agent.pods == {}


@pytest.mark.parametrize("other", (
    {"type": "tuning", "mtu": 1300}, {"type": "tuning", "mac": "02:00:00:00:00:77"}, {"type": "sbr"},
    {"type": "firewall", "backend": "iptables"}), ids=lambda other: "-".join(list(other)[1:] or other.values()))
def test_check_lets_others_change_what_they_are_for(node, agent, pod, runtime, other):
    runtime.configure("1.0.0", runtime.ours(), other)
    for command in ("add", "check", "del"):
        runtime.good(command, pod)
    assert agent.pods == {}


@pytest.mark.parametrize("version", VERSIONS[:3])
def test_behind_ptp(node, agent, pod, runtime, version):
    """For egress only: what ptp made is found, its result is the list's, and it is ptp that removes it."""
    agent.wire = lambda key, document: (200, {"applied": 1})
    runtime.configure(version, {"type": "ptp", "ipam": {**HOST_LOCAL, "dataDir": str(node.folder)}},
                      runtime.ours(egressOnly=True))
    before = node.links()
    result = runtime.good("add", pod)
    (_, body), (_, ends) = agent.asked
    assert body["addresses"] == [address["address"].split("/")[0] for address in result["ips"]]
    host = next(link for link in node.host.ip_json("link") if link["ifname"] not in before)
    assert (ends["hostIndex"], ends["hostMAC"]) == (host["ifindex"], host["address"])
    assert node.host.ping("10.9.0.2")
    if version != "0.3.1":
        runtime.good("check", pod)
    runtime.good("del", pod)
    assert node.links() == before and agent.asked[-1][0].startswith("DELETE ")


def test_add_that_fails_behind_it(node, agent, pod, runtime):
    """The runtime takes the list down again, ours included."""
    runtime.configure("1.0.0", runtime.ours(), {"type": "tuning", "sysctl": {"net.no.such": "1"}})
    before = node.links()
    code, answer = runtime.call("add", pod)
    assert code != 0, answer
    runtime.good("del", pod)
    assert node.links() == before and agent.pods == {}


def test_status(node, agent, pod, runtime):
    runtime.configure("1.1.0", runtime.ours())
    runtime.good("status", pod)
    agent.answers["GET"] = 503, {"error": "pool default: no address is free", "remedy": "add a subnet"}
    code, answer = runtime.call("status", pod)
    assert code != 0 and "no address is free" in answer and "add a subnet" in answer


def test_gc(node, agent, pod, runtime):
    """libcni itself deletes what its own memory has and nobody claims. cnitool gives no list to the plugin,
    which therefore frees nothing of its own accord."""
    runtime.configure("1.1.0", runtime.ours())
    runtime.good("add", pod)
    agent.plan(("stranger", "eth0"))
    code, answer = runtime.call("gc", pod)
    assert code != 0 and "valid-attachments" in answer
    assert list(agent.pods) == [("stranger", "eth0")]
