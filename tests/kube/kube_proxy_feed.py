# SPDX-License-Identifier: Apache-2.0
"""A cluster as kube-proxy is to be fed with it, to see what our node sees.

What the contract has before the proxy (which Services are ours at all, which addresses a
configuration lets through, what becomes of a field that is badly written) is applied here by the
model's own word, as kube-proxy has no such thing or leaves it to the API server. All that comes
after it is kube-proxy's own.
"""

import clusters
import live
import model


def texts(values):
    return [str(value) for value in values]


def service_port(service, port):
    """NodePorts are cleared by the API server where the type has none (1.6)."""
    kept = port if port in model.node_ports(service) else {**port, "nodePort": 0}
    return {**kept, "name": port.get("name") or "", "protocol": model.protocol_of(port)}


def named(thing):
    namespace, name = model.key(thing)
    return {"namespace": namespace, "name": name, "labels": model.labels(thing)}


def fed_service(things, service, settings):
    """Without affinity, which is for who came before, and which kube-proxy's tracer can't read."""
    spec = service["spec"]
    ranges = [model.read_range(text) for text in spec.get("loadBalancerSourceRanges") or []]
    ingress = [{"ip": text} for text in texts(model.ingress_ips(service, settings))]
    return {
        "metadata": named(service),
        "spec": {
            **spec,
            "sessionAffinity": "None",
            "externalIPs": texts(model.external_ips(things, service, settings)),
            "loadBalancerSourceRanges": texts(cidr for cidr in ranges if cidr),
            "ports": [service_port(service, port) for port in spec["ports"]],
        },
        "status": {"loadBalancer": {"ingress": ingress}},
    }


def fed_slice(piece):
    """14.6: endpoints without an address of the family are skipped."""
    family = int(piece["addressType"][-1])
    return {
        "metadata": named(piece),
        "addressType": piece["addressType"],
        "ports": [
            {**port, "name": port.get("name") or "", "protocol": model.protocol_of(port)}
            for port in piece.get("ports") or []
        ],
        "endpoints": [
            endpoint for endpoint in piece.get("endpoints") or []
            if model.read_endpoint(endpoint, family, clusters.NODE)
        ],
    }


def is_fed_slice(piece):
    """1.4: the label keeps a slice from kube-proxy's eyes; names are nobody's endpoints."""
    return model.HEADLESS_LABEL not in model.labels(piece) and piece["addressType"] != "FQDN"


def node_port_ranges(settings, primary):
    """2.11: where kube-proxy itself has read "primary"."""
    wanted = settings.get("nodePortAddresses") or ["primary"]
    return [f"{primary}/{primary.max_prefixlen}" if text == "primary" else text for text in wanted]


def question(things, settings, family, pod_range, packets):
    """One family of a cluster for tests/kube/programs/kubeproxy. pod_range: None for none."""
    node = model.this_node(things, clusters.NODE)
    [primary] = model.primary_addresses(node, family)
    service_ranges = model.read_ranges(settings.get("serviceCIDRs") or [], family)
    return {
        "Family": f"IPv{family}",
        "Node": clusters.NODE,
        "NodeIP": str(primary),
        "NodeLabels": model.labels(node),
        "Interfaces": live.OWN_ADDRESSES[4] + live.OWN_ADDRESSES[6],
        "NodePortAddresses": node_port_ranges(settings, primary),
        "PodCIDR": str(pod_range or ""),
        "ServiceCIDRs": ",".join(texts(service_ranges)),
        "MasqueradeAll": bool(settings.get("masqueradeAll")),
        "Services": [fed_service(things, service, settings)
                     for service in model.of_kind(things, "Service")
                     if not model.is_other_proxys(service, settings)],
        "Slices": [fed_slice(piece) for piece in model.of_kind(things, "EndpointSlice")
                   if is_fed_slice(piece)],
        "Packets": [{"Source": packet.source, "Destination": packet.destination,
                     "Protocol": packet.protocol, "Port": packet.port} for packet in packets],
    }
