# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes source in `agentctl status` and `explain`: what is read, what fails, and when the
copy on disk stands in."""

import asked_documents
import documents
from documents import LONG_AGO, ago, fault, items, status

SERVICE = {"kind": "Service", "state": "watching", "synced": True, "resourceVersion": "4711",
           "lists": 1, "reconnects": 0, "lastEventAt": ago(LONG_AGO), "error": None,
           "errorSince": None}
POOL = {**SERVICE, "kind": "AddressPool", "state": "absent", "lastEventAt": None}
NODE = {**SERVICE, "kind": "Node", "state": "waiting", "reconnects": 2,
        "error": "429 Too Many Requests\033[2J", "errorSince": ago(LONG_AGO)}
COPY = {"path": "/var/lib/fingerpost/objects.json", "writtenAt": ago(LONG_AGO),
        "asOf": ago(LONG_AGO), "objects": 12, "bytes": 3456, "inForce": False}
AWAY = fault(subsystem="kubernetes", group="", place="https://api:6443",
             message="the API can't be reached", remedy=None)


def kubernetes(**changes):
    source = {"sources__name": "kubernetes", "sources__path": "https://api:6443",
              "sources__kinds": [SERVICE, POOL], "sources__copy": COPY}
    return status(**{**source, **changes})


def source_line(output):
    return next(line for line in output.splitlines() if line.startswith("  Kubernetes"))


def test_synced(ctl, agent):
    agent({"/v1/status": kubernetes()})
    code, output, _ = ctl.run("status")
    assert code == 0
    assert source_line(output) == (
        "  Kubernetes  OK    synced, 12 objects, last event 3d 4h ago; copied 3d 4h ago"
    )
    assert "Manifests" not in output


def test_no_copy_yet(ctl, agent):
    agent({"/v1/status": kubernetes(sources__copy={**COPY, "writtenAt": None})})
    _, output, _ = ctl.run("status")
    assert source_line(output).endswith("synced, 12 objects, last event 3d 4h ago")


def test_writes_that_wait_are_told(ctl, agent):
    items = [
        {"what": "create Event shop/web.0123", "running": False, "tries": 3, "since": ago(LONG_AGO),
         "nextInMs": 4000, "outcome": "refused", "why": "403: events is forbidden"},
        {"what": "create Event shop/db.0123", "running": True, "tries": 0, "since": ago(LONG_AGO),
         "nextInMs": None, "outcome": None, "why": None},
    ]
    writes = {**status()["writes"], "enabled": True, "written": 12, "dropped": 1, "waiting": 1,
              "running": 1, "items": items}
    agent({"/v1/status": kubernetes(writes=writes)})
    _, output, _ = ctl.run("status")
    assert source_line(output).endswith("; 2 writes wait")
    _, output, _ = ctl.run("status", "-v")
    assert ("              Events: 12 written, 1 dropped\n"
            "              create Event shop/web.0123: refused, 403: events is forbidden; 3 tries, next in 4s\n"
            "              create Event shop/db.0123\n") in output


def test_what_became_of_writes_is_told(ctl, agent):
    items = [{"what": "create Event shop/web.0123", "running": True, "tries": 1, "since": ago(LONG_AGO),
              "nextInMs": None, "outcome": "uncertain", "why": "no answer"}]
    writes = {**status()["writes"], "enabled": True, "written": 2, "retries": 5, "refused": 1,
              "conflicts": 2, "lost": 3, "found": 1, "running": 1, "items": items}
    agent({"/v1/status": kubernetes(writes=writes)})
    _, output, _ = ctl.run("status", "-v")
    assert ("              Events: 2 written, 5 tried again, 1 refused, 2 in conflict, 3 answers lost,"
            " 1 found done\n"
            "              create Event shop/web.0123: uncertain, no answer; 1 try\n") in output


def test_a_kind_fails(ctl, agent):
    kinds = [SERVICE, NODE]
    agent({"/v1/status": kubernetes(sources__kinds=kinds)})
    _, output, _ = ctl.run("status")
    assert "OK" in source_line(output) and "; 1 kind fails; copied" in source_line(output)


def test_a_kind_that_goes_on_failing_is_a_fault(ctl, agent):
    failing = fault(subsystem="kubernetes", group="Node", place="Node", message="is not in sync")
    agent({"/v1/status": kubernetes(health="degraded", sources__kinds=[NODE], faults=[failing])})
    code, output, _ = ctl.run("status")
    assert code == 1 and "WARN" in source_line(output) and "Node: is not in sync" in output


def test_verbose_tells_of_each_kind(ctl, agent):
    agent({"/v1/status": kubernetes(sources__kinds=[SERVICE, POOL, NODE])})
    _, output, _ = ctl.run("status", "-v")
    assert "              Service: watching, last event 3d 4h ago\n" in output
    assert "              AddressPool: absent\n" in output
    assert ("              Node: waiting, last event 3d 4h ago, 2 reconnects; "
            "429 Too Many Requests?[2J\n") in output
    _, short, _ = ctl.run("status")
    assert "AddressPool" not in short


def test_the_copy_is_in_force(ctl, agent):
    away = kubernetes(health="degraded", sources__synced=False, sources__lastEventAt=None,
                      sources__copy={**COPY, "inForce": True}, faults=[AWAY])
    agent({"/v1/status": away})
    code, output, _ = ctl.run("status")
    assert code == 1
    assert source_line(output) == (
        "  Kubernetes  WARN  not read since the start, 12 objects; "
        "in force is the copy on disk, true 3d 4h ago"
    )
    assert "https://api:6443: the API can't be reached (for 3d 4h)" in output


def test_nothing_is_known(ctl, agent):
    away = kubernetes(health="failed", sources__synced=False, sources__lastEventAt=None,
                      sources__objects={}, sources__copy={**COPY, "writtenAt": None, "asOf": None},
                      faults=[AWAY])
    agent({"/v1/status": away})
    code, output, _ = ctl.run("status")
    assert code == 2
    assert source_line(output) == "  Kubernetes  FAIL  not read since the start, 0 objects"


def test_explain_says_how_old_it_is(ctl, agent):
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "copyAsOf": ago(LONG_AGO)}})
    code, output, _ = ctl.run("explain", "10.0.0.1")
    assert code == 0
    assert "  -> the API has not been read since the start: so it was 3d 4h ago\n" in output


def test_explain_of_what_the_api_says(ctl, agent):
    (service,) = asked_documents.EXPLANATION["services"]
    answer = {**asked_documents.EXPLANATION, "services": [{**service, "source": "kubernetes", "file": None, "line": None}]}
    agent({"/v1/explain?address=10.0.0.1": answer})
    _, output, _ = ctl.run("explain", "10.0.0.1")
    assert "the API has not been read" not in output
    assert "  service   default/web (loadBalancer, Kubernetes)\n" in output


def test_services_of_the_api(ctl, agent):
    agent({"/v1/services": items("ServiceList", [{**documents.SERVICE, "source": "kubernetes", "file": None, "line": None}])})
    _, output, _ = ctl.run("services", "-o", "wide")
    assert [line.split()[-1] for line in output.splitlines()[:2]] == ["PLACE", "Kubernetes"]
