# SPDX-License-Identifier: Apache-2.0
"""The guard: what nobody serves answers with an ICMP error instead of going round in circles,
and everything that is served goes on working, under strict rp_filter."""

import errno
from pathlib import Path

import pytest
from cluster import VIP, VIP6, nat, pod_address, start

UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH}

CONF = Path("/proc/sys/net/ipv4/conf")

def strict(host):
    """True if rp_filter is 1 on every interface."""
    with host.entered():
        values = [path.read_text() for path in CONF.glob("*/rp_filter")]
    return len(values) > 2 and set(values) == {"1\n"}


@pytest.mark.parametrize("pod_table", [
    pytest.param(None, marks=pytest.mark.lab(), id="pods-in-main"),
    pytest.param(116, marks=pytest.mark.lab(pod_table=116), id="pods-in-table-116"),
])
def test_free_addresses_and_unmapped_ports_answer(lab, pod_table):
    start(lab)
    node1, node2 = lab.nodes
    pod1, pod2 = lab.pod(node1, "one"), lab.pod(node2, "two")
    assert lab.pod_table == pod_table
    free = [pod_address(node, family, 9) for node in lab.nodes for family in (4, 6)]
    for host in (lab.client, node1, node2, pod1, pod2):
        assert strict(host)
        for address in [VIP, VIP6, *free]:
            assert host.icmp_error(address) in UNREACHABLE, f"{host} -> {address}"
    for address in (VIP, VIP6):
        assert lab.client.refusal(address, 81) in UNREACHABLE


def test_what_is_mapped_works(lab):
    """Next to a NAT that serves port 80, from outside, from pods and from the node itself."""
    start(lab)
    node1, node2 = lab.nodes
    pod1, pod2 = lab.pod(node1, "one"), lab.pod(node2, "two")
    neighbour = lab.pod(node1, "neighbour")
    for pod in (pod1, pod2):
        pod.serve()
        nat(pod)
    for address in (VIP, VIP6):
        assert lab.client.fetch(address).startswith("pod-")
        assert node1.fetch(address) == neighbour.fetch(address) == "pod-one on node1\n"
        for host in (lab.client, node1, neighbour, pod2):
            assert host.icmp_error(address) in UNREACHABLE, f"{host} -> {address}"
    for pod in (pod1, pod2):
        for address in (pod.address4, pod.address6):
            for host in (lab.client, node1, node2, neighbour):
                assert host.fetch(address) == f"{pod.role} on {pod.node}\n", f"{host} -> {address}"
