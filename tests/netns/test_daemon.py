# SPDX-License-Identifier: Apache-2.0
"""The daemon's own life: configuration, reload, readiness, API and command line."""

import json
import re

import pytest
from cluster import VIP, VIP6, announced_by, exported, pod_address, start, tables, write_web
from lab import wait, wait_equal

pytestmark = pytest.mark.lab(nodes=1)

BROKEN = """\
node: node1
source:
  manifests: /nowhere
routes:
  table: many
  holdDwon: {initial: 1s}
services:
  enabled: perhaps
  clusterCIDRs: [10.0.0.0/33]
"""
BROKEN_AT = ["5:10", "6:3", "8:12", "9:18"]


def places(text):
    return [match[1] for match in re.finditer(r"agentd\.yaml:(\d+:\d+): ", text)]


def test_a_broken_configuration_is_told_in_full_and_exits_78(lab):
    [node] = lab.nodes
    agent = lab.agent(node, start=False)
    agent.write_config(BROKEN)
    agent.start(ready=False)
    assert agent.wait_exit() == 78
    assert places(agent.log_tail()) == BROKEN_AT
    check = agent.ctl("config", "check", str(agent.config_file))
    assert check.code == 1
    assert places(check.out + check.err) == BROKEN_AT


def test_reload_refuses_a_bad_file_and_keeps_the_old(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    monitor = lab.monitor()
    agent.write_config(BROKEN)
    agent.reload()
    wait(lambda: agent.json("status")["config"]["refused"], "the refusal in status")
    assert [p for f in agent.faults() for p in places(f["place"] + ": ")] == BROKEN_AT
    assert agent.ctl("status").code == 1
    assert tables(node) == exported(node, VIP, VIP6)

    agent.write_config()
    agent.reload()
    wait(lambda: not agent.json("status")["config"]["refused"], "the good file to be taken")
    wait(lambda: agent.ctl("status").code == 0, "health to return")
    assert monitor.losses() == []


@pytest.mark.parametrize("services, words", [
    ({"enabled": True}, "services.enabled cannot change while agentd runs (false -> true)"),
    ({"maps": {"flows": 4096}},
     "services.maps.flows cannot change while agentd runs (262144 -> 4096)"),
])
@pytest.mark.lab(nodes=1)
def test_reload_refuses_what_only_a_start_can_change(lab, services, words):
    [agent] = start(lab)
    agent.settings["services"].update(services)
    agent.write_config()
    agent.reload()
    wait(lambda: agent.json("status")["config"]["refused"], "the refusal in status")
    assert [fault["message"] for fault in agent.faults()] == [words]


def test_reload_takes_a_good_file(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    agent.settings["services"]["advertise"] = ["external"]
    agent.write_config()
    agent.reload()
    announced_by(lab)
    assert tables(node) == exported(node)
    assert {r["reason"] for r in agent.json("routes")["items"] if r["kind"] == "service"} == {
        "not-advertised"
    }
    wait(lambda: any(word.startswith("RELOADING=1") for word in agent.notified), "RELOADING")


def test_the_manager_is_told(lab):
    [agent] = start(lab)
    assert "READY=1" in agent.notified
    wait(lambda: any("2 addresses announced" in word for word in agent.notified),
         "STATUS= that counts addresses")
    lab.write_text("broken.yaml", "[")
    wait(lambda: any(word.endswith(", 1 fault") for word in agent.notified),
         "STATUS= that counts one fault")


def test_probes_and_metrics(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    agent.settled()
    assert node.fetch("127.0.0.1", 9394, path="/livez")
    assert node.fetch("127.0.0.1", 9394, path="/readyz")
    metrics = node.fetch("127.0.0.1", 9394, path="/metrics")
    assert "fingerpost_" in metrics
    values = [line for line in metrics.splitlines() if line and not line.startswith("#")]
    assert values and all(re.match(r"^[a-z_]+(\{[^}]*\})? [-0-9.e+]+$", v) for v in values)


def test_every_verb_answers(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    agent.settled()
    kinds = {
        ("status",): "Status",
        ("routes",): "RouteList",
        ("blocks",): "BlockList",
        ("services",): "ServiceList",
        ("faults",): "FaultList",
        ("diff",): "Diff",
        ("explain", VIP): "Explanation",
        ("plan", "-f", str(lab.manifests), "--node", node.role): "Plan",
    }
    for words, kind in kinds.items():
        people, machine = agent.ctl(*words), agent.ctl(*words, "--json")
        assert people.code == machine.code == 0, (words, people, machine)
        assert people.out and json.loads(machine.out)["kind"] == kind
    assert agent.ctl().code == 0
    assert "node1" in agent.ctl().out
    assert agent.ctl("version").out.strip()
    assert agent.ctl("explain", "192.0.2.77").code == 4
    assert agent.ctl("no-such-verb").code == 64
    agent.stop()
    answer = agent.ctl("status")
    assert answer.code == 3 and str(agent.socket) in answer.err
    agent.start()


def test_explain_tells_both_why_and_why_not(lab):
    [agent] = start(lab)
    document = agent.json("explain", VIP)
    assert document["state"] == "announced"
    assert document["services"][0]["name"] == "web"
    assert document["services"][0]["endpoints"][0]["local"] is True
    assert f"table 119: blackhole {VIP}/32 proto 31" in document["kernel"]
    write_web(lab, False)
    announced_by(lab)
    document = agent.json("explain", VIP)
    assert (document["state"], document["reason"]) == ("withheld", "no-endpoints")


def test_the_plan_offline_is_what_the_kernel_has(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    plan = agent.json("plan", "-f", str(lab.manifests), "--node", node.role)
    lines = sorted(
        re.sub("/32(?= )|/128(?= )| metric 1024", "", route["entry"])
        for route in plan["routes"]
        if route["table"] == 119
    )
    wait_equal(lambda: sorted(node.table(119, 4) + node.table(119, 6)), lines, "table 119")


@pytest.mark.lab(nodes=2)
def test_explain_tells_whose_own_an_address_is(lab):
    """A Node's by its name, a pod's by its address: whatever node the pod is on."""
    agent = start(lab)[0]
    other = lab.nodes[1]
    document = agent.json("explain", other.role)
    assert document["address"] == other.address4 and document["reason"] == "node"
    assert document["holder"]["node"]["name"] == other.role
    document = agent.json("explain", pod_address(other))
    assert document["reason"] == "pod"
    assert [(item["name"], item["node"]) for item in document["holder"]["endpointOf"]] == [("web", other.role)]
    assert agent.ctl("explain", "node9").code == 4
