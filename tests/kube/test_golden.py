# SPDX-License-Identifier: Apache-2.0
"""The same objects through manifests and through the API give byte-identical tables.

Two agents take themselves for the node of the golden cases: one reads a case's manifests, the other
is fed by a real API server that has the same objects. What both write into their kernels, and what
they say of it, must be the same. The objects go into etcd as they are, so that the API server
neither refuses nor dates them anew; no controller is there to change them.
"""

import contextlib
import itertools
import json
import re
from pathlib import Path

import pytest
import yaml
from lab import wait, wait_equal
from lab.agent import merged

LAB = {"nodes": 2, "nat": True}
SERVICES = {"enabled": False, "uplinks": ["eth0"], "podInterfaces": ["veth*"]}
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
# In these `agentctl plan` gives addresses out of pools. Agents go by the addresses that a status has:
# what they make of pools is in the case "advertisements".
GIVEN = {"pools", "pools-edited", "pools-sharing"}
# A cluster mirrors Endpoints into slices, by which agents go; only those of a folder count themselves.
MIRRORED = {"endpoints"}
CASES = sorted({path.parent.name for path in GOLDEN.glob("*/manifests")} - GIVEN - MIRRORED)
OWN = "10.96.0.1"  # the API server's own Service
TABLES = (119, 120, "main")
OURS = re.compile(r" proto (3\d|[45]\d|6[0-3])\b")
# What differs from run to run, and where an object comes from.
PASSING = ("since", "origin", "source", "file", "line", "traffic")


@pytest.fixture(name="own", scope="module")
def own_fixture(cluster):
    """What the API server itself makes: the Service "kubernetes" and its slice."""
    plane = cluster.plane
    plane.controllers.kill()
    text = plane.kubectl("get", "service,endpointslice", "kubernetes", "-o", "json")
    return json.loads(text)["items"]


def objects_of(case):
    items = []
    for path in sorted((GOLDEN / case / "manifests").iterdir()):
        items += [item for item in yaml.safe_load_all(path.read_text()) if item]
    return items


def settings_of(case):
    path = GOLDEN / case / "config.yaml"
    return (yaml.safe_load(path.read_text()) if path.exists() else {}).get("services", {})


def lasting(value):
    """A document without what passes."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in PASSING}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def observed(node, agent):
    """What the agent wrote, as `ip` prints it, and what it says of it."""
    routes = {
        (table, family): [line.replace(f"src {address}", "src NODE")
                          for line in node.table(table, family) if OURS.search(line)]
        for table in TABLES for family, address in ((4, node.address4), (6, node.address6))
    }
    rules = [line for family in ("-4", "-6") for line in node.ip(family, "rule").splitlines()
             if "proto 33" in line]
    return routes, rules, [lasting(agent.json(verb)) for verb in ("routes", "services")]


def announced(case):
    """Table 119 of the case's expectations, in the words of `ip`."""
    text = (GOLDEN / case / "expected.txt").read_text()
    _, _, table = text.partition("table 119:\n")
    lines = itertools.takewhile(lambda line: line.startswith(" "), table.splitlines())
    return {re.sub(r"/(32|128) ", " ", line.strip()) for line in lines}


@pytest.fixture(name="agents", scope="module")
def agents_fixture(cluster):
    """An agent for files on one node, one for the API on the other; not running."""
    by_file, by_api = cluster.nodes
    kubeconfig = cluster.plane.agent_kubeconfig("node-1")
    return (cluster.agent(by_file, start=False),
            cluster.agent(by_api, start=False, kubeconfig=kubeconfig))


@contextlib.contextmanager
def stored(plane, items):
    plane.store(*items)
    try:
        yield
    finally:
        plane.unstore(*items)


@contextlib.contextmanager
def running(agents, settings):
    for agent in agents:
        agent.settings["node"] = "node-1"
        agent.settings["services"] = merged(SERVICES, settings)
        agent.write_config()
        agent.start(ready=False)
    try:
        for agent in agents:
            wait(agent.ready, "READY=1", 120)
        yield
    finally:
        for agent in agents:
            agent.stop()


@pytest.mark.parametrize("case", CASES)
def test_case(cluster, own, agents, case):
    items = objects_of(case)
    by_file, by_api = agents
    cluster.write("case.json", *own, *items)
    with stored(cluster.plane, items), running(agents, settings_of(case)):
        by_file.settled()
        wanted = observed(cluster.nodes[0], by_file)
        routes = {line for family in (4, 6) for line in wanted[0][119, family]}
        assert routes - {f"blackhole {OWN} proto 31"} == announced(case)
        wait_equal(lambda: observed(cluster.nodes[1], by_api), wanted, "the same by the API")
