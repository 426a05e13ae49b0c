# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects as `kubectl get -o yaml` prints them, reduced to what tests vary."""

import zlib


def metadata(name, namespace=None, **more):
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def cluster_ips(name, addresses):
    """ClusterIPs that no other Service of the test has, of the families of its other addresses."""
    number = zlib.crc32(name.encode()) & 0xFFFF
    six = [f"fd00:96::{number:x}"] if any(":" in address for address in addresses) else []
    four = [f"10.96.{number >> 8}.{number & 255}"]
    return (four if any("." in address for address in addresses) or not six else []) + six


def service_port(port):
    """A port as tests name it: a number, or the whole of it."""
    if isinstance(port, dict):
        return port
    return {"name": f"p{port}", "port": port, "protocol": "TCP", "targetPort": port}


def service(name, addresses=(), *, policy="Cluster", ports=(80,), annotations=None, **spec):
    """A Service of type LoadBalancer with these ingress addresses."""
    internal = cluster_ips(name, addresses)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, "default", annotations=annotations or {}),
        "spec": {
            "type": "LoadBalancer",
            "clusterIP": internal[0],
            "clusterIPs": internal,
            "ipFamilies": ["IPv6" if ":" in ip else "IPv4" for ip in internal],
            "externalTrafficPolicy": policy,
            "internalTrafficPolicy": "Cluster",
            "ports": [service_port(port) for port in ports],
            "selector": {"app": name},
            **spec,
        },
        "status": {"loadBalancer": {"ingress": [{"ip": ip, "ipMode": "VIP"} for ip in addresses]}},
    }


def allocated(item, now):
    """What the API server notes of a Service's ClusterIPs when it gives them. Where that is missing it mends it, by an
    Event and a write for each; what is older than a minute and of no Service it deletes."""
    meta = item["metadata"]
    parent = {"group": "", "resource": "services", "namespace": meta["namespace"], "name": meta["name"]}
    return [{
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": metadata(ip, uid=f"{meta['uid']}-{family}", creationTimestamp=now, labels={
            "ipaddress.kubernetes.io/ip-family": family, "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}),
        "spec": {"parentRef": parent},
    } for ip, family in zip(item["spec"]["clusterIPs"], item["spec"]["ipFamilies"])]


def endpoint(address, node, ready=True, serving=None, terminating=False):
    serving = ready if serving is None else serving
    return {
        "addresses": [address],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "nodeName": node,
    }


def slice_of(service_name, endpoints, *, family="IPv4", ports=(80,), suffix="abcde"):
    """An EndpointSlice of a Service."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata(
            f"{service_name}-{suffix}", "default", labels={"kubernetes.io/service-name": service_name}
        ),
        "addressType": family,
        "ports": [
            port if isinstance(port, dict) else {"name": f"p{port}", "port": port, "protocol": "TCP"}
            for port in ports
        ],
        "endpoints": list(endpoints),
    }


def address_block(name, node, ipv4=None, ipv6=None, *, pool="default", index=0, reserved=False):
    labels = {"coil.cybozu.com/pool": pool, "coil.cybozu.com/node": node}
    if reserved:
        labels["coil.cybozu.com/reserved"] = "true"
    return {
        "apiVersion": "coil.cybozu.com/v2",
        "kind": "AddressBlock",
        "metadata": metadata(name, labels=labels),
        "index": index,
        **({"ipv4": ipv4} if ipv4 else {}),
        **({"ipv6": ipv6} if ipv6 else {}),
    }


def node(name, addresses, labels=None):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        "spec": {},
        "status": {"addresses": [{"type": "InternalIP", "address": a} for a in addresses]},
    }


def egress(name="nat", gateways="gateway=yes"):
    """An Egress for all that is outside; `gateways`: which Nodes are, or none: the Service's endpoints."""
    annotations = {"fingerpost.io/gateway-nodes": gateways} if gateways else {}
    return {
        "apiVersion": "coil.cybozu.com/v2",
        "kind": "Egress",
        "metadata": metadata(name, "internet", annotations=annotations),
        "spec": {"destinations": ["0.0.0.0/0", "::/0"]},
    }


def client_pod(pod, egress_name="nat"):
    """A pod of the lab that leaves the cluster by an Egress; by none without a name."""
    key = "egress.coil.cybozu.com/internet"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(pod.role, "default",
                             annotations={key: egress_name} if egress_name else {}),
        "spec": {"nodeName": pod.node.role},
        "status": {"phase": "Running", "podIPs": [{"ip": pod.address4}, {"ip": pod.address6}]},
    }
