# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with Consul, with the API server, and with controllers; afterwards KV is as
planned, and nothing of others was touched."""

import json
import random
import re
import threading
import time

from consul import POLICY
from controller import PREFIX, key_of, node, service
from kube import Kube
from lab import wait, wait_equal
from test_export import NODES, documents, indexes, metrics_of, wait_for

FOREIGN = f"{PREFIX}/services/cluster2-default-x-http/clusters/cluster2"


def test_consul_is_killed_and_comes_back(consul, kube, start):
    kube.put(service("a"))
    controller = start()
    wait_for(consul, {NODES, key_of("a")})
    consul.kill()
    kube.remove("Service", "a")
    kube.put(service("b"))
    controller.said("exports: https://127.0.0.1")
    consul.start()
    wait_for(consul, {NODES, key_of("b")})
    assert controller.running()


def test_consul_is_frozen(consul, kube, start):
    kube.put(service("a"))
    start()
    wait_for(consul, {NODES, key_of("a")})
    consul.freeze()
    try:
        kube.put(service("b"))
        kube.put(service("c"))
    finally:
        consul.thaw()
    wait_for(consul, {NODES, key_of("a"), key_of("b"), key_of("c")})


def test_the_token_is_revoked_and_another_given(consul, kube, start, token):
    """A new token is read from the file with the next request. Without rights nothing is seen, and
    that must not be taken for nothing being there."""
    accessor, secret = consul.token(rules=POLICY + "# to be revoked")
    token.write_text(secret, encoding="ascii")
    kube.put(service("a"), service("b"))
    controller = start()
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    consul.ask("DELETE", f"/v1/acl/token/{accessor}")
    kube.remove("Service", "b")
    kube.put(service("c"))
    controller.said("HTTP status 403")
    assert set(documents(consul)) == {NODES, key_of("a"), key_of("b")}
    token.write_text(consul.token()[1], encoding="ascii")
    wait_for(consul, {NODES, key_of("a"), key_of("c")})
    assert secret not in controller.log()


def test_a_token_that_may_not_read_all(consul, kube, start, token):
    rules = 'key_prefix "kube-service-exporter/leadership" { policy = "write" }\n' \
            'session_prefix "" { policy = "write" }\n'
    token.write_text(consul.token(rules=rules)[1], encoding="ascii")
    consul.put(FOREIGN, "{}")
    kube.put(service("a"))
    controller = start()
    controller.said("the token may not read all that is below the prefix")
    assert set(documents(consul)) == {FOREIGN}
    token.write_text(consul.token()[1], encoding="ascii")
    wait_for(consul, {FOREIGN, NODES, key_of("a")})


def test_a_key_that_the_token_may_not_write_stops_no_other(consul, kube, start, token):
    """One right of many is missing: what it is about is told once, and the rest is written."""
    denied = key_of("b").rsplit("/clusters", 1)[0]
    token.write_text(consul.token(rules=POLICY + f'key_prefix "{denied}" {{ policy = "read" }}')[1], encoding="ascii")
    kube.put(service("a"), service("b"), service("c"))
    controller = start()
    wait_for(consul, {NODES, key_of("a"), key_of("c")})
    tries = controller.log().count("keys are to be written")
    wait(lambda: controller.log().count("keys are to be written") >= tries + 2, "two more tries")
    told = [line for line in controller.log().splitlines() if "Permission denied" in line]
    assert len(told) == 1 and "key:write" in told[0] and denied in told[0]
    kube.remove("Service", "b")
    controller.said("no longer: Permission denied")
    assert set(documents(consul)) == {NODES, key_of("a"), key_of("c")}


def readings(controller):
    return int(re.search(r'consul_kv_success_total{method="get"} (\d+)', metrics_of(controller))[1])


def test_a_lock_that_the_token_may_not_take_stays_told(consul, kube, start, token):
    """What is read well says nothing of it."""
    rules = f'key_prefix "{PREFIX}/" {{ policy = "write" }}\nkey_prefix "{PREFIX}/leadership" {{ policy = "read" }}\n' \
            'session_prefix "" { policy = "write" }\n'
    token.write_text(consul.token(rules=rules)[1], encoding="ascii")
    kube.put(service("a"))
    controller = start(blockingQuery="1s")
    controller.said("lacks permission 'key:write'")
    consul.put(FOREIGN, "{}")
    wait(lambda: readings(controller) >= 3, "readings, which clear nothing")
    token.write_text(consul.token()[1], encoding="ascii")
    wait_for(consul, {FOREIGN, NODES, key_of("a")})
    told = [line for line in controller.log().splitlines() if "leadership" in line]
    assert len(told) == 2 and "no longer" in told[1]


def test_kv_is_restored_from_a_snapshot(consul, kube, start):
    """Indexes go back with it, and the query would wait for one that comes late or never."""
    kube.put(service("a"), service("b"))
    start(blockingQuery="2s")
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    snapshot = consul.ask("GET", "/v1/snapshot")
    kube.remove("Service", "b")
    kube.put(service("c"))
    wait_for(consul, {NODES, key_of("a"), key_of("c")})
    consul.ask("PUT", "/v1/snapshot", snapshot)
    wait_for(consul, {NODES, key_of("a"), key_of("c")})


def test_the_api_server_is_away(consul, kube, start):
    """Nothing goes, be it that the controller starts anew meanwhile."""
    kube.put(service("a"), node("n1", "10.0.0.1"))
    controller = start()
    wait_for(consul, {NODES, key_of("a")})
    before = documents(consul)
    kube.stop()
    controller.kill()
    controller.start()
    controller.said("kubernetes: ")
    assert documents(consul) == before
    kube.start()
    kube.put(service("b"))
    wait_for(consul, {NODES, key_of("a"), key_of("b")})


def test_two_clusters_share_one_kv(consul, kube, start, tmp_path):
    (tmp_path / "two").mkdir()
    other = Kube(tmp_path / "two")
    try:
        kube.put(service("a", load_balancer_service_per_cluster="false"))
        other.put(service("a", ports=[("http", 80, 31111)],
                          load_balancer_service_per_cluster="false"))
        start("one")
        start("two", api=other, clusterID="autobots")
        ours = key_of("a", per_cluster=False)
        theirs = key_of("a", cluster="autobots", per_cluster=False)
        wait_for(consul, {NODES, f"{PREFIX}/nodes/autobots", ours, theirs})
        kube.remove("Service", "a")
        wait_for(consul, {NODES, f"{PREFIX}/nodes/autobots", theirs})
        assert json.loads(documents(consul)[theirs])["port"] == 31111
    finally:
        other.stop()


def test_another_leads_after_the_first(consul, kube, start):
    """No document is written again by the second leader."""
    kube.put(service("a"))
    first = start("first")
    wait_for(consul, {NODES, key_of("a")})
    start("second")
    before = indexes(consul)
    first.kill()
    kube.put(service("b"))
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    assert {key: index for key, index in indexes(consul).items() if key in before} == before


def test_another_exporter_holds_the_lock(consul, kube, start):
    session = consul.json("PUT", "/v1/session/create", {"TTL": "60s", "LockDelay": "1s"})["ID"]
    lock = f"{PREFIX}/leadership/transformers-leader"
    assert consul.json("PUT", f"/v1/kv/{lock}?acquire={session}", "pod-7") is True
    kube.put(service("a"))
    controller = start()
    controller.said("holds the lock")
    assert documents(consul) == {}
    consul.ask("PUT", f"/v1/session/destroy/{session}")
    wait_for(consul, {NODES, key_of("a")})


def test_killed_at_random_while_services_change(consul, kube, start):
    """A thousand Services change while the controller is killed again and again."""
    rng = random.Random(18)
    consul.put(FOREIGN, "{}")
    names = [f"s{i}" for i in range(1000)]
    kube.put(*[service(name, ports=[("http", 80, 30000 + i)]) for i, name in enumerate(names)])
    controller = start()
    ended = threading.Event()
    there = set(names)

    def change():
        while not ended.is_set():
            name = rng.choice(names)
            if name in there and rng.random() < 0.3:
                there.discard(name)
                kube.remove("Service", name)
            else:
                there.add(name)
                kube.put(service(name, ports=[("http", 80, rng.randrange(30000, 32768))]))
            time.sleep(0.002)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(5):
            at = len(consul.entries(PREFIX))
            want = rng.randrange(200)
            wait(lambda: abs(len(consul.entries(PREFIX)) - at) >= min(want, 20), "it writes",
                 timeout=60)
            controller.kill()
            controller.start()
    finally:
        ended.set()
        changer.join()
    wait_equal(lambda: set(documents(consul)),
               {FOREIGN, NODES, *(key_of(name) for name in there)}, "the documents", timeout=90)
    ports = {key_of(name): item["spec"]["ports"][0]["nodePort"]
             for (kind, _, name), item in kube.objects.items() if kind == "Service"}
    wait_equal(lambda: {key: json.loads(value)["port"] for key, value in documents(consul).items()
                        if key in ports}, ports, "the ports", timeout=60)
    assert documents(consul)[FOREIGN] == "{}"


def test_a_frozen_leader_writes_nothing(consul, kube, start):
    """Its Lease and its session end; when it wakes up, another leads."""
    kube.put(service("a"))
    first = start("first")
    wait_for(consul, {NODES, key_of("a")})
    first.process.send_signal(19)
    second = start("second")
    second.said("leads")
    kube.put(service("b"))
    wait(lambda: key_of("b") in documents(consul), "the second has written", timeout=60)
    before = indexes(consul)
    first.process.send_signal(18)
    kube.put(service("c"))
    wait_for(consul, {NODES, key_of("a"), key_of("b"), key_of("c")})
    assert {key: index for key, index in indexes(consul).items() if key in before} == before
