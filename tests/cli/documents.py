# SPDX-License-Identifier: Apache-2.0
"""The API's documents as a healthy little node would give them, to be bent by tests. It is long because
each document is told whole."""

import copy
import datetime


def ago(seconds):
    """RFC 3339 of that long ago. Tests choose values that stay the same words for long."""
    now = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


LONG_AGO = (3 * 24 + 4) * 3600 + 1800  # "3d 4h", also half an hour later

FAULT = {
    "subsystem": "manifests",
    "group": "web.yaml",
    "code": None,
    "severity": "degraded",
    "place": "web.yaml:12:15",
    "message": "spec.ports[0].port: 70000 is not a port",
    "remedy": "use 1..65535",
    "since": None,
    "follows": None,
}


def fault(**changes):
    return {**FAULT, "since": ago(LONG_AGO), **changes}


CHANGE = {
    "apiVersion": "v1",
    "kind": "Change",
    "change": 17,
    "node": "node-7",
    "startedAt": "2026-11-17T03:31:02Z",
    "health": "healthy",
    "faults": 0,
    "observedGeneration": 7,
    "appliedGeneration": 7,
}


def status(**changes):
    """`sources__files=2` changes the member `files` of the (first) source."""
    document = {
        "apiVersion": "v1",
        "kind": "Status",
        "node": "node-7",
        "version": "0.1.0",
        "health": "healthy",
        "phase": "running",
        "startedAt": "2026-11-17T03:31:02Z",
        "uptimeSeconds": 3 * 86400 + 4 * 3600 + 60,
        "config": {
            "path": "/etc/fingerpost/agentd.yaml",
            "loadedAt": ago(LONG_AGO),
            "refused": False,
        },
        "sources": [
            {
                "name": "manifests",
                "path": "/etc/fingerpost/manifests",
                "synced": True,
                "observedGeneration": 7,
                "appliedGeneration": 7,
                "files": 3,
                "brokenFiles": 0,
                "ignoredFiles": 0,
                "objects": {"Service": 2, "EndpointSlice": 3, "Node": 6, "AddressBlock": 1},
                "ignoredObjects": 0,
                "lastEventAt": ago(LONG_AGO),
                "kinds": [],
                "copy": None,
            }
        ],
        "routes": {
            "complete": True,
            "wanted": 4,
            "installed": 4,
            "foreign": 0,
            "blocked": 0,
            "refused": 0,
            "announced": 2,
            "blockedAddresses": 0,
            "reach": {"announced": 0, "partly": 0, "nobody": 0, "unknown": 0, "unwatched": 2, "absent": 0},
            "withheld": 1,
            "held": 0,
            "blocks": 1,
            "added": 4,
            "replaced": 0,
            "deleted": 0,
            "repairs": 0,
            "passes": 2,
            "fullPasses": 1,
            "lastFullPassAt": ago(LONG_AGO),
            "lastFullPassMs": 1.25,
        },
        "writes": {"enabled": False, "written": 0, "retries": 0, "conflicts": 0, "refused": 0,
                   "lost": 0, "found": 0, "dropped": 0, "waiting": 0, "running": 0, "items": []},
        "standing": {"phase": "serving", "since": None, "endsInMs": None, "reason": None, "nodeGone": False},
        "bgp": bgp(enabled=False, socket=None, reachable=False, since=None, version=None),
        "consul": None,
        "firewall": {"mode": "off", "there": False, "openings": 0, "closedAddresses": 0, "added": 0, "removed": 0,
                     "replaced": 0, "repairs": 0, "openedPackets": 0, "closedPackets": 0},
        "egress": None,
        "services": {"enabled": False, "count": 2},
        "nat": NO_NAT,
        "faults": [],
    }
    return changed(document, changes)


def changed(document, changes):
    for path, value in changes.items():
        place = document
        *way, last = path.split("__")
        for step in way:
            place[step] = copy.deepcopy(place[step])
            place = place[step]
            place = place[0] if isinstance(place, list) else place
        place[last] = value
    return document


STATES = "half-open unanswered exchange answered closed half-closed stream established".split()
HOOKS = "uplink-in uplink-out pod-in pod-out lo-out svc-out".split()
NO_NAT = {
    "enabled": False,
    "complete": False,
    "method": None,
    "interfaces": [],
    "hookPackets": dict.fromkeys(HOOKS, 0),
    "path": {"inForce": None, "listener": None},
    "defragmentation": {"ipv4": "unknown", "ipv6": "unknown"},
    **dict.fromkeys(("services", "frontends", "endpoints", "proved", "unproved"), 0),
    **dict.fromkeys(("passes", "fullPasses", "writes", "repairs"), 0),
    **dict.fromkeys(("lastPassAt", "lastFullPassAt")),
    **dict.fromkeys(("lastPassMs", "lastFullPassMs"), 0.0),
    "flows": {
        "established": 0, "states": dict.fromkeys(STATES, 0), "ended": 0, "dropped": 0, "refused": 0,
        "lastSweepAt": None, "lastSweepMs": 0.0
    },
    "sourcePorts": {"searched": 0, "dropped": 0, "refused": 0},
    "maps": [],
    "bytes": 0,
    "refusals": [],
}

def bgp(**changes):
    """The member "bgp" of a Status."""
    return {
        "enabled": True,
        "socket": "/run/bird/bird.ctl",
        "reachable": True,
        "error": None,
        "since": ago(LONG_AGO),
        "version": "2.0.12",
        "peers": 2,
        "established": 2,
        "announced": 5,
        "learned": {"ipv4": 3, "ipv6": 2},
        "expected": {"ipv4": 3, "ipv6": 2},
        "expectsNone": False,
        "unheard": False,
        "overflowsHeard": True,
        "overflows": 0,
        **changes,
    }


def generations(observed, applied, **changes):
    return status(
        sources__observedGeneration=observed, sources__appliedGeneration=applied, **changes
    )


BLOCK = {
    "name": "default-0",
    "pool": "default",
    "prefix": "10.224.0.0/27",
    "reserved": False,
    "protocol": 30,
    "installed": True,
    "size": 32,
    "used": 3,
}

CLAIM = {
    "namespace": "default",
    "name": "web",
    "origin": "loadBalancer",
    "reason": "announced",
    "reasonText": "announced",
    "ports": 1,
    "forwarding": 1,
}

WITHHELD = {
    "reason": "no-local-endpoints",
    "reasonText": "policy Local, no usable endpoint here",
}

UNWATCHED = {"state": "unwatched", "why": "BIRD is not asked (bird.socket)", "sent": 0, "meant": 0}

ROUTES = [
    {
        "prefix": "10.224.0.0/27",
        "kind": "block",
        "state": "announced",
        "reason": "announced",
        "reasonText": "a pod block of this node",
        "protocol": 30,
        "table": 119,
        "installed": True,
        "guarded": True,
        "reach": UNWATCHED,
        "hostFaults": [],
        "heldForMs": None,
        "objects": [{"name": "default-0", "pool": "default", "reserved": False}],
    },
    {
        "prefix": "10.0.0.1/32",
        "kind": "service",
        "state": "announced",
        "reason": "announced",
        "reasonText": "announced",
        "protocol": 31,
        "table": 119,
        "installed": True,
        "guarded": True,
        "reach": UNWATCHED,
        "hostFaults": [],
        "heldForMs": None,
        "objects": [CLAIM],
    },
    {
        "prefix": "fd00::2/128",
        "kind": "service",
        "state": "withheld",
        **WITHHELD,
        "protocol": None,
        "table": 119,
        "installed": False,
        "guarded": True,
        "reach": None,
        "hostFaults": [],
        "heldForMs": None,
        "objects": [{**CLAIM, **WITHHELD, "forwarding": 0}, {**CLAIM, **WITHHELD, "name": "api"}],
    },
]


def peers(values, **changes):
    return {**items("PeerList", values), "enabled": True, "reachable": True, "error": None, **changes}


def items(kind, values):
    return {"apiVersion": "v1", "kind": kind, "items": copy.deepcopy(values)}


NO_VERDICT = {"verdict": None, "endpoints": None, "localEndpoints": None}

SERVICE = {
    "namespace": "default",
    "name": "web",
    "type": "LoadBalancer",
    "addresses": [
        {
            "address": "10.96.0.1",
            "origin": "clusterIP",
            "state": "withheld",
            "reason": "not-advertised",
            "reasonText": "left out by services.advertise",
            "hostFaults": [],
        },
        {
            "address": "10.0.0.1",
            "origin": "loadBalancer",
            "state": "announced",
            "reason": "announced",
            "reasonText": "announced",
            "hostFaults": [],
        },
    ],
    "pending": [],
    "ports": [
        {"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080, **NO_VERDICT},
        {"name": "dns", "protocol": "UDP", "port": 53, "nodePort": None, **NO_VERDICT},
    ],
    "externalTrafficPolicy": "Cluster",
    "internalTrafficPolicy": "Cluster",
    "traffic": None,
    "refusals": [],
    "source": "manifests",
    "file": "web.yaml",
    "line": 1,
}

PEERS = [
    {
        "name": "tor-a",
        "address": "10.0.0.1",
        "asn": 64512,
        "state": "Established",
        "since": ago(LONG_AGO),
        "bfd": "Up",
        "received": 1204,
        "announced": 5,
        "filtered": 0,
        "lastError": None,
    },
    {
        "name": "tor-b",
        "address": "10.0.0.2",
        "asn": 64512,
        "state": "Connect",
        "since": None,
        "bfd": None,
        "received": None,
        "announced": None,
        "filtered": None,
        "lastError": "Hold timer expired",
    },
]

EXHAUSTED = {
    "family": "IPv4",
    "address": None,
    "reason": "exhausted",
    "reasonText": "every address of its pools is in use",
    "of": None,
}
TAKEN = {
    "family": "IPv4",
    "address": "203.0.113.2",
    "reason": "taken",
    "reasonText": "the address is another's",
    "of": "Service shop/web",
}
POOL = {
    "namespace": "lb",
    "name": "everybody",
    "autoAssign": True,
    "size": 16,
    "used": 2,
    "resting": 1,
    "reserved": 1,
    "free": 12,
    "refused": {"removal": False, "losers": 2, "services": "shop/web, shop/old"},
    "reservedRanges": ["203.0.113.5"],
    "addresses": [
        {"address": "203.0.113.2", "state": "used", "freedAt": None,
         "services": [{"namespace": "shop", "name": "web"}, {"namespace": "shop", "name": "dns"}]},
        {"address": "203.0.113.4", "state": "resting", "freedAt": ago(LONG_AGO),
         "services": [{"namespace": "shop", "name": "gone"}]},
    ],
}
COUNTLESS = {**POOL, "name": "six", "autoAssign": False, "size": None, "used": 0, "resting": 0,
             "reserved": 0, "free": None, "refused": None, "reservedRanges": [], "addresses": []}
POOLS = {
    "apiVersion": "v1",
    "kind": "PoolList",
    "items": [POOL, COUNTLESS],
    "pending": [{"namespace": "shop", "name": "api", **EXHAUSTED},
                {"namespace": "shop", "name": "wish", **TAKEN}],
}

ADDRESSES = {
    "apiVersion": "v1",
    "kind": "AddressList",
    "items": [
        {"address": "198.51.100.50", "state": "held", "holder": "node-7", "interface": "lan", "service": "shop/web",
         "claim": "address.198-51-100-50", "since": ago(LONG_AGO), "renewalAgeMs": 1200, "why": None},
        {"address": "198.51.100.51", "state": "other", "holder": "node-8", "interface": "lan", "service": "shop/api",
         "claim": "address.198-51-100-51", "since": ago(LONG_AGO), "renewalAgeMs": None,
         "why": "another node has it"},
        {"address": "198.51.100.52", "state": "taken", "holder": "node-7", "interface": "lan", "service": None,
         "claim": "address.198-51-100-52", "since": ago(LONG_AGO), "renewalAgeMs": 900,
         "why": "02:00:00:00:00:07 has it"},
    ],
}


PODS = {
    "apiVersion": "v1",
    "kind": "PodList",
    "items": [
        {"namespace": "shop", "name": "web-0", "container": "c0ffee", "interface": "eth0",
         "hostInterface": "veth1a2b3c4d", "addresses": ["10.224.0.1", "fd00:224::1"], "pool": "default",
         "block": "default-0", "state": "routed", "since": ago(LONG_AGO), "egress": ["internet/nat"]},
        {"namespace": None, "name": None, "container": "decade", "interface": "eth0",
         "hostInterface": None, "addresses": ["10.224.0.9"], "pool": "default", "block": None,
         "state": "wiring", "since": ago(LONG_AGO), "egress": []},
        {"namespace": "shop", "name": "cart-0", "container": "f00d", "interface": "eth0",
         "hostInterface": "veth9", "addresses": ["10.88.0.5"], "pool": None, "block": None,
         "state": "chained", "since": ago(LONG_AGO), "egress": ["internet/nat"]},
    ],
    "blocks": [
        {"name": "default-0", "pool": "default", "size": 32, "used": 1, "state": "open"},
        {"name": "default-7", "pool": "default", "size": 32, "used": 0, "state": "leaving"},
    ],
    "pools": [
        {"name": "default", "blocks": 1, "used": 1, "free": 31, "request": None, "waitedFor": False},
        {"name": "public", "blocks": 0, "used": 0, "free": 0, "request": "exhausted", "waitedFor": True},
    ],
}

TENANT = {
    "namespace": "default", "name": "web-1", "container": "c0ffee", "interface": "eth0", "hostInterface": "veth1",
    "addresses": ["10.224.0.3"], "pool": "default", "block": "default-0", "state": "routed", "since": None, "egress": [],
}

DIRECT = [
    {"prefix": "10.224.1.0/27", "block": "default-1", "node": "node-2", "via": "10.0.0.2",
     "interface": "eth0", "installed": True, "reason": "routed", "reasonText": "routed straight to its Node"},
    {"prefix": "10.224.2.0/27", "block": "default-2", "node": "node-3", "via": None,
     "interface": None, "installed": False, "reason": "no-node",
     "reasonText": "there is no Node of this name"},
]

DIFF = {
    "apiVersion": "v1",
    "kind": "Diff",
    "items": [
        {
            "change": "add",
            "table": 119,
            "entry": "blackhole 10.0.0.1/32 proto 31",
            "reason": "wanted, not in the kernel",
        },
        {
            "change": "foreign",
            "table": 119,
            "entry": "blackhole 192.0.2.0/24 proto 4",
            "reason": "not ours (protocol 4), left alone",
        },
    ],
    "nat": [],
    "differences": 1,
    "foreign": 1,
}
