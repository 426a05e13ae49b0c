# SPDX-License-Identifier: Apache-2.0
"""Clusters of many Services, as manifests for us and as rules for nftables: the same ones.

Their endpoints are pods of other nodes, which exist only as addresses. "target" and "near" are two
more with one real endpoint each: port 80 is the pod's 8080, 81 its 8081, and 9 (UDP) its 9.
"""

import json

from lab import objects

from .kubeproxy import ServicePort

TARGET = {4: "10.96.250.1", 6: "fd00:96::fa01"}
NEAR = {4: "10.96.250.2", 6: "fd00:96::fa02"}
TARGET_PORTS = (("echo", 80, "TCP", 8080), ("rate", 81, "TCP", 8081), ("flood", 9, "UDP", 9),
                ("ask", 80, "UDP", 8080))


def cluster_ip(number, family):
    return f"10.96.{number // 250}.{number % 250 + 1}" if family == 4 else f"fd00:96::{number + 1:x}"


def backend_address(number, family):
    if family == 4:
        return f"10.{225 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
    return f"fd00:230::{number + 1:x}"


def service_ports(count, endpoints, family):
    return [
        ServicePort(f"many/svc{n}", "tcp", cluster_ip(n, family), 80,
                    [(backend_address(n * endpoints + i, family), 8080) for i in range(endpoints)])
        for n in range(count)
    ]


def target_ports(name, cluster_ip, address):
    return [
        ServicePort(f"default/{name}-{port_name}", protocol.lower(), cluster_ip, port,
                    [(address, target)])
        for port_name, port, protocol, target in TARGET_PORTS
    ]


def service(name, ips, ports):
    families = ["IPv6" if ":" in ip else "IPv4" for ip in ips]
    item = objects.service(name, ports=ports, type="ClusterIP", clusterIP=ips[0], clusterIPs=ips,
                           ipFamilies=families)
    del item["status"], item["spec"]["externalTrafficPolicy"]
    return item


def slices(name, addresses, ports):
    """`addresses`: by family."""
    return [
        objects.slice_of(name, [objects.endpoint(ip, node) for ip, node in of], family=f"IPv{family}",
                         suffix=f"v{family}",
                         ports=[{"name": port["name"], "port": port["targetPort"],
                                 "protocol": port["protocol"]} for port in ports])
        for family, of in addresses.items()
    ]


def items_of(number, endpoints, families, leave_out=0):
    """One Service and its slices, without the last few of its endpoints if asked for."""
    name = f"svc{number}"
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    chosen = range(number * endpoints, (number + 1) * endpoints - leave_out)
    addresses = {
        family: [(backend_address(i, family), f"far{i % 50}") for i in chosen] for family in families
    }
    return [service(name, [cluster_ip(number, family) for family in families], ports),
            *slices(name, addresses, ports)]


def write(lab, count, endpoints, families=(4, 6)):
    """All of them in one file."""
    items = [item for n in range(count) for item in items_of(n, endpoints, families)]
    lab.write_text("many.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def write_target(lab, name, cluster_ips, pod):
    """`cluster_ips`: TARGET or NEAR."""
    ports = [{"name": port_name, "port": port, "protocol": protocol, "targetPort": target}
             for port_name, port, protocol, target in TARGET_PORTS]
    addresses = {4: [(pod.address4, pod.node.role)], 6: [(pod.address6, pod.node.role)]}
    lab.write(f"{name}.yaml", service(name, list(cluster_ips.values()), ports),
              *slices(name, addresses, ports))
