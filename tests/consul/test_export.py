# SPDX-License-Identifier: Apache-2.0
"""What load balancers are told, against a real Consul with ACLs and TLS on."""

import json
import urllib.request

from controller import PREFIX, key_of, node, service
from lab import wait, wait_equal
from statsd import Statsd

NODES = f"{PREFIX}/nodes/transformers"
MARKERS = f"{PREFIX}/fingerpost/transformers/"


def documents(consul):
    """Documents by their keys, without markers and locks."""
    return {key: value for key, value in consul.values(PREFIX).items()
            if not key.startswith((f"{PREFIX}/fingerpost/", f"{PREFIX}/leadership/"))}


def wait_for(consul, expected, timeout=30):
    wait_equal(lambda: set(documents(consul)), set(expected), "the documents' keys", timeout)


def indexes(consul):
    return {key: row["ModifyIndex"] for key, row in consul.entries(PREFIX).items()
            if "/leadership/" not in key}


# The example of kube-service-exporter's README.
MEGATRON = dict(
    name="megatron", namespace="decepticons", kind="LoadBalancer",
    custom_attrs='{"allowed_ips": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]}',
    load_balancer_backend_protocol="http", load_balancer_class="internal",
    load_balancer_dns_name="robots.example.net", load_balancer_service_per_cluster="false",
)


def test_the_documented_example(consul, kube, start):
    kube.put(service(**MEGATRON), node("kube-node-1.mydomain.net", "192.168.1.11"))
    start()
    key = f"{PREFIX}/services/decepticons-megatron-http/clusters/transformers"
    wait_for(consul, {key, NODES})
    document = json.loads(documents(consul)[key])
    assert document.pop("hash")
    assert document == {
        "ClusterName": "transformers", "port": 32046, "dns_name": "robots.example.net",
        "health_check_port": 32046, "backend_protocol": "http", "load_balancer_class": "internal",
        "custom_attrs": {"allowed_ips": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]},
    }
    assert json.loads(documents(consul)[NODES]) == [
        {"Name": "kube-node-1.mydomain.net", "Address": "192.168.1.11"}]


def test_services_come_change_and_go(consul, kube, start):
    start()
    wait_for(consul, {NODES})
    kube.put(service("a", ports=[("http", 80, 30001), ("admin", 81, 30002)]))
    wait_for(consul, {NODES, key_of("a"), key_of("a", "admin")})
    kube.put(service("a", ports=[("web", 80, 30001)]))
    wait_for(consul, {NODES, key_of("a", "web")})
    kube.put(service("a", ports=[("web", 80, 30001)], load_balancer_service_per_cluster="false"))
    wait_for(consul, {NODES, key_of("a", "web", per_cluster=False)})
    for no_more in ({"exported": "false"}, {"kind": "ClusterIP"}):
        kube.put(service("a", **no_more))
        wait_for(consul, {NODES})
        kube.put(service("a"))
        wait_for(consul, {NODES, key_of("a")})
    kube.remove("Service", "a")
    wait_for(consul, {NODES})
    wait_equal(lambda: set(consul.values(MARKERS)), {MARKERS + "nodes/transformers"}, "the markers")


def test_dependants_of_an_ingress_follow_at_once(consul, kube, start):
    ingress = service("gateway", ports=[("tls", 443, 30443)], namespace="ingress", exported="false")
    kube.put(ingress, service("a", ingress_service_namespace="ingress",
                              ingress_service_name="gateway", ingress_service_port_name="tls"))
    start()
    wait_equal(lambda: json.loads(documents(consul)[key_of("a")])["port"], 30443, "the port")
    kube.put(service("gateway", ports=[("tls", 443, 30444)], namespace="ingress", exported="false"))
    wait_equal(lambda: json.loads(documents(consul)[key_of("a")])["port"], 30444, "the port")


def test_an_edit_by_others_is_put_right(consul, kube, start):
    kube.put(service("a"))
    start()
    wait_for(consul, {NODES, key_of("a")})
    good = documents(consul)
    consul.put(key_of("a"), "{}")
    wait_equal(lambda: documents(consul), good, "the document as it was")
    consul.remove(key_of("a"))
    wait_equal(lambda: documents(consul), good, "the document is there again")
    consul.wipe(MARKERS)
    wait(lambda: len(consul.values(MARKERS)) == 2, "the markers are there again")
    assert documents(consul) == good


def test_nothing_of_others_is_touched(consul, kube, start):
    """Another cluster's documents under the same ids, and a cluster whose name begins with ours."""
    foreign = {
        f"{PREFIX}/services/default-a-http/clusters/transformers2": "{}",
        f"{PREFIX}/services/default-a-http/clusters/trans": "{}",
        f"{PREFIX}/services/by-hand/clusters/transformers": "{\"hash\":\"1\"}",
        f"{PREFIX}/nodes/transformers2": "[]",
        f"{PREFIX}/fingerpost/transformers2/services/x/clusters/transformers2": "x/y",
        "lab/other": "1",
    }
    for key, value in foreign.items():
        consul.put(key, value)
    kube.put(service("a", load_balancer_service_per_cluster="false"))
    start()
    ours = {NODES, key_of("a", per_cluster=False)}
    wait(lambda: ours <= set(documents(consul)), "our documents")
    kube.remove("Service", "a")
    wait(lambda: key_of("a", per_cluster=False) not in documents(consul), "it is gone")
    values = {**consul.values(PREFIX), **consul.values("lab/other")}
    assert {key: values[key] for key in foreign} == foreign


def test_what_another_exporter_wrote_is_taken_over(consul, kube, start):
    """The hash decides: what says the same is not written again, and what goes away later is
    removed."""
    kube.put(service("a"), service("b"))
    first = start("first")
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    assert first.stop() == 0
    consul.wipe(f"{PREFIX}/fingerpost/")
    before = indexes(consul)
    kube.remove("Service", "b")
    kube.put(service("c"))
    consul.put(f"{PREFIX}/services/orphan/clusters/transformers", documents(consul)[key_of("a")])
    start("second")
    wait(lambda: key_of("c") in documents(consul), "the new document")
    wait(lambda: MARKERS + key_of("a").removeprefix(PREFIX + "/") in consul.values(MARKERS),
         "its marker")
    assert indexes(consul)[key_of("a")] == before[key_of("a")]
    # Without a marker nobody can tell whose they are.
    assert {key_of("b"), f"{PREFIX}/services/orphan/clusters/transformers"} <= set(documents(consul))


def test_orphans_of_ours_go_at_the_start(consul, kube, start):
    kube.put(service("a"), service("b"))
    first = start("first")
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    first.kill()
    kube.remove("Service", "b")
    start("first")
    wait_for(consul, {NODES, key_of("a")})


def test_a_refused_service_keeps_its_documents(consul, kube, start):
    kube.put(service("a"))
    controller = start()
    wait_for(consul, {NODES, key_of("a")})
    before = documents(consul)
    kube.put(service("a", ports=[("http", 80, 31000)], load_balancer_listen_port="http"))
    controller.said("load-balancer-listen-port is \"http\"")
    kube.put(service("b"))
    wait_for(consul, {NODES, key_of("a"), key_of("b")})
    assert documents(consul)[key_of("a")] == before[key_of("a")]


def test_the_owner_of_a_refused_service_is_told_once(consul, kube, start):
    kube.put(service("a", custom_attrs="[]"))
    start()
    wait_for(consul, {NODES})
    wait(lambda: kube.events, "an Event")
    kube.put(service("b"))
    wait_for(consul, {NODES, key_of("b")})
    (event,) = kube.events
    assert event["reason"] == "ExportRefused" and event["type"] == "Warning"
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Service", "namespace": "default",
                                  "name": "a", "uid": "Service-default-a"}
    assert "custom-attrs is no JSON object" in event["note"]
    kube.remove("Service", "a")
    anew = service("a", custom_attrs="[]")
    anew["metadata"]["uid"] = "made-anew"
    kube.put(anew)
    wait_equal(lambda: [event["regarding"]["uid"] for event in kube.events],
               ["Service-default-a", "made-anew"], "the owner of the new one is told")
    assert len({event["metadata"]["name"] for event in kube.events}) == 2


def conditions(kube, name):
    return {one["type"]: one for one in kube.objects["Service", "default", name]["status"].get("conditions", [])}


def test_a_refused_service_has_a_condition_until_it_is_mended(consul, kube, start):
    """Beside those of others; what is not refused is not written to, and the next leader finds nothing to do."""
    other = {"type": "example.com/Other", "status": "True"}
    kube.put(service("a", custom_attrs="[]", status={"conditions": [other]}), service("b"))
    first = start("first")
    wait(lambda: "fingerpost.io/Exported" in conditions(kube, "a"), "the condition")
    one = conditions(kube, "a")["fingerpost.io/Exported"]
    assert (one["status"], one["reason"]) == ("False", "Refused")
    assert "custom-attrs is no JSON object" in one["message"] and one["lastTransitionTime"]
    kube.put(service("c"))
    wait(lambda: key_of("c") in documents(consul), "another plan")
    assert [patch[:2] for patch in kube.patches] == [("default", "a")]
    assert kube.patches[0][2] == {"fieldManager": "fingerpost-exports", "force": "true"}
    first.kill()
    start("second", identity="controller-first").said("leads")  # who need not wait for the first one's session
    kube.put(service("d"))
    wait(lambda: key_of("d") in documents(consul), "the second works")
    assert len(kube.patches) == 1
    there = kube.objects["Service", "default", "a"]["status"]
    kube.put(service("a", custom_attrs="{}", status=there))
    wait_equal(lambda: set(conditions(kube, "a")), {"example.com/Other"}, "the conditions")
    kube.put(service("a", custom_attrs="[]", status={"conditions": [other]}))
    wait(lambda: "fingerpost.io/Exported" in conditions(kube, "a"), "the condition again")
    there = kube.objects["Service", "default", "a"]["status"]
    kube.put(service("a", exported="false", custom_attrs="[]", status=there))
    wait_equal(lambda: set(conditions(kube, "a")), {"example.com/Other"}, "who does not ask is not refused")


def test_a_condition_that_cannot_be_written_is_told(consul, kube, start):
    kube.forbidden.add("status")
    kube.put(service("a", custom_attrs="[]"))
    controller = start()
    controller.said("Service default/a: its status can't be written")
    kube.forbidden.clear()
    wait(lambda: "fingerpost.io/Exported" in conditions(kube, "a"), "the condition", timeout=60)
    controller.said("no longer: its status can't be written")


def nodes_now(consul):
    return len(json.loads(documents(consul)[NODES]))


def unready(count):
    return [node(f"n{i}", f"10.0.0.{i + 1}", ready=False) for i in range(count)]


def test_a_list_of_nodes_that_shrinks_is_held_back(consul, kube, start):
    """Four events, seen together or one by one: the list keeps half of its four nodes at least."""
    kube.put(*[node(f"n{i}", f"10.0.0.{i + 1}") for i in range(4)])
    controller = start(holdDown="1h")
    wait_equal(lambda: nodes_now(consul), 4, "nodes")
    kube.put(*unready(4))
    controller.said("the list of nodes would shrink to 0 nodes, and is held back")
    assert nodes_now(consul) >= 2


def test_a_list_of_nodes_that_must_not_shrink_at_all(consul, kube, start):
    kube.put(*[node(f"n{i}", f"10.0.0.{i + 1}") for i in range(4)])
    controller = start(holdDown="1h", maxShrink=0)
    wait_equal(lambda: nodes_now(consul), 4, "nodes")
    kube.put(*unready(1))
    controller.said("the list of nodes would shrink to 3 nodes, and is held back")
    kube.put(*unready(4))
    controller.said("the list of nodes would shrink to 0 nodes, and is held back")
    assert nodes_now(consul) == 4


def test_what_was_held_back_is_let_go_after_the_hold_down(consul, kube, start):
    kube.put(*[node(f"n{i}", f"10.0.0.{i + 1}") for i in range(4)])
    controller = start(holdDown="1s", maxShrink=0)
    wait_equal(lambda: nodes_now(consul), 4, "nodes")
    kube.put(*unready(4))
    controller.said("and is held back")
    wait_equal(lambda: documents(consul)[NODES], "[]", "the list without nodes")


def test_a_node_that_pretends_to_be_ready(consul, kube, start):
    import datetime
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=6)
    note = {"kube-service-exporter.github.com/pretend-ready-until":
            until.strftime("%Y-%m-%dT%H:%M:%SZ")}
    kube.put(*[node(f"n{i}", f"10.0.0.{i + 1}") for i in range(3)],
             node("late", "10.0.0.9", ready=False, annotations=note))
    start()
    wait(lambda: "late" in documents(consul)[NODES], "the node is in the list")
    wait(lambda: "late" not in documents(consul)[NODES], "its time is over")


def metrics_of(controller):
    with urllib.request.urlopen(f"http://{controller.listen}/metrics") as answer:
        return answer.read().decode()


def test_environment_of_kube_service_exporter(consul, kube, start, token, tmp_path):
    """An EnvironmentFile= for kube-service-exporter is enough: no section consul at all."""
    from controller import Controller
    kube.put(service("a"), node("n1", "10.0.0.1", labels={"role": "node"}), node("n2", "10.0.0.2"))
    statsd = Statsd()
    controller = Controller(tmp_path / "kse", kube, None, {
        "KSE_CLUSTER_ID": "autobots", "KSE_POD_NAME": "kse-0", "KSE_CONSUL_KV_PREFIX": PREFIX,
        "KSE_CONSUL_HOST": "127.0.0.1", "KSE_CONSUL_PORT": str(consul.https),
        "KSE_NODE_SELECTOR": '["role=none", "role=node"]', "KSE_NAMESPACE_LIST": "default, other",
        "KSE_SERVICES_KEY_TEMPLATE": "{{ .Namespace }}/{{ id }}",
        "CONSUL_HTTP_SSL": "true", "CONSUL_HTTP_TOKEN": token.read_text().strip(),
        "CONSUL_CACERT": str(consul.pki.certificate),
        "CONSUL_CLIENT_CERT": str(consul.client_pair.certificate),
        "CONSUL_CLIENT_KEY": str(consul.client_pair.key),
        "KSE_HTTP_IP": "127.0.0.1", "KSE_HTTP_PORT": "1",  # the file has api.listen
        "KSE_DOGSTATSD_PORT": str(statsd.port), "KSE_DOGSTATSD_TAGS": '{"dc": "x"}',
    })
    try:
        wait_for(consul, {f"{PREFIX}/nodes/autobots",
                          f"{PREFIX}/services/default/autobots-default-a-http/clusters/autobots"})
        assert json.loads(documents(consul)[f"{PREFIX}/nodes/autobots"]) == [
            {"Name": "n1", "Address": "10.0.0.1"}]
        lock = consul.entries(PREFIX)[f"{PREFIX}/leadership/autobots-leader"]
        assert lock["Session"] and lock["Flags"] == 0x2ddccbc058a50c18
        assert consul.values(PREFIX)[f"{PREFIX}/leadership/autobots-leader"] == "kse-0"
        assert token.read_text().strip() not in controller.log()
        with urllib.request.urlopen(f"http://{controller.listen}/healthz") as answer:
            assert answer.read() == b"ok\n"
        lines = ('kubernetes_node_handler_total{handler="add"} 2', "nodes 1", "consul_leadership_elected_total 1",
                 'target_service_success_total{handler="create"} 2')
        wait(lambda: all(f"kube_service_exporter_{line}\n" in metrics_of(controller) for line in lines), "the metrics")
    finally:
        assert controller.stop() == 0
    wait(lambda: statsd.heard(r"start:1\|g\|#dc:x") and statsd.heard(r"shutdown:1\|g\|#dc:x"),
         "its metrics; test_statsd.py has each of them")
    statsd.close()
    # At once: who waited for the session to lapse would wait for half a minute.
    assert "Session" not in consul.entries(PREFIX)[f"{PREFIX}/leadership/autobots-leader"]
