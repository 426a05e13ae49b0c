# SPDX-License-Identifier: Apache-2.0
"""A small client of the Kubernetes API for the lab: requests and watches from a namespace."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

# Kinds that the lab writes: their path below /api or /apis, and whether they are in a namespace.
PATHS = {
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "Service": ("/api/v1", "services", True),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices", True),
    "AddressPool": ("/apis/coil.cybozu.com/v2", "addresspools", False),
    "AddressBlock": ("/apis/coil.cybozu.com/v2", "addressblocks", False),
    "BlockRequest": ("/apis/coil.cybozu.com/v2", "blockrequests", False),
    "Egress": ("/apis/coil.cybozu.com/v2", "egresses", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers", True),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "IPAddressPool": ("/apis/metallb.io/v1beta1", "ipaddresspools", True),
    "BGPAdvertisement": ("/apis/metallb.io/v1beta1", "bgpadvertisements", True),
    "L2Advertisement": ("/apis/metallb.io/v1beta1", "l2advertisements", True),
}
WITH_STATUS = ("Node", "Pod", "Service")
MERGE = "application/merge-patch+json"
THREADS = 16  # of who asks for much at once


class ApiError(ValueError):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text[:500]}")
        self.status = status


def wall_time(text):
    """A time of the API or of its audit log, in seconds since 1970."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def path_of(kind, namespace=None, name=None):
    group, plural, namespaced = PATHS[kind]
    where = f"/namespaces/{namespace or 'default'}" if namespaced else ""
    return f"{group}{where}/{plural}" + (f"/{name}" if name else "")


def all_of(kind):
    """The path of a kind in all namespaces."""
    group, plural, _ = PATHS[kind]
    return f"{group}/{plural}"


class KubeApi:
    """Each request has a connection of its own, so that threads may share this."""

    def __init__(self, host, address, port, context):
        self.host = host
        self.address = address
        self.port = port
        self.context = context

    def connect(self, timeout):
        connection = http.client.HTTPSConnection(self.address, self.port)
        connection.sock = self.context.wrap_socket(
            self.host.connect(self.address, self.port, timeout), server_hostname=self.address
        )
        return connection

    def open(self, method, path, body=None, kind="application/json", timeout=60):
        """Sends a request; the answer's status was good."""
        connection = self.connect(timeout)
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": kind})
        answer = connection.getresponse()
        if answer.status >= 300:
            raise ApiError(answer.status, answer.read().decode(errors="replace"))
        return answer

    def request(self, method, path, body=None, kind="application/json"):
        with self.open(method, path, body, kind) as answer:
            return json.loads(answer.read() or b"null")

    def get(self, path):
        return self.request("GET", path)

    def items(self, kind):
        return self.get(all_of(kind))["items"]

    def ready(self):
        with self.open("GET", "/readyz", timeout=5) as answer:
            return answer.read() == b"ok"

    def watch(self, path, version, timeout=60):
        """Yields (type, object) until the server ends it; silence is an OSError."""
        question = f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        with self.open("GET", question, timeout=timeout) as answer:
            for line in answer:
                event = json.loads(line)
                yield event["type"], event["object"]

    def apply(self, item):
        """Creates an object, or merges it into the one that is there; and its status."""
        meta = item["metadata"]
        namespace = meta.get("namespace")
        path = path_of(item["kind"], namespace, meta["name"])
        try:
            self.request("PATCH", path, item, MERGE)
        except ApiError as error:
            if error.status != 404:
                raise
            self.request("POST", path_of(item["kind"], namespace), item)
        if item["kind"] in WITH_STATUS and item.get("status"):
            self.request("PATCH", f"{path}/status", {"status": item["status"]}, MERGE)

    def delete(self, kind, name, namespace=None, grace=None):
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        return self.request("DELETE", path_of(kind, namespace, name), options)


class KeptApi(KubeApi):
    """Each thread has a connection that it keeps: for thousands of requests to a server that lives on."""

    def __init__(self, api):
        super().__init__(api.host, api.address, api.port, api.context)
        self.kept = threading.local()

    def connect(self, timeout):
        if not getattr(self.kept, "connection", None):
            self.kept.connection = super().connect(timeout)
            self.kept.connection.auto_open = False
        return self.kept.connection

    def request(self, method, path, body=None, kind="application/json"):
        try:
            return super().request(method, path, body, kind)
        except (OSError, http.client.HTTPException):
            self.kept.connection = None
            raise


def at_once(api, work, items):
    """[work(api, item)] of each, by threads that keep a connection each."""
    kept = KeptApi(api)
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda item: work(kept, item), items))
