# SPDX-License-Identifier: Apache-2.0
"""What the scripted API does with requests that change something; scripted.py.

Create, update, merge patch, JSON patch of members and deletion as the real one has them: names are taken once, a
resourceVersion or uid that is given must be that of the object. Server-side apply is left to the
real one.
"""

import json
import re
from urllib.parse import urlsplit

from lab.kube_api import PATHS

PATH = re.compile(r"^(/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)"
                  r"(?:/([^/]+))?(?:/(status))?$")
KINDS = {(group, plural): kind for kind, (group, plural, _) in PATHS.items()}
REASONS = {"AlreadyExists": 409, "Conflict": 409, "NotFound": 404, "UnsupportedMediaType": 415,
           "MethodNotAllowed": 405, "Invalid": 422}


class Refused(Exception):
    """A reason of REASONS."""


def key_of(path):
    """(kind, namespace, name or None) of a path; None: it is no such path."""
    match = PATH.match(urlsplit(path).path)
    kind = match and KINDS.get((match[1], match[3]))
    return (kind, match[2], match[4]) if kind else None


def merged(there, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(there) if isinstance(there, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def patched(there, operations):
    """RFC 6902, of tests and members."""
    result = json.loads(json.dumps(there))
    for operation in operations:
        *path, name = operation["path"].lstrip("/").split("/")
        target = result
        for part in path:
            target = target.setdefault(part, {})
        if operation["op"] == "add":
            target[name] = operation["value"]
        elif target.get(name) != operation["value"]:
            raise Refused("Invalid")
    return result


def meant(there, meta):
    """Whether what was read before the write is what is there."""
    return all(meta.get(field) in (None, there["metadata"].get(field))
               for field in ("uid", "resourceVersion"))


def write(api, method, path, kind_of_body, body):
    """Does it. Returns the object as it is now, or as it was last; or raises Refused."""
    kind, namespace, name = key_of(path)
    if method == "POST":
        key = (kind, namespace, body["metadata"]["name"])
        if key in api.objects:
            raise Refused("AlreadyExists")
        return create(api, key, body)
    key = (kind, namespace, name)
    there = api.objects.get(key)
    if there is None:
        raise Refused("NotFound")
    if method == "DELETE":
        if not meant(there, body.get("preconditions") or {}):
            raise Refused("Conflict")
        api.delete(there)
        return there
    if method == "PATCH" and kind_of_body == "application/json-patch+json":
        return store(api, key, patched(there, body))
    if not meant(there, body.get("metadata") or {}):
        raise Refused("Conflict")
    if method == "PATCH" and kind_of_body != "application/merge-patch+json":
        raise Refused("UnsupportedMediaType")
    fresh = merged(there, body) if method == "PATCH" else body
    identity = {field: there["metadata"][field] for field in ("name", "uid")}
    return store(api, key, {**fresh, "metadata": {**fresh["metadata"], **identity}})


def create(api, key, body):
    return store(api, key, {**body, "metadata": {**body["metadata"], "uid": f"uid-{api.version}"}})


def store(api, key, item):
    kind, namespace, _ = key
    place = {"namespace": namespace} if namespace else {}
    api.put({**item, "kind": kind, "metadata": {**item["metadata"], **place}})
    return api.objects[key]


class Unstored:
    """In the API's place for a write that leaves nothing behind; its answer has the version that there was."""

    def __init__(self, api):
        self.objects, self.version = dict(api.objects), api.version

    def put(self, item):
        self.objects[(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])] = item

    def delete(self, item):
        del self.objects[(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])]


def answer(handler, status_of, stored=True):
    """Reads the body of a request, does what it says, and answers."""
    api = handler.api
    try:
        with api.changed:
            item = write(api if stored else Unstored(api), handler.command, handler.path,
                         handler.headers["Content-Type"], json.loads(handler.body))
            if stored:
                api.effects.append((handler.command, *key_of(handler.path)[:2],
                                    item["metadata"]["name"]))
    except Refused as refusal:
        reason = str(refusal)
        handler.say(REASONS[reason], {**status_of(REASONS[reason]), "reason": reason})
        return
    handler.say(201 if handler.command == "POST" else 200, item)


def read_one(handler, status_of):
    item = handler.api.objects.get(key_of(handler.path))
    if item:
        handler.say(200, item)
    else:
        handler.say(404, status_of(404))
