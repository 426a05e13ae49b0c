# SPDX-License-Identifier: Apache-2.0
"""What is made from the catalogue of faults: docs/faults.md, the journal's catalog, Prometheus' alerts.

`GOLDEN_UPDATE=1 tools/test check` writes them anew. Run after a build; FINGERPOST_BUILD names it.
"""

import json
import os
import re
import subprocess
import textwrap

import pytest
import yaml
from lab.agent import REPOSITORY, build_folder

AGENT = REPOSITORY / "agent"
UPDATE = bool(os.environ.get("GOLDEN_UPDATE"))

PAGE = """\
# Faults

Made from the tables in `agent/faults/`: edit those. `agentctl help fault CODE` prints one row, `agentctl faults --code CODE` what
holds of it. A code keeps its meaning for ever.

A *notice* loses nothing. *degraded*: part of the work is not done. *failed*: a subsystem does not do its work. The health of the
agent is the worst severity that holds. Alert on `fingerpost_faults{severity="failed"} > 0`, or by `code`.
"""


@pytest.fixture(name="catalogue", scope="module")
def catalogue_fixture():
    command = [build_folder() / "agent/agentctl/agentctl", "help", "fault", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["items"]


def assert_made(path, text):
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name} is not what the catalogue says"


def row(fault):
    lines = [f"## {fault['code']}", "", f"{fault['severity']}, since {fault['since']}. Its place names {fault['subject']}.", ""]
    lines += [f"* Message: {fault['message']}"]
    if fault["remedy"]:
        lines += [f"* Remedy: {fault['remedy']}"]
    if fault["follows"]:
        lines += ["* Follows from: " + ", ".join(f"[{code}](#{code})" for code in fault["follows"])]
    return "\n".join([*lines, "", textwrap.fill(fault["meaning"], 120), ""]).replace("<", "\\<")


def test_the_page_is_made_from_the_catalogue(catalogue):
    assert_made(REPOSITORY / "docs/faults.md", "\n".join([PAGE, *map(row, catalogue)]))


def entry(fault):
    remedy = ["Remedy: @REMEDY@"] if fault["remedy"] else []
    return "\n".join([f"-- {fault['messageId']}", "Subject: Fault: @FAULT@", "Defined-By: Fingerpost", "",
                      f"Code: {fault['code']}", "Where: @OBJECT@", *remedy, "",
                      textwrap.fill(fault["meaning"], 80), ""])


def test_the_journals_catalog_is_made_from_the_catalogue(catalogue):
    ids = [fault["messageId"] for fault in catalogue]
    assert all(re.fullmatch("[0-9a-f]{32}", found) for found in ids) and len(set(ids)) == len(ids)
    head = "# SPDX-License-Identifier: Apache-2.0\n# What `journalctl -x` says of faults. Made from agent/faults/.\n"
    assert_made(REPOSITORY / "deploy/catalog/fingerpost-faults.catalog", "\n".join([head, *map(entry, catalogue)]))


ALERTS = """\
# SPDX-License-Identifier: Apache-2.0
# Alerts for Prometheus. Made from agent/faults/: one for each code that is failed, one for all that are degraded.
groups:
- name: fingerpost
  rules:
  - alert: FingerpostGone
    expr: max_over_time(fingerpost_build_info[1h]) unless on (instance) fingerpost_build_info
    for: 1m
    labels: {severity: critical}
    annotations:
      summary: "{{ $labels.instance }}: no metrics of Fingerpost any more"
  - alert: FingerpostDegraded
    expr: sum by (instance, subsystem, code) (fingerpost_faults{severity="degraded"}) > 0
    for: 10m
    labels: {severity: warning}
    annotations:
      summary: "{{ $labels.instance }}: {{ $labels.code }} ({{ $value }}); agentctl help fault {{ $labels.code }}"
"""


def alert(fault):
    name = "Fingerpost" + "".join(word.capitalize() for word in fault["code"].split("-"))
    described = json.dumps(f"{fault['meaning']} agentctl help fault {fault['code']}", ensure_ascii=False)
    return (f"  - alert: {name}\n    expr: sum by (instance) (fingerpost_faults{{code=\"{fault['code']}\"}}) > 0\n"
            f"    for: 1m\n    labels: {{severity: critical}}\n    annotations:\n"
            f"      summary: \"{{{{ $labels.instance }}}}: {fault['code']}\"\n      description: {described}\n")


def test_the_alerts_are_made_from_the_catalogue(catalogue):
    path = REPOSITORY / "deploy/prometheus/fingerpost-rules.yaml"
    failed = [fault for fault in catalogue if fault["severity"] == "failed"]
    assert_made(path, ALERTS + "".join(map(alert, failed)))
    [group] = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names) == len(failed) + 2


def test_journalctl_reads_the_catalog(catalogue, tmp_path):
    folder = tmp_path / "usr/lib/systemd/catalog"
    folder.mkdir(parents=True)
    (tmp_path / "var/lib/systemd/catalog").mkdir(parents=True)
    for path in (REPOSITORY / "deploy/catalog").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    journalctl = ["journalctl", f"--root={tmp_path}"]
    subprocess.run([*journalctl, "--update-catalog"], check=True)
    listed = subprocess.run([*journalctl, "--list-catalog"], check=True, capture_output=True, text=True).stdout
    assert {fault["messageId"] for fault in catalogue} <= {line.split()[0] for line in listed.splitlines()}


def test_the_schema_has_the_codes(catalogue):
    made = json.loads((build_folder() / "docs/common.json").read_text(encoding="utf-8"))
    [codes] = [kind["enum"] for kind in made["definitions"]["fault"]["properties"]["code"]["oneOf"] if "enum" in kind]
    assert sorted(codes) == sorted(fault["code"] for fault in catalogue)


def test_each_row_is_rendered_as_expected():
    """It writes its tests/unit/faults/rendered.txt anew by itself, by the same variable."""
    subprocess.run([build_folder() / "tests/unit/faults/test_faults_rendered"], check=True)


def test_codes_are_the_identifiers_of_the_tables(catalogue):
    rows = [pair for table in sorted((AGENT / "faults").glob("*.def")) if table.name != "declare.def"
            for pair in re.findall(r'^FAULT\((\w+), "([^"]+)"', table.read_text(encoding="utf-8"), re.MULTILINE)]
    assert sorted(code for _, code in rows) == sorted(fault["code"] for fault in catalogue)
    assert [pair for pair in rows if pair[0].replace("_", "-") != pair[1]] == []


def test_every_fault_is_raised_somewhere(catalogue):
    code = "".join(path.read_text(encoding="utf-8") for path in AGENT.rglob("*.c") if path.parent.name != "faults")
    unused = [fault["code"] for fault in catalogue
              if not re.search(rf"\b(fault_type_)?{fault['code'].replace('-', '_')}\b", code)]
    assert unused == []


# Of lines of files and requests, whose message says what they should be.
SAY_WHAT_IS_EXPECTED = ("api", "config", "documents", "kinds", "kubeconfig", "manifests", "objects", "requests", "syntax")


def test_every_fault_has_a_remedy(catalogue):
    lacking = {fault["code"] for fault in catalogue if not fault["remedy"]}
    of_lines = "".join((AGENT / "faults" / f"{name}.def").read_text(encoding="utf-8") for name in SAY_WHAT_IS_EXPECTED)
    assert {code for code in lacking if f'"{code}"' not in of_lines} == set()


def test_no_sentence_stands_outside_the_catalogue():
    """faults_add() is for tests, which have faults of their own."""
    sentence = re.compile(r"\bfaults_add\(")
    found = [f"{path.relative_to(AGENT)}:{number}" for path in sorted(AGENT.rglob("*.c"))
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if sentence.search(line)]
    assert [place for place in found if not place.startswith("base/fault.c:")] == []
