# SPDX-License-Identifier: Apache-2.0
"""Faults of what is announced: addresses, Nodes, blocks, and the routes of the agent's table."""

import pytest
import yaml
from cluster import VIP, VIP6, exported, tables
from faults import ITSELF, Table, check
from lab import objects, wait_equal
from objects_world import OTHER, world_fixture  # noqa: F401
from test_pools_given import pool

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows("node-unknown", cause="no Node object is called vm: no block and no endpoint counts as this node's",
      remedy="set `node:` in agentd.yaml")
def the_node_has_another_name(world):
    world.reload("node: node1", "node: vm")
    yield
    world.reload()


@rows()
def a_route_is_deleted(world):
    wait_equal(lambda: tables(world.node), exported(world.node, VIP, VIP6), "table 119")
    world.node.ip("route", "del", "blackhole", VIP, "table", "119", "proto", "31")
    yield


@rows("foreign-writer", cause="something undoes our routes again and again", remedy="stop it from touching protocols 30-63")
def a_route_is_deleted_again_and_again(world):
    command = "while :; do ip route flush table 119 proto 31; sleep 0.05; done"
    rival = world.node.start("sh", "-c", command, log="rival.log")
    yield
    rival.kill()
    rival.wait()
    wait_equal(lambda: tables(world.node), exported(world.node, VIP, VIP6), "table 119")


@rows("route-kept-out", cause=(VIP, "is kept out by a foreign route"), remedy="find out who wrote it",
      says={f"explain {VIP}": ("is blocked: a foreign route has its place in table 119: 203.0.113.10/32 dev eth0 proto 99",
                               "is kept out by a foreign route: 203.0.113.10/32 dev eth0 proto 99"),
            "diff": "203.0.113.10/32 dev eth0 proto 99", "routes": "blocked", "status": "1 address announced, 1 blocked"},
      silent={f"explain {VIP}": "to be announced", "diff": "if2", "routes": "4 announced"})
def a_foreign_route_is_in_the_place(world):
    world.write("")
    world.agent.settled()
    world.node.ip("route", "add", VIP, "dev", "eth0", "table", "119", "proto", "99")
    world.write(world.web)
    yield
    [item] = [item for item in world.agent.json("routes")["items"] if item["prefix"] == f"{VIP}/32"]
    assert (item["state"], item["reason"], item["installed"]) == ("blocked", "foreign-route", False), item
    routes = world.agent.json("status")["routes"]
    assert (routes["announced"], routes["blockedAddresses"]) == (1, 1), routes
    metrics = world.node.fetch("127.0.0.1", 9394, path="/metrics")
    assert 'fingerpost_addresses{state="announced"} 1\n' in metrics and 'fingerpost_addresses{state="blocked"} 1\n' in metrics
    world.node.ip("route", "del", VIP, "table", "119")


@rows("block-overlaps-link",
      cause=("AddressBlock uplink", "10.0.1.0/24 overlaps 10.0.1.0/24, the network by which this node is reached (10.0.1.2 on eth0)"),
      remedy="give the pool another network", beside="the address of Node node1")
def a_block_is_the_network_of_the_uplink(world):
    """It is announced, and draws what is for the router to this node."""
    world.lab.write("uplink.yaml", objects.address_block("uplink", "node1", "10.0.1.0/24"))
    yield
    (world.lab.manifests / "uplink.yaml").unlink()


@rows("rule-on-export-table", within=1, cause="routes by the export table, whose blackholes drop traffic",
      remedy="delete that rule: this table is for BIRD only")
def a_rule_looks_up_the_export_table(world):
    world.node.ip("rule", "add", "pref", "500", "lookup", "119")
    yield
    world.node.ip("rule", "del", "pref", "500")


@rows(says={f"explain {OTHER}": "not in the configured ranges"})
def an_external_address_is_outside_the_ranges(world):
    world.other(externalIPs=[OTHER])
    yield
    world.remove("other.yaml")


@rows("node-deleted-lately", cause="was deleted: routes are withdrawn soon", remedy="put the object back")
def the_node_object_is_deleted(world):
    name = "nodes.yaml"
    text = (world.lab.manifests / name).read_text(encoding="utf-8")
    world.remove(name)
    yield
    world.write(text, name)


@rows(says={f"explain {OTHER}": "its loadBalancerClass is not ours"})
def another_balancer_is_asked_for(world):
    world.other(OTHER, loadBalancerClass="example.org/other")
    yield
    world.remove("other.yaml")


@rows("service-waits-for-address", cause=("Service default/other", "waits for an address"),
      remedy="see whether the program that gives addresses runs")
def nobody_gives_an_address(world):
    world.other(type="LoadBalancer")
    yield
    world.other(OTHER)
    wait_equal(world.agent.faults, [], "the address to be enough")
    world.remove("other.yaml")


@rows("object-address-unreadable", cause="is not an IP address; skipped", remedy=ITSELF)
def an_ingress_is_no_address(world):
    """Expected: skipped with file and line; the rest of the Service stands."""
    world.write(world.web.replace(VIP, "203.0.113.1O", 1))
    yield
    world.write(world.web)


@rows("address-of-node", cause=("Service default/other", "10.0.1.2 is not announced: it is a Node's own address"),
      remedy="give the Service an address of its own")
def an_address_is_a_nodes_own(world):
    """Expected: told by name, and never announced."""
    world.other("10.0.1.2")
    yield
    world.remove("other.yaml")


@rows(says={f"explain {VIP6}": "no usable endpoint"})
def one_family_has_no_endpoints(world):
    """Expected: no fault, since a Service may be of one family for a while; explain says it."""
    head, _, _ = world.web.rpartition("---\n")
    world.write(head)
    yield
    world.write(world.web)


@rows("object-address-special", cause=("other.yaml:", '"127.0.0.9" is unspecified, loopback, link-local or multicast'),
      remedy=ITSELF, beside="waits for an address")
def an_address_is_of_the_loopback(world):
    """Expected: never announced, and told why."""
    world.other("127.0.0.9")
    yield
    world.remove("other.yaml")


@rows("object-address-unreadable", cause=("other.yaml:", '"10.96.0.300" is not an IP address'), remedy=ITSELF)
def a_cluster_ip_is_no_address(world):
    """Expected: told by file and line; the other addresses of the Service stand."""
    world.other(OTHER, clusterIP="10.96.0.300", clusterIPs=["10.96.0.300"])
    yield
    world.remove("other.yaml")


@rows("block-has-service-address", cause=("AddressBlock default-0", "has 10.224.0.9, an address of Service default/other"),
      remedy="give the Service an address of its own")
def an_address_is_in_a_pod_block(world):
    """Expected: told by name, since a pod may have it."""
    world.other("10.224.0.9")
    yield
    world.remove("other.yaml")


@rows("block-overlaps-other", cause=("AddressBlock default-0", "overlaps AddressBlock default-99 of node node7"),
      remedy="delete the AddressBlock in which its node has no pods")
def blocks_of_two_nodes_overlap(world):
    """Expected: told, with both blocks' names: two nodes would announce the same pods."""
    world.lab.write("blocks.yaml", objects.node("node7", ["10.0.7.2"]),
                    objects.address_block("default-99", "node7", "10.224.0.0/28"))
    yield
    world.remove("blocks.yaml")


@rows("node-address-shared", cause=("Node node1", "its InternalIP 10.0.1.2 is also Node node7's"),
      remedy="delete the Node that is none any more")
def two_nodes_have_one_address(world):
    """Expected: told with both names, since a copy of a machine joins like this."""
    world.lab.write("copy.yaml", objects.node("node7", ["10.0.1.2"]))
    yield
    world.remove("copy.yaml")


@rows(says={f"explain {OTHER}": f"{OTHER} is announced"})
def an_address_is_mapped_into_ipv6(world):
    """Expected to be refused; but Kubernetes takes it for the IPv4 address, and so does the agent."""
    world.other("::ffff:203.0.113.30")
    yield
    world.remove("other.yaml")


@rows(says={f"explain {VIP}": f"{VIP} is announced"})
def an_address_has_a_leading_zero(world):
    """Expected to be refused; but Kubernetes reads it as decimal, and so does the agent."""
    world.write(world.web.replace(VIP, "203.0.113.010", 1))
    yield
    world.write(world.web)


@rows(says={f"explain {OTHER}": "policy Local, no usable endpoint here"})
def all_pods_of_a_local_service_are_elsewhere(world):
    world.lab.write("other.yaml", objects.service("other", [OTHER], policy="Local"), objects.node("node2", ["10.0.2.2"]),
                    objects.slice_of("other", [objects.endpoint("10.224.0.33", "node2")]))
    yield
    world.remove("other.yaml")


@rows(says={f"explain {VIP}": "this node is excluded from load balancers"})
def the_node_is_excluded_as_a_control_plane(world):
    file = world.lab.manifests / "nodes.yaml"
    text = file.read_text(encoding="utf-8")
    label = "node.kubernetes.io/exclude-from-external-load-balancers"
    docs = list(yaml.safe_load_all(text))
    [node] = [doc for doc in docs if doc["kind"] == "Node"]
    node["metadata"]["labels"][label] = ""
    world.write(yaml.safe_dump_all(docs), "nodes.yaml")
    yield
    world.write(text, "nodes.yaml")


@rows("service-has-hostname", cause=("Service default/other", "waits for an address: another balancer", "lb.example.org"),
      remedy="make the Service anew with its loadBalancerClass")
def an_ingress_is_a_host_name(world):
    service = objects.service("other")
    service["status"]["loadBalancer"]["ingress"] = [{"hostname": "lb.example.org"}]
    world.lab.write("other.yaml", service)
    yield
    world.remove("other.yaml")


def advertised(world, **spec):
    """A pool that all have an advertisement of, and another advertisement."""
    def made(name, **more):
        return {"apiVersion": "metallb.io/v1beta1", "kind": "BGPAdvertisement",
                "metadata": objects.metadata(name, "lb"), "spec": more}
    pool(world.lab, "203.0.113.0/24", "fd00:203::/112")
    world.lab.write("all.yaml", made("all"))
    wait_equal(world.agent.faults, [], "pools and an advertisement of all")
    world.lab.write("some.yaml", made("some", **spec))
    yield
    for name in ("some.yaml", "all.yaml", "pools.yaml"):
        world.remove(name)


@rows("advertisement-selects-no-node", within=1, cause="BGPAdvertisement lb/some", remedy="nodeSelectors")
def an_advertisement_selects_no_node(world):
    return advertised(world, nodeSelectors=[{"matchLabels": {"rack": "nowhere"}}])


@rows("advertisement-pool-unknown", within=1, cause=("BGPAdvertisement lb/some", "gold"), remedy="pool")
def an_advertisement_names_a_pool_that_is_not_there(world):
    return advertised(world, ipAddressPools=["gold"])


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
