# SPDX-License-Identifier: Apache-2.0
"""What a live agent says of NAT: against the schemas, the man page, and what was done to it."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import schema
from lab.agent import program
from lab.traffic import Connection, ask, outcome
from served import PORT, Service, pods, settle, start, steer
from test_documents import METRICS_PAGE, metric_names

pytestmark = pytest.mark.lab(nodes=1, nat=True)


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.pods = pods(lab, "one", "two")
    lab.web, lab.idle = Service(lab), Service(lab, "idle", 11)
    lab.idle.write()
    lab.web.write(lab.pods["one1"], (lab.pods["two1"], {"ready": False}))
    [lab.agent_here] = start(lab, lab.web)
    steer(lab, lab.nodes[0], *lab.web.of["loadBalancer"], *lab.idle.of["loadBalancer"])
    return lab


def ctl(agent, *words):
    """(exit status, document) of a verb with --json."""
    done = agent.node.run(
        program("agentctl"), "--socket", str(agent.socket), *words, "--json", check=False
    )
    return done.returncode, json.loads(done.stdout)


def service(agent, name):
    return next(s for s in agent.json("services")["items"] if s["name"] == name)


def test_documents_and_metrics(world):
    agent, (address, _) = world.agent_here, world.web.of["loadBalancer"]
    refused_at = world.idle.of["loadBalancer"][0]
    with Connection(world.client, address, PORT) as connection:
        connection.who()
        assert outcome(world.client, refused_at, PORT) == "reject"
        documents = [
            agent.json(*words) for words in (
                ["status"], ["services"], ["backends"], ["backends", "default/web"], ["flows"],
                ["flows", "--service=default/web"], ["maps"], ["verify"], ["diff"],
                ["explain", address], ["explain", f"{refused_at}:{PORT}/tcp"],
                ["explain", str(world.nodes[0].address4)], ["explain", "10.96.200.200"],
            )
        ]
    for document in documents:
        schema.check(document)
    status, services, backends, of_web, flows, *_ = documents
    assert status["nat"]["enabled"] and status["nat"]["complete"]
    assert status["nat"]["services"] >= 2 and status["nat"]["frontends"] > 0
    assert {"web", "idle"} <= {item["name"] for item in services["items"]}
    assert {item["name"] for item in of_web["items"]} == {"web"}
    assert [item for item in backends["items"] if item["name"] == "web"] == of_web["items"]
    assert any(flow["service"] == "default/web" for flow in flows["items"])

    names = metric_names(agent.get("/metrics"))
    page = METRICS_PAGE.read_text(encoding="utf-8")
    assert [name for name in names if f"*{name}*" not in page] == []
    assert {"fingerpost_nat_service_flows_total", "kubeproxy_proxy_healthz_total"} <= set(names)


def test_what_was_moved_and_refused(world):
    agent, (address, _) = world.agent_here, world.web.of["loadBalancer"]
    refused_at = world.idle.of["loadBalancer"][0]
    before = service(agent, "web")["traffic"]
    for _ in range(3):
        ask(world.client, address, PORT)
    assert outcome(world.client, refused_at, PORT) == "reject"
    web, idle = service(agent, "web"), service(agent, "idle")
    assert web["traffic"]["flows"] == before["flows"] + 3
    assert web["traffic"]["packets"] > before["packets"]
    assert {port["verdict"] for port in web["ports"]} == {"forward"}
    assert {port["verdict"] for port in idle["ports"]} == {"reject"}
    [refusal] = [item for item in idle["refusals"] if item["reason"] == "no-endpoints"]
    assert refusal["service"] == "default/idle" and refusal["count"] >= 1
    assert refusal["last"]["destination"] == f"{refused_at}:{PORT}"
    assert refusal["last"]["source"].startswith(f"{world.client.address4}:")
    explained = agent.json("explain", f"{refused_at}:{PORT}/tcp")["nat"]
    assert refusal in explained["refusals"]
    [frontend] = explained["frontends"]
    assert frontend["from"]["outside"]["verdict"] == "reject"
    assert refusal in agent.json("status")["nat"]["refusals"]


def test_each_kind_of_hook_is_counted(world):
    """What comes from outside for a pod here passes the uplink and the pod's interface, both ways."""
    agent, (address, _) = world.agent_here, world.web.of["loadBalancer"]

    def seen():
        return agent.json("status")["nat"]["hookPackets"]

    before = seen()
    for _ in range(3):
        ask(world.client, address, PORT)
    passed = {hook: count - before[hook] for hook, count in seen().items()}
    for hook in ("uplink-in", "uplink-out", "pod-in", "pod-out"):
        assert passed[hook] >= 3 * 3, passed  # a SYN or its answer, data, a FIN
    before = seen()["svc-out"]
    ask(world.nodes[0], address, PORT)
    assert seen()["svc-out"] - before >= 3
    lines = dict(line.rsplit(" ", 1) for line in agent.get("/metrics").splitlines())
    metric = 'fingerpost_nat_hook_packets_total{hook="%s"}'
    assert int(lines[metric % "uplink-in"]) >= passed["uplink-in"]
    assert "packets seen: uplink-in " in agent.ctl("status", "-v").out


def programming(agent):
    """(samples, their sum) of the time from a change in the cluster until it was in the maps."""
    name = "kubeproxy_network_programming_duration_seconds"
    lines = dict(line.rsplit(" ", 1) for line in agent.get("/metrics").splitlines())
    return int(lines[f"{name}_count"]), float(lines[f"{name}_sum"])


def write_triggered(world, at, *hosts):
    """The Service's endpoints, with the word of their controller since when they are so."""
    world.web.backends = [(host, {}) for host in hosts]
    items = world.web.objects()
    for item in items:
        if item["kind"] == "EndpointSlice":
            key = "endpoints.kubernetes.io/last-change-trigger-time"
            item["metadata"]["annotations"] = {key: at.isoformat()}
    world.write("web.yaml", *items)
    settle(world)


def test_changes_of_endpoints_are_timed(world):
    """A Service once, though slices of both families changed; not what was before the start."""
    agent, now = world.agent_here, datetime.now(timezone.utc)
    one, two = world.pods["one1"], world.pods["two1"]
    assert programming(agent) == (0, 0)
    write_triggered(world, now - timedelta(days=1), one, two)
    assert programming(agent) == (0, 0)
    write_triggered(world, now, one)
    count, seconds = programming(agent)
    assert count == 1
    assert 0 < seconds <= (datetime.now(timezone.utc) - now).total_seconds()


def test_backends_and_their_flows(world):
    agent, (address, _) = world.agent_here, world.web.of["loadBalancer"]
    to = (world.client, address, PORT)
    with Connection(*to) as one, Connection(*to) as two:
        one.who()
        two.who()
        items = [
            item for item in agent.json("backends", "default/web")["items"]
            if (item["family"], item["protocol"]) == (4, "TCP")
        ]
        [flow, *_] = agent.json("flows", "--service=default/web")["items"]
    ready, not_ready = sorted(items, key=lambda item: not item["ready"])
    assert ready["flows"] >= 2 and ready["sets"] and ready["local"]
    assert ready["endpoint"] == f"{world.pods['one1'].address4}:8080" == flow["endpoint"]
    assert not_ready["flows"] == 0 and not_ready["sets"] == []
    assert flow["address"] == f"{address}:{PORT}" and flow["state"] == "established"
    assert flow["fromEndpoint"]["packets"] > 0


def test_verify_finds_what_somebody_took_out(world):
    """And diff says the same, and counts it."""
    agent = world.agent_here
    settle(world)
    assert ctl(agent, "verify") == (0, agent.json("verify"))
    assert agent.json("explain", world.web.of["loadBalancer"][0])["nat"]["proof"] == {
        "asPlanned": True, "served": True, "why": None
    }
    [frontends] = Path(agent.settings["paths"]["bpf"]).glob("[0-9]*/frontends")
    entries = json.loads(
        agent.node.run("bpftool", "-j", "map", "dump", "pinned", str(frontends)).stdout
    )
    key = next(entry["key"] for entry in entries if entry["value"] != entries[0]["value"])
    agent.node.run("bpftool", "map", "delete", "pinned", str(frontends), "key", *key)
    code, found = ctl(agent, "verify")
    assert code == 1 and found["differences"] == len(found["items"]) == 1
    schema.check(found)
    code, diff = ctl(agent, "diff")
    assert code == 1 and diff["nat"] == found["items"] and diff["differences"] == 1
    schema.check(diff)
