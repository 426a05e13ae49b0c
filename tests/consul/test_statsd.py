# SPDX-License-Identifier: Apache-2.0
"""Each metric that kube-service-exporter tells by DogStatsD, of a controller that was told of by its
environment alone. One life of a controller, with whatever makes it tell one; and then a test for
each name. What agentd tells (consul.service.*) is in test_services.py, and
tests/unit/controller/test_export_statsd.c has what does not happen on demand."""

import datetime
import re

import pytest
from controller import KSE, PREFIX, Controller, node, service
from kube import Kube
from lab import wait
from statsd import Statsd
from test_export import documents, metrics_of
from way import Way, status

LOCK = f"{PREFIX}/leadership/autobots-leader"
NODES = f"{PREFIX}/nodes/autobots"
A = "autobots-default-a-http"
GOES = "autobots-default-goes-http"
# The name, its type, and its tags behind the one that all of them have, as the contract has them.
NAMES = {
    "start": r"start:1\|g\|#dc:x",
    "shutdown": r"shutdown:1\|g\|#dc:x",
    "shutdown_time": r"shutdown_time:\d+\|ms\|#dc:x",
    **{f"service_handler.count {handler}":
       rf"kubernetes\.service_handler\.count:\d+\|c\|#dc:x,handler:{handler}"
       for handler in ("add", "update", "delete")},
    **{f"service_handler.time {handler}":
       rf"kubernetes\.service_handler\.time:\d+\|ms\|#dc:x,handler:{handler}"
       for handler in ("add", "update", "delete")},
    "service_handler.queue.adds": r"kubernetes\.service_handler\.queue\.adds:\d+\|c\|#dc:x,priority:0",
    "service_handler.queue.length": r"kubernetes\.service_handler\.queue\.length:\d+\|g\|#dc:x,priority:0",
    "service_handler.queue.wait": r"kubernetes\.service_handler\.queue\.wait:\d+\|d\|#dc:x,priority:0",
    "service_handler.queue.duration":
        r"kubernetes\.service_handler\.queue\.duration:\d+\|d\|#dc:x,priority:0",
    **{f"node_handler {handler}": rf"kubernetes\.node_handler:\d+\|c\|#dc:x,handler:{handler}"
       for handler in ("add", "update", "delete")},
    **{f"node_handler.queue.{what}": rf"kubernetes\.node_handler\.queue\.{what}:\d+\|c\|#dc:x"
       for what in ("add", "add_after", "forget", "done")},
    "node_handler.queue.length": r"kubernetes\.node_handler\.queue\.length:\d+\|g\|#dc:x",
    "node_handler.queue.shutdown": r"kubernetes\.node_handler\.queue\.shutdown:1\|c\|#dc:x,drain:false",
    "nodes": r"nodes:1\|g\|#dc:x,selector:role=node,node:n1",
    "target.service.success create": rf"target\.service\.success:1\|c\|#dc:x,handler:create,service:{A}",
    "target.service.success update": rf"target\.service\.success:1\|c\|#dc:x,handler:update,service:{A}",
    "target.service.success delete":
        rf"target\.service\.success:1\|c\|#dc:x,handler:delete,service:{GOES}",
    "target.service.fail create": rf"target\.service\.fail:1\|c\|#dc:x,handler:create,service:{A}",
    "target.service.fail delete": rf"target\.service\.fail:1\|c\|#dc:x,handler:delete,service:{GOES}",
    **{f"consul.kv.{what} {method} {kv}":
       rf"consul\.kv\.{what}:\d+\|{'ms' if what == 'time' else 'c'}\|#dc:x,method:{method},kv:{kv}"
       for what, method, kv in [
           *[(what, *of) for what in ("success", "fail") for of in (
               ("get", "metadata"), ("put", "metadata"), ("delete", "metadata"), ("put", "nodes"),
               ("put", "leader"))],
           ("success", "get", "leader"), ("time", "get", "metadata"), ("time", "put", "metadata"),
           ("time", "delete", "metadata"), ("time", "get", "leader"), ("time", "put", "leader")]},
    "consul.leadership.elected": r"consul\.leadership\.elected:1\|c\|#dc:x,client_id:kse-0",
    "consul.leadership.relinquished": r"consul\.leadership\.relinquished:1\|c\|#dc:x,client_id:kse-0",
}


def environment(way, statsd, token):
    return {
        "KSE_CLUSTER_ID": "autobots", "KSE_POD_NAME": "kse-0", "KSE_NODE_SELECTOR": "role=node",
        "KSE_CONSUL_HOST": "127.0.0.1", "KSE_CONSUL_PORT": way.address.rsplit(":", 1)[1],
        "KSE_DOGSTATSD_ENABLED": "true", "KSE_DOGSTATSD_HOST": "127.0.0.1",
        "KSE_DOGSTATSD_PORT": str(statsd.port), "KSE_DOGSTATSD_TAGS": '{"dc": "x"}',
        "CONSUL_HTTP_TOKEN": token,
    }


def soon():
    return (datetime.datetime.now(datetime.timezone.utc) +
            datetime.timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")


def live(cluster, kube, way, controller):
    """Everything comes, fails once, changes, and goes."""
    session = cluster.json("PUT", "/v1/session/create", {"TTL": "60s", "LockDelay": "1s"})["ID"]
    assert cluster.json("PUT", f"/v1/kv/{LOCK}?acquire={session}", "pod-7") is True
    way.lay("recurse", status(500))
    way.lay("acquire=", status(500, b"rpc error"))
    for key in (f"/services/{A}/", NODES):  # in one transaction or in two
        way.lay("/v1/txn", status(500), about=key)
    controller.start()
    controller.said("holds the lock")
    cluster.ask("PUT", f"/v1/session/destroy/{session}")

    def ids():
        return {key.split("/")[-3] for key in documents(cluster) if "/services/" in key}
    wait(lambda: ids() == {A, GOES}, "both documents", timeout=60)
    before = documents(cluster)
    kube.put(service("a", ports=[("http", 80, 31000)]), node("n1", "10.0.0.9", labels={"role": "node"}))
    wait(lambda: sum(documents(cluster)[key] != before[key] for key in before) == 2, "both have changed")
    way.lay("/v1/txn", status(500), about=f"/services/{GOES}/")
    kube.remove("Service", "goes")
    kube.remove("Node", "late")
    wait(lambda: ids() == {A} and "late" not in documents(cluster)[NODES], "both are gone", timeout=60)
    assert not way.faults
    page = metrics_of(controller)
    for handler in ("create", "delete"):
        assert re.search(rf'_target_service_fail_total{{handler="{handler}"}} [1-9]', page), handler


@pytest.fixture(name="heard", scope="module")
def heard_fixture(cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("statsd")
    kube, way, statsd = Kube(folder), Way(cluster), Statsd()
    kube.put(service("a"), service("goes"), node("n1", "10.0.0.1", labels={"role": "node"}),
             node("late", "10.0.0.2", ready=False, labels={"role": "node"},
                  annotations={KSE + "pretend-ready-until": soon()}))
    controller = Controller(folder / "kse", kube, None,
                            environment(way, statsd, cluster.token()[1]), start=False)
    try:
        live(cluster, kube, way, controller)
    finally:
        code = controller.stop()
        way.close()
        kube.stop()
    assert code == 0 and "Sanitizer" not in controller.log()
    wait(lambda: statsd.heard(NAMES["shutdown"]), "it tells of its end")
    yield statsd
    statsd.close()
    cluster.wipe(PREFIX)


@pytest.mark.parametrize("name", NAMES)
def test_a_name(heard, name):
    assert heard.heard(NAMES[name]), "\n".join(sorted(set(heard.lines)))
