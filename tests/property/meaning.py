# SPDX-License-Identifier: Apache-2.0
"""What the pinned maps of a running agent say, by meaning: no ids, banks or slots, so that two nodes
with the same manifests say the same, and the model can be asked to say it, too.
"""

import collections
import ipaddress
import itertools
import os
import sys
from pathlib import Path

import judge
import model

sys.path.append(str(Path(__file__).parents[1] / "bpf"))

import abi  # noqa: E402
from bpf import Map, Words  # noqa: E402

PROTOCOLS = {abi.TCP: "TCP", abi.UDP: "UDP", abi.SCTP: "SCTP"}
KINDS = ("clusterIP", "loadBalancer", "externalIP", "nodePort", "refused", "foreign")
VERDICTS = ("forward", "reject", "drop")
NAME = abi.u8 * 320


def target(endpoint):
    return model.endpoint_text((ipaddress.ip_address(str(endpoint.addr)), endpoint.port))


def network(address, length):
    """As a prefix of its own family: IPv4 is mapped."""
    plain = ipaddress.ip_address(abi.plain(bytes(address)))
    return str(ipaddress.ip_network(f"{plain}/{length - (96 if plain.version == 4 else 0)}"))


def networks(nets, count):
    masks = (bin(int.from_bytes(bytes(net.mask), "big")).count("1") for net in nets)
    return sorted(network(bytes(net.net), length)
                  for net, length in itertools.islice(zip(nets, masks), count))


class Maps:
    """The maps below a folder of pins."""

    def __init__(self, pins):
        for name in ("control", "frontends", "services", "ports", "slots", "endpoints", "ranges"):
            setattr(self, name, Map(pins / abi.LAYOUT / name, *abi.MAPS[name]))
        self.filter = Words(pins / abi.LAYOUT / "filter")
        self.names = Map(pins / abi.LAYOUT / "names", abi.u32, NAME)

    def close(self):
        for part in vars(self).values():
            os.close(part.fd)

    def name(self, service):
        return bytes(self.names[service]).split(b"\0")[0].decode()

    def endpoints_of(self, sets):
        first, count = sets >> 32, sets & 0xFFFFFFFF
        slots = [self.slots[first + i].value for i in range(count)]
        found = [(self.endpoints[slot >> 32], slot & 0xFFFFFFFF) for slot in slots]
        assert all(e.state & 0xFFFFFFFF == generation for e, generation in found), "a dead slot"
        return sorted(target(endpoint) for endpoint, _ in found)

    def outcome(self, port, kind, origin):
        nibble = port.outcomes >> (kind * 3 + origin) * 4 & 15
        verdict = VERDICTS[nibble & 3]
        chosen = port.sets[bool(nibble & abi.OUTCOME_LOCAL)]
        return {
            "verdict": verdict,
            "endpoints": self.endpoints_of(chosen) if verdict == "forward" else [],
            "masquerade": bool(nibble & abi.OUTCOME_MASQ),
        }

    def source_ranges(self, service, word, family):
        """Of an address of a load balancer; None: all."""
        if not word & abi.SERVICE_RANGES[family]:
            return None
        owner = service << 1 | word & abi.SERVICE_BANK
        found = {network(bytes(key.addr), key.prefixlen - 32)
                 for key in self.ranges.keys() if key.owner == owner}
        found = {text for text in found if ipaddress.ip_network(text).version == family}
        return sorted(found)

    def frontend(self, address, value):
        word = self.services[value.service].value
        port = self.ports[value.port * 2 + (word & abi.SERVICE_BANK)]
        assert word & abi.SERVICE_USED and port.owner >> 32 == value.service
        balanced = value.kind == abi.LOAD_BALANCER
        return {
            "service": self.name(value.service),
            "kind": KINDS[value.kind],
            "sourceRanges": (self.source_ranges(value.service, word, address.version)
                             if balanced else None),
            "affinitySeconds": word >> abi.AFFINITY_SHIFT & 0xFFFFFF or None,
            "from": {source: self.outcome(port, value.kind, origin)
                     for origin, source in enumerate(model.SOURCES)},
        }

    def lacking(self, address, port):
        """Whether the filter would let a packet for it go by."""
        control = self.control[0]
        words = len(self.filter) // 2
        word, bits = abi.filter_place(address, port, words)
        return self.filter[control.filter_half * words + word] & bits != bits

    def serving(self):
        """{(Service, family, protocol): endpoints that live, each once however many ports lead there}"""
        found = {}
        for number in range(1, self.endpoints.entries):
            endpoint = self.endpoints[number]
            if endpoint.state & 0xFFFFFFFF == 0:
                continue
            family = ipaddress.ip_address(str(endpoint.addr)).version
            place = self.name(endpoint.owner), family, PROTOCOLS[endpoint.protocol]
            assert not self.lacking(endpoint.addr, endpoint.port), f"{place} in the filter"
            found.setdefault(place, []).append(target(endpoint))
        return {place: sorted(targets) for place, targets in found.items()}

    def meaning(self):
        frontends, addresses = {}, {}
        for key, value in self.frontends.items():
            address = ipaddress.ip_address(str(key.addr))
            node_port = value.kind == abi.NODE_PORT
            assert not self.lacking(key.addr, key.port if node_port else 0), f"{key} in the filter"
            assert value.check == key.check(), f"{key}"
            if key.port == 0:
                addresses[str(address)] = KINDS[value.kind]
            else:
                place = str(address), PROTOCOLS[key.protocol], key.port
                frontends[place] = self.frontend(address, value)
        control = self.control[0]
        return {
            "frontends": frontends,
            "addresses": addresses,
            "serving": self.serving(),
            "pods": networks(control.pod_nets, control.pod_net_count),
            "services": networks(control.service_nets, control.service_net_count),
        }


def of(pins):
    maps = Maps(pins)
    try:
        return maps.meaning()
    finally:
        maps.close()


# The same by the model

def modelled_frontends(items):
    found = {}
    for item in items:
        for frontend in item["frontends"]:
            found[frontend["address"], frontend["protocol"], frontend["port"]] = {
                "service": f"{item['namespace']}/{item['name']}",
                "kind": frontend["kind"],
                "sourceRanges": frontend["sourceRanges"] and sorted(frontend["sourceRanges"]),
                "affinitySeconds": item["affinitySeconds"],
                "from": {source: {name: outcome[name]
                                  for name in ("verdict", "endpoints", "masquerade")}
                         for source, outcome in frontend["from"].items()},
            }
    for frontend in found.values():
        for outcome in frontend["from"].values():
            outcome["endpoints"].sort()
    return found


def modelled_addresses(objects, settings):
    """14.2, 2.8: ClusterIPs, by whose they are."""
    found = {}
    for service in model.of_kind(objects, "Service"):
        for address in model.cluster_ips(service):
            foreign = model.is_other_proxys(judge.holder(objects, address), settings)
            found[str(address)] = "foreign" if foreign else "refused"
    return found


def modelled_serving(objects, found, node_name):
    """6.2: UDP flows to whoever serves go on, in a set or not."""
    serving = collections.defaultdict(set)
    for (address, protocol, _), (service, _, port) in found.items():
        endpoints = model.endpoints_of(objects, service, port, address.version, node_name)
        place = "/".join(model.key(service)), address.version, protocol
        serving[place].update(model.endpoint_text(place) for place, endpoint in endpoints.items()
                              if endpoint["serving"] or endpoint["ready"])
    return {place: sorted(targets) for place, targets in serving.items() if targets}


def merged_networks(texts):
    """Sorted, none within or beside another."""
    found = []
    for family in (4, 6):
        found += ipaddress.collapse_addresses(model.read_ranges(texts, family))
    return sorted(str(net) for net in found)


def modelled(objects, settings, node_name):
    found = model.all_frontends(objects, settings, node_name)
    return {
        "frontends": modelled_frontends(model.nat(objects, settings, node_name)),
        "addresses": modelled_addresses(objects, settings),
        "serving": modelled_serving(objects, found, node_name),
        "pods": merged_networks(judge.pod_ranges(objects, settings)),
        "services": merged_networks(settings.get("serviceCIDRs") or []),
    }


def differences(got, expected, path=""):
    """Lines of where two meanings differ."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for name in sorted(got.keys() | expected.keys(), key=str):
            yield from differences(got.get(name), expected.get(name), f"{path} / {name}")
    elif got != expected:
        yield f"{path}: {got} in the maps, {expected} expected"
