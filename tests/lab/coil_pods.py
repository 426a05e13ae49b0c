# SPDX-License-Identifier: Apache-2.0
"""Pods as Coil 2.15's agent wires them, what it writes for the whole node, and what it makes of a node's
state when it starts: links by their aliases, joined with table 116 by the interface."""

import itertools

from .namespace import Namespace

PODS_TABLE, EXPORT_TABLE, PRIORITY = 116, 119, 2000
NUMBERS = itertools.count(0xc0110000)


def table_of(node, table, family):
    return node.ip_json(f"-{family}", "route", "show", "table", str(table))


def prepare(node, *blocks):
    """What the agent does at its start, and for each block of the node."""
    node.set_sysctls({"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
    for family in (4, 6):
        node.ip(f"-{family}", "rule", "add", "pref", str(PRIORITY), "lookup", str(PODS_TABLE))
    export(node, *blocks)


def export(node, *blocks):
    """Table 119 is its own: what it does not know goes."""
    for family in (4, 6):
        own = [block for block in blocks if (":" in block) == (family == 6)]
        for block in own:
            node.ip(f"-{family}", "route", "replace", block, "dev", "lo", "proto", "30", "table", str(EXPORT_TABLE))
        for route in table_of(node, EXPORT_TABLE, family):
            if route["dst"] not in own:
                node.ip(f"-{family}", "route", "del", route.get("type", "unicast"), route["dst"], "table",
                        str(EXPORT_TABLE))


class CoilPod(Namespace):
    def __init__(self, lab, node, name, address4, address6, pool="default"):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.create(forwarding=False)
        self.node, self.address4, self.address6 = node, address4, address6
        self.container = name.encode().hex() * 4
        self.path = f"/v1/pods/{self.container}/eth0"
        self.alias = f"COIL:{pool}:{self.container}:eth0"
        self.link = f"veth{next(NUMBERS):08x}"
        self.wire()

    def wire(self):
        node = self.node
        self.configure(f"link add eth0 type veth peer name {self.link} netns {node.name}")
        node.configure(f"link set {self.link} up alias {self.alias}")
        node.set_sysctls({f"net/ipv6/conf/{self.link}/accept_ra": 0})
        self.configure("link set eth0 up", f"addr add {self.address4}/32 dev eth0",
                       f"addr add {self.address6}/128 dev eth0 nodad")
        node.configure(f"addr add {node.address6}/128 dev {self.link} nodad",
                       f"route add {self.address6} dev {self.link} scope link proto 30 table {PODS_TABLE}",
                       f"addr add {node.address4}/32 dev {self.link}",
                       f"route add {self.address4} dev {self.link} scope link proto 30 table {PODS_TABLE}")
        [router] = [address["local"] for address in node.ip_json("-6", "addr", "show", self.link)[0]["addr_info"]
                    if address["scope"] == "link"]
        self.configure(f"route add {node.address4} dev eth0 scope link",
                       f"route add default via {node.address4}", f"route add default via {router} dev eth0")

    def address(self, family):
        return self.address4 if family == 4 else self.address6


def rebuilt(node):
    """Who has what, as its agent would find it: {alias: (IPv4, IPv6)}."""
    routes = {(route["dev"], family): route["dst"] for family in (4, 6)
              for route in table_of(node, PODS_TABLE, family)}
    return {link["ifalias"]: tuple(routes.get((link["ifname"], family)) for family in (4, 6))
            for link in node.ip_json("link") if link.get("ifalias", "").startswith("COIL:")}
