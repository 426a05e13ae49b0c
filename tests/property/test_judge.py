# SPDX-License-Identifier: Apache-2.0
"""The judge of packets is right by its own reading, case by case."""

import random

import clusters
import judge
import model
import pytest
from test_model import (
    CLUSTER, EXTERNAL, HERE, LOCAL, NODE, OTHER, SETTINGS, THERE, VIP, endpoint, endpoint_slice,
    frontends, node, service,
)

# Single packets

SISTER, PROXIED = "203.0.113.91", "203.0.113.92"
HOST = model.on_host([], NODE, ["192.0.2.1"], ["192.0.2.1"])


def judged(objects, destination, source="198.18.0.1", own=False, protocol="TCP", by=judge.OUTSIDE,
           **settings):
    address, _, port = destination.partition(":")
    origin = judge.HERE if own else by
    packet = judge.Packet(source, address, int(port), protocol, origin)
    chosen = {**SETTINGS, "clusterCIDRs": ["10.244.0.0/16"], "serviceCIDRs": ["10.96.0.0/16"]}
    return judge.judge([*objects, *HOST], {**chosen, **settings}, NODE, packet)


def verdict(*args, **kwargs):
    found = judged(*args, **kwargs)
    return found["verdict"], found["reason"]


@pytest.mark.parametrize("destination, own, expected", [
    (f"{CLUSTER}:80", False, ("forward", "none")),
    (f"{CLUSTER}:81", False, ("reject", "undefined-port")),  # 2.8
    (f"{CLUSTER}:81", True, ("reject", "undefined-port")),
    ("10.96.0.99:80", False, ("drop", "unallocated")),  # 2.9
    ("10.96.0.99:80", True, ("drop", "unallocated")),  # 14.2
    (f"{VIP}:81", False, ("pass", "none")),  # 2.7
    (f"{VIP}:81", True, ("reject", "unmapped-port")),  # 14.10
    ("192.0.2.1:80", True, ("forward", "none")),
    ("192.0.2.1:81", True, ("pass", "none")),  # 2.2
    ("192.0.2.2:30080", False, ("pass", "none")),
])
def test_packets_by_destination(destination, own, expected):
    web = service(externalIPs=["192.0.2.1"], node_port=30080)
    objects = [web, endpoint_slice(endpoint())]
    source = "192.0.2.1" if own else "198.18.0.1"
    assert verdict(objects, destination, source, own) == expected


def test_packets_to_another_proxys_service_pass():
    other = service(labels={model.PROXY_NAME_LABEL: "other"})
    assert verdict([other], f"{CLUSTER}:80") == ("pass", "other-proxy")
    assert verdict([other], f"{CLUSTER}:81", own=True) == ("pass", "other-proxy")


def test_another_protocol_is_another_port():
    objects = [service(), endpoint_slice(endpoint())]
    assert verdict(objects, f"{CLUSTER}:80", protocol="UDP") == ("reject", "undefined-port")


@pytest.mark.parametrize("source, own, expected", [
    ("10.1.2.3", False, "forward"),
    ("198.18.0.1", False, "drop"),
    (HERE, False, "drop"),  # 5.5: pods, too
    ("192.0.2.1", True, "forward"),
    (VIP, True, "forward"),  # 14.3
    (VIP, False, "forward"),
    (SISTER, True, "forward"),
    (SISTER, False, "forward"),
    (PROXIED, True, "drop"),  # 2.5
])
def test_packets_and_source_ranges(source, own, expected):
    web = service(loadBalancerSourceRanges=["10.1.0.0/16", "192.0.2.0/24", "::/0"])
    web["status"]["loadBalancer"]["ingress"] += [{"ip": SISTER}, {"ip": PROXIED, "ipMode": "Proxy"}]
    assert verdict([web], f"{VIP}:80", source, own)[0] == expected.replace("forward", "reject")
    assert verdict([web, endpoint_slice(endpoint())], f"{VIP}:80", source, own)[0] == expected


@pytest.mark.parametrize("source, own, settings, expected", [
    (HERE, False, {}, "hairpin"),  # 4.6
    ("10.244.3.3", False, {}, False),
    ("10.244.3.3", False, {"clusterCIDRs": []}, True),  # 14.4
    ("192.0.2.1", True, {}, True),
    ("192.0.2.1", True, {"clusterCIDRs": ["192.0.2.0/24"]}, False),
    (HERE, False, {"masqueradeAll": True}, True),
])
def test_packets_and_masquerading(source, own, settings, expected):
    objects = [service(), endpoint_slice(endpoint(), endpoint(THERE, OTHER))]
    assert judged(objects, f"{CLUSTER}:80", source, own, **settings) == {
        "verdict": "forward", "reason": "none", "service": "default/web:http",
        "endpoints": [f"{HERE}:8080", f"{THERE}:8080"], "masquerade": expected,
    }


POD_NODE = {"kind": "Node", "metadata": {"name": OTHER}, "spec": {"podCIDRs": ["10.250.2.0/24"]}}
BLOCK = {"kind": "AddressBlock", "metadata": {"name": "b"}, "ipv4": "10.251.0.0/27"}


@pytest.mark.parametrize("settings, known, source, by, expected", [
    # The source address decides, never the interface.
    ({"clusterCIDRs": ["10.244.0.0/16"]}, [], "10.244.3.3", judge.OUTSIDE, False),
    ({"clusterCIDRs": ["10.244.0.0/16"]}, [], "10.250.2.9", judge.POD, True),
    ({"clusterCIDRs": ["10.244.0.0/16"]}, [POD_NODE], "10.250.2.9", judge.OUTSIDE, True),
    ({}, [POD_NODE, BLOCK], "10.250.2.9", judge.OUTSIDE, False),
    ({}, [POD_NODE, BLOCK], "10.251.0.9", judge.OUTSIDE, False),
    ({}, [POD_NODE, BLOCK], "10.244.3.3", judge.POD, True),
    # Nothing is known: the way in.
    ({}, [], "10.244.3.3", judge.POD, False),
    ({}, [], "10.244.3.3", judge.OUTSIDE, True),
    ({"clusterCIDRs": []}, [POD_NODE, BLOCK], "10.250.2.9", judge.POD, False),
    ({"clusterCIDRs": []}, [POD_NODE, BLOCK], "10.250.2.9", judge.OUTSIDE, True),
    ({"clusterCIDRs": ["fd00:244::/32"]}, [], "10.244.3.3", judge.POD, False),  # 1.5
    ({}, [], HERE, judge.POD, "hairpin"),
])
def test_what_counts_as_a_pod(settings, known, source, by, expected):
    """14.4"""
    objects = [service(), endpoint_slice(endpoint()), *known, *HOST]
    packet = judge.Packet(source, CLUSTER, 80, "TCP", by)
    assert judge.judge(objects, {**SETTINGS, **settings}, NODE, packet)["masquerade"] == expected


@pytest.mark.parametrize("nets, source, by, behind, expected", [
    (["10.244.0.0/16"], "198.18.0.1", judge.POD, judge.OUTSIDE, ("drop", "reverse-path")),
    (["10.244.0.0/16"], "10.244.1.5", judge.POD, None, ("forward", "none")),
    (["10.244.0.0/16"], "10.244.1.5", judge.OUTSIDE, judge.POD, ("drop", "reverse-path")),
    (["fd00:244::/32"], "10.244.1.5", judge.OUTSIDE, judge.POD, ("drop", "reverse-path")),
    (["10.245.0.0/16"], "10.244.1.5", judge.OUTSIDE, judge.POD, ("forward", "none")),
    (["10.244.0.0/16"], "198.18.0.1", judge.HERE, None, ("forward", "none")),
])
def test_by_which_way_a_source_comes(nets, source, by, behind, expected):
    """14.18"""
    objects = [service(), endpoint_slice(endpoint()), *HOST]
    packet = judge.Packet(source, CLUSTER, 80, "TCP", by, behind)
    found = judge.judge(objects, {**SETTINGS, "clusterCIDRs": nets}, NODE, packet)
    assert (found["verdict"], found["reason"]) == expected and found["service"]


def test_an_unnamed_port_is_called_by_its_number():
    web = service(node_port=30080)
    del web["spec"]["ports"][0]["name"]
    assert judged([web], "192.0.2.1:30080")["service"] == "default/web:80"


def test_without_an_internal_address_the_default_route_tells():
    web = service(node_port=30080)
    bare = node()
    assert verdict([web, bare], "192.0.2.1:30080") == ("pass", "none")
    seen = model.on_host([web, bare], NODE, [], ["192.0.2.1"])
    assert ("192.0.2.1", 30080) in frontends(seen)
    assert ("192.0.2.1", 30080) not in frontends([*seen[:1], node("192.0.2.7")])


# Announcing

@pytest.mark.parametrize("change, settings, expected", [
    ({}, {}, {VIP, EXTERNAL}),
    ({}, {"advertise": ["cluster"]}, {CLUSTER}),
    ({"loadBalancerClass": "a/b"}, {}, {EXTERNAL}),
    ({"loadBalancerClass": "a/b"}, {"loadBalancerClass": "a/b"}, {VIP, EXTERNAL}),
    ({}, {"loadBalancerClass": "a/b"}, {EXTERNAL}),
])
def test_what_is_announced(change, settings, expected):
    objects = [service(externalIPs=[EXTERNAL], **change), endpoint_slice(endpoint(THERE, OTHER))]
    assert judge.announced(objects, {**SETTINGS, **settings}, NODE) == expected
    assert judge.announced(objects[:1], {**SETTINGS, **settings}, NODE) == set()


def test_real_addresses_are_not_announced():
    """14.16: a Node's, an interface's, or its neighbour's. Only the Service's own ports change."""
    taken = ["192.0.2.77", "198.18.5.77", "198.18.5.78"]
    web = service(externalIPs=[EXTERNAL])
    web["status"]["loadBalancer"]["ingress"] += [{"ip": ip} for ip in taken]
    objects = [web, endpoint_slice(endpoint()), node("192.0.2.1"),
               {**node("192.0.2.77"), "metadata": {"name": OTHER}}]
    seen = model.on_host(objects, NODE, ["198.18.5.77"], [])
    assert judge.announced(seen, SETTINGS, NODE) == {VIP, EXTERNAL}
    for address in taken:
        for port, origin, expected in ((80, judge.OUTSIDE, "forward"), (81, judge.OUTSIDE, "pass"),
                                       (81, judge.HERE, "pass")):
            packet = judge.Packet("192.0.2.1", address, port, "TCP", origin)
            assert judge.judge(seen, SETTINGS, NODE, packet)["verdict"] == expected, (address, port)
    packet = judge.Packet("192.0.2.1", "192.0.2.77", 80, "TCP", judge.HERE)
    assert judge.judge(seen, SETTINGS, NODE, packet)["verdict"] == "pass"  # 14.14


def test_another_class_keeps_its_other_ports():
    """14.17"""
    for own_class, expected in (("a/b", "pass"), (None, "reject")):
        web = service(**({"loadBalancerClass": own_class} if own_class else {}))
        packet = judge.Packet("192.0.2.1", VIP, 81, "TCP", judge.HERE)
        objects = [web, endpoint_slice(endpoint()), *HOST]
        assert judge.judge(objects, SETTINGS, NODE, packet)["verdict"] == expected


def test_what_is_not_announced():
    objects = [service(), endpoint_slice(endpoint(THERE, OTHER))]
    assert judge.announced([service(**LOCAL), objects[1]], SETTINGS, NODE) == set()
    objects[0]["metadata"]["annotations"] = {judge.ANNOUNCE: "false"}
    assert judge.announced(objects, SETTINGS, NODE) == set()
    excluded = node()
    excluded["metadata"]["labels"][judge.EXCLUDED_LABEL] = ""
    assert judge.announced([service(), objects[1], excluded], SETTINGS, NODE) == set()


def shared(first, second, **policies):
    """Two Services with one address; the nodes of their endpoints."""
    made = []
    for name, port, nodes in (("web", 80, first), ("api", 443, second)):
        made.append(service(name, port=port, **policies.get(name, LOCAL)))
        places = [endpoint(f"10.244.{i}.{port % 250}", where) for i, where in enumerate(nodes)]
        made.append(endpoint_slice(*places, name=name))
    return made


@pytest.mark.parametrize("first, second, policies, expected", [
    ([NODE], [NODE], {}, {VIP}),
    ([NODE], [OTHER], {}, {VIP}),  # nobody has both
    ([NODE, OTHER], [OTHER], {}, set()),
    ([NODE, OTHER], [NODE], {}, {VIP}),
    ([NODE, "third"], [OTHER, "third"], {}, set()),
    ([NODE], ["gone"], {}, {VIP}),  # no node has any of the second
    ([NODE, "gone"], ["gone"], {}, {VIP}),
    ([NODE, OTHER], [], {}, {VIP}),
    ([OTHER], [OTHER], {}, set()),
    ([NODE], [OTHER], {"web": {}}, set()),
    ([NODE], [OTHER], {"web": {}, "api": {}}, {VIP}),
])
def test_an_address_is_announced_with_all_its_ports(first, second, policies, expected):
    nodes = [{**node(), "metadata": {"name": name}} for name in (NODE, OTHER, "third")]
    excluded = {**node(), "metadata": {"name": "gone", "labels": {judge.EXCLUDED_LABEL: ""}}}
    objects = [*shared(first, second, **policies), *nodes, excluded]
    assert judge.announced(objects, SETTINGS, NODE) == expected


def test_without_nodes_the_slices_name_them():
    assert judge.announced(shared([NODE, OTHER], [OTHER]), SETTINGS, NODE) == set()
    seen = model.on_host(shared([NODE, OTHER], [OTHER]), NODE, ["192.0.2.1"], [])
    assert judge.announced(seen, SETTINGS, NODE) == set()


def test_random_clusters_leave_addresses_to_others():
    """With and without, so that what holds the planner against the judge holds something."""
    left = split = 0
    for seed in range(400):
        objects, settings = clusters.cluster(random.Random(seed))
        found = judge.announced(objects, settings, clusters.NODE)
        for address, claims in judge.announceable(objects, settings, clusters.NODE).items():
            lost, _ = judge.lost_ports(objects, settings, clusters.NODE, claims)
            own = judge.forwarded(objects, settings, clusters.NODE, claims)
            left += bool(own) and str(address) not in found
            split += bool(lost) and str(address) in found
    assert left >= 8 and split >= 8, (left, split)
