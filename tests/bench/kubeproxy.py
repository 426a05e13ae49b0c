# SPDX-License-Identifier: Apache-2.0
"""The nftables ruleset that kube-proxy would write: what Fingerpost is measured against.

One table per family; maps from address, protocol and port to a chain per service port; that chain
marks what is to be masqueraded and picks one of the endpoint chains at random; an endpoint chain has
the hairpin mark and the DNAT. Names and shape are those of kube-proxy's nftables backend, comments
are left out. Service ports are `ServicePort`s, so that tests can feed it as well.
"""

from dataclasses import dataclass, field

MARK = "0x4000"


@dataclass
class ServicePort:
    name: str
    protocol: str  # tcp, udp
    cluster_ip: str
    port: int
    endpoints: list  # (address, port)
    local: list = field(default_factory=list)  # those on this node
    external: list = field(default_factory=list)  # LoadBalancer and external addresses
    node_port: int = 0
    external_local: bool = False
    internal_local: bool = False

    @property
    def chain(self):
        return f"{self.name}/{self.protocol}/{self.port}"


def at(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class Ruleset:
    def __init__(self, family, pod_net, node_addresses, ports=()):
        self.ip = "ip" if family == 4 else "ip6"
        self.type = "ipv4_addr" if family == 4 else "ipv6_addr"
        self.unreachable = f"reject with {'icmp' if family == 4 else 'icmpv6'} type port-unreachable"
        self.pod_net, self.node_addresses = pod_net, node_addresses
        self.lines = []
        self.frame()
        for port in ports:
            self.service(port)

    def add(self, *lines):
        self.lines += lines

    def text(self):
        return "\n".join(self.lines) + "\n"

    def chain(self, name, *rules, hook=None):
        self.add(f"add chain {self.ip} kube-proxy {name}" + (f" {{ {hook} ; }}" if hook else ""))
        for rule in rules:
            self.add(f"add rule {self.ip} kube-proxy {name} {rule}")

    def frame(self):
        key = f"{self.type} . inet_proto . inet_service : verdict"
        self.add(f"add table {self.ip} kube-proxy", f"delete table {self.ip} kube-proxy",
                 f"add table {self.ip} kube-proxy",
                 f"add set {self.ip} kube-proxy nodeport-ips {{ type {self.type} ; }}")
        for name in ("service-ips", "no-endpoint-services"):
            self.add(f"add map {self.ip} kube-proxy {name} {{ type {key} ; }}")
        for name in ("service-nodeports", "no-endpoint-nodeports"):
            self.add(f"add map {self.ip} kube-proxy {name} "
                     "{ type inet_proto . inet_service : verdict ; }")
        for address in self.node_addresses:
            self.add(f"add element {self.ip} kube-proxy nodeport-ips {{ {address} }}")
        self.chain("reject-chain", self.unreachable)
        self.chain("mark-for-masquerade", f"mark set mark or {MARK}")
        self.chain("masquerading", f"mark and {MARK} == 0 return", f"mark set mark xor {MARK}",
                   "masquerade fully-random")
        where = f"{self.ip} daddr . meta l4proto . th dport"
        self.chain("endpoints-check", f"{where} vmap @no-endpoint-services",
                   f"{self.ip} daddr @nodeport-ips meta l4proto . th dport vmap "
                   "@no-endpoint-nodeports")
        self.chain("services", f"{where} vmap @service-ips",
                   f"{self.ip} daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports")
        for hook, kind, priority, jump in (
            ("filter-input", "filter hook input", -110, "ct state new jump endpoints-check"),
            ("filter-forward", "filter hook forward", -110, "ct state new jump endpoints-check"),
            ("filter-output", "filter hook output", -110, "ct state new jump endpoints-check"),
            ("nat-prerouting", "nat hook prerouting", -100, "jump services"),
            ("nat-output", "nat hook output", -100, "jump services"),
            ("nat-postrouting", "nat hook postrouting", 100, "jump masquerading"),
        ):
            self.chain(hook, jump, hook=f"type {kind} priority {priority}")

    def element(self, name, *elements):
        self.add(f"add element {self.ip} kube-proxy {name} {{ {', '.join(elements)} }}")

    def pick(self, port, chain, endpoints):
        """The rule of a service chain that picks an endpoint chain."""
        if not endpoints:
            return "drop" if port.endpoints else "return"
        goto = ", ".join(f"{i} : goto {self.endpoint_chain(port, e)}" for i, e in enumerate(endpoints))
        return f"numgen random mod {len(endpoints)} vmap {{ {goto} }}"

    @staticmethod
    def endpoint_chain(port, endpoint):
        return f"endpoint-{port.chain}__{endpoint[0].replace(':', '.')}/{endpoint[1]}"

    def service(self, port):
        for endpoint in {*port.endpoints, *port.local}:
            self.chain(self.endpoint_chain(port, endpoint),
                       f"{self.ip} saddr {endpoint[0]} jump mark-for-masquerade",
                       f"meta l4proto {port.protocol} dnat to {at(*endpoint)}")
        cluster = f"service-{port.chain}"
        self.chain(cluster,
                   f"{self.ip} daddr {port.cluster_ip} {port.protocol} dport {port.port} "
                   f"{self.ip} saddr != {self.pod_net} jump mark-for-masquerade",
                   self.pick(port, cluster, port.endpoints))
        internal = external = cluster
        if port.internal_local:
            internal = f"local-{port.chain}"
            self.chain(internal, f"{self.ip} saddr != {self.pod_net} jump mark-for-masquerade",
                       self.pick(port, internal, port.local))
        if port.external or port.node_port:
            external = self.external(port, cluster)
        refused, nodeports, services = "no-endpoint-services", "service-nodeports", "service-ips"
        if not port.endpoints:
            nodeports, services = "no-endpoint-nodeports", refused
            internal = external = "reject-chain"
        self.element(services, *(
            f"{address} . {port.protocol} . {port.port} : goto {chain}"
            for address, chain in [(port.cluster_ip, internal), *((a, external) for a in port.external)]
        ))
        if port.node_port:
            self.element(nodeports, f"{port.protocol} . {port.node_port} : goto {external}")

    def external(self, port, cluster):
        chain = f"external-{port.chain}"
        if not port.external_local:
            self.chain(chain, "jump mark-for-masquerade", f"goto {cluster}")
            return chain
        self.chain(chain, f"{self.ip} saddr {self.pod_net} goto {cluster}",
                   "fib saddr type local jump mark-for-masquerade",
                   f"fib saddr type local goto {cluster}", self.pick(port, chain, port.local))
        return chain

