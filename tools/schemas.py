# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas of all documents, from the tables of docs/documents.md, which says what its columns mean.

The build runs `schemas.py FOLDER DEPFILE` to write one file for each document and common.json, which has the parts of several.
"""

import json
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs/documents.md"
FAULTS = sorted(path for path in (REPOSITORY / "agent/faults").glob("*.def") if path.name != "declare.def")
DRAFT = "http://json-schema.org/draft-07/schema#"
PARTS = "common.json"
WORDS = {
    "text": {"type": "string"},
    "text list": {"type": "array", "items": {"type": "string"}},
    "time": {"type": "string", "format": "date-time"},
    "bool": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "count": {"type": "integer", "minimum": 0},
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "object": {"type": "object"},
    "null": {"type": "null"},
}
LIMITS = re.compile(r", (optional|no other fields|at (least|most) (\d+))$")
TITLE = re.compile(r"^(##+) (\w+)\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)


def file_of(title):
    name = title.removesuffix("Status") or title  # ControllerStatus is controller.json
    return re.sub(r"(?<!^)([A-Z])", r"-\1", name).lower() + ".json"


def codes():
    """Of the faults, as tests/check/test_faults.py holds against the catalogue."""
    rows = (re.findall(r'^FAULT\(\w+, "([^"]+)"', table.read_text("utf-8"), re.MULTILINE) for table in FAULTS)
    return [code for table in rows for code in table]


def value(word):
    return json.loads(word) if word == "true" or word.isdigit() else word


def alternative(words):
    """The schema of what a type says between two "or"."""
    if words in WORDS:
        return WORDS[words]
    quoted = [value(word) for word in re.findall("`([^`]*)`", words)]
    if words.startswith("`"):
        return {"enum": quoted}
    if words.startswith("text like "):
        return {"type": "string", "pattern": quoted[0]}
    if words.startswith("count by name"):
        return {"type": "object", "additionalProperties": WORDS["count"], "required": quoted}
    if words == "[code](faults.md)":
        return {"enum": codes()}
    if found := re.fullmatch(r"(integer|number) (?:from )?(\d+)(?: to (\d+))?", words):
        limits = {"maximum": int(found[3])} if found[3] else {}
        return {"type": found[1], "minimum": int(found[2]), **limits}
    if found := re.fullmatch(r"item of \[(\w+)\]\(#\w+\)", words):
        return {"$ref": f"{file_of(found[1])}#/properties/items/items"}
    if found := re.fullmatch(r"\[(\w+)\]\(#\w+\)", words):
        return {"$ref": f"{PARTS}#/definitions/{found[1]}"}
    raise SyntaxError(f"{PAGE.name}: no type {words!r}")


def union(alternatives):
    """Types that are told apart by "type" are one list; others are oneOf."""
    if len(alternatives) == 1:
        return dict(alternatives[0])
    if all("type" in one for one in alternatives):
        merged = {key: item for one in alternatives for key, item in one.items()}
        return {**merged, "type": [one["type"] for one in alternatives]}
    return {"oneOf": alternatives}


def members(rows):
    """The properties of an object, and which of them are required."""
    properties, required = {}, []
    for names, kind, meaning, below in rows:
        for name in names:
            properties[name.removesuffix("[]")] = member(name, kind, meaning, below)
        required += [name.removesuffix("[]") for name in names if not kind.endswith(", optional")]
    return {"required": required, "properties": properties}


def member(name, kind, meaning, below):
    limits = {}
    while found := LIMITS.search(kind):
        limits[found[2] or found[1]] = found[3]
        kind = kind[:found.start()]
    words, listed = kind.split(" or "), name.endswith("[]")
    nullable = listed and words[-1] == "null"  # the list, not its items
    schema = union([alternative(word) for word in words[:-1 if nullable else None]])
    if below:
        schema.update(members(below))
    if "no other fields" in limits:
        schema["additionalProperties"] = False
    if listed:
        schema = {"type": ["array", "null"] if nullable else "array", "items": schema}
    schema.update({key: int(limits[word]) for word, key in (("least", "minItems"), ("most", "maxItems")) if word in limits})
    return {**schema, "description": meaning} if meaning else schema


def nested(rows, depth=0):
    """The rows of one depth, each with those below it."""
    found = []
    while rows and rows[0][0] >= depth:
        dots, *row = rows.pop(0)
        if dots > depth:
            raise SyntaxError(f"{PAGE.name}: {row[0]} is a field of nothing")
        found.append((*row, nested(rows, depth + 1)))
    return found


def table(text):
    rows = []
    for line in re.findall(r"^\| ?`.*", text, re.MULTILINE):
        names, kind, meaning = (cell.strip() for cell in line.strip("|").split("|"))
        names = re.findall("`([^`]+)`", names)
        depth = len(names[0]) - len(names[0].lstrip("."))
        rows.append((depth, [name.lstrip(".") for name in names], kind, meaning))
    return nested(rows)


def section(text):
    """The object that a section of the page is about."""
    about = text.strip().split("\n", 1)[0]
    schema = {"description": about.replace("`", "")} if not about.startswith("|") else {}
    schema.update(type="object", **members(table(text)))
    if about.endswith("; no other fields"):
        schema["additionalProperties"] = False
    return schema


def document(title, text):
    schema = section(text)
    if title != "Error":
        schema["required"] = ["apiVersion", "kind", *schema["required"]]
        schema["properties"] = {"apiVersion": {"const": "v1"}, "kind": {"const": title}, **schema["properties"]}
    return {"$schema": DRAFT, "$id": file_of(title), "title": title, **schema}


def load():
    """All schemas, by the names of their files."""
    found = TITLE.findall(PAGE.read_text("utf-8"))
    parts = {title: section(text) for level, title, text in found if level == "###"}
    common = {"$schema": DRAFT, "$id": PARTS, "title": "Parts of several documents", "definitions": parts}
    return {PARTS: common, **{file_of(title): document(title, text) for level, title, text in found if level == "##"}}


def main(folder, depfile):
    schemas = load()
    for file, schema in schemas.items():
        (Path(folder) / file).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    outputs = " ".join(f"docs/{file}" for file in schemas)
    Path(depfile).write_text(f"{outputs}: {' '.join(map(str, [PAGE, *FAULTS]))}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
