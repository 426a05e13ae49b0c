# SPDX-License-Identifier: Apache-2.0
"""After a reload nothing reads the configuration of before, which is freed.

The agent is built with the address sanitizer: whoever kept a pointer into the old configuration and
follows it ends the agent. So each part is made to do, after the reload, whatever it ever does.
"""

import pytest
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
