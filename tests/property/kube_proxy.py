# SPDX-License-Identifier: Apache-2.0
"""A long table of Services, and of what kube-proxy (nftables) is known to make of packets to them.

Endpoints are letters: a to d run here, r to u on node-2, x nowhere that is known, h and o are this
node and node-2 themselves. `a:leaving` has a condition, `a@zone-a+zone-b` hints; `|` begins another
slice, and a number there is the target port of that slice.

A question is "WHO... > WHERE... = WHAT": endpoints with their ports, if not the usual one, and how
the source is masqueraded; or a word of REFUSED. A family in front of it is the only one asked.
"""

import typing

TARGET = 8080
PROTOCOLS = ("TCP", "UDP")
REFUSED = {
    "reject": ("reject", "no-endpoints"),
    "drop": ("drop", "no-local-endpoints"),
    "blocked": ("drop", "source-range"),
    "undefined": ("reject", "undefined-port"),
    "unallocated": ("drop", "unallocated"),
    "pass": ("pass", "none"),
    "other": ("pass", "other-proxy"),
}
STATES = {  # ready, serving, terminating; None is not written
    "": (True, True, False),
    "bare": (None, None, None),
    "published": (True, False, True),  # by publishNotReadyAddresses
    "leaving": (False, True, True),
    "gone": (False, False, True),
    "unready": (False, False, False),
    "serving": (False, True, False),
    "unsaid": (False, None, True),  # whether it serves is not written
}
SOURCES = {
    "pod": (("10.244.1.5", "fd00:244:1::5"), "veth5"),
    "far": (("10.244.2.9", "fd00:244:2::9"), "eth0"),  # a pod of node-2
    "outside": (("198.18.0.9", "2001:db8::9"), "eth0"),
    "blocked": (("198.18.1.9", "2001:db8:1::9"), "eth0"),
    "neighbour": (("192.0.2.2", "fd00:192::2"), "eth0"),  # node-2
    "node": (("192.0.2.1", "fd00:192::1"), "host"),
    "second": (("192.0.2.11", "fd00:192::11"), "host"),  # by another address of this node
}
SETTINGS = {
    "clusterCIDRs": ["10.244.0.0/16", "fd00:244::/32"],
    "serviceCIDRs": ["10.96.0.0/16", "fd00:96::/112"],
    "externalIPs": ["198.51.100.0/24", "fd00:198::/64", "192.0.2.0/24",
                    "fd00:192::/64"],
    "maps": {"services": 4096, "endpoints": 8192},
}
NODE_RANGES = ["192.0.2.0/24", "fd00:192::/64"]
CLIENT_RANGES = [" 198.18.0.0/24", "2001:db8::/48 "]


class Case(typing.NamedTuple):
    name: str
    spec: dict
    endpoints: str  # None: there is no such Service
    asked: str
    labels: dict = {}
    proxied: str = ""  # the ingress address whose ipMode is Proxy


# Services and questions

LOCAL = {"externalTrafficPolicy": "Local"}
INSIDE = {"internalTrafficPolicy": "Local"}
BOTH = LOCAL | INSIDE
NOBODY = "pod far node second outside neighbour > cluster lb lb2 external nodePort = reject"


def port(name, number, protocol, target_port, **more):
    return {"name": name, "port": number, "protocol": protocol, "targetPort": target_port, **more}


POLICIES = [
    Case("nobody serves", {}, "", NOBODY),
    Case("nobody serves, Local", BOTH, "", NOBODY),
    Case("Cluster", {}, "a r x", """
        pod far > cluster = a r x
        node second outside blocked neighbour > cluster = a r x masq
        pod far node second outside blocked neighbour > lb lb2 external nodePort = a r x masq
        a > cluster = a r x hairpin
        a > lb lb2 external nodePort = a r x masq
        outside pod far neighbour node > secondPort = pass
        node > loopback = pass"""),
    Case("one that asks itself", {}, "a", """
        a > cluster = a hairpin
        a > lb external nodePort = a masq
        pod far > cluster = a
        outside > cluster = a masq"""),
    Case("external Local", LOCAL, "a r", """
        pod far > cluster lb lb2 external nodePort = a r
        node second outside neighbour > cluster = a r masq
        outside blocked neighbour > lb lb2 external nodePort = a
        node second lb lb2 > lb lb2 external nodePort = a r masq
        a > cluster lb lb2 external nodePort = a r hairpin
        outside > secondPort = pass"""),
    Case("external Local, only elsewhere", LOCAL, "r s", """
        pod far > cluster lb external nodePort = r s
        node > cluster lb external nodePort = r s masq
        outside > cluster = r s masq
        outside neighbour > lb lb2 external nodePort = drop"""),
    Case("external Local, nobody knows where", LOCAL, "x", """
        pod > cluster lb external nodePort = x
        outside > lb external nodePort = drop"""),
    Case("internal Cluster said", {"internalTrafficPolicy": "Cluster"}, "a r s", """
        pod > cluster = a r s"""),
    Case("internal Local", INSIDE, "a r s", """
        pod far > cluster = a
        node second outside neighbour > cluster = a masq
        pod node outside > lb lb2 external nodePort = a r s masq
        a > cluster = a hairpin"""),
    Case("internal Local, two here", INSIDE, "a b r", """
        pod > cluster = a b
        outside node > cluster = a b masq
        a > cluster = a b hairpin"""),
    Case("internal Local, only elsewhere", INSIDE, "r s x", """
        pod far node outside > cluster = drop
        pod node outside > lb external nodePort = r s x masq"""),
    Case("both Local", BOTH, "a r", """
        pod far > cluster = a
        node outside > cluster = a masq
        pod far > lb external nodePort = a r
        node > lb external nodePort = a r masq
        outside > lb external nodePort = a"""),
    Case("both Local, only elsewhere", BOTH, "r s", """
        pod far node outside > cluster = drop
        pod far > lb external nodePort = r s
        node > lb external nodePort = r s masq
        outside neighbour > lb external nodePort = drop"""),
    Case("both Local, leaving elsewhere", BOTH, "r:leaving s:leaving", """
        pod node outside > cluster = drop
        pod > lb external nodePort = r s
        outside > lb external nodePort = drop"""),
    Case("a ClusterIP's external policy", {**LOCAL, "type": "ClusterIP", "externalIPs": []}, "a r", """
        pod > cluster = a r
        outside node > cluster = a r masq
        pod outside node > lb external nodePort = pass"""),
    Case("a ClusterIP, internal Local", {**INSIDE, "type": "ClusterIP", "externalIPs": []}, "a r", """
        pod > cluster = a
        outside > cluster = a masq"""),
    Case("a ClusterIP, internal Local, only elsewhere",
         {**INSIDE, "type": "ClusterIP", "externalIPs": []}, "r", "pod node outside > cluster = drop"),
    Case("a ClusterIP with externalIPs, Local", {**LOCAL, "type": "ClusterIP"}, "a r", """
        pod > cluster external = a r
        node > external = a r masq
        outside > external = a
        outside > lb nodePort = pass"""),
    Case("a NodePort, Local", {**LOCAL, "type": "NodePort", "externalIPs": []}, "a r", """
        pod > cluster nodePort = a r
        outside > nodePort = a
        node > nodePort = a r masq
        outside > lb external = pass"""),
    Case("a NodePort", {"type": "NodePort", "externalIPs": []}, "a x", """
        pod > cluster = a x
        pod outside node > nodePort = a x masq"""),
    Case("in the hosts' own network", {}, "h o", """
        pod > cluster = h o
        outside node neighbour > cluster = h o masq
        outside pod node > lb external nodePort = h o masq"""),
    Case("in the hosts' own network, Local", LOCAL, "h o", """
        pod > cluster lb nodePort = h o
        outside > lb nodePort external = h
        node > lb nodePort = h o masq"""),
    Case("affinity", {"sessionAffinity": "ClientIP"}, "a r", """
        pod > cluster = a r
        outside > cluster lb external nodePort = a r masq"""),
    Case("affinity, Local", {**BOTH, "sessionAffinity": "ClientIP"}, "a r", """
        pod > cluster = a
        outside > lb external nodePort = a
        pod > lb external nodePort = a r"""),
]

PORTS = [
    Case("ports", {"ports": [
        port("http", 80, "TCP", 80), port("https", 443, "TCP", 8443),
        port("dns-udp", 53, "UDP", 53), port("dns-tcp", 53, "TCP", 5353)]}, "a r", """
        pod > cluster:80/TCP = a:80 r:80
        pod > cluster:443/TCP = a:8443 r:8443
        pod > cluster:53/TCP = a:5353 r:5353
        pod > cluster:53/UDP = a:53 r:53
        pod outside node > cluster:80/UDP cluster:443/UDP cluster:81 = undefined
        outside > lb:443/TCP external:443/TCP = a:8443 r:8443 masq
        outside pod > lb:443/UDP lb:81 external:81 = pass
        pod outside node > unallocated unallocated:443/UDP = unallocated"""),
    Case("only one port", {"ports": [port("http", 80, "TCP", 80)]}, "a", """
        pod > cluster:80/TCP = a:80
        pod node > cluster:443/TCP cluster:53/UDP = undefined"""),
    Case("a shared address", {"externalIPs": ["198.51.100.250", "fd00:198::fa"], "ports": [
        port("http", 80, "TCP", 80)]}, "a", "outside > shared:80/TCP = a:80 masq"),
    Case("a shared address, nobody serves", {
        "externalIPs": ["198.51.100.250", "fd00:198::fa"],
        "ports": [port("http", 81, "TCP", 80)]}, "", "outside pod > shared:81/TCP = reject"),
    Case("the node's own address", {"externalIPs": ["192.0.2.11", "fd00:192::11"]}, "a", """
        outside pod node > own = a masq
        outside > own:81/TCP nodePort:81/TCP = pass
        outside > secondPort = pass"""),
    # The node's own packets are not kept from another host, though kube-proxy would do so.
    Case("another node's address", {"externalIPs": ["192.0.2.2", "fd00:192::2"]}, "a", """
        outside pod > neighbour = a masq
        node > neighbour neighbour:81 = pass
        outside pod > neighbour:81 = pass"""),
    Case("NodePorts set by delivery only", {"allocateLoadBalancerNodePorts": False, "ports": [
        port("one", 80, "TCP", 80), port("two", 81, "TCP", 80, nodePort=29000)]}, "a", """
        outside > nodePort:29000/TCP = a:80 masq
        outside > lb:80/TCP lb:81/TCP = a:80 masq"""),
    Case("slices", {}, "a b | r s", "pod > cluster = a b r s"),
    Case("slices that overlap", {}, "a b | a b r", "pod > cluster = a b r"),
    Case("copies that differ", {}, "a:unready b r:leaving s:unready | a b:unready r s:unready",
         "pod > cluster = a b r"),
    Case("one address, another pod", {}, "a:leaving b | a b:leaving", "pod > cluster = a b"),
    # 14.12: with kube-proxy it is the copy that it reads last.
    Case("copies of the leaving", {}, "a:leaving b:gone r:gone s:unready | a:gone b:leaving r:gone "
         "s:leaving", "pod > cluster = a b s"),
    Case("copies here and there", LOCAL, "a:unready r:gone | a r:leaving", """
        pod > cluster = a
        outside > lb = a"""),
    Case("a number each", {}, "8080 a | 9090 b", "pod > cluster = a:8080 b:9090"),
    Case("two ports of one address", {}, "8080 a r | 9090 a r",
         "pod > cluster = a:8080 a:9090 r:8080 r:9090"),
    Case("leading zeros", {"clusterIPs": ["10.96.0.0{n}"], "externalIPs": ["198.051.100.0{n}"],
                           "loadBalancerSourceRanges": ["198.018.00.000/024"]}, "a", """
        4 pod > cluster = a
        4 outside > cluster external lb lb2 = a masq
        4 blocked > lb = blocked
        4 blocked > external = a masq
        6 outside > lb external nodePort = pass
        6 pod > cluster = unallocated"""),
    Case("the other family only", {"clusterIPs": ["fd00:96::aaaa"]}, "a", """
        4 pod > cluster = unallocated
        4 outside > lb external nodePort = pass
        6 outside > lb external nodePort = a masq"""),
    Case("another proxy's", {}, "a", """
        pod node outside > cluster cluster:81 = other
        outside pod > lb external nodePort = pass""",
         {"service.kubernetes.io/service-proxy-name": "other"}),
    Case("another proxy's, unnamed", {}, "a", "pod > cluster = other\noutside > lb nodePort = pass",
         {"service.kubernetes.io/service-proxy-name": ""}),
    Case("headless by label", {}, "a", "pod node outside > cluster = other\noutside > lb = pass",
         {"service.kubernetes.io/headless": ""}),
    Case("headless", {"type": "ClusterIP", "clusterIPs": ["None"]}, "a", """
        pod outside node > cluster = unallocated
        outside pod > external nodePort = pass"""),
    Case("an ExternalName", {"type": "ExternalName", "externalName": "db.example"}, "a", """
        pod outside node > cluster = unallocated
        outside > lb external nodePort = pass"""),
]

RANGES = [
    Case("ranges", {"loadBalancerSourceRanges": NODE_RANGES + CLIENT_RANGES}, "a", """
        pod > cluster = a
        outside blocked pod > external nodePort = a masq
        outside node second neighbour > lb lb2 = a masq
        blocked pod far > lb lb2 = blocked
        lb > lb lb2 = a masq
        lb2 > lb lb2 = a masq
        lb lb2 > external nodePort = a masq"""),
    Case("ranges without the node", {"loadBalancerSourceRanges": CLIENT_RANGES}, "a", """
        outside > lb lb2 = a masq
        node second neighbour lb lb2 blocked pod > lb = blocked
        node > external nodePort = a masq"""),
    Case("ranges, nobody serves", {"loadBalancerSourceRanges": CLIENT_RANGES}, "", """
        blocked node pod > lb lb2 = blocked
        outside > lb lb2 = reject
        blocked pod > external nodePort cluster = reject"""),
    Case("ranges, Local", {**LOCAL, "loadBalancerSourceRanges": NODE_RANGES + CLIENT_RANGES}, "a r", """
        outside neighbour > lb lb2 = a
        blocked pod far > lb lb2 = blocked
        node > lb lb2 = a r masq
        blocked > nodePort external = a
        pod > nodePort external = a r"""),
    Case("ranges, Local, only elsewhere", {**LOCAL, "loadBalancerSourceRanges": CLIENT_RANGES}, "r", """
        outside > lb = drop
        blocked node > lb = blocked"""),
    Case("ranges of one family", {"loadBalancerSourceRanges": ["198.18.0.0/24"]}, "a", """
        4 blocked > lb = blocked
        4 outside > lb = a masq
        6 blocked outside > lb = a masq"""),
    Case("ranges for pods", {"loadBalancerSourceRanges": ["10.0.0.0/8", "fd00:244::/32"]}, "a r", """
        pod far > lb = a r masq
        outside node > lb = blocked"""),
    Case("no ranges", {"loadBalancerSourceRanges": []}, "a", "blocked > lb = a masq"),
    Case("ipMode Proxy", {}, "a", """
        outside pod node > lb = pass
        outside pod node > lb2 = a masq""", proxied="lb"),
    Case("ipMode Proxy, ranges", {"loadBalancerSourceRanges": CLIENT_RANGES}, "a", """
        outside blocked pod > lb = pass
        outside > lb2 = a masq
        blocked > lb2 = blocked""", proxied="lb"),
    Case("ipMode Proxy, ranges with the node", {"loadBalancerSourceRanges": NODE_RANGES}, "a", """
        node lb2 > lb2 = a masq
        lb outside > lb2 = blocked""", proxied="lb"),
]

LEAVING = [
    Case("Local, some leave", LOCAL, "a b c:leaving d:gone r", """
        pod > cluster lb = a b r
        outside > lb external nodePort = a b"""),
    Case("Local, all here leave", LOCAL, "b:leaving c:leaving d:gone r", """
        pod > cluster lb = r
        node > lb = r masq
        outside > lb external nodePort = b c"""),
    Case("Local, leaving elsewhere", LOCAL, "r:leaving", """
        pod > cluster lb = r
        outside > lb external nodePort = drop"""),
    Case("Local, gone everywhere", LOCAL, "a:gone | a:gone r:gone", NOBODY),
    Case("Local, unready here", LOCAL, "r a:unready b:leaving s:leaving", """
        pod > cluster lb = r
        outside > lb = b"""),
    Case("Cluster, some leave", {}, "a b r:leaving s:gone t", """
        pod > cluster = a b t
        outside > lb external nodePort = a b t masq"""),
    Case("Cluster, all leave", {}, "b:leaving c:leaving s:gone t:leaving", """
        pod > cluster = b c t
        outside > lb external nodePort = b c t masq"""),
    Case("Cluster, one leaves elsewhere", {}, "r:leaving", """
        pod > cluster = r
        outside > lb external nodePort = r masq"""),
    Case("Cluster, gone everywhere", {}, "a:gone r:gone", NOBODY),
    Case("serving, but not ready", {}, "a:serving b:leaving c:leaving d:gone", """
        pod > cluster = b c
        outside > lb nodePort = b c masq"""),
    Case("unready", {}, "a:unready r:unready", NOBODY),
    Case("unready but one", {}, "a:unready r", "pod > cluster = r\noutside > lb = r masq"),
    Case("internal Local, leaving here", INSIDE, "a:leaving r", """
        pod > cluster = a
        outside > cluster = a masq
        outside > lb = r masq"""),
    Case("nothing said of them", LOCAL, "a:bare r:bare", "pod > cluster = a r\noutside > lb = a"),
    Case("not said to serve", LOCAL, "a:unsaid r:unsaid s:gone", "pod > cluster = a r\noutside > lb = a"),
    Case("published", LOCAL, "a:published b:unready r", """
        pod > cluster = a r
        outside > lb = a"""),
]

NEAR = [
    Case("all hinted", {}, "r@zone-a s@zone-b t@zone-c u@zone-a", """
        pod > cluster = r u
        outside > lb nodePort = r u masq"""),
    Case("hints, external Local", LOCAL, "a@zone-a b@zone-b r@zone-c s@zone-a", """
        pod > cluster lb external nodePort = a s
        node > lb nodePort = a s masq
        outside > lb external nodePort = a b"""),
    Case("hints, internal Local", INSIDE, "a@zone-a b@zone-b r@zone-c s@zone-a", """
        pod > cluster = a b
        outside > lb = a s masq"""),
    Case("hints for elsewhere", {}, "r@zone-b", "pod > cluster = r"),
    Case("one of the zone unready", {}, "r@zone-a s@zone-b t@zone-c u:unready@zone-a",
         "pod > cluster = r"),
    Case("all of the zone unready", {}, "r:unready@zone-a s@zone-b t@zone-c u:unready@zone-a",
         "pod > cluster = s t"),
    Case("one without a hint", {}, "r@zone-a s@zone-b t u@zone-a", "pod > cluster = r s t u"),
    Case("an unready one without a hint", {}, "r@zone-a s@zone-b t:unready", "pod > cluster = r"),
    Case("several hints", {}, "r@zone-a+zone-b+zone-c s@zone-a+zone-b t@zone-b+zone-d u@zone-a",
         "pod > cluster = r s u"),
    Case("hints and here", LOCAL, "a@zone-a b@zone-b r@zone-a s@zone-b", """
        pod > cluster = a r
        outside > lb = a b"""),
    Case("hints for the leaving", {}, "r:leaving@zone-a s:leaving@zone-b", "pod > cluster = r s"),
    Case("leaving here, ready there", {}, "r:leaving@zone-a s@zone-b", "pod > cluster = s"),
    Case("hints for nodes", {}, "a@node-1 r@node-2", """
        pod > cluster = a
        outside > lb = a masq"""),
    Case("hints for other nodes", {}, "r@node-2 s@node-3", "pod > cluster = r s"),
    Case("hints for nodes and zones", {}, "a@node-1+zone-a r@node-2+zone-a s@node-2+zone-b",
         "pod > cluster = a"),
    Case("hints for some nodes", {}, "a@node-1+zone-a r@zone-a s@zone-b", "pod > cluster = a r"),
    Case("hints for other nodes, but zones", {}, "r@node-2+zone-a s@node-3+zone-b",
         "pod > cluster = r"),
    Case("a preference alone", {"trafficDistribution": "PreferClose"}, "a r", "pod > cluster = a r"),
]

CASES = POLICIES + PORTS + RANGES + LEAVING + NEAR

# Other settings, and other zones of the node: settings, zone, Services

MASQUERADED = [  # masqueradeAll: all packets to ClusterIPs
    Case("Cluster", {}, "a r", """
        pod far node outside > cluster lb lb2 external nodePort = a r masq"""),
    Case("external Local", LOCAL, "a r", """
        pod far node outside > cluster = a r masq
        pod far > lb external nodePort = a r
        node > lb external nodePort = a r masq
        outside > lb external nodePort = a"""),
    Case("internal Local", INSIDE, "a r", """
        pod far node outside > cluster = a masq
        pod far node outside > lb external nodePort = a r masq"""),
]
MASQUERADED_BY_THE_WAY = [  # the same, but a pod of another node is none where the way in decides
    MASQUERADED[0],
    Case("external Local", LOCAL, "a r", """
        pod far node outside > cluster = a r masq
        pod > lb external nodePort = a r
        node > lb external nodePort = a r masq
        far outside > lb external nodePort = a"""),
    MASQUERADED[2],
]
# kube-proxy takes all senders to ClusterIPs for pods if it cannot tell; here the way in does (14.4).
UNKNOWN_PODS = [
    Case("Cluster", {}, "a r", """
        pod > cluster = a r
        a > cluster = a r hairpin
        far node outside > cluster = a r masq
        pod far node outside > lb lb2 external nodePort = a r masq"""),
    Case("external Local", LOCAL, "a r", """
        pod > cluster lb external nodePort = a r
        far node outside > cluster = a r masq
        node > lb external nodePort = a r masq
        far outside > lb external nodePort = a
        a > lb = a r hairpin"""),
    Case("internal Local", INSIDE, "a r", """
        pod > cluster = a
        far node outside > cluster = a masq
        pod far node outside > lb external nodePort = a r masq"""),
]


def node_ports(*chosen):
    """Where NodePorts are: on these places, and on no other."""
    others = [place for place in ("4 nodePort", "4 secondPort", "6 nodePort", "6 secondPort")
              if place not in chosen]
    lines = {policy: [] for policy in ("Cluster", "Local")}
    for family, place in map(str.split, chosen):
        lines["Cluster"].append(f"{family} pod far node outside > {place} = a x masq")
        lines["Local"] += [f"{family} outside neighbour > {place} = a",
                           f"{family} pod > {place} = a x", f"{family} node > {place} = a x masq"]
    for family, place in map(str.split, others):
        for own in lines.values():
            own.append(f"{family} pod outside node > {place} = pass")
    return [Case(policy, {"externalTrafficPolicy": policy}, "a x",
                 "\n".join([*own, "node > loopback = pass"])) for policy, own in lines.items()]


EVERYWHERE = node_ports("4 nodePort", "4 secondPort", "6 nodePort", "6 secondPort")
HINTED = "r@zone-a s@zone-b t@zone-c u@zone-a"
ROUNDS = [
    ({"masqueradeAll": True}, "zone-a", MASQUERADED),
    ({"clusterCIDRs": []}, "zone-a", UNKNOWN_PODS),
    ({"clusterCIDRs": [], "masqueradeAll": True}, "zone-a", MASQUERADED_BY_THE_WAY),
    ({"nodePortAddresses": ["primary"]}, "zone-a", node_ports("4 nodePort", "6 nodePort")),
    ({"nodePortAddresses": NODE_RANGES}, "zone-a", EVERYWHERE),
    ({"nodePortAddresses": ["0.0.0.0/0", "::/0"]}, "zone-a", EVERYWHERE),
    ({"nodePortAddresses": NODE_RANGES[:1]}, "zone-a", EVERYWHERE),
    ({"nodePortAddresses": ["192.0.2.11/32", "fd00:192::1/128"]}, "zone-a",
     node_ports("4 secondPort", "6 nodePort")),
    ({"nodePortAddresses": ["198.18.0.0/15", "fd00:192::11/128"]}, "zone-a",
     node_ports("6 secondPort")),
    ({}, "zone-b", [
        Case("all hinted", {}, HINTED, "pod > cluster = s"),
        Case("hints for elsewhere", {}, "r@zone-a s@zone-c", "pod > cluster = r s"),
        Case("several hints", {}, "r@zone-a+zone-b s@zone-b t@zone-c", "pod > cluster = r s"),
    ]),
    *(({}, zone, [
        Case("all hinted", {}, HINTED, "pod > cluster = r s t u"),
        Case("hints for nodes", {}, "a@node-1+zone-a r@node-2+zone-b", "pod > cluster = a"),
    ]) for zone in (None, "")),
]


# One after the other: per ClusterIP its endpoints, if there is such a Service, and the outcome.

STEPS = [
    [("x", "x"), ("x", "x"), (None, "unallocated"), (None, "unallocated")],
    [("x", "x"), ("x", "x"), ("r", "r"), (None, "unallocated")],
    [("x", "x"), (None, "unallocated"), ("r", "r"), ("", "reject")],
    [("x", "x"), (None, "unallocated"), ("r", "r"), ("s", "s")],
    [("x", "x"), (None, "unallocated"), ("t", "t"), ("s", "s")],
    [("x", "x"), (None, "unallocated"), ("t u", "t u"), ("s", "s")],
    [("x", "x"), (None, "unallocated"), ("", "reject"), ("s:leaving", "s")],
    [("x", "x"), (None, "unallocated"), ("t u", "t u"), ("s:gone", "reject")],
    [("a | b", "a b"), ("x", "x"), ("9090 t | u", "t:9090 u"), ("r:leaving s", "s")],
]

# Service ports that policy Local leaves without endpoints here, though there are some: policies,
# endpoints, and the numbers by traffic policy.

SINGLE = {"type": "NodePort", "externalIPs": [], "clusterIPs": ["10.96.0.{n}"],
          "ports": [port("", 80, "TCP", 80, nodePort=30123)]}
WITHOUT_LOCAL = [
    (INSIDE, "a r s", 0, 0), (LOCAL, "a r s", 0, 0), (BOTH, "a r s", 0, 0),
    (INSIDE, "r s t", 1, 0), (LOCAL, "r s t", 0, 1), (BOTH, "r s t", 1, 1), (BOTH, "", 0, 0),
]

# Health ports: policies, type, endpoints, and the number of endpoints that they tell, None for none.

HEALTH = [
    (LOCAL, "LoadBalancer", "a b c d:unready r", 3),
    (LOCAL, "LoadBalancer", "a:serving b:leaving c:leaving d:gone", 0),
    (LOCAL, "LoadBalancer", "8080 a | 9090 a", 1),  # one address, two ports
    (LOCAL, "LoadBalancer", "a | a:leaving b | a", 2),
    (LOCAL, "LoadBalancer", "a:bare b:published", 2),
    (LOCAL, "LoadBalancer", "r", 0),
    (LOCAL, "LoadBalancer", "", 0),
    (BOTH, "LoadBalancer", "a h x o", 2),
    ({}, "LoadBalancer", "a", None),
    (INSIDE, "LoadBalancer", "a", None),
    (LOCAL, "NodePort", "a", None),
]
