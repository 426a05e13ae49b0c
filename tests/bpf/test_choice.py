# SPDX-License-Identifier: Apache-2.0
"""Which endpoint a new flow gets: ranges, sets, chance, affinity, and Services that change; long,
since it is all of that."""

import mmap
import os
import time
from collections import Counter

import abi
import pytest
from bpf import NEXT, SHOT
from cpus import TWO, beside, on_cpu
from maps import now_s
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


# Affinity.


def sticky(nat, family, protocol, seconds=10800, count=20):
    return nat.service(
        VIP[family], 80, many(count, family), protocol=protocol, affinity=seconds
    )


def test_affinity(nat, family, protocol):
    sticky(nat, family, protocol)
    assert len({chosen(nat, family, protocol, 20000 + i) for i in range(20)}) == 1


def test_without_affinity(nat, family, protocol):
    nat.service(VIP[family], 80, many(20, family), protocol=protocol)
    assert len({chosen(nat, family, protocol, 20000 + i) for i in range(20)}) > 3
    assert len(nat.maps["affinity"]) == 0


def test_affinity_is_of_one_client(nat, family, protocol):
    sticky(nat, family, protocol)
    clients = [{4: f"10.244.7.{i}", 6: f"fd00:244:7::{i:x}"} for i in range(1, 21)]
    first_round = [chosen(nat, family, protocol, 20000, source=client) for client in clients]
    second_round = [chosen(nat, family, protocol, 20001, source=client) for client in clients]
    assert first_round == second_round and len(set(first_round)) > 3


def test_affinity_is_of_one_port(nat, family):
    services = [sticky(nat, family, abi.TCP), sticky(nat, family, abi.UDP)]
    for protocol in (abi.TCP, abi.UDP):
        chosen(nat, family, protocol)
    keys = {key.port for key in nat.maps["affinity"].keys()}
    assert keys == {service.port for service in services}


def entry(nat, family, service, source=POD1):
    key = abi.AffinityKey(service.port, 0, abi.Address.of(source[family]))
    return key, nat.maps["affinity"].get(key)


def make_older(nat, family, service, seconds):
    key, value = entry(nat, family, service)
    value.seen_s -= seconds
    nat.maps["affinity"][key] = value


def test_affinity_ends(nat, family, protocol):
    service = sticky(nat, family, protocol, 100)
    before = chosen(nat, family, protocol, 20000)
    make_older(nat, family, service, 95)
    assert chosen(nat, family, protocol, 20001) == before
    seen = set()
    for i in range(20):
        make_older(nat, family, service, 101)
        seen.add(chosen(nat, family, protocol, 20002 + i))
    assert len(seen) > 3


def test_affinity_holds_to_its_last_second(nat, family, protocol):
    """An entry of exactly the Service's time is not over; only a packet of that second counts."""
    service = sticky(nat, family, protocol, 100)
    before = chosen(nat, family, protocol, 20000)
    key, value = entry(nat, family, service)
    for i in range(20):
        second, went = 0, None
        while now_s() != second:
            second = now_s()
            value.seen_s = second - 100
            nat.maps["affinity"][key] = value
            went = chosen(nat, family, protocol, 20001 + i)
            nat.maps["flows"].clear()
        assert went == before


def test_affinity_begins_anew_with_each_flow(nat, family, protocol):
    service = sticky(nat, family, protocol, 100)
    before = chosen(nat, family, protocol, 20000)
    for i in range(5):
        make_older(nat, family, service, 95)
        assert chosen(nat, family, protocol, 20001 + i) == before


ROUNDS = 3000
GAP_NS = 100_000


def first_packets(nat, family, sport):
    """Runs of one packet each from many clients; what differs is in the address's last bytes."""
    model = bytes(frame("pod_in", POD1[family], sport, VIP[family], 80, abi.UDP))
    end = {4: 30, 6: 38}[family]
    for i in range(ROUNDS):
        packet = model[: end - 2] + (i + 0x1000).to_bytes(2, "big") + model[end:]
        yield nat.live["pod_in"].prepare(packet, nat.world.index["pod1"])


def send_at(runs, start_ns, ports):
    """Each at its own time; the endpoint's port that it went to stands in `ports`."""
    for i, run in enumerate(runs):
        while time.monotonic_ns() < start_ns + i * GAP_NS:
            pass
        ports[i] = int.from_bytes(run().packet[-6:-4], "big")


def race(nat, family):
    """The ports that two packets of each client went to, sent on two CPUs at once."""
    runs = [list(first_packets(nat, family, sport)) for sport in (20000, 20001)]
    shared = memoryview(mmap.mmap(-1, 4 * ROUNDS)).cast("H")
    start_ns = time.monotonic_ns() + 20_000_000
    cpus = sorted(os.sched_getaffinity(0))
    with beside(cpus[1], send_at, runs[1], start_ns, shared[ROUNDS:]), on_cpu(cpus[0]):
        send_at(runs[0], start_ns, shared[:ROUNDS])
    return list(zip(shared[:ROUNDS], shared[ROUNDS:]))


@TWO
@pytest.mark.parametrize("count", (20, 2))
@pytest.mark.parametrize("before", ("nothing", "old"))
def test_two_first_packets_at_once(nat, family, before, count):
    """The affinity that one has made binds the other, in place of one that is over, too. Of two
    endpoints both often choose the same one, or the one that was there."""
    sticky(nat, family, abi.UDP, 100, count)
    if before == "old":
        for run in first_packets(nat, family, 30000):
            run()
        for key, value in nat.maps["affinity"].items():
            value.seen_s -= 101
            nat.maps["affinity"][key] = value
    went = race(nat, family)
    assert [pair for pair in went if pair[0] != pair[1]] == []
    assert len(set(went)) > 1


def test_affinity_chosen_and_not_aged_yet(nat, family, protocol):
    """Another CPU was stopped between the two: everybody goes where it went, at once and later."""
    service = sticky(nat, family, protocol, 100, 2)
    for i in range(300):  # more than there are rounds
        before = chosen(nat, family, protocol, 20000 + 2 * i)
        key, value = entry(nat, family, service)
        assert value.rounds[0] == value.rounds[1]
        other, = set(service.endpoints) - {before}
        number, generation = service.endpoint(other)
        value.choice = (value.rounds[0] + 1) % 256 << 56 | number << 32 | generation
        value.seen_s -= 101
        nat.maps["affinity"][key] = value
        assert chosen(nat, family, protocol, 20001 + 2 * i) == other
        value = entry(nat, family, service)[1]
        assert value.rounds[0] == value.rounds[1] and now_s() - value.seen_s < 5


@pytest.mark.parametrize("rounds", (1, 2, 77, 255))
def test_affinity_of_words_that_do_not_belong_together(nat, family, protocol, rounds):
    """Whatever the rounds are: the client stays where it is sent next."""
    service = sticky(nat, family, protocol, 100)
    chosen(nat, family, protocol, 20000)
    key, value = entry(nat, family, service)
    value.age = value.age + (rounds << 56) & (1 << 64) - 1
    nat.maps["affinity"][key] = value
    assert len({chosen(nat, family, protocol, 20001 + i) for i in range(20)}) == 1


def test_affinity_of_an_endpoint_that_left(nat, family, protocol):
    service = sticky(nat, family, protocol, count=2)
    gone = chosen(nat, family, protocol, 20000)
    service.update(cluster=[key for key in many(2, family) if key != gone])
    assert chosen(nat, family, protocol, 20001) != gone
    assert chosen(nat, family, protocol, 20002) != gone


def test_affinity_of_an_endpoint_outside_of_the_set(nat, family, protocol):
    """It serves still, but by policy no longer here: 3.13."""
    service = sticky(nat, family, protocol, count=2)
    gone = chosen(nat, family, protocol, 20000)
    left = [key for key in many(2, family) if key != gone]
    service.update(cluster=left, local=many(2, family))
    assert chosen(nat, family, protocol, 20001) == left[0]


def test_affinity_of_endpoints_that_two_ports_have(nat, family, protocol):
    """Each port keeps to what it has chosen, as long as it is in its own set."""
    everywhere = many(20, family)
    service = sticky(nat, family, protocol)
    other = nat.service(LB[family], 81, protocol=protocol, affinity=10800)
    other.endpoints = service.endpoints
    other.update(cluster=everywhere)
    ours, others = (
        {chosen(nat, family, protocol, 20000 + i, to, port=port) for i in range(20)}
        for to, port in ((VIP, 80), (LB, 81))
    )
    assert len(ours) == len(others) == 1
    left = [key for key in everywhere if key not in others]
    other.update(cluster=left, local=everywhere)
    assert chosen(nat, family, protocol, 21000, LB, port=81) in left
    assert {chosen(nat, family, protocol, 21000 + i) for i in range(20)} == ours


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 100])
def test_affinity_of_each_endpoint(nat, count):
    """Wherever in its set an endpoint is, it is found there again."""
    service = sticky(nat, 4, abi.UDP, count=count)
    for key in many(count, 4):
        chosen(nat, 4, abi.UDP, 20000)
        at, value = entry(nat, 4, service)
        number, generation = service.endpoint(key)
        value.choice = value.rounds[0] << 56 | number << 32 | generation
        nat.maps["affinity"][at] = value
        nat.maps["flows"].clear()
        assert chosen(nat, 4, abi.UDP, 20001) == key


def test_affinity_of_two_addresses_by_two_sets(nat, family, protocol):
    """Who asks both in turn stays where each has sent him: 3.13."""
    local = (POD1[family], 8081)
    service = nat.service(VIP[family], 80, many(20, family), [local], protocol=protocol,
                          outcomes={abi.POD: "forward local"}, affinity=100)
    service.frontend(LB[family], 80, abi.LOAD_BALANCER, {abi.POD: "forward"})
    seen = set()
    for sport in range(20000, 20020, 2):
        seen.add(chosen(nat, family, protocol, sport, LB))
        assert chosen(nat, family, protocol, sport + 1) == local
    assert len(seen) == 1


def test_affinity_of_an_endpoint_of_two_sets(nat, family, protocol):
    """Where the one address has sent a client, the other sends it, too, if it can."""
    everywhere = many(20, family)
    service = nat.service(VIP[family], 80, everywhere, everywhere, protocol=protocol,
                          outcomes={abi.POD: "forward local"}, affinity=100)
    service.frontend(LB[family], 80, abi.LOAD_BALANCER, {abi.POD: "forward"})
    for source in (POD1, POD2):
        first = chosen(nat, family, protocol, 20000, source=source)
        assert chosen(nat, family, protocol, 20001, LB, source=source) == first


def test_affinity_and_a_reused_address(nat, family, protocol):
    """A new life of the same address inherits nothing: 6.5."""
    service = sticky(nat, family, protocol, count=8)
    before = chosen(nat, family, protocol, 20000)
    seen = set()
    for i in range(40):
        _, value = entry(nat, family, service)
        number = value.endpoint
        state = nat.maps["endpoints"][number]
        nat.generation += 1
        state.state = state.state & ~0xFFFFFFFF | nat.generation
        nat.maps["endpoints"][number] = state
        service.update(cluster=many(8, family))
        seen.add(chosen(nat, family, protocol, 20001 + i))
    assert len(seen) > 1 and before


def test_changed_timeout_counts_at_once(nat, family, protocol):
    service = sticky(nat, family, protocol, 10000)
    before = chosen(nat, family, protocol, 20000)
    make_older(nat, family, service, 500)
    service.update(affinity=600)
    assert chosen(nat, family, protocol, 20001) == before
    service.update(affinity=100)
    seen = set()
    for i in range(20):
        make_older(nat, family, service, 101)
        seen.add(chosen(nat, family, protocol, 20002 + i))
    assert len(seen) > 3


def test_affinity_after_an_update(nat, family, protocol):
    """Other endpoints coming and going, in either bank, don't move a client: 3.14."""
    service = sticky(nat, family, protocol, count=10)
    before = chosen(nat, family, protocol, 20000)
    for i in range(6):
        service.update(cluster=many(10 + i, family))
        assert chosen(nat, family, protocol, 20001 + i) == before


def test_affinity_is_not_refreshed_by_packets_of_a_flow(nat, family, protocol):
    service = sticky(nat, family, protocol, 100)
    chosen(nat, family, protocol, 20000)
    make_older(nat, family, service, 50)
    seen = entry(nat, family, service)[1].seen_s
    chosen(nat, family, protocol, 20000)
    assert entry(nat, family, service)[1].seen_s == seen


def test_a_refused_packet_leaves_no_affinity(nat, family):
    sticky(nat, family, abi.TCP)
    packet = frame("pod_in", POD1[family], 40000, VIP[family], 80, flags="R")
    nat.send("pod_in", packet)
    assert len(nat.maps["affinity"]) == 0


def test_not_translated_twice(nat, family, protocol):
    """A packet that came from the program isn't a new request at the exit."""
    nat.service(VIP[family], 80, many(1, family), protocol=protocol)
    packet = frame("pod_in", POD1[family], 40000, VIP[family], 80, protocol)
    result = nat.send("pod_in", packet)
    again = nat.send("pod_out", result.packet, device="pod2", ingress="pod1")
    assert (again.verdict, again.data) == (NEXT, result.data)
