# SPDX-License-Identifier: Apache-2.0
"""birdconf/ between the kernel table and the ToR, with routes written by hand."""

import pytest
from lab import BLOCK_COMMUNITY, GRACEFUL_SHUTDOWN, SERVICE_COMMUNITY, wait, wait_equal

VIP = {4: "203.0.113.10", 6: "fd00:203::10"}
HOST = {4: "/32", 6: "/128"}
FAMILIES = pytest.mark.parametrize("family", [4, 6])


def write(node, prefix, protocol, verb="add"):
    """As agentd does."""
    node.ip("route", verb, "blackhole", prefix, "table", "119", "proto", str(protocol))


def path(lab, prefix, node):
    return wait(lambda: lab.tor.paths(prefix)[node.role], f"{prefix} from {node} on the ToR")


@FAMILIES
def test_block_and_service_reach_the_tor(lab, family):
    node1, node2 = lab.nodes
    for node in lab.nodes:
        write(node, getattr(node, f"block{family}"), 30)
        write(node, VIP[family], 31)
    wait_equal(lambda: lab.tor.via(VIP[family]), {"node1", "node2"}, "ECMP to both nodes")
    for node in lab.nodes:
        block = getattr(node, f"block{family}")
        wait_equal(lambda: lab.tor.via(block), {node.role}, f"the block of {node}")
        assert path(lab, block, node).communities == {BLOCK_COMMUNITY}
        assert path(lab, VIP[family] + HOST[family], node).communities == {SERVICE_COMMUNITY}
    node1.ip("route", "del", VIP[family], "table", "119")
    wait_equal(lambda: lab.tor.via(VIP[family]), {"node2"}, "withdrawal by node1")
    node2.ip("route", "del", VIP[family], "table", "119")
    wait_equal(lambda: lab.tor.via(VIP[family]), set(), "withdrawal by node2")


@FAMILIES
def test_drain_in_place_moves_traffic_without_withdrawal(lab, family):
    node1, _ = lab.nodes
    for node in lab.nodes:
        write(node, VIP[family], 31)
    wait_equal(lambda: lab.tor.via(VIP[family]), {"node1", "node2"}, "ECMP to both nodes")
    monitor = lab.monitor()
    write(node1, VIP[family], 32, "replace")
    wait_equal(lambda: lab.tor.via(VIP[family]), {"node2"}, "traffic to leave node1")
    draining = path(lab, VIP[family] + HOST[family], node1)
    assert draining.communities == {SERVICE_COMMUNITY, GRACEFUL_SHUTDOWN}
    assert draining.as_path.split() == [str(node1.asn)] * 3
    assert draining.local_pref == 0
    write(node1, VIP[family], 31, "replace")
    wait_equal(lambda: lab.tor.via(VIP[family]), {"node1", "node2"}, "traffic to come back")
    assert not [event for event in monitor.events() if event.deleted]


@pytest.mark.lab(nodes=1)
def test_last_path_serves_while_draining(lab):
    [node] = lab.nodes
    write(node, VIP[4], 32)
    wait_equal(lambda: lab.tor.via(VIP[4]), {"node1"}, "the draining address")


@pytest.mark.lab(nodes=1)
def test_classes(lab):
    [node] = lab.nodes
    addresses = {protocol: f"203.0.113.{protocol}/32" for protocol in (34, 35, 36, 63)}
    for protocol, prefix in addresses.items():
        write(node, prefix, protocol)
    paths = {protocol: path(lab, prefix, node) for protocol, prefix in addresses.items()}
    assert paths[34].communities == {SERVICE_COMMUNITY, (65535, 65281)}
    assert paths[35].communities == {SERVICE_COMMUNITY}
    assert paths[35].med == 100
    assert paths[35].as_path.split() == [str(node.asn)] * 2
    for unlisted in (36, 63):
        assert paths[unlisted].communities == {SERVICE_COMMUNITY}
        assert paths[unlisted].as_path.split() == [str(node.asn)]


@pytest.mark.lab(nodes=1)
def test_other_protocol_numbers_stay_on_the_node(lab):
    [node] = lab.nodes
    for number, protocol in enumerate((29, 33, 64, 4, 3)):
        write(node, f"203.0.113.{100 + number}", protocol)
    write(node, "203.0.113.200", 31)
    wait_equal(lambda: lab.tor.via("203.0.113.200"), {"node1"}, "the route written last")
    assert len(node.bird.birdc("show", "route", "table", "fingerpost4").splitlines()) >= 6
    assert {p.prefix for p in lab.tor.bird.paths()} == {"203.0.113.200/32"}


@pytest.mark.lab(nodes=1)
def test_tor_refuses_prefixes_outside_its_ranges(lab):
    [node] = lab.nodes
    write(node, "10.9.0.0/24", 30)  # not a pod range
    write(node, "203.0.113.0/25", 31)  # not a single address
    write(node, "10.224.7.1", 31)  # a pod's address as a service
    write(node, "203.0.113.200", 31)
    wait_equal(lambda: lab.tor.via("203.0.113.200"), {"node1"}, "the route written last")
    assert {p.prefix for p in lab.tor.bird.paths()} == {"203.0.113.200/32"}


@pytest.mark.lab(nodes=1)
def test_two_thousand_routes_at_once_arrive_by_event(lab):
    """With the kernel's default buffer the rest of such a batch waits for the scan (60 s)."""
    [node] = lab.nodes
    lab.wait_sessions()
    lines = [
        f"route add blackhole fd00:224::{n // 256:x}:{n % 256:x}/128 table 119 proto 30"
        for n in range(2000)
    ]
    node.configure(*lines)

    def arrived():
        count = lab.tor.bird.birdc("show", "route", "table", "master6", "count")
        return "2000 of 2000 routes" in count

    wait(arrived, "2000 routes on the ToR", timeout=25)
    assert "dropped some netlink messages" not in (node.folder / "bird.log").read_text()
