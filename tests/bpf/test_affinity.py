# SPDX-License-Identifier: Apache-2.0
"""Which endpoint a client gets again: affinity, for how long, and what becomes of it when endpoints change."""

import mmap
import os
import time

import abi
import pytest
from cpus import TWO, beside, on_cpu
from maps import now_s
from packets import frame
from test_choice import chosen, many
from test_verdicts import LB, POD1, POD2, VIP, first


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
