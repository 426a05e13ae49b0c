# SPDX-License-Identifier: Apache-2.0
"""Random clusters: objects as manifests have them, and the configuration of the node that looks.

The worlds are small on purpose: few names, addresses, ports and pods, so that Services collide,
slices overlap, and every policy meets every state of endpoints. Everything is drawn from the one
`random.Random` given, so a seed is a cluster.
"""

import ipaddress

NODE = "node-1"
NODES = (NODE, "node-2", "node-3")
ZONES = ("zone-a", "zone-b")
NAMESPACES = ("default", "shop")
NAMES = ("web", "api", "dns")
TIMESTAMPS = (None, "2024-02-01T08:00:00Z", "2025-06-01T00:00:00Z", "2025-06-01T00:00:01Z")
NODE_ADDRESSES = {4: "192.0.2.", 6: "fd00:192::"}
POD_ADDRESSES = {4: "10.244.{}.{}", 6: "fd00:244:{}::{}"}
CLUSTER_IPS = {4: "10.96.0.", 6: "fd00:96::"}
INGRESS_IPS = {4: "203.0.113.", 6: "fd00:203::"}
EXTERNAL_IPS = {4: "198.51.100.", 6: "fd00:198::"}
ODD_ADDRESSES = ("198.051.100.001", "198.51.100.300", "balancer.example", "", "FD00:198:0::1")
ODD_RANGES = (" 10.1.0.0/16 ", "10.244.1.77/24", "010.2.0.0/16", "10.0.0.0/40", "anywhere")
RANGES = {
    4: ("10.0.0.0/8", "192.0.2.0/24", "192.0.2.1/32", "0.0.0.0/0"),
    6: ("fd00::/16", "fd00:192::/64", "fd00:0192::1/128", "::/0"),
}
PORTS = (80, 443, 53)
NODE_PORTS = (30080, 30081, 32767, 80, 443)
ANNOUNCE = "fingerpost.io/announce"
BOOLEANS = (True, True, True, False, None)


def maybe(chance, probability, **members):
    return members if chance.random() < probability else {}


def some(chance, things, most):
    return chance.sample(list(things), chance.randint(0, min(most, len(things))))


def metadata(chance, namespace, name, labels):
    stamp = chance.choice(TIMESTAMPS)
    written = {"namespace": namespace}
    if namespace == "default" and chance.random() < 0.1:
        written = {}
    return {
        "name": name,
        **written,
        **({"creationTimestamp": stamp} if stamp else {}),
        **({"labels": labels} if labels else {}),
        **maybe(chance, 0.1, annotations={ANNOUNCE: chance.choice(("false", "true"))}),
    }


# Nodes

def node_address_entries(chance, number):
    entries = [{"type": "Hostname", "address": f"node-{number}"}]
    for family in (4, 6):
        own = [f"{NODE_ADDRESSES[family]}{number + 10 * i}" for i in range(3)]
        kinds = chance.choices(("InternalIP", "ExternalIP"), (3, 1), k=3)
        entries += [
            {"type": kind, "address": address}
            for kind, address in list(zip(kinds, own))[: chance.choice((0, 1, 1, 1, 2, 3))]
        ]
    if chance.random() < 0.1:
        entries.append({"type": "InternalIP", "address": "127.0.0.1"})
    if chance.random() < 0.2:
        chance.shuffle(entries)
    return entries


def node(chance, number):
    labels = {"kubernetes.io/hostname": f"node-{number}"}
    labels |= maybe(chance, 0.8, **{"topology.kubernetes.io/zone": chance.choice(ZONES)})
    labels |= maybe(chance, 0.05, **{"node.kubernetes.io/exclude-from-external-load-balancers": ""})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}", "labels": labels},
        **maybe(chance, 0.95, status={"addresses": node_address_entries(chance, number)}),
    }


def with_pod_cidrs(chance, thing):
    """A Node that may know the networks of its pods, of both families or one."""
    number = thing["metadata"]["name"][-1]
    nets = some(chance, [f"10.244.{number}.0/24", f"fd00:244:{number}::/64"], 2)
    return {**thing, **maybe(chance, 0.5, spec={"podCIDRs": nets})}


# Services

def service_labels(chance, proxy_name):
    """Where our proxy has a name, most Services are labelled, and most of them with it."""
    label = "service.kubernetes.io/service-proxy-name"
    labels = {"app": "any"}
    if proxy_name:
        names = ("", proxy_name, proxy_name, proxy_name, "other")
        labels |= maybe(chance, 0.7, **{label: chance.choice(names)})
    else:
        labels |= maybe(chance, 0.15, **{label: chance.choice(("", "fingerpost", "other"))})
    return labels | maybe(chance, 0.05, **{"service.kubernetes.io/headless": ""})


def cluster_ips(chance, number):
    """Mostly the Service's own; now and then one that another has, or none."""
    families = chance.choice(((4,), (6,), (4, 6), (4, 6), (6, 4)))
    if chance.random() < 0.05:
        number = chance.randint(1, 9)
    addresses = [f"{CLUSTER_IPS[family]}{number}" for family in families]
    if chance.random() < 0.1:  # by delivery: the old field alone, or none
        return chance.choice(({"clusterIP": addresses[0]}, {"clusterIP": ""}, {}))
    return {
        "clusterIP": addresses[0],
        "clusterIPs": addresses,
        "ipFamilies": [f"IPv{family}" for family in families],
        "ipFamilyPolicy": chance.choice(("SingleStack", "PreferDualStack", "RequireDualStack")),
    }


def headless_ips(chance):
    return chance.choice(({"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None"}))


def service_ports(chance, kind):
    numbers = chance.sample(PORTS, chance.choice((1, 1, 2, 3)))
    ports = []
    for number in numbers:
        protocol = chance.choice(("TCP", "TCP", "UDP", "SCTP"))
        has_node_port = chance.random() < (0.8 if kind in ("NodePort", "LoadBalancer") else 0.1)
        ports.append({
            "port": number,
            **maybe(chance, 0.9 if protocol == "TCP" else 1, protocol=protocol),
            **({"nodePort": chance.choice(NODE_PORTS)} if has_node_port else {}),
            **({"name": f"p{number}"} if len(numbers) > 1 or chance.random() < 0.5 else {}),
            **maybe(chance, 0.3, targetPort=chance.choice((8080, "http"))),
        })
    return distinct_node_ports(ports)


def distinct_node_ports(ports):
    """The API server would not let one Service have the same NodePort twice."""
    seen = set()
    for port in ports:
        place = port.get("protocol"), port.get("nodePort")
        if place in seen or (port.get("protocol", "TCP"), port.get("nodePort")) in seen:
            port.pop("nodePort", None)
        seen.add((port.get("protocol", "TCP"), port.get("nodePort")))
    return ports


def external_ips(chance):
    addresses = [f"{EXTERNAL_IPS[f]}{n}" for f in (4, 6) for n in (1, 2)]
    addresses += [f"{NODE_ADDRESSES[f]}1" for f in (4, 6)] + [f"{CLUSTER_IPS[f]}3" for f in (4, 6)]
    addresses += [f"{INGRESS_IPS[f]}1" for f in (4, 6)]
    return some(chance, addresses + list(ODD_ADDRESSES), 6)


def ingress(chance):
    addresses = [f"{INGRESS_IPS[f]}{n}" for f in (4, 6) for n in (1, 2, 9)]
    addresses += ["203.000.113.002", "x", f"{CLUSTER_IPS[4]}2", f"{EXTERNAL_IPS[4]}1"]
    entries = [
        {"ip": address, **maybe(chance, 0.7, ipMode=chance.choice(("VIP", "VIP", "Proxy", None)))}
        for address in some(chance, addresses, 4)
    ]
    return entries + some(chance, [{"hostname": "balancer.example"}], 1)


def source_ranges(chance):
    return some(chance, RANGES[4] + RANGES[6] + ODD_RANGES, chance.choice((1, 2, 6)))


def affinity(chance):
    config = {"clientIP": {"timeoutSeconds": chance.choice((1, 600, 86400))}}
    return {"sessionAffinity": "ClientIP", **maybe(chance, 0.5, sessionAffinityConfig=config)}


def service_spec(chance, number):
    [kind] = chance.choices(("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"), (4, 4, 8, 1))
    no_cluster_ip = kind == "ClusterIP" and chance.random() < 0.2
    spec = {"type": kind, "ports": service_ports(chance, kind)}
    spec |= headless_ips(chance) if no_cluster_ip else cluster_ips(chance, number)
    spec |= maybe(chance, 0.1, externalName="db.example") if kind == "ExternalName" else {}
    spec |= maybe(chance, 0.5, externalIPs=external_ips(chance))
    spec |= maybe(chance, 0.7, externalTrafficPolicy=chance.choice(("Cluster", "Local", "Local")))
    spec |= maybe(chance, 0.6, internalTrafficPolicy=chance.choice(("Cluster", "Local")))
    spec |= maybe(chance, 0.4, healthCheckNodePort=chance.choice((0, 31000, 31001)))
    spec |= maybe(chance, 0.4, loadBalancerSourceRanges=source_ranges(chance))
    spec |= maybe(chance, 0.3, **affinity(chance))
    spec |= maybe(chance, 0.1, loadBalancerClass="example.com/other")
    spec |= maybe(chance, 0.2, trafficDistribution="PreferClose")
    return spec


def service(chance, namespace, name, number, proxy_name):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(chance, namespace, name, service_labels(chance, proxy_name)),
        "spec": service_spec(chance, number),
        "status": {"loadBalancer": maybe(chance, 0.9, ingress=ingress(chance))},
    }


def sharing(chance, objects):
    """The objects with one address for all Services, load balancers of policy Local with a port
    each, or two, and few endpoints, which are ready."""
    shared = [{"ip": f"{INGRESS_IPS[family]}9"} for family in (4, 6)]
    services = [thing for thing in objects if thing["kind"] == "Service"]
    for number, thing in enumerate(services):
        thing["metadata"].pop("annotations", None)
        thing["metadata"].pop("labels", None)
        thing["status"]["loadBalancer"]["ingress"] = shared
        spec = {name: value for name, value in thing["spec"].items()
                if name not in ("loadBalancerClass", "loadBalancerSourceRanges", "ports")}
        ports = [{"name": f"p{port}", "port": port} for port in (80, 443, 53)[: 1 + number % 2]]
        spec["ports"] = [{**port, "port": port["port"] + 1000 * number} for port in ports]
        policy = chance.choice(("Local", "Local", "Local", "Cluster"))
        thing["spec"] = {**spec, "type": "LoadBalancer", "externalTrafficPolicy": policy}
    for thing in objects:
        if thing["kind"] == "EndpointSlice":
            thing["ports"] = some(chance, [{"name": f"p{port}", "port": 8080}
                                           for port in (80, 443)], 2)
            thing["endpoints"] = [{k: v for k, v in endpoint.items() if k != "conditions"}
                                  for endpoint in thing["endpoints"] or []][:3]
    return objects


# Slices

def pod(chance, family, number, hints):
    """What all copies of an endpoint agree on: where it runs, and for whom it is hinted."""
    host = chance.randint(1, 3)
    hint = {}
    if chance.random() < hints["zones"]:
        hint["forZones"] = [{"name": zone} for zone in some(chance, ZONES, 2) or ZONES[:1]]
    if chance.random() < hints["nodes"]:
        hint["forNodes"] = [{"name": name} for name in some(chance, NODES, 2) or NODES[:1]]
    address = POD_ADDRESSES[family].format(host, number)
    if chance.random() < 0.08:  # in its node's own network
        address = f"{NODE_ADDRESSES[family]}{host}"
    return {
        "addresses": [address],
        **maybe(chance, 0.93, nodeName=f"node-{host}"),
        **({"hints": hint} if hint else {}),
    }


def conditions(chance, alive):
    """As the controller writes them, or any mixture, or nothing."""
    if chance.random() < 0.1:
        return chance.choice(({}, {"conditions": None}))
    if chance.random() < 0.3:
        written = {name: chance.choice(BOOLEANS) for name in ("ready", "serving", "terminating")}
        return {"conditions": {k: v for k, v in written.items() if chance.random() < 0.8}}
    ready = chance.random() < alive
    terminating = not ready and chance.random() < 0.6
    serving = ready or (terminating and chance.random() < 0.7)
    return {"conditions": {"ready": ready, "serving": serving, "terminating": terminating}}


def endpoint(chance, pods, alive):
    """Copies of a pod differ in their conditions; rarely it is another pod, elsewhere."""
    chosen = dict(chance.choice(pods))
    if chance.random() < 0.1:
        chosen["nodeName"] = f"node-{chance.randint(1, 3)}"
    stranger = "10.244.9.9" if ":" in chosen["addresses"][0] else "fd00:244:9::9"
    if chance.random() < 0.04:
        chosen["addresses"] = chance.choice(([], ["10.244.1.300"], [stranger]))
    elif chance.random() < 0.05:
        chosen["addresses"] = [*chosen["addresses"], "10.244.9.9"]
    return {**chosen, **conditions(chance, alive)}


def slice_port(chance, port):
    """One port of the Service in one slice: each slice may have another number for the name."""
    name = port.get("name")
    protocol = port.get("protocol", "TCP")
    if chance.random() < 0.04:
        protocol = "UDP" if protocol == "TCP" else "TCP"
    return {
        **({"name": name} if name else chance.choice(({}, {"name": ""}))),
        **maybe(chance, 0.95 if protocol == "TCP" else 1, protocol=protocol),
        **maybe(chance, 0.95, port=chance.choice((8080, 8080, 8443, port["port"]))),
    }


def slice_ports(chance, service):
    kept = [port for port in service["spec"]["ports"] if chance.random() < 0.9]
    return [slice_port(chance, port) for port in kept]


def endpoint_slice(chance, owner, number, family, pods, alive):
    namespace = owner["metadata"].get("namespace", "default")
    labels = {"kubernetes.io/service-name": owner["metadata"]["name"]}
    if chance.random() < 0.03:
        labels = {}
    labels |= maybe(chance, 0.04, **{"service.kubernetes.io/headless": ""})
    kind = "FQDN" if chance.random() < 0.03 else f"IPv{family}"
    endpoints = [endpoint(chance, pods, alive) for _ in range(chance.randint(0, 4))]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata(chance, namespace, f"{owner['metadata']['name']}-{number}", labels),
        "addressType": kind,
        "ports": slice_ports(chance, owner) or None,
        "endpoints": endpoints or None,
    }


def slices(chance, owner):
    """Slices of either family, also where the Service has none, and missing ones."""
    made = []
    alive = chance.choice((0, 0.2, 0.6, 1))
    for family in (4, 6):
        hints = {"zones": chance.choice((0, 0.8, 1, 1)), "nodes": chance.choice((0, 0, 0.8, 1))}
        pods = [pod(chance, family, number, hints) for number in range(1, 6)]
        made += [
            endpoint_slice(chance, owner, f"v{family}-{number}", family, pods, alive)
            for number in range(chance.choice((0, 1, 1, 1, 2, 3)))
        ]
    return made


# Address pools

def pools(chance):
    """Coil's, by which pods are known where the configuration does not say it."""
    wide, near = (("10.244.0.0/16", "fd00:244:1::/112"), ("10.244.1.0/24", "fd00:244:2::/120"))
    found = [{
        "apiVersion": "coil.cybozu.com/v2",
        "kind": "AddressPool",
        "metadata": {"name": "default"},
        "spec": {"blockSizeBits": 5, "subnets": [subnet(chance, *chance.choice((wide, near)))]},
    }]
    for number, nets in enumerate((("10.244.2.0/27", "fd00:244:2::/123"),
                                   ("10.244.2.32/27", "fd00:244:2::20/123"))):
        labels = {"coil.cybozu.com/pool": "default", "coil.cybozu.com/node": "node-2"}
        found.append({
            "apiVersion": "coil.cybozu.com/v2",
            "kind": "AddressBlock",
            "metadata": {"name": f"default-{number}", "labels": labels},
            "index": number,
            **subnet(chance, *nets),
        })
    return some(chance, found, 3)


def subnet(chance, four, six):
    """Of either family, or both."""
    return chance.choice(({"ipv4": four}, {"ipv6": six}, {"ipv4": four, "ipv6": six}))


# Settings

def configured_ranges(chance, prefixes):
    """Ranges that hold all, one family, or some of the addresses with these prefixes."""
    wide = [str(ipaddress.ip_network(f"{prefixes[4]}0/24"))]
    wide.append(str(ipaddress.ip_network(f"{prefixes[6]}/64")))
    return chance.choice((wide, wide, wide[:1], wide[1:], [f"{prefixes[4]}0/31"], []))


def node_port_addresses(chance):
    choices = ["primary", "192.0.2.0/24", "192.0.2.11/32", "0.0.0.0/0", "fd00:192::/64", "::/0"]
    return some(chance, choices + ["127.0.0.0/8"], 2)


def settings(chance):
    externals = configured_ranges(chance, EXTERNAL_IPS) + configured_ranges(chance, NODE_ADDRESSES)
    externals += configured_ranges(chance, CLUSTER_IPS) + configured_ranges(chance, INGRESS_IPS)
    clusters = chance.choice((["10.96.0.0/16"], ["10.96.0.0/16", "fd00:96::/112"], []))
    clusters += configured_ranges(chance, EXTERNAL_IPS) if chance.random() < 0.2 else []
    pods = ["10.244.0.0/16", "fd00:244::/32", "192.0.2.11/32"]  # the last one is this node's own
    pods = pods[: chance.choice((0, 1, 1, 2, 2, 2, 3))]
    return {
        "enabled": True,
        **maybe(chance, 0.7, externalIPs=externals),
        **maybe(chance, 0.3, loadBalancerIPs=configured_ranges(chance, INGRESS_IPS)),
        **maybe(chance, 0.6, serviceCIDRs=clusters),
        **maybe(chance, 0.8, clusterCIDRs=pods),
        **maybe(chance, 0.6, nodePortAddresses=node_port_addresses(chance)),
        **maybe(chance, 0.3, proxyName="fingerpost"),
        **maybe(chance, 0.3, masqueradeAll=True),
        **maybe(chance, 0.2, loadBalancerClass="example.com/ours"),
        **maybe(chance, 0.2, advertise=["loadBalancer", "external", "cluster"]),
    }


def cluster(chance):
    """(objects, settings) of a cluster in which NODE is the node that plans."""
    chosen = settings(chance)
    objects = [node(chance, number) for number in (1, 2, 3) if chance.random() < 0.95]
    objects += pools(chance) if chance.random() < 0.4 else []
    places = [(namespace, name) for namespace in NAMESPACES for name in NAMES]
    for number, (namespace, name) in enumerate(some(chance, places, 6), start=1):
        owner = service(chance, namespace, name, number, chosen.get("proxyName"))
        pieces = slices(chance, owner)
        objects += pieces if chance.random() < 0.03 else [owner, *pieces]
    chance.shuffle(objects)
    objects = sharing(chance, objects) if chance.random() < 0.25 else objects
    return [with_pod_cidrs(chance, thing) if thing["kind"] == "Node" else thing
            for thing in objects], chosen


# Edits

def identity(thing):
    return thing["kind"], thing["metadata"].get("namespace", "default"), thing["metadata"]["name"]


def redrawn(chance, thing, objects, settings):
    """Another object of the same name."""
    kind, namespace, name = identity(thing)
    if kind == "Node":
        return with_pod_cidrs(chance, node(chance, int(name[-1])))
    if kind.startswith("Address"):
        return next((other for other in pools(chance) if identity(other) == identity(thing)), None)
    if kind == "Service":
        number = 1 + NAMESPACES.index(namespace) * len(NAMES) + NAMES.index(name)
        return service(chance, namespace, name, number, settings.get("proxyName"))
    owners = [o for o in objects if o["kind"] == "Service" and identity(o)[1] == namespace
              and name.startswith(f"{o['metadata']['name']}-")]
    others = slices(chance, owners[0]) if owners else []
    return next((other for other in others if identity(other) == identity(thing)), None)


def with_other_conditions(chance, thing):
    """The probe's work: one endpoint is another, the rest as they were."""
    endpoints = list(thing.get("endpoints") or [])
    if thing["kind"] != "EndpointSlice" or not endpoints:
        return thing
    place = chance.randrange(len(endpoints))
    plain = {k: v for k, v in endpoints[place].items() if k != "conditions"}
    endpoints[place] = {**plain, **conditions(chance, 0.5)}
    return {**thing, "endpoints": endpoints}


def edited(chance, objects, settings):
    """The objects after one edit: something comes, goes, or is another."""
    what = chance.choice(("come", "go", "redraw", "redraw", "probe", "probe", "probe"))
    if what == "come" or not objects:
        namespace, name = chance.choice(NAMESPACES), chance.choice(NAMES)
        new = redrawn(chance, {"kind": "Service", "metadata": {"namespace": namespace,
                                                               "name": name}}, objects, settings)
        new = [new, *slices(chance, new), node(chance, chance.randint(1, 3))]
        names = {identity(thing) for thing in new}
        return [*(thing for thing in objects if identity(thing) not in names), *new]
    chosen = chance.choice(objects)
    rest = [thing for thing in objects if thing is not chosen]
    if what == "go":
        return rest
    other = (redrawn(chance, chosen, objects, settings) if what == "redraw"
             else with_other_conditions(chance, chosen))
    return [*rest, other] if other else rest
