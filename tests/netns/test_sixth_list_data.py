# SPDX-License-Identifier: Apache-2.0
"""The sixth list of the fault table, data plane: each row was written down before it was tried (tests/sixth_list.txt)."""

import pytest
from attached import attachments, strip
from faults import Table, check
from lab import objects, wait_equal
from served import Service
from test_fault_table_data import FOLLOWS, world_fixture  # noqa: F401
from test_third_list_data import defaults, served

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("sixth_list")
BEFORE_ROUTING = """
table inet wall {
    chain prerouting { type filter hook prerouting priority raw; ip daddr 10.224.0.0/16 drop; }
}
"""


@rows(701, cause=("interface eth0", "the router 10.0.1.9", "does not answer"), remedy="ip neigh", beside=FOLLOWS)
def one_of_two_next_hops_is_not_there(world):
    world.node.ip("route", "replace", "default", "nexthop", "via", world.node.gateway4, "nexthop", "via", "10.0.1.9")
    yield
    defaults(world)
    yield
    served(world)


@rows(702, cause=("Service default/web", "no way to"), remedy="ip route get", beside=(*FOLLOWS, "no way", "refuses all", "before they come to svc0"))
def a_rule_leads_to_a_blackhole(world):
    world.node.ip("route", "add", "blackhole", "default", "table", "100")
    world.node.ip("rule", "add", "pref", "100", "lookup", "100")
    yield
    world.node.ip("rule", "del", "pref", "100")
    world.node.ip("route", "del", "blackhole", "default", "table", "100")
    yield
    served(world)


@rows(703, heals=True)
def our_program_is_detached_from_a_pods_interface(world):
    before = attachments(world.agent)
    strip(world.agent, world.one.host_end)
    yield
    wait_equal(lambda: attachments(world.agent), before, "the programs to be back")
    yield
    served(world)


@rows(704, cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="nft list ruleset", beside="netfilter on this node drops")
def a_firewall_drops_before_routing(world):
    world.node.run("nft", "-f", "-", text=BEFORE_ROUTING)
    yield
    world.node.run("nft", "delete", "table", "inet", "wall")


@rows(705, cause="net.ipv4.conf.eth0.forwarding", remedy="sysctl -w net.ipv4.conf.eth0.forwarding=1", beside=FOLLOWS)
def the_uplink_does_not_forward(world):
    world.sysctl("net.ipv4.conf.eth0.forwarding", 0)
    yield
    world.sysctl("net.ipv4.conf.eth0.forwarding", 1)
    yield
    served(world)


@rows(706, cause=("services.serviceCIDRs", "10.96.0.0/", "10.96.200.0/24"), remedy="networks of ClusterIPs only")
def a_bridge_has_a_network_of_cluster_ips(world):
    node = world.node
    node.ip("link", "add", "docker0", "type", "bridge")
    node.ip("addr", "add", "10.96.200.1/24", "dev", "docker0")
    node.ip("link", "set", "docker0", "up")
    yield
    node.ip("link", "del", "docker0")


@rows(707)
def a_blackhole_is_behind_the_pods_routes(world):
    world.node.ip("route", "add", "blackhole", "10.224.0.0/16")
    yield
    served(world)
    world.node.ip("route", "del", "blackhole", "10.224.0.0/16")


@rows(708, cause=("Service default/web", f"node port {Service(None).node_port}/TCP", "belongs to Service default/other"),
      remedy="another port", beside="node port")
def two_services_have_one_node_port(world):
    """One without a time counts as made just now."""
    other = objects.service("other", ["203.0.113.77"])
    other["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    other["spec"]["ports"][0]["nodePort"] = world.web.node_port
    world.lab.write("other.yaml", other)
    yield
    (world.lab.manifests / "other.yaml").unlink()


@rows(709, cause=("Service default/other", "externalIP", "is refused"), remedy="outside services.serviceCIDRs")
def an_external_ip_is_a_cluster_ip(world):
    address, _ = world.web.address("clusterIP", 4)
    world.lab.write("other.yaml", objects.service("other", ["203.0.113.77"], externalIPs=[address]))
    yield
    (world.lab.manifests / "other.yaml").unlink()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
