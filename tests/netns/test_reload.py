# SPDX-License-Identifier: Apache-2.0
"""After a reload nothing reads the configuration of before, which is freed.

The agent is built with the address sanitizer: whoever kept a pointer into the old configuration and
follows it ends the agent. So each part is made to do, after the reload, whatever it ever does.
"""

import json

import pytest
import schema
import yaml
from cluster import start as start_routes
from lab import wait, wait_equal
from lab.traffic import wait_outcome
from served import PORT, Service, address_of, pods, settle, start, steer

QUESTIONS = (
    ["status"], ["routes"], ["blocks"], ["services"], ["backends"], ["flows"], ["maps"], ["verify"],
    ["diff"], ["faults"], ["peers"], ["config", "show"],
)


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.pods = pods(lab, "one")
    lab.web = Service(lab)
    lab.web.write(lab.pods["one1"])
    bird = {"socket": str(lab.nodes[0].bird.socket)}
    [lab.agent_here] = start(lab, lab.web, bird=bird)
    return lab


# Every key that may change while agentd runs (agentd/reload.c refuses the others).
CHANGED = {
    "routes": {
        "holdDown": {"initial": "10ms", "max": "20ms"},
        "drain": {"shutdown": "100ms", "withdraw": "200ms"}, "nodeGone": "30s",
        "direct": True,
    },
    "services": {
        "uplinks": ["eth*"], "podInterfaces": ["veth*"], "clusterCIDRs": ["10.224.0.0/16", "fd00:224::/112"],
        "serviceCIDRs": ["10.96.0.0/16", "fd00:96::/112"], "nodePortAddresses": ["primary"],
        "externalIPs": ["203.0.113.0/24", "fd00:203::/64"], "loadBalancerClass": "",
        "loadBalancerIPs": ["203.0.113.0/24", "fd00:203::/64"],
        "advertise": ["loadBalancer", "external"], "masqueradeAll": True, "path": "stack",
        "snatPorts": "20000-30000", "healthz": "127.0.0.1:10257", "proxyModeListen": "127.0.0.1:10249",
        "firewall": {"mode": "mark", "mark": "0x2000", "scope": "holder", "nodePorts": True},
    },
}


def unlike(agent, *words):
    """What the agent runs with, and its file has otherwise: (key, running, file, what it takes)."""
    document = agent.json("config", "check", *words, "--running")
    schema.check(document)
    assert agent.ctl("config", "check", *words, "--running").code == (1 if document["running"]["differences"] else 0)
    return [tuple(each[name] for name in ("key", "running", "file", "takes"))
            for each in document["running"]["differences"]]


# One of each sort that agentd/reload.c refuses.
RESTART = [
    {"source": {"maxFileSize": "2MiB"}}, {"routes": {"table": 219}}, {"services": {"enabled": True}},
    {"services": {"maps": {"services": 2048}}}, {"services": {"maps": {"endpoints": 2048}}},
    {"pools": {"allocate": True}}, {"pods": {"enabled": True}}, {"api": {"listen": "127.0.0.1:9494"}},
    {"egress": {"gateway": {}}}, {"paths": {"state": "/run/elsewhere"}}, {"source": {"manifests": "/run/elsewhere"}},
]


def merged(settings, changes):
    both = {**settings}
    for key, value in changes.items():
        both[key] = merged(both.get(key) or {}, value) if isinstance(value, dict) else value
    return both


@pytest.mark.lab(nodes=1)
def test_the_file_is_compared_with_what_is_in_force(lab):
    """What a reload would do is known before: it takes what takes a reload, and refuses the rest by the key."""
    [agent] = start_routes(lab)
    settings, path = agent.settings, str(agent.config_file)
    assert unlike(agent) == [] and unlike(agent, path) == []
    schema.check(json.loads(agent.get("/v1/config")))
    for changes in RESTART:
        agent.write_config(yaml.safe_dump(merged(settings, changes)))
        takes = {takes for *_, takes in unlike(agent)}
        assert takes == {"restart"} or "restart" in takes and "egress" in changes, (changes, unlike(agent))
        keys = [key for key, *_, takes in unlike(agent) if takes == "restart"]
        agent.reload()
        wait(lambda: [key for key in keys if not any(
            key.startswith(fault["message"].split(" ")[0]) for fault in agent.faults())] == [], f"{keys} to be refused")
    agent.write_config(yaml.safe_dump(merged(settings, CHANGED)))
    found = unlike(agent)
    assert ("routes.holdDown.initial", "1s", "10ms", "reload") in found and {each[3] for each in found} == {"reload"}
    said = agent.ctl("config", "check", "--running").out
    assert "routes.holdDown.initial: the agent runs with 1s, the file has 10ms\n" in said, said
    assert said.endswith("-> systemctl reload agentd\n"), said
    agent.reload()
    wait_equal(lambda: unlike(agent), [], "what the reload has left")
    agent.write_config("routes: {table: x}\n")
    assert "a reload would refuse this one" in agent.ctl("config", "check", "--running").out
    agent.write_config()


def reloads(agent):
    return agent.log.read_text(errors="replace").count(" reloaded\n")


def reload(agent, changes):
    """Takes the changes over, and waits until the agent has."""
    for section, values in changes.items():
        agent.settings[section] = {**agent.settings.get(section, {}), **values}
    before = reloads(agent)  # `loadedAt` has seconds, and a start may have been in this one
    agent.write_config()
    agent.reload()
    wait(lambda: reloads(agent) > before or agent.faults(), "the new configuration")
    assert not agent.json("status")["config"]["refused"], agent.faults()
    assert not agent.faults()


def do_everything(world):
    """Objects come and go, an operator asks and drains, traffic flows, routes are taken away."""
    agent, [node], web = world.agent_here, world.nodes, world.web
    for question in QUESTIONS:
        agent.ctl(*question)
    [address, _] = web.announced()[:2]
    agent.json("explain", address)
    agent.json("trace", f"{address_of(world.client, 4)}:4000", f"{address}:{PORT}/tcp")
    more = Service(world, "more", 11)
    more.write(world.pods["one1"])
    settle(world)
    steer(world, node, *more.announced())
    wait_outcome("forward", world.client, more.announced()[0], PORT)
    more.delete()
    agent.ctl("drain")
    wait_equal(lambda: world.tor.via(address), set(), "the withdrawal")
    agent.ctl("undrain")
    wait_equal(lambda: world.tor.via(address), {node.role}, "the announcement")
    node.ip("route", "flush", "table", "119")
    wait_equal(lambda: world.tor.via(address), {node.role}, "the repair")
    settle(world)


@pytest.mark.lab(nodes=1, nat=True)
def test_nobody_keeps_the_old_configuration(world):
    agent = world.agent_here
    reload(agent, CHANGED)
    do_everything(world)
    reload(agent, {"services": {"healthz": "127.0.0.1:10258"}})
    do_everything(world)
    agent.stop()
