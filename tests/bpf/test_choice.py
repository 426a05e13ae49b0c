# SPDX-License-Identifier: Apache-2.0
"""Which endpoint a new flow gets: ranges, sets, chance, and Services that change. Affinity is in test_affinity.py."""

from collections import Counter

import abi
import pytest
from bpf import NEXT, SHOT
from packets import ETHER, frame, from_others
from test_verdicts import CLIENT, LB, NODE, POD1, POD2, REMOTE, VIP, assert_dropped, ends, first


def many(count, family, base=8000, address=None):
    return [((address or POD2)[family], base + index) for index in range(count)]


def chosen(nat, family, protocol, sport=40000, to=VIP, port=80, source=POD1, hook="pod_in"):
    """The endpoint that a packet is sent to, as (address, port)."""
    packet = frame(hook, source[family], sport, to[family], port, protocol)
    return ends(nat.send(hook, packet).packet)[2:]


# Chance.


def test_uniform_random(nat, family, protocol):
    endpoints = many(4, family)
    nat.service(VIP[family], 80, endpoints, protocol=protocol)
    packet = frame("pod_in", POD1[family], 20000, VIP[family], 80, protocol)
    clients = [(POD1[family], 20000 + i) for i in range(800)]
    place = ETHER + {4: 20, 6: 40}[family] + 2  # of the destination port
    went = [nat.live["pod_in"].run(one, nat.world.index["pod1"]).packet
            for one in from_others(packet, clients)]
    seen = Counter(int.from_bytes(one[place : place + 2], "big") for one in went)
    assert set(seen) == {port for _, port in endpoints}
    # 200 each, standard deviation 12: a wrong verdict once in some 10^10 runs.
    assert all(120 < number < 280 for number in seen.values())


def test_a_flow_keeps_its_endpoint(nat, family, protocol):
    nat.service(VIP[family], 80, many(50, family), protocol=protocol)
    assert len({chosen(nat, family, protocol) for _ in range(30)}) == 1


def test_dead_slots_are_passed_over(nat, family, protocol):
    """An endpoint whose generation has ended gets nothing, even while its slot is there."""
    service = nat.service(VIP[family], 80, many(3, family), protocol=protocol)
    for key in many(3, family)[:2]:
        number = service.endpoints[key]
        value = nat.maps["endpoints"][number]
        value.state += 1
        nat.maps["endpoints"][number] = value
    seen = {chosen(nat, family, protocol, 20000 + i) for i in range(40)}
    assert seen == {(POD2[family], 8002)}


# Pods.


OTHER_FAMILY = {4: ["fd00:244::/32", "::/0"], 6: ["10.244.0.0/16", "0.0.0.0/0"]}


def origins(nat, family, protocol):
    """Who is taken for what: a pod, a pod's address at an uplink, and a client at both."""
    local, cluster = (POD1[family], 8081), (REMOTE[family], 8082)
    nat.service(
        LB[family], 80, [cluster], [local], protocol=protocol, kind=abi.LOAD_BALANCER,
        outcomes={abi.OUTSIDE: "forward local", abi.POD: "forward"},
    )
    ways = ((POD2, "pod_in"), (POD2, "uplink_in"), (CLIENT, "pod_in"), (CLIENT, "uplink_in"))
    ends = [chosen(nat, family, protocol, 40000 + i, LB, source=source, hook=hook)
            for i, (source, hook) in enumerate(ways)]
    return "".join({local: "o", cluster: "p"}[end] for end in ends)


@pytest.mark.parametrize("nets, expected", [
    ("both", "ppoo"),  # 14.4: the address decides, never the interface
    ("none", "popo"),  # 14.4: the way in decides
    ("other", "popo"),  # 1.5: each family by itself
])
def test_pods(nat, family, protocol, nets, expected):
    if nets != "both":
        nat.set_nets("pod", OTHER_FAMILY[family] if nets == "other" else [])
        nat.write_control()
    assert origins(nat, family, protocol) == expected


@pytest.mark.parametrize("hook, masquerade", (("pod_in", 0), ("uplink_in", 1)))
def test_who_is_masqueraded_where_no_pods_are_known(nat, family, protocol, hook, masquerade):
    nat.set_nets("pod", [])
    nat.write_control()
    nat.service(VIP[family], 80, [(REMOTE[family], 8080)], protocol=protocol)
    packet = frame(hook, POD1[family], 40000, VIP[family], 80, protocol)
    assert nat.ask(hook, packet).masquerade == masquerade


# Sets and banks.


def test_local_set_by_policy(nat, family, protocol):
    local, cluster = (POD1[family], 8081), (REMOTE[family], 8082)
    nat.service(
        LB[family], 80, [cluster], [local], protocol=protocol, kind=abi.LOAD_BALANCER,
        outcomes={abi.OUTSIDE: "forward local", abi.POD: "forward"},
    )
    assert chosen(nat, family, protocol, to=LB, source=CLIENT, hook="uplink_in") == local
    assert chosen(nat, family, protocol, to=LB, source=POD2) == cluster
    packet = first("outside", family, protocol, LB)[1]
    said = nat.ask("uplink_in", packet)
    assert (said.set, said.count) == (abi.LOCAL, 1)


def test_a_service_switches_as_a_whole(nat, family, protocol):
    """What is in the idle bank counts from the one word on."""
    service = nat.service(VIP[family], 80, many(2, family), protocol=protocol)
    word = nat.maps["services"][service.id].value
    service.update(cluster=[(POD1[family], 9000)] + many(2, family))
    after = nat.maps["services"][service.id].value
    packet = first("outside", family, protocol, VIP)[1]
    assert nat.ask("uplink_in", packet).count == 3
    nat.maps["services"][service.id] = word
    assert nat.ask("uplink_in", packet).count == 2
    nat.maps["services"][service.id] = after
    assert nat.ask("uplink_in", packet).count == 3


def test_two_services_of_one_address(nat, family):
    """One address and port for TCP and UDP; other ports of the same address are others'."""
    nat.service(LB[family], 80, many(1, family), kind=abi.EXTERNAL_IP)
    nat.service(LB[family], 80, many(1, family, 8100), protocol=abi.UDP, kind=abi.EXTERNAL_IP)
    empty = nat.service(
        LB[family], 81, kind=abi.EXTERNAL_IP, outcomes={abi.POD: "reject", abi.OUTSIDE: "reject"}
    )
    assert chosen(nat, family, abi.TCP, to=LB) == many(1, family)[0]
    assert chosen(nat, family, abi.UDP, to=LB) == many(1, family, 8100)[0]
    packet = frame("pod_in", POD1[family], 40000, LB[family], 81)
    nat.send("pod_in", packet)
    assert empty.counters()[3] == 1 and nat.refusals() == {"no-endpoints": 1}


# Source ranges.


RANGES = {4: ["198.51.100.0/24", "10.244.1.6/32"], 6: ["2001:db8:51::/48", "fd00:244:1::6/128"]}
STRANGER = {4: "198.51.101.7", 6: "2001:db8:52::7"}


def limited(nat, family, protocol, kind=abi.LOAD_BALANCER, address=None, **word):
    word.setdefault("ranges", RANGES[family])
    return nat.service(
        (address or LB)[family], 80, many(1, family), protocol=protocol, kind=kind, **word
    )


@pytest.mark.parametrize("source, admitted", ((CLIENT, True), (STRANGER, False)))
def test_source_ranges(nat, family, protocol, source, admitted):
    service = limited(nat, family, protocol)
    packet = frame("uplink_in", source[family], 40000, LB[family], 80, protocol)
    result = nat.send("uplink_in", packet)
    if admitted:
        assert result.verdict != SHOT and service.counters()[2] == 1
    else:
        assert_dropped(nat, result, packet, service, "source-range")


@pytest.mark.parametrize("source, admitted", ((POD1, False), (POD2, True)))
def test_source_ranges_hold_for_pods(nat, family, protocol, source, admitted):
    limited(nat, family, protocol)
    packet = frame("pod_in", source[family], 40000, LB[family], 80, protocol)
    assert (nat.send("pod_in", packet).verdict == SHOT) == (not admitted)


def test_source_ranges_come_before_all_else(nat, family, protocol):
    """Who is shut out isn't told that there are no endpoints."""
    service = limited(
        nat, family, protocol, outcomes={abi.OUTSIDE: "reject", abi.POD: "reject"}
    )
    packet = frame("uplink_in", STRANGER[family], 40000, LB[family], 80, protocol)
    assert_dropped(nat, nat.send("uplink_in", packet), packet, service, "source-range")
    packet = frame("uplink_in", CLIENT[family], 40000, LB[family], 80, protocol)
    nat.send("uplink_in", packet)
    assert nat.refusals() == {"source-range": 1, "no-endpoints": 1}


@pytest.mark.parametrize("kind, address", (
    (abi.CLUSTER_IP, VIP), (abi.EXTERNAL_IP, LB), (abi.NODE_PORT, NODE),
))
def test_source_ranges_are_for_load_balancers_only(nat, family, protocol, kind, address):
    service = limited(nat, family, protocol, kind, address)
    packet = frame("uplink_in", STRANGER[family], 40000, address[family], 80, protocol)
    assert nat.send("uplink_in", packet).verdict != SHOT and service.counters()[2] == 1


def test_source_ranges_of_the_other_family_only(nat, family, protocol):
    """A family without a range of its own is open."""
    service = limited(nat, family, protocol, ranges=[])
    service.word |= abi.SERVICE_RANGES[10 - family]
    service.update()
    packet = frame("uplink_in", STRANGER[family], 40000, LB[family], 80, protocol)
    assert nat.send("uplink_in", packet).verdict != SHOT


def test_source_that_is_the_address_itself(nat, family, protocol):
    """The node to an address that is its own: 14.3 is the planner's, by a range that admits it."""
    service = limited(nat, family, protocol)
    packet = frame("svc_out", LB[family], 40000, LB[family], 80, protocol)
    assert nat.send("svc_out", packet).verdict == SHOT
    service.update(ranges=[*RANGES[family], LB[family]])
    assert nat.send("svc_out", packet).verdict != SHOT


def test_ranges_of_another_service(nat, family, protocol):
    other = {4: "203.0.113.11", 6: "2001:db8:113::11"}
    limited(nat, family, protocol)
    limited(nat, family, protocol, address=other, ranges=[STRANGER[family]])
    for source, address, passes in (
        (CLIENT, LB, True), (CLIENT, other, False), (STRANGER, LB, False), (STRANGER, other, True)
    ):
        packet = frame("uplink_in", source[family], 40000, address[family], 80, protocol)
        assert (nat.send("uplink_in", packet).verdict != SHOT) == passes


def test_changed_ranges(nat, family, protocol):
    """They switch with the bank; entries of the old bank count no longer."""
    service = limited(nat, family, protocol)
    service.update(ranges=[STRANGER[family]])
    for source, passes in ((CLIENT, False), (STRANGER, True)):
        packet = frame("uplink_in", source[family], 40000, LB[family], 80, protocol)
        assert (nat.send("uplink_in", packet).verdict != SHOT) == passes


def test_not_translated_twice(nat, family, protocol):
    """A packet that came from the program isn't a new request at the exit."""
    nat.service(VIP[family], 80, many(1, family), protocol=protocol)
    packet = frame("pod_in", POD1[family], 40000, VIP[family], 80, protocol)
    result = nat.send("pod_in", packet)
    again = nat.send("pod_out", result.packet, device="pod2", ingress="pod1")
    assert (again.verdict, again.data) == (NEXT, result.data)
