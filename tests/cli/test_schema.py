# SPDX-License-Identifier: Apache-2.0
"""The schemas themselves, and the documents that need no agent. tests/netns has the others."""

import json
import pathlib

import jsonschema
import pytest
import schema
import schemas

import asked_documents
import controller_documents
import documents
import nat_documents
from documents import fault, items, status
from test_screens import EXPORTS
from test_offline_verbs import CONFIG, MANIFESTS

CASES = pathlib.Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", schema.load())
def test_schema_is_one(name):
    jsonschema.Draft7Validator.check_schema(schema.load()[name])
    assert schema.load()[name]["$id"] == name


ROWS = """
| `a`, `b` | text or null | both |
| `c[]` | object or null, at most 2 | |
| `.d` | `x`, `y` or null, optional | |
| `.e` | bool or `z` | |
| `f` | integer 1 to 9 or null, optional | |
| `g[]` | [block](#block), at least 1 | |
| `h` | count by name: `i` | |
"""


def test_rows_are_made_into_a_schema():
    text = {"type": ["string", "null"], "description": "both"}
    words = {"oneOf": [{"enum": ["x", "y"]}, {"type": "null"}]}
    flag = {"oneOf": [{"type": "boolean"}, {"enum": ["z"]}]}
    item = {"type": "object", "required": ["e"], "properties": {"d": words, "e": flag}}
    counts = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "required": ["i"]}
    assert schemas.members(schemas.table(ROWS)) == {"required": ["a", "b", "c", "g", "h"], "properties": {
        "a": text, "b": text,
        "c": {"type": ["array", "null"], "items": item, "maxItems": 2},
        "f": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
        "g": {"type": "array", "items": {"$ref": "common.json#/definitions/block"}, "minItems": 1},
        "h": counts,
    }}


@pytest.mark.parametrize("row", ["| `a` | string | |", "| `.a` | text | |", "| `a` | text |", "| `a` | Text or null | |"])
def test_a_row_that_is_none_is_refused(row):
    with pytest.raises((SyntaxError, ValueError)):
        schemas.members(schemas.table(row))


SCRIPTED = [
    status(faults=[fault()]),
    documents.CHANGE,
    items("FaultList", [fault(), fault(remedy=None, since=None)]),
    {**items("RouteList", documents.ROUTES), "direct": documents.DIRECT},
    {**asked_documents.EXPLANATION, "direct": documents.DIRECT[0], "tenant": documents.TENANT},
    items("BlockList", [documents.BLOCK]),
    items("ServiceList", [documents.SERVICE]),
    documents.peers(documents.PEERS),
    status(services__enabled=True, nat=nat_documents.nat()),
    items("ServiceList", [nat_documents.SERVED]),
    items("BackendList", nat_documents.BACKENDS),
    nat_documents.flows(nat_documents.FLOWS),
    nat_documents.maps(nat_documents.MAPS),
    nat_documents.verification(nat_documents.DIFFERENCES),
    asked_documents.EXPLANATION,
    nat_documents.SERVED_EXPLANATION,
    {**documents.DIFF, "nat": nat_documents.DIFFERENCES, "differences": 3},
    {**asked_documents.EXPLANATION, "block": documents.BLOCK, "peers": EXPORTS},
    controller_documents.controller(),
    controller_documents.BLOCKS,
    controller_documents.REQUESTS,
    controller_documents.EGRESSES,
    controller_documents.EXPORTS,
    controller_documents.TROUBLED_EXPORTS,
    documents.DIFF,
    asked_documents.TRACE,
    asked_documents.REFUSED_TRACE,
    {**asked_documents.TRACE, "masquerade": True, "hook": None},
]


@pytest.mark.parametrize("document", SCRIPTED, ids=lambda document: document["kind"])
def test_what_the_scripted_agent_says_is_what_the_agent_says(document):
    schema.check(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("health"),
        lambda document: document["routes"].pop("wanted"),
        lambda document: document["faults"][0].pop("remedy"),
        lambda document: document.update(health="splendid"),
        lambda document: document.update(mood="good"),
        lambda document: document["routes"].update(wanted="4"),
    ],
)
def test_a_change_is_found(change):
    document = status(faults=[fault()])
    change(document)
    with pytest.raises(AssertionError):
        schema.check(document)


def test_offline_documents(ctl, tmp_path):
    (tmp_path / "all.yaml").write_text(MANIFESTS)
    (tmp_path / "bad.yaml").write_text("kind: [\n")
    config, bad = tmp_path / "agentd.conf", tmp_path / "bad.conf"
    config.write_text("source: { manifests: /tmp }\nservices: { clusterCIDRs: [10.0.0.0/8] }\n")
    bad.write_text(CONFIG)
    both = tmp_path / "both.conf"
    both.write_text(
        "source: { manifests: /tmp }\n"
        "egress: { enabled: true, unknownPods: hold, gateway: { serves: [internet/nat] } }\n"
    )
    egress = ("--config", str(both), "--node", "node-1")
    for words in (
        ["plan", "-f", str(tmp_path), "--node", "node-1"],
        ["plan", "-f", str(CASES / "egress-missing/manifests"), *egress],
        ["plan", "-f", str(CASES / "egress-gateway-nodes/manifests"), *egress],
        ["plan", "-f", str(CASES / "nat-source-ranges/manifests"), "--node", "node-1"],
        ["plan", "-f", str(CASES / "nat-details/manifests"), "--node", "node-1"],
        ["plan", "-f", str(CASES / "exports/manifests"), "--controller", str(CASES / "exports/controller.yaml")],
        ["config", "check", str(config)],
        ["config", "check", str(bad)],
        ["config", "show", str(config)],
        ["version"],
    ):
        code, output, errors = ctl.run(*words, "-o", "json")
        assert code in (0, 1), errors
        schema.check(json.loads(output))
