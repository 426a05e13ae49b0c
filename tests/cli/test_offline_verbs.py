# SPDX-License-Identifier: Apache-2.0
"""What verbs print that need no agent: version and help, a configuration checked, a plan of manifests."""

import json

import pytest
import schema


def test_version(ctl):
    code, output, _ = ctl.run("version")
    assert code == 0 and output.startswith("agentctl 0.")
    code, output, _ = ctl.run("version", "--json")
    assert code == 0 and json.loads(output)["kind"] == "Version"


def test_help_fits_one_screen_and_names_every_verb(ctl):
    code, text, _ = ctl.run("--help")
    assert code == 0 and ctl.run("help")[1] == text and ctl.run("-h")[1] == text
    lines = text.splitlines()
    assert len(lines) <= 50 and max(map(len, lines)) <= 80
    for verb in "status faults explain diff routes services peers blocks plan version help".split():
        assert any(line[7:].startswith(verb + " ") for line in lines), verb
    assert "config check [FILE]" in text
    assert "--folder" not in text


def test_help_of_a_verb_has_its_own_options(ctl):
    code, text, _ = ctl.run("help", "flows")
    assert code == 0 and ctl.run("flows", "--help")[1] == text == ctl.run("-h", "flows")[1]
    assert "--service=NS/NAME" in text and "--limit=N" in text and "--socket" in text
    assert "--folder" not in text and "--brief" not in text
    two_words = ctl.run("help", "config", "check")[1]
    assert two_words.startswith("Usage: agentctl [OPTIONS] config check [FILE]\n")
    for words in (["help", "flows", "more"], ["nonsense", "--help"]):
        code, text, errors = ctl.run(*words)
        assert (code, text) == (64, "") and "unknown verb" in errors


CONFIG = """\
node: node-1
source: { manifests: /tmp }
routes:
  tabel: 119
  table: many
"""


def test_config_check(ctl, tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("node: node-1\nsource: { manifests: /tmp }\n")
    bad.write_text(CONFIG)
    assert ctl.run("config", "check", str(good)) == (0, f"{good}: ok\n", "")
    code, output, _ = ctl.run("config", "check", str(bad))
    lines = output.splitlines()
    assert code == 1 and len(lines) == 3 and lines[2] == "2 errors."
    assert lines[0].startswith(f"{bad}:4:3: ") and lines[1].startswith(f"{bad}:5:10: ")


def test_config_check_as_json(ctl, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text(CONFIG)
    code, output, _ = ctl.run("config", "check", str(bad), "--json")
    document = json.loads(output)
    assert code == 1 and document["valid"] is False and document["path"] == str(bad)
    assert [e["place"] for e in document["errors"]] == [f"{bad}:4:3", f"{bad}:5:10"]


def test_config_check_of_a_file_that_is_missing(ctl, tmp_path):
    code, output, errors = ctl.run("config", "check", str(tmp_path / "none.yaml"))
    assert code == 2 and "none.yaml" in output + errors


MANIFESTS = """\
apiVersion: coil.cybozu.com/v2
kind: AddressBlock
metadata:
  name: default-0
  labels: { coil.cybozu.com/pool: default, coil.cybozu.com/node: node-1 }
index: 0
ipv4: 10.224.0.0/27
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.1
  clusterIPs: [10.96.0.1]
  ports: [{ port: 80, protocol: TCP }]
status: { loadBalancer: { ingress: [{ ip: 10.0.0.1 }] } }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: default, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ port: 8080, protocol: TCP }]
endpoints: [{ addresses: [10.224.0.3], nodeName: node-1, conditions: { ready: true } }]
"""

PLAN = """\
table 119:
  blackhole 10.0.0.1/32 proto 31
  blackhole 10.224.0.0/27 proto 30
table 120:
  unreachable 10.0.0.1/32 proto 33
table main:
  unreachable 10.224.0.0/27 proto 33 metric 4278198272
rules:
  1990: not from all iif lo lookup 120 proto 33 (IPv4)
addresses:
  10.0.0.1/32 default/web: announced
  10.96.0.1/32 default/web: withheld, left out by services.advertise
services:
  10.0.0.1:80/TCP default/web loadBalancer: -> 10.224.0.3:8080, masqueraded
  10.96.0.1:80/TCP default/web clusterIP: -> 10.224.0.3:8080, masqueraded from outside, node
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "all.yaml").write_text(MANIFESTS)
    return folder


def test_plan(ctl, folder):
    assert ctl.run("plan", "-f", str(folder), "--node", "node-1") == (0, PLAN, "")


def test_plan_for_another_node(ctl, folder):
    code, output, _ = ctl.run("plan", "--folder", str(folder), "--node=node-2")
    assert code == 0 and "10.224.0.0/27" not in output


def test_plan_with_settings(ctl, folder, tmp_path):
    config = tmp_path / "agentd.yaml"
    config.write_text("node: node-1\nsource: { manifests: /tmp }\nroutes: { table: 219 }\n")
    code, output, _ = ctl.run("plan", "-f", str(folder), "--config", str(config))
    assert code == 0 and "table 219:\n  blackhole 10.0.0.1/32 proto 31\n" in output


def test_plan_with_broken_settings(ctl, folder, tmp_path):
    config = tmp_path / "agentd.yaml"
    config.write_text(CONFIG)
    code, output, errors = ctl.run("plan", "-f", str(folder), "--config", str(config))
    assert code == 2 and output == "" and f"{config}:4:3: " in errors


def test_plan_as_json(ctl, folder):
    code, output, _ = ctl.run("plan", "-f", str(folder), "--node", "node-1", "--json")
    document = json.loads(output)
    assert code == 0 and document["kind"] == "Plan" and document["node"] == "node-1"
    assert document["routes"][0] == {"table": 119, "entry": "blackhole 10.0.0.1/32 proto 31"}
    assert document["rules"] == ["1990: not from all iif lo lookup 120 proto 33 (IPv4)"]
    assert "installed" not in document["addresses"][0]
    assert [frontend["address"] for frontend in document["nat"][0]["frontends"]] == [
        "10.0.0.1", "10.96.0.1"
    ]
    assert document["faults"] == []


def test_plan_with_a_broken_file_shows_the_rest(ctl, folder):
    (folder / "bad.yaml").write_text("kind: [\n")
    code, output, errors = ctl.run("plan", "-f", str(folder), "--node", "node-1")
    assert code == 1 and output == PLAN and "bad.yaml:" in errors
    code, output, _ = ctl.run("plan", "-f", str(folder), "--json")
    fault_of_plan = json.loads(output)["faults"][0]
    assert code == 1 and "bad.yaml" in fault_of_plan["place"] and fault_of_plan["since"] is None


def test_plan_of_a_folder_that_is_missing(ctl, tmp_path):
    code, output, errors = ctl.run("plan", "-f", str(tmp_path / "none"))
    assert code == 2 and output == "" and "none" in errors


def test_plan_of_a_controller_that_exports_nothing(ctl, folder, tmp_path):
    settings = tmp_path / "controller.yaml"
    settings.write_text("source: { kubernetes: {} }\n")
    code, output, _ = ctl.run("plan", "-f", str(folder), "--node=node-1", f"--controller={settings}", "--json")
    assert code == 1
    assert [(fault["code"], fault["place"]) for fault in json.loads(output)["faults"]] == [
        ("export-cluster-unset", str(settings))]


def test_help_fault_has_all_kinds_and_each(ctl):
    code, text, _ = ctl.run("help", "fault")
    codes = [line.split()[0] for line in text.splitlines()]
    assert code == 0 and "bgp-session-down" in codes and len(set(codes)) == len(codes)
    for name in codes:
        code, text, _ = ctl.run("help", "fault", name)
        assert code == 0 and text.startswith(f"{name} (") and "\n  means " in text
    assert ctl.run("help", "fault", "no-such") == (
        4, "", "agentctl: no fault has the code 'no-such' (agentctl help fault lists them)\n")


def test_the_catalogue_is_its_schema(ctl):
    code, text, _ = ctl.run("help", "fault", "bgp-routes-filtered", "--json")
    document = json.loads(text)
    schema.check(document)
    assert code == 0 and [item["code"] for item in document["items"]] == ["bgp-routes-filtered"]
    assert "<count> routes" in document["items"][0]["message"]


def test_a_file_and_what_the_agent_runs_with(ctl, agent, tmp_path):
    """Values of every sort are compared as the file has them; the agent's own file is the default."""
    file = tmp_path / "agentd.yaml"
    file.write_text("node: node-1\nsource: {kubernetes: {events: false}}\n"
                    "services: {clusterCIDRs: [10.1.0.0/16, 'fd01::/64']}\negress: {gateway: {}}\n")
    shown = json.loads(ctl.run("config", "show", str(file), "--json")[1])["items"]
    values = {item["key"]: item["value"] for item in shown}
    running = {"apiVersion": "v1", "kind": "RunningConfig", "path": str(file), "loadedAt": "2026-01-01T00:00:00Z",
               "refused": False, "items": [{"key": key, "value": values[key]} for key in values]}
    schema.check(running)
    server = agent({"/v1/config": running})
    assert ctl.run("config", "check", "--running") == (0, f"{file}: ok\nThe agent runs with these settings.\n", "")
    other = {"source.kubernetes": {"events": True}, "services.clusterCIDRs": ["10.1.0.0/16"], "node": "node-2"}
    items = [{"key": key, "value": other.get(key, values[key])} for key in values if "egress.gateway" not in key]
    items.append({"key": "egress.gateway", "value": None})
    server.replies["/v1/config"] = (200, {**running, "items": items})
    code, out, err = ctl.run("config", "check", "--running")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[:4] == [
        f"{file}: ok", "node: the agent runs with node-2, the file has node-1 (takes a restart)",
        "source.kubernetes: the agent runs with {events: true}, the file has {events: false}",
        "services.clusterCIDRs: the agent runs with [10.1.0.0/16], the file has [10.1.0.0/16, fd01::/64]",
    ], out
    assert all("egress.gateway" in line and line.endswith("(takes a restart)") for line in lines[4:-1]) and len(lines) > 5
    assert lines[-1] == "-> systemctl restart agentd: a reload would be refused as a whole"
    document = json.loads(ctl.run("config", "check", str(file), "--running", "--json")[1])
    schema.check(document)
    assert {each["takes"] for each in document["running"]["differences"]} == {"reload", "restart"}


def test_without_an_agent_nobody_is_compared_with(ctl, tmp_path):
    file = tmp_path / "agentd.yaml"
    file.write_text("node: node-1\nsource: {manifests: /x}\n")
    assert ctl.run("config", "check", str(file), "--running")[0] == 3
    assert json.loads(ctl.run("config", "check", str(file), "--json")[1])["running"] is None
