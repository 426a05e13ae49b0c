# SPDX-License-Identifier: Apache-2.0
"""Owners of Services are told of what they can mend: once each cause, whatever sees it."""

import json
import os

import pytest
from lab import objects, wait, wait_equal
from lab.agent import Agent
from lab.namespace import Namespace

LAB = {"nodes": 1}
AGENTS = int(os.environ.get("EVENTS_AGENTS", 50))
EVENTS = "/apis/events.k8s.io/v1/events"
# External IPs: two that could become ClusterIPs, and one that is honoured.
REFUSED, OTHER, SHARED = "10.96.200.1", "10.96.200.2", "198.51.100.7"
SETTINGS = {"services": {"serviceCIDRs": ["10.96.0.0/16"], "externalIPs": [f"{SHARED}/32"]}}


def service(name, *external):
    item = objects.service(name, externalIPs=list(external))
    return {key: value for key, value in item.items() if key != "status"}


def events(plane, name):
    """What is said of a Service: the reason of each Event, by its name."""
    return {item["metadata"]["name"]: item["reason"] for item in plane.api.get(EVENTS)["items"]
            if item["regarding"]["kind"] == "Service" and item["regarding"]["name"] == name}


def asked(plane, name, user=None):
    """What agents have asked about Events of a Service: (verb, code), sorted."""
    return sorted((entry["verb"], entry["responseStatus"]["code"]) for entry in plane.audited(user)
                  if entry["objectRef"]["resource"] == "events"
                  and entry["objectRef"].get("name", "").startswith(f"{name}."))


def answered(created, existed):
    return [("create", 201)] * created + [("create", 409)] * existed


class Far(Namespace):
    """A host that has nothing but a wire to the control plane, for an agent."""

    def __init__(self, lab, number):
        super().__init__(lab.label, f"far{number}", lab.folder)
        self.node = f"far{number}"
        address = f"198.18.{number}.2"
        self.create(forwarding=False)
        lab.plane.host.configure(
            f"link add far{number} type veth peer name eth0 netns {self.name}",
            f"addr add 198.18.{number}.1/24 dev far{number}",
            f"link set far{number} up",
        )
        self.configure(
            f"addr add {address}/24 dev eth0", "link set eth0 up",
            f"route add default via 198.18.{number}.1",
        )


@pytest.fixture(name="agents", scope="module")
def agents_fixture(cluster):
    hosts = [Far(cluster, number) for number in range(AGENTS)]
    found = []
    try:
        for host in hosts:
            kubeconfig = cluster.plane.agent_kubeconfig(host.role)
            agent = Agent(host, {"kubernetes": {"kubeconfig": str(kubeconfig)}}, SETTINGS)
            found.append(agent.start(ready=False))
        for agent in found:
            wait(agent.ready, f"READY=1 of {agent.node}", 120)
        yield found
        for agent in found:
            agent.stop()
    finally:
        for host in hosts:
            host.remove()


def test_a_cause_has_one_event_however_many_agents_see_it(plane, agents):
    plane.put(service("web", REFUSED))
    wait_equal(lambda: asked(plane, "web"), answered(1, AGENTS - 1), "each agent's one request", 120)
    (item,) = [item for item in plane.api.get(EVENTS)["items"]
               if item["regarding"]["name"] == "web"]
    assert item["reason"] == "ExternalIPRefused" and REFUSED in item["note"]
    assert item["type"] == "Warning" and item["reportingController"] == "fingerpost.io/agentd"
    assert item["reportingInstance"] in {agent.node.role for agent in agents}
    assert REFUSED in plane.kubectl("describe", "service", "web")

    # What else changes is no reason to write again; another cause is.
    plane.kubectl("label", "service", "web", "some=thing")
    plane.kubectl("patch", "service", "web", "-p", json.dumps({"spec": {"externalIPs": [OTHER]}}))
    wait_equal(lambda: asked(plane, "web"), answered(2, 2 * (AGENTS - 1)), "the other cause", 120)
    assert len(events(plane, "web")) == 2

    # Nor is that a cause comes back, or that an agent is reloaded.
    plane.kubectl("patch", "service", "web", "-p", json.dumps({"spec": {"externalIPs": [REFUSED]}}))
    agents[0].reload()
    plane.put(service("db", REFUSED))
    wait_equal(lambda: asked(plane, "db"), answered(1, AGENTS - 1), "a later one", 120)
    assert asked(plane, "web") == answered(2, 2 * (AGENTS - 1))


def test_an_agent_that_starts_again_finds_it_written(plane, agents):
    agent = agents[0]
    user = f"fingerpost:agent:{agent.node.role}"
    plane.put(service("again", REFUSED))
    wait_equal(lambda: asked(plane, "again"), answered(1, AGENTS - 1), "the Event", 120)
    agent.stop()
    agent.start()
    wait_equal(lambda: len(asked(plane, "again", user)), 2, "its request")
    assert len(events(plane, "again")) == 1


def test_a_service_made_anew_is_another(plane, agents):
    for count in (1, 2):
        plane.put(service("anew", REFUSED))
        wait_equal(lambda count=count: len(events(plane, "anew")), count, "its Event", 120)
        plane.delete(service("anew"))
    assert len(agents) == AGENTS


def test_the_newer_one_is_told_that_its_port_is_taken(plane, agents):
    """Of two Services on an address: the one with the later creationTimestamp, or name."""
    plane.put(service("a-older", SHARED))
    plane.put(service("b-newer", SHARED))
    wait_equal(lambda: asked(plane, "b-newer"), answered(1, AGENTS - 1), "the Event", 120)
    assert set(events(plane, "b-newer").values()) == {"PortTaken"}
    assert events(plane, "a-older") == {}


def test_nothing_was_forbidden(plane, agents):
    forbidden = [entry for entry in plane.audited() if entry["responseStatus"]["code"] == 403]
    assert agents and forbidden == []
