# SPDX-License-Identifier: Apache-2.0
"""Service NAT as the contract says it, said a second time: objects in, frontends and outcomes out.

This is what the C planner is held against, so it shares nothing with it: no code, no data
structures, no thought of speed. All but addresses of text is computed anew wherever it is asked for. Each rule is
one short function, and the number in its docstring is the rule's row in the contract; "k" stands
for what kube-proxy's nftables backend does where no row speaks.

The result is the member "nat" of the document that `agentctl plan --json` prints. What a packet
alone can decide is not in it: that is in judge.py. The choice among endpoints and affinity are in
neither.
"""

import functools
import ipaddress

PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"
HEADLESS_LABEL = "service.kubernetes.io/headless"
SERVICE_NAME_LABEL = "kubernetes.io/service-name"
ZONE_LABEL = "topology.kubernetes.io/zone"
SOURCES = ("outside", "pod", "node")
NO_TIMESTAMP = "~"  # sorts after every digit


# Text to values

def without_leading_zeros(text):
    """1.7, 14.6: read as decimal."""
    parts = text.split(".")
    if len(parts) == 4 and all(part.isdecimal() for part in parts):
        return ".".join(str(int(part)) for part in parts)
    return text


@functools.cache
def read_address(text):
    """An address, or None: bad ones are skipped one by one (1.7, 14.6)."""
    try:
        return ipaddress.ip_address(without_leading_zeros(text or ""))
    except ValueError:
        return None


def read_addresses(texts):
    return [address for text in texts if (address := read_address(text))]


def read_range(text):
    """A CIDR, or None: blanks are trimmed (5.5), host bits masked, bad ones skipped (14.6)."""
    address, slash, length = text.strip().partition("/")
    try:
        return ipaddress.ip_network(without_leading_zeros(address) + slash + length, strict=False)
    except ValueError:
        return None


def read_ranges(texts, family):
    ranges = {cidr for text in texts if (cidr := read_range(text)) and cidr.version == family}
    return sorted(ranges)


def is_within(address, texts):
    return any(address in cidr for cidr in read_ranges(texts, address.version))


def labels(thing):
    return thing["metadata"].get("labels") or {}


def key(thing):
    return thing["metadata"].get("namespace") or "default", thing["metadata"]["name"]


def of_kind(objects, kind):
    return [thing for thing in objects if thing["kind"] == kind]


# Which Services count

def cluster_ips(service):
    """The addresses of spec.clusterIPs; 1.2: an ExternalName has none, whatever is written."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return []
    return read_addresses(spec.get("clusterIPs") or [spec.get("clusterIP")])


def is_other_proxys(service, settings):
    """1.3: the label with any value, unless it is our own name; 1.4: the headless label."""
    name = labels(service).get(PROXY_NAME_LABEL)
    ours = name is None or (name != "" and name == settings.get("proxyName"))
    return not ours or HEADLESS_LABEL in labels(service)


def is_served(service, family, settings):
    """1.1: without a ClusterIP nothing is served; 1.5: in each family by itself."""
    has_cluster_ip = any(address.version == family for address in cluster_ips(service))
    return has_cluster_ip and not is_other_proxys(service, settings)


# Addresses

def external_ips(objects, service, settings):
    """2.3: only within the configured ranges; 14.1: never a ClusterIP nor in serviceCIDRs."""
    taken = [address for other in of_kind(objects, "Service") for address in cluster_ips(other)]
    return [
        address for address in read_addresses(service["spec"].get("externalIPs") or [])
        if is_within(address, settings.get("externalIPs") or [])
        and not is_within(address, settings.get("serviceCIDRs") or [])
        and address not in taken
    ]


def ingress_ips(service, settings):
    """2.4 to 2.6: with ipMode VIP or none; 14.9: of type LoadBalancer, in configured ranges."""
    if service["spec"].get("type") != "LoadBalancer":
        return []
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    addresses = read_addresses(
        entry.get("ip") for entry in balancer.get("ingress") or []
        if entry.get("ipMode") in (None, "VIP")
    )
    ranges = settings.get("loadBalancerIPs") or ["0.0.0.0/0", "::/0"]
    return [address for address in addresses if is_within(address, ranges)]


def this_node(objects, name):
    return next((node for node in of_kind(objects, "Node") if key(node)[1] == name), None)


def node_addresses(node, family, kinds=("InternalIP", "ExternalIP")):
    """Loopback is none of them (14.5)."""
    entries = ((node or {}).get("status") or {}).get("addresses") or []
    addresses = read_addresses(entry["address"] for entry in entries if entry["type"] in kinds)
    return [a for a in addresses if a.version == family and not a.is_loopback]


def on_host(objects, name, addresses, default_sources):
    """The same objects on a host that has these addresses: its Node object says so, too, by types
    of addresses that only this file knows."""
    node = this_node(objects, name) or {"kind": "Node", "metadata": {"name": name}, "made": "up"}
    entries = list((node.get("status") or {}).get("addresses") or [])
    entries += [{"type": "Interface", "address": address} for address in addresses]
    entries += [{"type": "DefaultSource", "address": address} for address in default_sources]
    others = [thing for thing in objects if thing is not node]
    return [*others, {**node, "status": {"addresses": entries}}]


def is_made_up(node):
    """It is in no manifest."""
    return "made" in node


def primary_addresses(node, family):
    """14.5: the first InternalIP, or else the source of the default route, if it is known."""
    for kind in ("InternalIP", "DefaultSource"):
        if found := node_addresses(node, family, [kind]):
            return found[:1]
    return []


def node_port_addresses(node, family, settings):
    """2.11, 14.5: primary unless configured; CIDRs of the other family only: all that are known."""
    wanted = settings.get("nodePortAddresses") or ["primary"]
    primary = primary_addresses(node, family)
    every = [*primary, *node_addresses(node, family), *node_addresses(node, family, ["Interface"])]
    cidrs = read_ranges([text for text in wanted if text != "primary"], family)
    chosen = [address for address in every if any(address in cidr for cidr in cidrs)]
    if "primary" in wanted:
        chosen += primary
    elif not cidrs:
        chosen = every
    return chosen


def node_ports(service):
    """1.6: of types NodePort and LoadBalancer, also those set by delivery."""
    if service["spec"].get("type") not in ("NodePort", "LoadBalancer"):
        return []
    return [port for port in service["spec"]["ports"] if port.get("nodePort")]


# Who gets which frontend

def precedence(service):
    """14.1: the older, then namespace and name; without a timestamp last."""
    return (service["metadata"].get("creationTimestamp") or NO_TIMESTAMP, *key(service))


def protocol_of(port):
    return port.get("protocol") or "TCP"


def claims(objects, service, family, settings, node):
    """(address, port, kind, service port); an address has its first kind if it has several."""
    for kind, addresses in (
        ("clusterIP", cluster_ips(service)),
        ("loadBalancer", ingress_ips(service, settings)),
        ("externalIP", external_ips(objects, service, settings)),
    ):
        for address in addresses:
            if address.version == family:
                for port in service["spec"]["ports"]:
                    yield address, port["port"], kind, port
    for port in node_ports(service):
        for address in node_port_addresses(node, family, settings):
            yield address, port["nodePort"], "nodePort", port


def frontends(objects, family, settings, node_name):
    """{(address, protocol, port): (service, kind, service port)}: the first claim has it.

    14.1 says which Service is first; trap 4 (13): an address of a Service goes before a NodePort.
    """
    node = this_node(objects, node_name)
    services = [
        service for service in sorted(of_kind(objects, "Service"), key=precedence)
        if is_served(service, family, settings)
    ]
    found = {}
    for node_ports_turn in (False, True):
        for service in services:
            for address, number, kind, port in claims(objects, service, family, settings, node):
                if (kind == "nodePort") == node_ports_turn:
                    found.setdefault((address, protocol_of(port), number), (service, kind, port))
    return found


# Endpoints

def slices_of(objects, service, family):
    """1.10: by label, of this family; 1.4: without the headless label."""
    return [
        piece for piece in of_kind(objects, "EndpointSlice")
        if labels(piece).get(SERVICE_NAME_LABEL) == key(service)[1]
        and key(piece)[0] == key(service)[0]
        and piece["addressType"] == f"IPv{family}"
        and HEADLESS_LABEL not in labels(piece)
    ]


def conditions(endpoint):
    """1.12: (ready, serving, terminating) with kube-proxy's defaults filled in."""
    given = endpoint.get("conditions") or {}
    ready = True if given.get("ready") is None else given["ready"]
    serving = True if given.get("serving") is None else given["serving"]
    return ready, serving, bool(given.get("terminating"))


def read_endpoint(endpoint, family, node_name):
    """One endpoint, or None: without an address of the slice's family it is skipped (14.6)."""
    address = read_address((endpoint.get("addresses") or [None])[0])
    if address is None or address.version != family:
        return None
    ready, serving, terminating = conditions(endpoint)
    hints = endpoint.get("hints") or {}
    return {
        "address": address,
        "ready": ready,
        "usable": serving and terminating,  # once none is ready
        "serving": serving,
        "local": endpoint.get("nodeName") == node_name,  # trap 6 (13): no name, never local
        "zones": [zone["name"] for zone in hints.get("forZones") or []],
        "nodes": [node["name"] for node in hints.get("forNodes") or []],
    }


def port_numbers(piece, port):
    """1.9: by name, and protocol (k); 14.6: a port without a number is skipped."""
    return [
        entry["port"] for entry in piece.get("ports") or []
        if (entry.get("name") or "") == (port.get("name") or "")
        and protocol_of(entry) == protocol_of(port)
        and entry.get("port")
    ]


def is_own_address(objects, service, address):
    """What comes to the Service is no endpoint of it, unless a host has the address."""
    spec, status = service["spec"], service.get("status") or {}
    entries = (status.get("loadBalancer") or {}).get("ingress") or []
    own = read_addresses([*(spec.get("clusterIPs") or [spec.get("clusterIP")]),
                          *(spec.get("externalIPs") or []), *(e.get("ip") for e in entries)])
    hosts = [a for node in of_kind(objects, "Node") for a in
             node_addresses(node, address.version, ["InternalIP", "ExternalIP", "Interface"])]
    return address in own and address not in hosts


def endpoints_of(objects, service, port, family, node_name):
    """1.10: of all slices; 14.12: of copies that differ, what is safe for traffic counts."""
    merged = {}
    for piece in slices_of(objects, service, family):
        for number in port_numbers(piece, port):
            for entry in piece.get("endpoints") or []:
                endpoint = read_endpoint(entry, family, node_name)
                if endpoint and not is_own_address(objects, service, endpoint["address"]):
                    merged.setdefault((endpoint["address"], number), []).append(endpoint)
    return {target: united(copies) for target, copies in merged.items()}


def rank(endpoint):
    """14.12: ready, or else serving while it leaves; what serves, but gets nothing new; the rest."""
    return 3 if endpoint["ready"] else 2 if endpoint["usable"] else int(endpoint["serving"])


def united(copies):
    """One that leaves may have given its address to another, elsewhere: the others' word counts."""
    best = [copy for copy in copies if rank(copy) == max(map(rank, copies))]
    return {**best[0], "local": any(copy["local"] for copy in best)}


def hinted(ready, hint, name):
    """3.9, 3.10: only if every ready endpoint has a hint, and at least one of them names us."""
    chosen = {target: e for target, e in ready.items() if name in e[hint]}
    return chosen if all(e[hint] for e in ready.values()) else {}


def near(ready, node_name, zone):
    """3.10: hints for nodes before those for zones; otherwise all."""
    return hinted(ready, "nodes", node_name) or hinted(ready, "zones", zone) or ready


def ready_of(endpoints):
    return {target: endpoint for target, endpoint in endpoints.items() if endpoint["ready"]}


def leaving(endpoints):
    """Serving while terminating."""
    return {target: endpoint for target, endpoint in endpoints.items() if endpoint["usable"]}


def cluster_set(endpoints, node_name, zone):
    """3.1"""
    return near(ready_of(endpoints), node_name, zone) or leaving(endpoints)


def local_set(endpoints):
    """3.2; 3.3: chosen without a look at the cluster set."""
    local = {target: endpoint for target, endpoint in endpoints.items() if endpoint["local"]}
    return ready_of(local) or leaving(local)


# Outcomes

def is_local(service, policy):
    return service["spec"].get(policy) == "Local"


def uses_local_set(service, kind, source):
    """3.4: all traffic to ClusterIPs; 3.5: from outside to the rest; 3.6: but from there only."""
    if kind == "clusterIP":
        return is_local(service, "internalTrafficPolicy")
    return is_local(service, "externalTrafficPolicy") and source == "outside"


def is_masqueraded(service, kind, source, settings):
    """4.2, 4.3 for ClusterIPs; 4.4 (k: from pods too), 4.5 and 3.6 for the rest."""
    if kind == "clusterIP":
        return source != "pod" or bool(settings.get("masqueradeAll"))
    return source == "node" or not is_local(service, "externalTrafficPolicy")


def refusal(cluster):
    """5.1, 14.3: REJECT if none is usable anywhere, DROP if some are elsewhere."""
    verdict, reason = ("drop", "no-local-endpoints") if cluster else ("reject", "no-endpoints")
    return {"verdict": verdict, "reason": reason, "endpoints": [], "masquerade": False}


def endpoint_text(target):
    address, port = target
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def outcome(service, kind, source, cluster, local, settings):
    chosen = local if uses_local_set(service, kind, source) else cluster
    if not chosen:
        return refusal(cluster)
    return {
        "verdict": "forward",
        "reason": "none",
        "endpoints": [endpoint_text(target) for target in sorted(chosen)],
        "masquerade": is_masqueraded(service, kind, source, settings),
    }


# The document

def source_ranges(service, kind, family, node, settings):
    """5.5: of ingress addresses only; 5.6: None, all, if there is none of the family.

    14.3: with this node's (k: primary) address inside them, every ingress address of the Service
    may come as well.
    """
    if kind != "loadBalancer":
        return None
    texts = service["spec"].get("loadBalancerSourceRanges") or []
    ranges = set(read_ranges(texts, family))
    if any(is_within(own, texts) for own in primary_addresses(node, family)):
        ranges |= {ipaddress.ip_network(address) for address in ingress_ips(service, settings)
                   if address.version == family and not is_within(address, texts)}
    return [str(cidr) for cidr in sorted(ranges)] or None


def health(objects, service, family, node_name):
    """7.1: the port; 7.3, 7.4: distinct addresses of ready endpoints of this node."""
    spec = service["spec"]
    number = spec.get("healthCheckNodePort")
    if spec.get("type") != "LoadBalancer" or not is_local(service, "externalTrafficPolicy"):
        return None
    if not number:
        return None
    ready = {
        endpoint["address"]
        for piece in slices_of(objects, service, family)
        for entry in piece.get("endpoints") or []
        if any(port.get("port") for port in piece.get("ports") or [])
        and (endpoint := read_endpoint(entry, family, node_name))
        and endpoint["ready"] and endpoint["local"]
    }
    return {"port": number, "localReady": len(ready)}


def affinity_seconds(service):
    """3.12"""
    if service["spec"].get("sessionAffinity") != "ClientIP":
        return None
    config = service["spec"].get("sessionAffinityConfig") or {}
    return (config.get("clientIP") or {}).get("timeoutSeconds") or 10800


def zone_of(objects, node_name):
    """3.9, 3.11; a zone that no hint names if the node has none."""
    node = this_node(objects, node_name)
    return labels(node).get(ZONE_LABEL) if node else None


def frontend_item(objects, place, claim, settings, node_name):
    (address, protocol, number), (service, kind, port) = place, claim
    endpoints = endpoints_of(objects, service, port, address.version, node_name)
    cluster = cluster_set(endpoints, node_name, zone_of(objects, node_name))
    local = local_set(endpoints)
    return {
        "address": str(address),
        "port": number,
        "protocol": protocol,
        "kind": kind,
        "portName": port.get("name") or "",
        "sourceRanges": source_ranges(service, kind, address.version,
                                      this_node(objects, node_name), settings),
        "from": {
            source: outcome(service, kind, source, cluster, local, settings) for source in SOURCES
        },
    }


def family_item(objects, service, family, found, settings, node_name):
    namespace, name = key(service)
    return {
        "namespace": namespace,
        "name": name,
        "family": family,
        "healthCheckNodePort": health(objects, service, family, node_name),
        "affinitySeconds": affinity_seconds(service),
        "frontends": [
            frontend_item(objects, place, claim, settings, node_name)
            for place, claim in sorted(found.items(), key=lambda item: item[0])
            if claim[0] is service
        ],
    }


def all_frontends(objects, settings, node_name):
    """Of both families, as frontends()."""
    return {
        place: claim for family in (4, 6)
        for place, claim in frontends(objects, family, settings, node_name).items()
    }


def nat(objects, settings, node_name):
    """The member "nat": `objects` as read from manifests, `settings` as below "services:"."""
    found = {family: frontends(objects, family, settings, node_name) for family in (4, 6)}
    items = [
        family_item(objects, service, family, found[family], settings, node_name)
        for service in sorted(of_kind(objects, "Service"), key=key)
        for family in (4, 6)
    ]
    return [item for item in items if item["frontends"]]
