# SPDX-License-Identifier: Apache-2.0
"""The writer and a real API server: killed under it, asked no more than needed, shared with others."""

import json
import random
import threading
from collections import Counter

import pytest
from lab import wait, wait_equal
from lab.control_plane import AGENTS
from lab.kube_api import ApiError, path_of
from test_writer import LIVES, METHODS, SEED, Lives
from writing import Writer, target

USER = "fingerpost:writer"
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
    "metadata": {"name": "writer"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps", "services/status"],
               "verbs": ["create", "update", "patch", "delete", "get"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
    "metadata": {"name": "writer"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"},
    "subjects": [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}],
}


@pytest.fixture(name="kubeconfig", scope="module")
def kubeconfig_fixture(cluster):
    """Of somebody who may write ConfigMaps and nothing else, and is audited as agents are."""
    plane = cluster.plane
    plane.kubectl("apply", "-f", "-", text=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [ROLE, BINDING]}))
    kubeconfig = plane.kubeconfig("writer", USER, [AGENTS])
    wait(lambda: "yes" in plane.kubectl("auth", "can-i", "create", "configmaps", f"--as={USER}"),
         "the role")
    return kubeconfig


def read(plane, name, kind="ConfigMap"):
    return plane.api.get(path_of(kind, "default", name))


def test_nothing_is_asked_needlessly_and_nothing_is_forbidden(plane, kubeconfig):
    names = [f"plain-{number}" for number in range(50)]
    with Writer(plane.host, kubeconfig) as writer:
        Lives(writer, names, apply=True).run()

    def asked():
        return [entry for entry in plane.audited(USER)
                if entry["objectRef"].get("name", "").startswith("plain-")]

    wait_equal(lambda: len(asked()), len(names) * len(METHODS), "all of them in the audit log")
    verbs = Counter(entry["verb"] for entry in asked())
    assert verbs == {VERBS[method]: len(names) for method in METHODS}
    codes = Counter(entry["responseStatus"]["code"] for entry in asked())
    assert codes == {200: 3 * len(names), 201: len(names)}


@pytest.mark.timeout(300 + 2 * LIVES)
def test_the_server_is_killed_at_random(plane, kubeconfig):
    """1,000 writes; each is done exactly once, or the next one of the same object would be another
    outcome than "done": it names the version or the uid that the one before has left."""
    chooser = random.Random(SEED)
    stop = threading.Event()

    def kill():
        for _ in range(max(2, LIVES // 250)):
            stop.wait(chooser.uniform(0.3, 1))
            plane.api_server.kill()
            plane.start_api_server()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with Writer(plane.host, kubeconfig, per_second=100) as writer:
            Lives(writer, [f"killed-{number}" for number in range(LIVES)], apply=True).run()
    finally:
        killer.join()
    assert any(told.outcome in ("later", "uncertain") for told in writer.told)
    left = [item["metadata"]["name"] for item in plane.items("ConfigMap")]
    assert not [name for name in left if name.startswith("killed-")]


def applied(name, data):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default"}, "data": data}


def put_by_another(plane, name, change):
    """As a program does that reads an object, changes it and puts it back whole."""
    while True:
        item = read(plane, name)
        change(item)
        try:
            return plane.api.request("PUT", path_of("ConfigMap", "default", name), item)
        except ApiError as error:
            if error.status != 409:
                raise


def test_two_writers_of_one_object(plane, kubeconfig):
    """Ours by server-side apply; another by PUT, who also takes a field of ours."""
    where = target("ConfigMap", "shared")
    with Writer(plane.host, kubeconfig) as writer:
        writer.ask("a", "apply", where, applied("shared", {"ours": "1", "more": "1"}),
                   manager="fingerpost")
        assert writer.ends("a").outcome == "done"
        put_by_another(plane, "shared", lambda item: item["data"].update(theirs="1", ours="9"))

        # Not taken by force: a conflict, told once however often it is tried again.
        writer.ask("a", "apply", where, applied("shared", {"ours": "2", "more": "1"}),
                   manager="fingerpost", flags="p")
        told = writer.ends("a", after=1)
        assert told.outcome == "conflict" and "data.ours" in told.why
        wait(lambda: len(writer.of("a")) > 4, "it to be tried again")
        assert [entry.news for entry in writer.of("a")[1:5]] == [True, False, False, False]
        assert read(plane, "shared")["data"] == {"ours": "9", "more": "1", "theirs": "1"}

        # By force ours comes back, and what is not ours any more goes; theirs is not touched.
        writer.ask("a", "apply", where, applied("shared", {"ours": "2"}), manager="fingerpost",
                   flags="f")
        wait(lambda: writer.of("a")[-1].outcome == "done", "what is ours")
        assert read(plane, "shared")["data"] == {"ours": "2", "theirs": "1"}


def test_two_writers_at_once(plane, kubeconfig):
    """Both as fast as they can. What the other adds is never lost, and ours is there in the end."""
    where = target("ConfigMap", "busy")
    with Writer(plane.host, kubeconfig) as writer:
        writer.ask("b", "apply", where, applied("busy", {"ours": "0"}), manager="fingerpost",
                   flags="f")
        assert writer.ends("b").outcome == "done"

        def add():
            for number in range(40):
                put_by_another(plane, "busy", lambda item, number=number: item["data"].update(
                    {f"theirs{number}": "1", "ours": "theirs"}))

        other = threading.Thread(target=add)
        other.start()
        for number in range(1, 40):
            writer.ask("b", "apply", where, applied("busy", {"ours": str(number)}),
                       manager="fingerpost", flags="f")
        other.join()
        writer.ask("b", "apply", where, applied("busy", {"ours": "end"}), manager="fingerpost",
                   flags="f")
        wait_equal(lambda: read(plane, "busy")["data"]["ours"], "end", "ours")
    data = read(plane, "busy")["data"]
    assert sorted(data) == sorted(["ours", *[f"theirs{number}" for number in range(40)]])
    assert {told.outcome for told in writer.of("b")} == {"done"}


def test_conditions_are_kept(plane, kubeconfig):
    """A uid, a resourceVersion, a name that is taken, an object that is not there."""
    where = target("ConfigMap", "guarded")
    meta = {"name": "guarded", "namespace": "default"}
    with Writer(plane.host, kubeconfig) as writer:
        writer.ask("1", "create", where, {"metadata": meta, "data": {"n": "1"}})
        first = writer.ends("1")
        writer.ask("2", "create", where, {"metadata": meta})
        assert writer.ends("2").outcome == "exists"
        writer.ask("3", "merge", where, {"data": {"n": "2"}})
        assert writer.ends("3").outcome == "done"
        based = {**meta, "resourceVersion": first.version}
        writer.ask("4", "update", where, {"metadata": based, "data": {"n": "3"}})
        assert writer.ends("4").outcome == "conflict"
        writer.ask("5", "merge", where, {"metadata": based, "data": {"n": "3"}})
        assert writer.ends("5").outcome == "conflict"
        writer.ask("6", "delete", where, uid="another", resource_version="")
        assert writer.ends("6").outcome == "conflict"
        writer.ask("7", "delete", where, uid=first.uid, resource_version=first.version)
        assert writer.ends("7").outcome == "conflict"
        writer.ask("8", "merge", where, {"data": "not a map"})
        told = writer.ends("8")
        assert told.outcome == "refused" and told.why.startswith(f"{told.status}: ")
        assert read(plane, "guarded")["data"] == {"n": "2"}
        writer.ask("9", "delete", where, uid=first.uid)
        assert writer.ends("9").outcome == "done"
        writer.ask("10", "merge", where, {"data": {}})
        assert writer.ends("10").outcome == "missing"


def test_what_may_not_be_written_is_refused(plane, kubeconfig):
    with Writer(plane.host, kubeconfig) as writer:
        writer.ask("a", "create", target("Lease", "mine"), {"metadata": {"name": "mine"}})
        told = writer.ends("a")
        assert (told.outcome, told.status) == ("refused", 403) and "leases" in told.why


def test_the_status_is_written_by_itself(plane, kubeconfig):
    """Of an object of somebody else: only what is ours in it."""
    plane.kubectl("create", "service", "loadbalancer", "web", "--tcp=80")
    with Writer(plane.host, kubeconfig) as writer:
        writer.ask("s", "apply", target("Service", "web"), {
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}},
        }, manager="fingerpost", subresource="status", flags="f")
        assert writer.ends("s").outcome == "done"
    item = read(plane, "web", "Service")
    assert item["status"]["loadBalancer"]["ingress"][0]["ip"] == "203.0.113.7"
    assert item["spec"]["ports"][0]["port"] == 80


def test_a_review_is_answered(plane, kubeconfig):
    """What a program may do: asked by a create of what is never stored."""
    with Writer(plane.host, kubeconfig) as writer:
        writer.ask("r", "create", {"group": "authorization.k8s.io", "version": "v1",
                                   "plural": "selfsubjectaccessreviews"},
                   {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}},
                   flags="v")
        assert writer.ends("r").outcome == "done"
