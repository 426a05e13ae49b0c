# SPDX-License-Identifier: Apache-2.0
"""The API's document of egress."""

from asked_documents import EXPLANATION
from documents import LONG_AGO, ago


def gateway(address, node=None, state="active", packets=0):
    return {"address": address, "node": node, "state": state, "answersProbes": True,
            "packets": packets}


def egress(family, gateways, **changes):
    return {"egress": "internet/nat", "family": family, "affinity": "client", "pods": 3,
            "gateways": gateways, **changes}


CLIENTS = [
    {"address": "10.244.1.5", "namespace": "shop", "name": "web-1", "egresses": ["internet/nat"],
     "flows": 211, "refused": 3, "packets": 48120, "bytes": 52428800,
     "blocks": [{"address": "198.51.100.1", "first": 1024, "last": 1087, "since": ago(LONG_AGO)},
                {"address": "198.51.100.1", "first": 4096, "last": 4159, "since": ago(LONG_AGO)}]},
    {"address": "10.244.2.7", "namespace": "shop", "name": "idle-1", "egresses": ["internet/nat"],
     "flows": 0, "refused": 0, "packets": 0, "bytes": 0, "blocks": []},
]
GATEWAY = {
    "serves": ["internet/nat"],
    "reachedAt": ["192.0.2.11", "2001:db8::11"],
    "translatesTo": ["198.51.100.1", "2001:db8:5::1"],
    "phase": "serving",
    "flows": 15,
    "connections": 9,
    "ports": {"first": 1024, "last": 65535, "block": 64, "blocks": 1008, "blocksUsed": 2},
    "clients": CLIENTS,
}


def refusal(side, reason, text, count):
    return {"side": side, "reason": reason, "reasonText": text, "count": count,
            "last": {"source": "10.244.1.5:40000", "destination": "203.0.113.9:443",
                     "protocol": "TCP", "interface": "veth1a2b", "at": ago(LONG_AGO)}}


NO_GATEWAY = refusal("client", "no-gateway", "no gateway of the Egress is usable", 12)
SPOOFED = refusal("gateway", "spoofed", "FoU whose inner source is not its outer one", 1)
BOTH = [egress(4, [gateway("192.0.2.21", "node-2", packets=1234),
                   gateway("192.0.2.22", "node-3", "draining", 7)]),
        egress(6, [gateway("2001:db8::21", "node-2", packets=5)], affinity="flow")]


def document(items, gateway=None, refusals=()):
    return {"apiVersion": "v1", "kind": "EgressList", "items": items, "gateway": gateway,
            "refusals": list(refusals)}


def explanation(address, reason, text, **egress):
    """Of an address that only egress knows."""
    return {**EXPLANATION, "address": address, "state": "none", "reason": reason, "reasonText": text,
            "route": None, "services": [], "kernel": [],
            "egress": {"pod": None, "gatewayOf": [], "client": None, **egress}}


WAYS = [{"address": "192.0.2.21", "state": "active"}, {"address": "192.0.2.22", "state": "away"}]
POD = explanation(
    "10.244.1.5", "egress-pod", "a pod of this node",
    pod={"namespace": "shop", "name": "web-1", "egresses": ["internet/nat"], "waiting": False,
         "destinations": [{"prefix": "0.0.0.0/0", "egress": "internet/nat", "gateways": WAYS}]},
    client={"namespace": "shop", "name": "web-1", "egresses": ["internet/nat"], "flows": 211,
            "refused": 3, "ports": ["198.51.100.1:1024-1087", "198.51.100.1:4096-4159"]})
WAITING = explanation(
    "10.244.1.5", "egress-gateway", "a gateway of an Egress",
    pod={"namespace": "shop", "name": "web-1", "egresses": ["internet/nat"], "waiting": True,
         "destinations": [{"prefix": "0.0.0.0/0", "egress": "internet/nat", "gateways": []}]},
    gatewayOf=[{"egress": "internet/other", "state": "active", "node": "node-2", "packets": 7}])
