# SPDX-License-Identifier: Apache-2.0
"""The hash of a document, reckoned here a second time from how kube-service-exporter's is described:
both may take turns, and what has another hash would be written again."""

import functools
import json
import operator
import struct

from controller import PREFIX, Controller, service
from lab import wait_equal

ATTRIBUTES = [
    {}, {"a": 1}, {"a": -0.5}, {"a": 1e21}, {"a": "x"}, {"a": "é<&>"}, {"a": True}, {"a": False}, {"a": None},
    {"a": []}, {"a": {}}, {"a": [1, "1", [None]]}, {"b": 2, "a": {"c": {"d": ["e", 1.5]}}},
    {"allowed_ips": ["10.0.0.0/8", "172.16.0.0/12"]},
]


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = value * 0x100000001b3 % (1 << 64) ^ byte
    return value


def ordered(a, b):
    return fnv(struct.pack("<QQ", a, b))


def mixed(pairs):
    return functools.reduce(operator.xor, (ordered(of(key), of(value)) for key, value in pairs), 0)


def of(value):
    if value is None:
        return fnv(bytes(8))
    if isinstance(value, bool):
        return fnv(bytes([value]))
    if isinstance(value, str):
        return fnv(value.encode())
    if isinstance(value, dict):
        return mixed(value.items())
    if isinstance(value, list):
        return functools.reduce(lambda before, item: ordered(before, of(item)), value, 0)
    return fnv(struct.pack("<d", value))


def int32(value):
    return fnv(struct.pack("<i", value))


def reckoned(name, port, document):
    fields = {
        "ClusterId": of(document["ClusterName"]), "Namespace": of("default"), "Name": of(name), "PortName": of("http"),
        "Port": int32(port), "DNSName": of(document.get("dns_name", "")),
        "ServicePerCluster": of(document.get("service_per_cluster", False)),
        "HealthCheckPath": of(document.get("health_check_path", "")),
        "HealthCheckPort": int32(document.get("health_check_port", 0)),
        "BackendProtocol": of(document["backend_protocol"]),
        "ProxyProtocol": of(document.get("proxy_protocol", False)),
        "LoadBalancerClass": of(document.get("load_balancer_class", "")),
        "LoadBalancerListenPort": int32(document.get("load_balancer_listen_port", 0)),
        "CustomAttrs": of(document["custom_attrs"]), "Version": fnv(struct.pack("<q", 1)),
        "IngressSNI": of(document.get("ingress_sni", "")), "IdPrefix": of(""),
    }
    pairs = [ordered(of(field), value) for field, value in fields.items()]
    return f"{functools.reduce(operator.xor, pairs, of('ExportedService')):x}"


def test_it_is_reckoned_alike(kube, tmp_path):
    folder = tmp_path / "exports"
    for i, attributes in enumerate(ATTRIBUTES):
        kube.put(service(f"s{i}", ports=[("http", 80, 30000 + i)], custom_attrs=json.dumps(attributes)))
    kube.put(service("all", load_balancer_dns_name="a.example", load_balancer_class="internal",
                     load_balancer_proxy_protocol="*", load_balancer_backend_protocol="tcp",
                     load_balancer_listen_port="-1", load_balancer_health_check_path="/healthz",
                     load_balancer_health_check_port="9000", load_balancer_service_per_cluster="false"))
    controller = Controller(tmp_path / "c", kube, {"clusterID": "transformers", "folder": str(folder)})
    try:
        below = folder / PREFIX / "services"
        wait_equal(lambda: len(list(below.rglob("*.json"))), len(ATTRIBUTES) + 1, "the documents")
        for path in below.rglob("*.json"):
            document = json.loads(path.read_text("utf-8"))
            name = path.parts[-3].split("default-")[1].removesuffix("-http")
            assert document["hash"] == reckoned(name, document["port"], document), document
    finally:
        assert controller.stop() == 0
