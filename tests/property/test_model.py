# SPDX-License-Identifier: Apache-2.0
"""The model is right by its own reading: the traps (13) and what section 14 decides, by delivery."""

import collections
import random

import clusters
import model
import pytest

NODE, OTHER = "node-1", "node-2"
VIP, EXTERNAL, CLUSTER = "203.0.113.1", "198.51.100.1", "10.96.0.1"
HERE, THERE = "10.244.1.1", "10.244.2.1"
SETTINGS = {"externalIPs": ["198.51.100.0/24", "192.0.2.0/24", "10.96.0.0/16"]}
LOCAL = {"externalTrafficPolicy": "Local"}


def service(name="web", *, port=80, node_port=None, ingress=(VIP,), since=None, labels=None,
            **spec):
    ports = [{"name": "http", "port": port, **({"nodePort": node_port} if node_port else {})}]
    return {
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": since,
                     "labels": labels or {}},
        "spec": {"type": "LoadBalancer", "clusterIPs": [CLUSTER], "ports": ports, **spec},
        "status": {"loadBalancer": {"ingress": [
            entry if isinstance(entry, dict) else {"ip": entry} for entry in ingress
        ]}},
    }


def endpoint(address=HERE, node=NODE, ready=None, serving=None, terminating=None, zones=(),
             nodes=()):
    return {
        "addresses": [address],
        "nodeName": node,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "hints": {"forZones": [{"name": zone} for zone in zones],
                  "forNodes": [{"name": name} for name in nodes]},
    }


def endpoint_slice(*endpoints, name="web", family=4, port=8080, labels=None):
    return {
        "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-1", "namespace": "default",
                     "labels": {"kubernetes.io/service-name": name, **(labels or {})}},
        "addressType": f"IPv{family}",
        "ports": [{"name": "http", "port": port}],
        "endpoints": list(endpoints),
    }


def node(*addresses, zone="zone-a"):
    return {
        "kind": "Node",
        "metadata": {"name": NODE, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"addresses": [{"type": "InternalIP", "address": a} for a in addresses]},
    }


def frontends(objects, **settings):
    """{(address, port): frontend}, whosever it is."""
    items = model.nat(objects, {**SETTINGS, **settings}, NODE)
    return {(f["address"], f["port"]): f for item in items for f in item["frontends"]}


def outcome(objects, source, address=VIP, port=80, **settings):
    """The verdict, who may get it, and whether the source is rewritten."""
    found = frontends(objects, **settings)[address, port]["from"][source]
    return found["verdict"], found["endpoints"], found["masquerade"]


def forward(*addresses, masquerade, port=8080):
    return "forward", [f"{address}:{port}" for address in addresses], masquerade


REJECT = ("reject", [], False)
DROP = ("drop", [], False)


# Section 13

def test_1_source_ranges_belong_to_the_original_destination():
    web = service(loadBalancerSourceRanges=["10.0.0.0/8"], externalIPs=[EXTERNAL], node_port=30080)
    found = frontends([web, node("192.0.2.1")])
    ranges = {address: f["sourceRanges"] for (address, _), f in found.items()}
    assert ranges == {VIP: ["10.0.0.0/8"], EXTERNAL: None, CLUSTER: None, "192.0.2.1": None}


def test_2_mode_proxy_is_left_out_beside_a_vip():
    web = service(ingress=[{"ip": "203.0.113.2", "ipMode": "Proxy"}, {"ip": VIP, "ipMode": "VIP"}])
    assert {address for address, _ in frontends([web])} == {VIP, CLUSTER}


def test_3_only_the_service_without_endpoints_rejects():
    web = service(externalIPs=[EXTERNAL], clusterIPs=["10.96.0.1"])
    api = service("api", port=443, externalIPs=[EXTERNAL], clusterIPs=["10.96.0.2"])
    objects = [web, api, endpoint_slice(endpoint())]
    assert outcome(objects, "outside", EXTERNAL, 80) == forward(HERE, masquerade=True)
    assert outcome(objects, "outside", EXTERNAL, 443) == REJECT


def test_4_an_external_ip_wins_over_a_node_port_on_its_own_port():
    web = service(externalIPs=["192.0.2.1"], since="2025-01-01T00:00:00Z")
    old = service("old", node_port=80, clusterIPs=["10.96.0.2"], ingress=(),
                  since="2024-01-01T00:00:00Z")
    other = service("other", node_port=81, clusterIPs=["10.96.0.3"], ingress=())
    found = frontends([web, old, other, node("192.0.2.1")])
    assert found["192.0.2.1", 80]["kind"] == "externalIP"
    assert found["192.0.2.1", 81]["kind"] == "nodePort"


def test_5_a_pod_reaches_its_own_address_under_policy_local():
    objects = [service(**LOCAL), endpoint_slice(endpoint())]
    assert outcome(objects, "pod") == forward(HERE, masquerade=False)


def test_6_without_a_node_name_nothing_is_local():
    objects = [service(**LOCAL), endpoint_slice(endpoint(node=None))]
    assert outcome(objects, "outside") == DROP


def test_7_the_order_of_objects_does_not_matter():
    for seed in range(50):
        chance = random.Random(seed)
        objects, settings = clusters.cluster(chance)
        expected = model.nat(objects, settings, NODE)
        chance.shuffle(objects)
        assert model.nat(objects, settings, NODE) == expected


def test_11_hints_of_endpoints_that_are_not_ready_do_not_count():
    objects = [node(), service(), endpoint_slice(
        endpoint("10.244.1.1", ready=False, zones=["zone-a"]),
        endpoint("10.244.2.1", zones=["zone-b"]))]
    assert outcome(objects, "outside") == forward("10.244.2.1", masquerade=True)


def test_12_families_are_independent():
    web = service(clusterIPs=[CLUSTER, "fd00:96::1"], ingress=[VIP, "fd00:203::1"])
    objects = [web, endpoint_slice(endpoint())]
    assert outcome(objects, "outside") == forward(HERE, masquerade=True)
    assert outcome(objects, "outside", "fd00:203::1") == REJECT


def test_14_mode_proxy_alone_still_has_a_health_port():
    web = service(ingress=[{"ip": VIP, "ipMode": "Proxy"}], healthCheckNodePort=31000, **LOCAL)
    [item] = model.nat([web, endpoint_slice(endpoint())], SETTINGS, NODE)
    assert item["healthCheckNodePort"] == {"port": 31000, "localReady": 1}


# Section 14

def test_the_older_service_has_the_address():
    web = service(since="2025-01-01T00:00:00Z")
    api = service("api", clusterIPs=["10.96.0.2"])
    old = service("old", clusterIPs=["10.96.0.3"], since="2024-01-01T00:00:00Z")

    def owner(*services):
        items = model.nat(list(services), SETTINGS, NODE)
        return [i["name"] for i in items for f in i["frontends"] if f["address"] == VIP]

    assert owner(web, api, old) == ["old"]
    assert owner(web, api) == ["web"]
    assert owner(service("b", clusterIPs=["10.96.0.4"]), api) == ["api"]


def test_an_external_ip_is_never_a_cluster_ip():
    web = service(externalIPs=["10.96.0.2", "10.96.0.3"])
    api = service("api", clusterIPs=["10.96.0.2"])
    assert frontends([web, api])["10.96.0.2", 80]["kind"] == "clusterIP"
    assert ("10.96.0.3", 80) in frontends([web])
    assert ("10.96.0.3", 80) not in frontends([web], serviceCIDRs=["10.96.0.0/16"])


@pytest.mark.parametrize("labels, own, served", [
    ({}, "", True),
    ({model.PROXY_NAME_LABEL: ""}, "", False),
    ({model.PROXY_NAME_LABEL: "other"}, "ours", False),
    ({model.PROXY_NAME_LABEL: "ours"}, "ours", True),
    ({}, "ours", True),
    ({model.HEADLESS_LABEL: ""}, "", False),
])
def test_other_proxies_services_are_left_out(labels, own, served):
    assert bool(frontends([service(labels=labels)], proxyName=own)) == served


@pytest.mark.parametrize("spec", [
    {"type": "ClusterIP", "clusterIPs": ["None"]},
    {"type": "ClusterIP", "clusterIPs": None},
    {"type": "ExternalName"},
])
def test_headless_and_external_names_have_nothing(spec):
    assert frontends([service(**spec)]) == {}


@pytest.mark.parametrize("policy, address", [("externalTrafficPolicy", VIP),
                                             ("internalTrafficPolicy", CLUSTER)])
@pytest.mark.parametrize("endpoints, expected", [
    ([], REJECT),
    ([endpoint(ready=False)], REJECT),
    ([endpoint(THERE, OTHER)], DROP),
    ([endpoint(THERE, OTHER, ready=False, serving=True, terminating=True)], DROP),
])
def test_reject_and_drop(policy, address, endpoints, expected):
    objects = [service(**{policy: "Local"}), endpoint_slice(*endpoints)]
    assert outcome(objects, "outside", address) == expected


def test_node_ports_answer_on_the_chosen_addresses():
    objects = [service(node_port=80, ingress=(), clusterIPs=["10.96.0.1", "fd00:96::1"]),
               node("192.0.2.1", "127.0.0.1", "192.0.2.11", "fd00:192::1", "fd00:192::11")]

    def chosen(*wanted):
        found = frontends(objects, nodePortAddresses=list(wanted))
        return {address for (address, _), f in found.items() if f["kind"] == "nodePort"}

    primary, six = {"192.0.2.1", "fd00:192::1"}, {"fd00:192::1", "fd00:192::11"}
    assert chosen() == chosen("primary") == primary
    assert chosen("192.0.2.11/32") == {"192.0.2.11"} | six
    assert chosen("192.0.2.11/32", "primary") == {"192.0.2.11"} | primary
    assert chosen("127.0.0.0/8", "0.0.0.0/0") == {"192.0.2.1", "192.0.2.11"} | six
    assert chosen("127.0.0.0/8") == six


def test_bad_fields_are_skipped_one_by_one():
    web = service(externalIPs=["198.051.100.001", "nonsense"], ingress=["203.0.113.300", VIP],
                  loadBalancerSourceRanges=[" 10.1.2.3/16 ", "fd00::/16", "10.0.0.0/40"])
    found = frontends([web])
    assert {address for address, _ in found} == {VIP, EXTERNAL, CLUSTER}
    assert found[VIP, 80]["sourceRanges"] == ["10.1.0.0/16"]


@pytest.mark.parametrize("ranges, expected", [
    (["192.0.2.0/24"], ["192.0.2.0/24", f"{VIP}/32"]),
    (["10.0.0.0/8"], ["10.0.0.0/8"]),
    (["192.0.2.0/24", "203.0.0.0/8"], ["192.0.2.0/24", "203.0.0.0/8"]),
])
def test_a_node_inside_the_ranges_may_come_from_the_address_itself(ranges, expected):
    web = service(loadBalancerSourceRanges=ranges)
    assert frontends([web, node("192.0.2.1")])[VIP, 80]["sourceRanges"] == expected


def test_ranges_of_the_other_family_only_are_none():
    found = frontends([service(loadBalancerSourceRanges=["fd00::/16"])])
    assert found[VIP, 80]["sourceRanges"] is None


# Policies, sets and masquerading

@pytest.mark.parametrize("source, cluster_ip, under_cluster, under_local", [
    ("outside", True, forward(HERE, THERE, masquerade=True), forward(HERE, masquerade=False)),
    ("pod", False, forward(HERE, THERE, masquerade=True), forward(HERE, THERE, masquerade=False)),
    ("node", True, forward(HERE, THERE, masquerade=True), forward(HERE, THERE, masquerade=True)),
])
@pytest.mark.parametrize("address, port", [(VIP, 80), (EXTERNAL, 80), ("192.0.2.1", 30080)])
def test_sources_and_policies(source, cluster_ip, under_cluster, under_local, address, port):
    pieces = [endpoint_slice(endpoint(HERE), endpoint(THERE, OTHER)), node("192.0.2.1")]
    plain = {"externalIPs": [EXTERNAL], "node_port": 30080}
    assert outcome([service(**plain), *pieces], source, address, port) == under_cluster
    assert outcome([service(**plain, **LOCAL), *pieces], source, address, port) == under_local
    assert outcome([service(**plain, **LOCAL), *pieces], source, CLUSTER) == forward(
        HERE, THERE, masquerade=cluster_ip)


def test_masquerade_all_is_about_cluster_ips():
    objects = [service(**LOCAL), endpoint_slice(endpoint())]
    assert outcome(objects, "pod", CLUSTER, masqueradeAll=True) == forward(HERE, masquerade=True)
    assert outcome(objects, "pod", VIP, masqueradeAll=True) == forward(HERE, masquerade=False)


LEAVING = {"ready": False, "serving": True, "terminating": True}


@pytest.mark.parametrize("endpoints, cluster, local", [
    ([endpoint(), endpoint(THERE, OTHER, **LEAVING)], [HERE], [HERE]),
    ([endpoint(**LEAVING), endpoint(THERE, OTHER)], [THERE], [HERE]),
    ([endpoint(**LEAVING), endpoint(THERE, OTHER, **LEAVING)], [HERE, THERE], [HERE]),
    ([endpoint(ready=False, serving=False, terminating=True), endpoint(THERE, OTHER)], [THERE], []),
    ([endpoint(ready=False, terminating=True), endpoint(THERE, OTHER)], [THERE], [HERE]),
])
def test_the_sets_fall_back_independently(endpoints, cluster, local):
    objects = [service(**LOCAL), endpoint_slice(*endpoints)]
    assert outcome(objects, "pod") == forward(*cluster, masquerade=False)
    assert outcome(objects, "outside") == (forward(*local, masquerade=False) if local else DROP)


A, B = {"zones": ["zone-a"]}, {"zones": ["zone-b"]}


@pytest.mark.parametrize("first, second, chosen", [
    (A, B, [HERE]),
    (A, {}, [HERE, THERE]),
    (B, B, [HERE, THERE]),
    ({**A, "nodes": [OTHER]}, {**B, "nodes": [NODE]}, [THERE]),
    ({**A, "nodes": [OTHER]}, {**B, "nodes": [OTHER]}, [HERE]),
    ({**A, "nodes": [NODE]}, B, [HERE]),
    ({**A, "nodes": [OTHER], **LEAVING}, {**B, "nodes": [OTHER], **LEAVING}, [HERE, THERE]),
])
def test_hints_and_their_guards(first, second, chosen):
    objects = [node(), service(),
               endpoint_slice(endpoint(HERE, **first), endpoint(THERE, OTHER, **second))]
    assert outcome(objects, "outside") == forward(*chosen, masquerade=True)


def test_slices_are_united():
    objects = [
        service(),
        endpoint_slice(endpoint(HERE, ready=False)),
        endpoint_slice(endpoint(HERE)),  # the same again, but ready
        endpoint_slice(endpoint(THERE, OTHER), port=9090),
        endpoint_slice(endpoint("10.244.2.2"), family=6),
        endpoint_slice(endpoint("10.244.2.3"), labels={model.HEADLESS_LABEL: ""}),
        endpoint_slice(endpoint("10.244.2.4"), name="api"),
    ]
    assert outcome(objects, "pod", CLUSTER) == ("forward", [f"{HERE}:8080", f"{THERE}:9090"], False)


def test_health_counts_ready_addresses_of_this_node():
    web = service(healthCheckNodePort=31000, **LOCAL)
    pieces = [endpoint_slice(endpoint(), endpoint("10.244.1.2", **LEAVING), endpoint(THERE, OTHER)),
              endpoint_slice(endpoint(), port=9090)]
    [item] = model.nat([web, *pieces], SETTINGS, NODE)
    assert item["healthCheckNodePort"] == {"port": 31000, "localReady": 1}
    [item] = model.nat([service(healthCheckNodePort=31000), *pieces], SETTINGS, NODE)
    assert item["healthCheckNodePort"] is None


@pytest.mark.parametrize("spec, seconds", [
    ({}, None),
    ({"sessionAffinity": "None"}, None),
    ({"sessionAffinity": "ClientIP"}, 10800),
    ({"sessionAffinity": "ClientIP",
      "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}, 60),
])
def test_affinity(spec, seconds):
    [item] = model.nat([service(**spec)], SETTINGS, NODE)
    assert item["affinitySeconds"] == seconds


def test_leftovers_of_another_type_are_ignored():
    web = service(type="ClusterIP", node_port=30080)
    assert set(frontends([web, node("192.0.2.1")])) == {(CLUSTER, 80)}


# The clusters

def test_random_clusters_reach_every_outcome():
    reached = collections.Counter()
    for seed in range(300):
        objects, settings = clusters.cluster(random.Random(seed))
        for item in model.nat(objects, settings, NODE):
            reached["health"] += bool((item["healthCheckNodePort"] or {}).get("localReady"))
            for frontend in item["frontends"]:
                reached["ranges"] += frontend["sourceRanges"] is not None
                for source, found in frontend["from"].items():
                    reached[frontend["kind"], source, found["verdict"], found["masquerade"]] += 1
    external = ("externalIP", "loadBalancer", "nodePort")
    wanted = [(kind, source, "reject", False) for kind in external for source in model.SOURCES]
    wanted += [(kind, "outside", verdict, rewritten) for kind in external
               for verdict, rewritten in (("drop", False), ("forward", True), ("forward", False))]
    wanted += [(kind, "pod", "forward", rewritten) for kind in (*external, "clusterIP")
               for rewritten in (True, False)]
    wanted += [("clusterIP", "outside", verdict, verdict == "forward")
               for verdict in ("forward", "drop", "reject")]
    assert [place for place in (*wanted, "ranges", "health") if reached[place] < 10] == []
