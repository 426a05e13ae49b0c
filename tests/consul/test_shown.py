# SPDX-License-Identifier: Apache-2.0
"""What `agentctl export` says of documents in a real Consul, and in a folder."""

import json
import os
import subprocess
import time

import schema
from controller import PREFIX, Controller, key_of, node, service
from lab import wait, wait_equal
from lab.agent import build_folder

NODES = f"{PREFIX}/nodes/transformers"
AGENTCTL = os.environ.get("AGENTCTL", str(build_folder() / "agent" / "agentctl" / "agentctl"))


def agentctl(controller, *words):
    done = subprocess.run([AGENTCTL, "--socket", str(controller.folder / "run" / "controller.sock"), "export",
                           *words], capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stdout, done.stderr


def shown(controller):
    """The ExportList; None while there is none."""
    code, text, _ = agentctl(controller, "--json")
    if code:
        return None
    document = json.loads(text)
    schema.check(document)
    return document


def states(controller):
    return {item["key"]: item["state"] for item in (shown(controller) or {"items": []})["items"]}


def test_documents_with_place_age_and_state(consul, kube, start):
    foreign = key_of("c")
    consul.put(foreign, "somebody's note")
    kube.put(service("a"), service("b", custom_attrs="no"), service("c"), node("n1", "10.0.0.1"))
    controller = start(holdDown="1h")
    wait_equal(lambda: states(controller),
               {NODES: "current", key_of("a"): "current", foreign: "blocked"}, "the states")
    document = shown(controller)
    (item,) = [item for item in document["items"] if item["key"] == key_of("a")]
    assert item["id"] == "transformers-default-a-http" and item["place"] == item["key"]
    assert item["service"] == {"namespace": "default", "name": "a"}
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(consul.entries(PREFIX)[key_of("a")]["Flags"]))
    assert item["writtenAt"] == written
    assert [item["writtenAt"] for item in document["items"] if item["key"] == foreign] == [None]
    (refused,) = document["refused"]
    assert (refused["namespace"], refused["name"], refused["kept"]) == ("default", "b", 0)
    assert "custom-attrs" in refused["message"] and refused["remedy"]
    assert document["target"]["locked"] and document["target"]["address"] == consul.address
    text = agentctl(controller)[1]
    assert "3 documents, 2 current, 1 blocked." in text and "default/b is refused" in text


def test_what_stays_of_a_refused_service_and_what_is_held(consul, kube, start):
    names = [f"s{i}" for i in range(12)]
    kube.put(service("a"), *[service(name) for name in names])
    controller = start(holdDown="1h")
    wait(lambda: list(states(controller).values()).count("current") == 14, "all are there")
    kube.put(service("a", load_balancer_listen_port="x"))
    wait(lambda: states(controller).get(key_of("a")) == "kept", "it is kept")
    assert shown(controller)["refused"][0]["kept"] == 1 and shown(controller)["heldUntil"] is None
    for name in names:
        kube.remove("Service", name)
    wait(lambda: list(states(controller).values()).count("held"), "they are held back")
    assert shown(controller)["heldUntil"]


def test_consul_is_away(consul, kube, start):
    kube.put(service("a"))
    consul.freeze()
    try:
        controller = start()
        wait_equal(lambda: states(controller), {NODES: "unknown", key_of("a"): "unknown"}, "the states")
    finally:
        consul.thaw()
    wait_equal(lambda: states(controller), {NODES: "current", key_of("a"): "current"}, "the states")


def test_a_follower_says_who_leads(kube, start):
    first = start("first")
    wait(lambda: shown(first), "it is known")
    second = start("second")
    wait(lambda: "only the leader knows: ask controller-first" in agentctl(second)[2], "who leads")


def test_files(kube, tmp_path):
    folder = tmp_path / "exports"
    kube.put(service("a"))
    controller = Controller(tmp_path / "c", kube, {"clusterID": "transformers", "folder": str(folder)})
    try:
        wait_equal(lambda: states(controller), {NODES: "current", key_of("a"): "current"}, "the states")
        document = shown(controller)
        assert document["target"]["kind"] == "folder"
        places = [item["place"] for item in document["items"]]
        assert places == [f"{folder}/{NODES}.json", f"{folder}/{key_of('a')}.json"]
        assert all(os.path.exists(place) for place in places)
        assert all(item["writtenAt"] for item in document["items"])
    finally:
        assert controller.stop() == 0
