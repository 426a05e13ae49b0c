# SPDX-License-Identifier: Apache-2.0
"""Documents against the schemas that docs/documents.md says: nothing missing, nothing that the schema does not know."""

import copy
import sys
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from schemas import load  # noqa: E402


def closed(schema):
    """The schema, with objects that have no members but those it names."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


SCHEMAS = {name: closed(schema) for name, schema in load().items()}
BY_KIND = {
    schema["properties"]["kind"]["const"]: name
    for name, schema in SCHEMAS.items()
    if "kind" in schema.get("properties", {})
}
OPEN = {"objects", "counts"}  # maps whose members have no fixed names


def validator(name):
    store = {**SCHEMAS, "": SCHEMAS[name]}
    resolver = jsonschema.RefResolver(base_uri="", referrer=SCHEMAS[name], store=store)
    return jsonschema.Draft7Validator(SCHEMAS[name], resolver=resolver)


def members(value, path=()):
    """The path of every member of every object in a document."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from members(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from members(item, (*path, key))


def without(document, path):
    copied = copy.deepcopy(document)
    place = copied
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return copied


def check(document):
    """The document is as its schema says, and would not be with any of its members missing."""
    rules = validator(BY_KIND[document["kind"]])
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in rules.iter_errors(document)]
    assert errors == [], errors
    optional = [
        path
        for path in members(document)
        if not (len(path) > 1 and path[-2] in OPEN) and rules.is_valid(without(document, path))
    ]
    assert optional == [], f"the schema does not require these: {optional}"
