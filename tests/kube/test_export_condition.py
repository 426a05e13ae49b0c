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
