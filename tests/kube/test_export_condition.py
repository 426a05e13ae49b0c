# SPDX-License-Identifier: Apache-2.0
"""The condition of a Service that is refused by the exporter, on a real API server: by server-side apply
beside the condition of addresses, with the controller's own role, and gone when that is mended."""

import pytest
from giving import Controllers, condition, end, named, pool, service, sweep
from lab import wait, wait_equal
from lab.kube_api import MERGE, path_of

LAB = {"nodes": 1}
KSE = "kube-service-exporter.github.com/"
EXPORTED = "fingerpost.io/Exported"


@pytest.fixture(name="clean")
def clean_fixture(plane):
    sweep(plane)
    yield plane
    sweep(plane)


def exported(plane, name="web"):
    """The condition; None: there is none."""
    found = [one for one in named(plane, name).get("status", {}).get("conditions", []) if one["type"] == EXPORTED]
    return found[0] if found else None


def annotate(plane, attributes):
    plane.api.request("PATCH", path_of("Service", name="web"),
                      {"metadata": {"annotations": {f"{KSE}custom-attrs": attributes}}}, MERGE)


def test_it_comes_and_goes(cluster, clean, tmp_path):
    controllers = Controllers(cluster, clean)
    try:
        clean.put(pool("203.0.113.0/29"), service("web", {f"{KSE}exported": "true", f"{KSE}custom-attrs": "["}))
        each = controllers("exports", consul={"clusterID": "lab", "folder": str(tmp_path / "exports")}).start()
        one = wait(lambda: exported(clean), "the condition", 60)
        assert (one["status"], one["reason"]) == ("False", "Refused") and "custom-attrs" in one["message"]
        wait_equal(lambda: (condition(clean, "web") or [None])[0], "True", "that of addresses")
        since = one["lastTransitionTime"]
        annotate(clean, "[]")
        wait(lambda: "is no JSON object" in exported(clean)["message"], "another reason")
        assert exported(clean)["lastTransitionTime"] == since
        annotate(clean, "{}")
        wait_equal(lambda: exported(clean), None, "no condition")
        assert condition(clean, "web")[0] == "True"
        wait(lambda: list((tmp_path / "exports").rglob("*web*")), "its document")
        end(each)
        entries = [entry for entry in clean.audited(each.user) if "objectRef" in entry]
        assert [entry for entry in entries if entry["responseStatus"]["code"] == 403] == []
        applied = [entry for entry in entries if "fieldManager=fingerpost-exports" in entry["requestURI"]]
        assert {(entry["objectRef"]["resource"], entry["objectRef"]["subresource"], entry["verb"])
                for entry in applied} == {("services", "status", "patch")}
    finally:
        controllers.end()


def rewrite(plane, change):
    """As `kubectl edit --subresource=status` of the Service's conditions: by another manager."""
    there = named(plane, "web")
    change(there["status"].setdefault("conditions", []))
    plane.api.request("PUT", f"{path_of('Service', name='web')}/status?fieldManager=somebody", there)


def words(plane):
    one = exported(plane)
    return one and (one["status"], one["reason"], "custom-attrs is no JSON object" in one["message"])


def by_somebody(conditions):
    """Another's condition beside ours, and ours in other words."""
    kinds = (EXPORTED, "example.com/Seen")
    conditions[:] = [one for one in conditions if one["type"] not in kinds]
    for kind in kinds:
        conditions.append({"type": kind, "status": "True", "reason": "Seen", "message": "by somebody",
                           "lastTransitionTime": "2026-11-24T10:00:00Z"})


def without_ours(conditions):
    conditions[:] = [one for one in conditions if one["type"] != EXPORTED]


def test_what_another_manager_makes_of_it_is_put_right(cluster, clean, tmp_path):
    """Edited, removed, and written where there is none: what fields of it he owns then stays with him, and
    so does what is altogether his."""
    controllers = Controllers(cluster, clean)
    ours = ("False", "Refused", True)
    try:
        clean.put(service("web", {f"{KSE}exported": "true", f"{KSE}custom-attrs": "[]"}))
        each = controllers("exports", consul={"clusterID": "lab", "folder": str(tmp_path / "exports")}).start()
        wait_equal(lambda: words(clean), ours, "the condition", 60)
        rewrite(clean, by_somebody)
        wait_equal(lambda: words(clean), ours, "the condition is as it was")
        rewrite(clean, without_ours)
        wait_equal(lambda: words(clean), ours, "the condition is there again")
        rewrite(clean, by_somebody)
        wait_equal(lambda: words(clean), ours, "the condition is as it was, once more")
        annotate(clean, "{}")
        wait_equal(lambda: exported(clean), None, "no condition")
        rewrite(clean, by_somebody)
        wait_equal(lambda: exported(clean), None, "no condition, whoever wrote it")
        seen = [one for one in named(clean, "web")["status"]["conditions"] if one["type"] == "example.com/Seen"]
        assert [(one["message"], one["status"]) for one in seen] == [("by somebody", "True")]
        uid = named(clean, "web")["metadata"]["uid"]
        events = [event for event in clean.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                  if event["reason"] == "ExportRefused" and event["regarding"]["uid"] == uid]
        assert len(events) == 1, events  # told once
        end(each)
    finally:
        controllers.end()
