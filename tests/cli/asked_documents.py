# SPDX-License-Identifier: Apache-2.0
"""What an agent answers to one question: of an address, of a packet. The lists are in documents.py."""

from documents import ADDRESSES, CLAIM, ROUTES

EXPLANATION = {
    "apiVersion": "v1",
    "kind": "Explanation",
    "address": "10.0.0.1",
    "state": "announced",
    "reason": "announced",
    "reasonText": "announced",
    "block": None,
    "route": ROUTES[1],
    "direct": None,
    "pool": None,
    "services": [
        {
            **CLAIM,
            "source": "manifests",
            "file": "web.yaml",
            "line": 1,
            "endpoints": [
                {
                    "address": "10.224.0.3",
                    "port": 8080,
                    "node": "node-7",
                    "ready": True,
                    "serving": True,
                    "terminating": False,
                    "local": True,
                },
                {
                    "address": "10.224.1.3",
                    "port": None,
                    "node": None,
                    "ready": False,
                    "serving": True,
                    "terminating": True,
                    "local": False,
                },
            ],
        }
    ],
    "claim": None,
    "holder": None,
    "tenant": None,
    "nat": None,
    "egress": None,
    "copyAsOf": None,
    "peers": [],
    "kernel": [
        "table 119: blackhole 10.0.0.1/32 proto 31",
        "table 120: unreachable 10.0.0.1/32 proto 33",
    ],
    "hostFaults": [],
}


def claimed(row, address=None):
    """What is said of the address of a row of ADDRESSES, or of another that it is so of."""
    item = ADDRESSES["items"][row]
    if address:
        item = {**item, "address": address, "claim": f"address.{address.replace('.', '-')}"}
    return {**EXPLANATION, "address": item["address"], "state": "withheld", "reason": "claimed",
            "reasonText": "one node of its segment has it: no route announces it", "route": None, "kernel": [], "services": [],
            "claim": {key: value for key, value in item.items() if key != "address"}}


TRACE = {
    "apiVersion": "v1",
    "kind": "Trace",
    "in": "veth7",
    "hook": "pod-in",
    "source": "10.224.0.9:5000",
    "destination": "10.96.0.10:80",
    "protocol": "TCP",
    "verdict": "forward",
    "reason": "none",
    "reasonText": "no reason",
    "service": "default/web:http",
    "endpoints": ["10.224.0.3:8080", "10.224.0.9:8080"],
    "masquerade": "hairpin",
    "picked": "10.224.0.3:8080",
    "flow": {
        "direction": "forward",
        "established": True,
        "source": "10.224.0.9:5000",
        "destination": "10.224.0.3:8080",
        "masquerade": False,
        "idleSeconds": 3,
    },
    "egress": None,
    "steps": [
        {"step": "in", "text": "veth7: a pod's interface, to which the route to 10.224.0.9 leads"},
        {"step": "program", "text": "pod-in: what the pod sends"},
        {"step": "service", "text": "default/web:http has this address, port and protocol"},
        {"step": "verdict", "text": "forward"},
    ],
    "hostFaults": [],
}

REFUSED_TRACE = {
    **TRACE,
    "source": "fd00::9",
    "destination": "[fd00::10]:53",
    "protocol": "UDP",
    "verdict": "reject",
    "reason": "no-endpoints",
    "reasonText": "no usable endpoint anywhere",
    "endpoints": [],
    "masquerade": None,
    "picked": None,
    "flow": None,
    "steps": [
        {"step": "in", "text": "veth7, as asked"},
        {"step": "service", "text": "default/dns:53 has this address, port and protocol"},
    ],
}

LEAVING_TRACE = {
    **TRACE,
    "destination": "198.51.100.80:443",
    "verdict": "pass",
    "service": None,
    "endpoints": [],
    "masquerade": None,
    "picked": None,
    "flow": None,
    "egress": {
        "side": "client",
        "verdict": "forward",
        "reason": "none",
        "reasonText": "",
        "egress": "internet/nat",
        "destination": "0.0.0.0/0",
        "gateway": "192.0.2.20",
        "begun": False,
        "outerSource": "10.224.0.9:5555",
        "outerDestination": "192.0.2.20:5555",
        "outerBytes": 28,
        "fits": 1472,
        "source": "10.224.0.9:5000",
        "to": "198.51.100.80:443",
        "out": "eth0",
    },
    "steps": [
        {"step": "in", "text": "veth7: a pod's interface, to which the route to 10.224.0.9 leads"},
        {"step": "program", "text": "pod-in: what the pod sends"},
        {"step": "verdict", "text": "pass: it concerns no Service"},
        {"step": "egress", "text": "Pod default/web asks for internet/nat"},
        {"step": "route", "text": "by internet/nat, whose destination 0.0.0.0/0 has it"},
        {"step": "gateway",
         "text": "192.0.2.20 on node2, of 2 that take new flows: the pod's address chooses"},
        {"step": "wire", "text": "10.224.0.9:5555 -> 192.0.2.20:5555/UDP, hop limit 225: 68 bytes, "
                                 "28 of them FoU's headers"},
        {"step": "then", "text": "out of eth0, on a way for 1500 bytes: up to 1472 of the pod's fit"},
    ],
}
