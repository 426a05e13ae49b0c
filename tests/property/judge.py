# SPDX-License-Identifier: Apache-2.0
"""What becomes of one packet, and which addresses are announced: the model's second half.

judge() says what `agentctl trace --json` prints of a new flow. As in model.py, the numbers are rows
of the contract, and nothing is shared with the program that is held against it.
"""

import ipaddress
import typing

import model


# Where a packet comes from.
HERE = "here"  # made on this node, whatever its source
OUTSIDE = "outside"  # by an uplink
POD = "pod"  # by a pod's interface
ELSEWHERE = "elsewhere"  # by one where it does not


class Packet(typing.NamedTuple):
    source: str
    destination: str
    port: int
    protocol: str
    origin: str
    behind: str = None  # where routes lead to the source, if that is another way

    def place(self):
        return model.read_address(self.destination), self.protocol, self.port


def pod_ranges(objects, settings):
    """14.4: what is configured, also nothing; else all blocks and all Nodes' podCIDRs."""
    if "clusterCIDRs" in settings:
        return settings["clusterCIDRs"]
    ranges = [cidr for node in model.of_kind(objects, "Node")
              for cidr in (node.get("spec") or {}).get("podCIDRs") or []]
    return ranges + [block[name] for block in model.of_kind(objects, "AddressBlock")
                     for name in ("ipv4", "ipv6") if name in block]


def source_of(objects, settings, packet):
    """14.4: a pod by its address, or, where no range of the family (1.5) is known, by the way in;
    else this node itself, or the rest."""
    source, ranges = model.read_address(packet.source), pod_ranges(objects, settings)
    known = model.read_ranges(ranges, source.version)
    if model.is_within(source, ranges) or (not known and packet.origin == POD):
        return "pod"
    return "node" if packet.origin == HERE else "outside"


def is_forged(objects, settings, packet):
    """14.18: a pod has a source that is routed by its interface; who is outside has none of a pod's here,
    as far as it can be one (14.4, 1.5)."""
    source = model.read_address(packet.source)
    ranges = model.read_ranges(pod_ranges(objects, settings), source.version)
    if packet.behind is None or packet.behind == packet.origin:
        return False
    return packet.origin == POD or not ranges or any(source in cidr for cidr in ranges)


def is_admitted(ranges, packet):
    return ranges is None or model.is_within(model.read_address(packet.source), ranges)


def hairpin(endpoints, source):
    """4.6: who is sent to himself is masqueraded whatever the rule says."""
    own = model.endpoint_text((model.read_address(source), ""))
    return "hairpin" if any(e.rpartition(":")[0] + ":" == own for e in endpoints) else False


def answer(verdict, reason, service=None, endpoints=(), masquerade=None):
    return {"verdict": verdict, "reason": reason, "service": service,
            "endpoints": sorted(endpoints), "masquerade": masquerade}


def judge_served(objects, settings, packet, claim, item):
    """A packet for a frontend. 5.5: source ranges are judged before the endpoints."""
    service, _, port = claim
    namespace, name = model.key(service)
    words = f"{namespace}/{name}:{port.get('name') or port['port']}"  # 14.10
    if not is_admitted(item["sourceRanges"], packet):
        return answer("drop", "source-range", words)
    found = item["from"][source_of(objects, settings, packet)]
    if found["verdict"] != "forward":
        return answer(found["verdict"], found["reason"], words)
    if is_forged(objects, settings, packet):
        return answer("drop", "reverse-path", words)
    masquerade = found["masquerade"] or hairpin(found["endpoints"], packet.source)
    return answer("forward", "none", words, found["endpoints"], masquerade)


def holder(objects, address):
    """14.1: of the Services with that ClusterIP the one that comes first; None."""
    holders = [s for s in model.of_kind(objects, "Service") if address in model.cluster_ips(s)]
    return min(holders, key=model.precedence, default=None)


def is_real(objects, node, address):
    """14.16: a Node's, this node's own, or in a network that one of its interfaces is in."""
    own = model.node_addresses(node, address.version, ["Interface"])
    length = 24 if address.version == 4 else 64  # of all networks of hosts in these tests
    return any(
        address in model.node_addresses(item, address.version)
        for item in model.of_kind(objects, "Node")
    ) or any(address in ipaddress.ip_network((ip, length), strict=False) for ip in own)


def is_our_class(service, kind, settings):
    """14.9, 14.17: of load balancers."""
    own_class = service["spec"].get("loadBalancerClass") or ""
    return kind != "loadBalancer" or own_class == settings.get("loadBalancerClass", "")


def is_guarded(objects, settings, node, found, address):
    """2.7: what a Service of ours brought along; 14.16: but for real addresses."""
    return not is_real(objects, node, address) and any(
        place[0] == address and claim[1] in ("loadBalancer", "externalIP")
        and any(is_our_class(claim[0], kind, settings)
                for kind in kinds_of(objects, claim[0], address, settings) - {"nodePort"})
        for place, claim in found.items()
    )


def is_led(packet):
    """To the program by routes: no program stands where it came in."""
    return packet.origin in (HERE, ELSEWHERE)


def is_left_to_another(objects, settings, packet):
    """14.2, of what is led to the program by routes, which know addresses only: where another proxy
    has the ClusterIP, nothing of it is ours."""
    held_by = holder(objects, model.read_address(packet.destination))
    return is_led(packet) and held_by and model.is_other_proxys(held_by, settings)


def is_unled(objects, settings, node, found, packet):
    """14.14, 14.17: no route leads to the program what is somebody's real address, or another load
    balancer's. Its own addresses this node has on lo."""
    address = model.read_address(packet.destination)
    own = model.node_addresses(node, address.version, ["Interface"])
    by_network = holder(objects, address) or model.is_within(
        address, settings.get("serviceCIDRs") or [])
    return is_led(packet) and address not in own and not by_network and not is_guarded(
        objects, settings, node, found, address)


def judge_unserved(objects, settings, node_name, packet, found):
    """A packet that no frontend is for."""
    address = model.read_address(packet.destination)
    held_by = holder(objects, address)
    if held_by:
        if model.is_other_proxys(held_by, settings):
            return answer("pass", "other-proxy")  # 14.2
        return answer("reject", "undefined-port")  # 2.8
    if model.is_within(address, settings.get("serviceCIDRs") or []):
        return answer("drop", "unallocated")  # 2.9, 14.2
    node = model.this_node(objects, node_name)
    if is_led(packet) and is_guarded(objects, settings, node, found, address):
        return answer("reject", "unmapped-port")  # 14.10; what passes here is refused behind it
    return answer("pass", "none")


def judge(objects, settings, node_name, packet, found=None):
    """What becomes of the first packet of a flow. `found`: model.all_frontends(), if at delivery."""
    found = model.all_frontends(objects, settings, node_name) if found is None else found
    claim = found.get(packet.place())
    if not claim or is_left_to_another(objects, settings, packet):
        return judge_unserved(objects, settings, node_name, packet, found)
    if is_unled(objects, settings, model.this_node(objects, node_name), found, packet):
        return answer("pass", "none")
    item = model.frontend_item(objects, packet.place(), claim, settings, node_name)
    return judge_served(objects, settings, packet, claim, item)


# Announced addresses

ANNOUNCE = "fingerpost.io/announce"
EXCLUDED_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
ADVERTISED = {"loadBalancer": "loadBalancer", "externalIP": "external", "clusterIP": "cluster"}


def may_announce(service, kind, settings):
    if not is_our_class(service, kind, settings):
        return False
    if (service["metadata"].get("annotations") or {}).get(ANNOUNCE) == "false":
        return False
    return ADVERTISED.get(kind) in settings.get("advertise", ["loadBalancer", "external"])


def kinds_of(objects, service, address, settings):
    """What the address is to the Service; the frontends there have the first of these."""
    claims = model.claims(objects, service, address.version, settings, None)
    return {kind for claimed, _, kind, _ in claims if claimed == address}


def is_of_clusters(objects, settings, address):
    """A ClusterIP, or where they are taken from: no status of a load balancer can give it away."""
    return bool(holder(objects, address)) or model.is_within(
        address, settings.get("serviceCIDRs") or [])


def is_announced_for(objects, settings, place, claim):
    """9.1: what the Service asks; not whether it can be served."""
    service, kind, _ = claim
    kinds = kinds_of(objects, service, place[0], settings)
    if is_of_clusters(objects, settings, place[0]):
        kinds -= {"loadBalancer"}
    return kind != "nodePort" and any(may_announce(service, own, settings) for own in kinds)


def forwarded(objects, settings, node_name, claims):
    """9.2: of these ports those that a node forwards for clients outside."""
    return {
        place for place, claim in claims.items()
        if model.frontend_item(objects, place, claim, settings,
                               node_name)["from"]["outside"]["verdict"] == "forward"
    }


def is_excluded(node):
    """9.4"""
    return bool(node) and EXCLUDED_LABEL in model.labels(node)


def other_announcers(objects, node_name):
    """By their Nodes; where nobody has written any, whoever has an endpoint."""
    nodes = [n for n in model.of_kind(objects, "Node") if not model.is_made_up(n)]
    names = {n["metadata"]["name"] for n in nodes if not is_excluded(n)}
    if not nodes:
        names = {endpoint.get("nodeName") for item in model.of_kind(objects, "EndpointSlice")
                 for endpoint in item.get("endpoints") or []} - {None}
    return names - {node_name}


def announceable(objects, settings, node_name):
    """Per address the ports for which it is to be announced; 14.16: no real ones."""
    node = model.this_node(objects, node_name)
    claims = {}
    for place, claim in model.all_frontends(objects, settings, node_name).items():
        if not is_real(objects, node, place[0]) and is_announced_for(
                objects, settings, place, claim):
            claims.setdefault(place[0], {})[place] = claim
    return {} if is_excluded(node) else claims


def lost_ports(objects, settings, node_name, claims):
    """What other nodes forward and this one does not; and whether one of them forwards all."""
    own = forwarded(objects, settings, node_name, claims)
    others = [forwarded(objects, settings, name, claims)
              for name in other_announcers(objects, node_name)]
    every = own.union(*others)
    return every - own, every in others


def announced(objects, settings, node_name):
    """Addresses to which this node attracts packets. A route leads to an address as a whole: by the
    nodes that forward every port that any can, where there are some; else by all that forward one."""
    found = set()
    for address, claims in announceable(objects, settings, node_name).items():
        lost, others_do = lost_ports(objects, settings, node_name, claims)
        if forwarded(objects, settings, node_name, claims) and not (lost and others_do):
            found.add(str(address))
    return found
