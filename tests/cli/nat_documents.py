# SPDX-License-Identifier: Apache-2.0
"""The API's documents of a node with service NAT on."""

import copy

from asked_documents import EXPLANATION
from documents import HOOKS, LONG_AGO, NO_NAT, SERVICE, STATES, ago, items

REFUSAL = {
    "service": "default/web",
    "reason": "no-endpoints",
    "reasonText": "no usable endpoint anywhere",
    "count": 12,
    "last": {
        "source": "10.0.2.5:43122",
        "destination": "10.0.0.1:80",
        "protocol": "TCP",
        "interface": "eth0",
        "at": ago(LONG_AGO),
    },
}

MAPS = [
    {"name": "frontends", "entries": 5, "capacity": 262144, "fill": 0.0, "bytes": 4194304},
    {"name": "flows", "entries": 65536, "capacity": 524288, "fill": 0.125, "bytes": 12582912},
    {"name": "control", "entries": 1, "capacity": 1, "fill": 1.0, "bytes": 900},
    {"name": "affinity", "entries": 65536, "capacity": 65536, "fill": 1.0, "bytes": 5242880},
]


def interface(name, *hooks, missing=()):
    return {"name": name, "hooks": list(hooks), "missing": list(missing)}


def nat(**changes):
    """The member "nat" of a Status, with NAT on."""
    uplink, pod = ("uplink-in", "uplink-out"), ("pod-in", "pod-out")
    return {
        **copy.deepcopy(NO_NAT),
        "enabled": True,
        "complete": True,
        "method": "tcx",
        "interfaces": [
            interface("eth0", *uplink),
            interface("eth1", *uplink),
            interface("lo", "lo-out"),
            interface("svc0", "svc-out"),
            interface("veth1a2b", *pod),
        ],
        "hookPackets": dict(zip(HOOKS, (48211, 47033, 1204, 1187, 12, 0))),
        "services": 2,
        "frontends": 5,
        "endpoints": 12,
        "proved": 3,
        "unproved": 1,
        "passes": 20,
        "fullPasses": 2,
        "writes": 6,
        "lastPassAt": ago(LONG_AGO),
        "lastPassMs": 0.1,
        "lastFullPassAt": ago(LONG_AGO),
        "lastFullPassMs": 0.5,
        "flows": {
            "established": 1204, "states": {**dict.fromkeys(STATES, 3), "established": 1204},
            "ended": 77, "dropped": 0, "refused": 0, "lastSweepAt": ago(LONG_AGO), "lastSweepMs": 2.5,
        },
        "sourcePorts": {"searched": 12, "dropped": 0, "refused": 0},
        "maps": MAPS,
        "bytes": 22021000,
        "refusals": [REFUSAL],
        **changes,
    }


SERVED = {
    **SERVICE,
    "ports": [
        {**SERVICE["ports"][0], "verdict": "partly", "endpoints": 2, "localEndpoints": 0},
        {**SERVICE["ports"][1], "verdict": "reject", "endpoints": 0, "localEndpoints": 0},
    ],
    "traffic": {"packets": 48211, "bytes": 36700160, "flows": 1204, "refused": 12},
    "refusals": [REFUSAL],
}

FORWARD = {
    "verdict": "forward",
    "reason": "none",
    "endpoints": ["10.224.0.3:8080", "10.224.1.3:8080"],
    "masquerade": True,
}
DROP = {"verdict": "drop", "reason": "no-local-endpoints", "endpoints": [], "masquerade": False}

FRONTEND = {
    "namespace": "default",
    "name": "web",
    "affinitySeconds": None,
    "address": "10.0.0.1",
    "port": 80,
    "protocol": "TCP",
    "kind": "loadBalancer",
    "portName": "http",
    "sourceRanges": None,
    "from": {"outside": DROP, "pod": FORWARD, "node": FORWARD},
}

SERVED_EXPLANATION = {
    **EXPLANATION,
    "nat": {
        "proof": {"asPlanned": True, "served": True, "why": None},
        "frontends": [FRONTEND],
        "otherPorts": {
            "verdict": "reject",
            "reason": "unmapped-port",
            "reasonText": "an address of a Service without that port",
        },
        "refusals": [REFUSAL],
    },
}

BACKENDS = [
    {
        "namespace": "default",
        "name": "web",
        "family": 4,
        "portName": "http",
        "protocol": "TCP",
        "port": 80,
        "endpoint": "10.224.0.3:8080",
        "sets": ["cluster", "local"],
        "node": "node-7",
        "local": True,
        "ready": True,
        "serving": True,
        "terminating": False,
        "flows": 700,
    },
    {
        "namespace": "default",
        "name": "web",
        "family": 6,
        "portName": "",
        "protocol": "TCP",
        "port": 80,
        "endpoint": "[fd00:1::3]:8080",
        "sets": ["serving"],
        "node": None,
        "local": False,
        "ready": False,
        "serving": True,
        "terminating": True,
        "flows": None,
    },
]

FLOWS = [
    {
        "service": "default/web",
        "protocol": "TCP",
        "client": "10.0.2.5:43122",
        "address": "10.0.0.1:80",
        "endpoint": "10.224.1.3:8080",
        "source": "10.0.1.7:20011",
        "masquerade": True,
        "state": "established",
        "stale": False,
        "idleSeconds": 4,
        "toEndpoint": {"packets": 12, "bytes": 900},
        "fromEndpoint": {"packets": 10, "bytes": 14500},
    },
    {
        "service": None,
        "protocol": "UDP",
        "client": "[fd00:1::3]:5353",
        "address": "[fd00:96::a]:53",
        "endpoint": "[fd00:1::9]:5353",
        "source": None,
        "masquerade": False,
        "state": "direct",
        "stale": True,
        "idleSeconds": 0,
        "toEndpoint": {"packets": 1, "bytes": 70},
        "fromEndpoint": {"packets": 0, "bytes": 0},
    },
]

DIFFERENCES = [
    {"service": "default/web", "difference": "frontend 10.96.0.1:80/TCP is missing"},
    {"service": None, "difference": "eth1 lacks the program uplink-in"},
]


def flows(values, truncated=False):
    return {**items("FlowList", values), "truncated": truncated}


def maps(values):
    return {**items("MapList", values), "bytes": sum(value["bytes"] for value in values)}


def verification(values):
    return {**items("Verification", values), "differences": len(values), "services": 2}
