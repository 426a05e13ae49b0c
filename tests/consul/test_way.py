# SPDX-License-Identifier: Apache-2.0
"""Answers that a real Consul does not give on demand, and how many requests there are."""

import base64
import json
import threading

import pytest
from controller import PREFIX, Controller, key_of, service
from lab import wait
from lab.authority import Authority
from test_export import MARKERS, NODES, documents, wait_for
from way import Way, cut, status


@pytest.fixture(name="way")
def way_fixture(consul):
    way = Way(consul)
    yield way
    way.close()


FAULTS = {
    "429": status(429, b"Your IP is issuing too many requests", Retry_After="1"),
    "500": status(500, b"No cluster leader"),
    "503": status(503, b""),
    "garbage": status(200, b"<html>", X_Consul_Index="7"),
    "half": cut,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("asked", ["recurse", "/v1/txn", "/v1/session/create", "acquire="])
def test_a_bad_answer_is_tried_again(consul, kube, start, way, fault, asked):
    way.lay(asked, FAULTS[fault], FAULTS[fault])
    kube.put(service("a"), service("b"))
    start(address=way.address)
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    assert not way.faults


def test_nothing_is_removed_for_a_bad_answer(consul, kube, start, way):
    """An empty list is none: the index of one that nobody has is 0, and the status 404."""
    kube.put(service("a"))
    start(address=way.address)
    wait_for(consul, {NODES, key_of("a")})
    way.lay("recurse", status(500, b"rpc error"), status(200, b"[]garbage"), status(200, b""))
    kube.put(service("b"))
    wait_for(consul, {NODES, key_of("a"), key_of("b")})


def test_no_change_is_no_request(consul, kube, start, way):
    """But for the blocking query that waits, and the session's renewals."""
    kube.put(service("a"))
    start(address=way.address, sessionTTL="10s")
    wait_for(consul, {NODES, key_of("a")})
    wait(lambda: any("renew" in words for words in way.asked), "a renewal")
    quiet = len(way.asked)
    wait(lambda: sum("renew" in words for words in way.asked) == 3, "two more")
    assert all("/v1/session/renew/" in words for words in way.asked[quiet:])
    assert "index=" in [words for words in way.asked if "recurse" in words][-1]
    before = documents(consul)
    kube.put(service("a"))
    assert documents(consul) == before


def test_a_document_goes_with_its_marker(consul, kube, start, way):
    """A transaction has room for an odd number of writes: who is killed between two of them must
    not leave a document that nobody knows to be ours."""
    names = [f"s{i}" for i in range(100)]
    kube.put(*[service(name) for name in names])
    start(address=way.address)
    wait_for(consul, {NODES, *(key_of(name) for name in names)})
    written = [[op["KV"]["Key"] for op in json.loads(body) if op["KV"]["Verb"] == "cas"]
               for words, body in zip(way.asked, way.bodies) if "/v1/txn" in words]
    assert len(written) > 1
    for keys in written:
        assert ({key.removeprefix(MARKERS) for key in keys if key.startswith(MARKERS)} ==
                {key.removeprefix(f"{PREFIX}/") for key in keys if not key.startswith(MARKERS)})


def test_the_end_waits_until_the_lock_is_given_back(consul, kube, start, way):
    """The Lease is back at once, and the process must not end before Consul has answered: the session
    would live on for its time, and keep the next one waiting."""
    asked, may_go = threading.Event(), threading.Event()

    def when_it_may(handler):
        asked.set()
        may_go.wait(20)
        consul.ask("PUT", handler.path)
        handler.say(200, b"true")

    kube.put(service("a"))
    controller = start(address=way.address)
    wait_for(consul, {NODES, key_of("a")})
    way.lay("/v1/session/destroy/", when_it_may)
    controller.process.terminate()
    assert asked.wait(20)
    wait(lambda: not next(iter(kube.leases.values()))["spec"].get("holderIdentity"), "the Lease is given back")
    assert controller.running()
    may_go.set()
    assert controller.process.wait(20) == 0
    assert "Session" not in consul.entries(PREFIX)[f"{PREFIX}/leadership/transformers-leader"]


def test_the_end_does_not_wait_for_a_consul_that_does_not_answer(consul, kube, start, way):
    may_go = threading.Event()
    kube.put(service("a"))
    controller = start(address=way.address)
    wait_for(consul, {NODES, key_of("a")})
    way.lay("/v1/session/destroy/", lambda handler: may_go.wait(60))
    controller.process.terminate()
    try:
        assert controller.process.wait(20) == 0
    finally:
        may_go.set()


def environment_of(consul, token, **more):
    return {"KSE_CLUSTER_ID": "transformers", "KSE_CONSUL_HOST": "127.0.0.1", "KSE_CONSUL_PORT": str(consul.https),
            "CONSUL_HTTP_SSL": "true", "CONSUL_HTTP_TOKEN": token, **more}


@pytest.fixture(name="told_by_environment")
def told_by_environment_fixture(kube, tmp_path):
    started = []

    def start(environment):
        started.append(Controller(tmp_path / "environment", kube, None, environment))
        return started[-1]

    yield start
    for one in started:
        assert one.stop() == 0 and "Sanitizer" not in one.log()


def test_every_file_of_a_folder_is_an_authority(consul, kube, told_by_environment, tmp_path):
    """CONSUL_CAPATH, whatever its files are called; one that is no certificate says nothing."""
    folder = tmp_path / "authorities"
    folder.mkdir()
    kube.put(service("a"))
    controller = told_by_environment(environment_of(
        consul, consul.token()[1], CONSUL_CAPATH=str(folder), CONSUL_CLIENT_CERT=str(consul.client_pair.certificate),
        CONSUL_CLIENT_KEY=str(consul.client_pair.key)))
    controller.said("exports: https://127.0.0.1")
    assert documents(consul) == {}
    (folder / "b").mkdir()
    (folder / "other").write_text((Authority(tmp_path / "other", name="other").certificate).read_text("ascii"), "ascii")
    (folder / "ours").write_text(consul.pki.certificate.read_text("ascii"), "ascii")
    wait_for(consul, {NODES, key_of("a")})


def test_a_proxy_before_consul_asks_for_a_password(consul, kube, told_by_environment, way):
    """CONSUL_HTTP_AUTH; it goes beside the token, and into no log."""
    seen = []

    def look(handler):
        seen.append(handler.headers.get("Authorization"))
        handler.say(500, b"")

    way.lay("recurse", look)
    kube.put(service("a"))
    controller = told_by_environment({
        **environment_of(consul, consul.token()[1], CONSUL_HTTP_AUTH="who:knows:it"), "CONSUL_HTTP_SSL": "false",
        "KSE_CONSUL_PORT": way.address.rsplit(":", 1)[1]})
    wait_for(consul, {NODES, key_of("a")})
    assert base64.b64decode(seen[0].removeprefix("Basic ")) == b"who:knows:it"
    assert "knows" not in controller.log()
