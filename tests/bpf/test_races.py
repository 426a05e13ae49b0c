# SPDX-License-Identifier: Apache-2.0
"""Two CPUs at once: what one is about to do, the other does not undo. Where the moment is only
nanoseconds long, a timer interrupts both all the time, so that one stops in it while the other goes
on. A thousand rounds take a second where both CPUs are free; where others want them too, each
round waits until both are had at once, and a test makes do with those that come in SECONDS."""

import ctypes
import mmap
import os
import struct
import time
from contextlib import contextmanager
from itertools import islice

import abi
from abi import Tuple
from bpf import REDIRECT, SHOT
from cases import draws
from cpus import TWO, beside, on_cpu
from maps import now_s, tuple_of
from packets import frame, from_others
from test_flows import begin, reply_to, web
from test_verdicts import POD1, POD2, VIP, ends, first

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
INTERRUPT_NS = 30_000  # at 10,000 some machines do nothing else
ROUNDS, AT_A_TIME = 1000, 100
SECONDS = draws(12)
libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def interrupts():
    """This process is interrupted all the time: a software event, cpu-clock. Where the kernel has
    no such events, moments are met by luck only."""
    attributes = struct.pack("IIQQ", 1, 64, 0, INTERRUPT_NS).ljust(64, b"\0")
    event = libc.syscall(PERF_EVENT_OPEN, attributes, 0, -1, -1, 0)
    try:
        yield
    finally:
        if event >= 0:
            os.close(event)


def ports(packet):
    return struct.unpack(">HH", packet[34:38])


def at_once(*runs):
    """Carries out two lists of runs, the n-th ones at the same time on two CPUs. Returns for each
    the (source, destination) ports of the packets."""
    count = len(runs[0])
    shared = memoryview(mmap.mmap(-1, 8 * count + 8)).cast("I")
    cpus = sorted(os.sched_getaffinity(0))

    def carry_out(which):
        try:
            with interrupts():
                for number, run in enumerate(runs[which]):
                    shared[which] = number + 1
                    while shared[1 - which] <= number:
                        pass
                    source, destination = ports(run().packet)
                    shared[2 + 2 * number + which] = source << 16 | destination
        finally:
            shared[which] = count  # nobody waits for it any more

    with beside(cpus[1], carry_out, 1), on_cpu(cpus[0]):
        carry_out(0)
    return [[(word >> 16, word & 0xFFFF) for word in shared[2 + which :: 2]] for which in range(2)]


def clients():
    """Addresses of pods and ports, none of them used before."""
    for number in range(ROUNDS):
        yield f"10.244.7.{number % 250 + 1}", 20000 + number // 250


def by_turns(found):
    """What was found, some of it at a time, as long as there is time."""
    end, rest = time.monotonic() + SECONDS, iter(found)
    while time.monotonic() < end and (some := list(islice(rest, AT_A_TIME))):
        yield some


def half_open(nat):
    """(first datagram, answer to it, port of the endpoint) of many flows that no one has answered."""
    nat.service(VIP[4], 80, [(POD2[4], 8000 + number) for number in range(50)], protocol=abi.UDP)
    nat.control.timeouts_s[:] = [3600] * len(abi.STATES)  # however slow the machine is
    nat.write_control()
    for source, sport in clients():
        packet = frame("pod_in", source, sport, VIP[4], 80, abi.UDP)
        went = nat.send("pod_in", packet).packet
        yield bytes(packet), bytes(reply_to("pod_out", went, abi.UDP)), ends(went)[3]


@TWO
def test_a_datagram_meets_the_first_answer(nat):
    """While the flow is being moved to the living it is found, and the datagram goes where the
    first one went."""
    pod = nat.world.index["pod1"]
    for flows in by_turns(half_open(nat)):
        answers = [nat.live["pod_out"].prepare(answer, pod) for _, answer, _ in flows]
        again = [nat.live["pod_in"].prepare(packet, pod) for packet, _, _ in flows]
        answered, went = at_once(answers, again)
        assert {source for source, _ in answered} == {80}
        assert [pair for flow, pair in zip(flows, went) if pair[1] != flow[2]] == []


@TWO
def test_two_answers_at_once(nat):
    """Both get the service's address."""
    pod = nat.world.index["pod1"]
    for flows in by_turns(half_open(nat)):
        runs = [[nat.live["pod_out"].prepare(answer, pod) for _, answer, _ in flows]
                for _ in range(2)]
        assert [pair for pairs in at_once(*runs) for pair in pairs if pair[0] != 80] == []


@TWO
def test_two_datagrams_to_an_endpoint_that_left(nat):
    """Both make the flow anew, and neither takes the other's for the old one: both are answered."""
    service = nat.service(VIP[4], 80, [(POD2[4], 7000)], protocol=abi.UDP)
    one = frame("pod_in", "10.244.7.1", 20000, VIP[4], 80, abi.UDP)
    packets = list(zip(clients(), from_others(one, clients())))
    for _, packet in packets:
        nat.live["pod_in"].run(packet, nat.world.index["pod1"])
    service.update(cluster=[(POD2[4], 8000 + number) for number in range(50)])
    for some in by_turns(packets):
        runs = [[nat.live["pod_in"].prepare(packet, nat.world.index["pod1"]) for _, packet in some]
                for _ in range(2)]
        for went in at_once(*runs):
            for ((client, port), _), (source, destination) in zip(some, went):
                answer = Tuple.of(POD2[4], destination, client, source, abi.UDP)
                asked = Tuple.of(client, port, VIP[4], 80, abi.UDP)
                assert destination >= 8000 and nat.flow(answer).to == asked.reversed()


def test_an_answer_while_another_moves_the_flow(nat, family):
    """The forward half is among the living already, and its client has closed."""
    web(nat, family, abi.TCP, POD1)
    sent, result = begin(nat, "outside", family, abi.TCP)
    half = nat.flow(tuple_of(sent))
    half.flags |= abi.FLOW_FIN | abi.FLOW_ANSWERED
    nat.maps["flows"][tuple_of(sent)] = half
    answer = nat.send("pod_in", reply_to("pod_in", result.packet, abi.TCP))
    assert ends(answer.packet)[:2] == (VIP[family], 80)
    assert nat.maps["flows"][tuple_of(sent)].flags & abi.FLOW_FIN


def test_a_claim_under_next_hop_is_not_taken(nat, family):
    """Another CPU has just claimed the only tuple, and not yet made the other half."""
    nat.control.snat_count = 1
    nat.write_control()
    web(nat, family, abi.TCP, POD1)
    sent, result = begin(nat, "outside", family, abi.TCP)
    del nat.maps["flows"][tuple_of(sent)]
    source = {4: "198.51.100.1", 6: "2001:db8:51::1"}[family]
    other = frame("uplink_in", source, 40000, VIP[family], 80)
    nat.control.snat_first = 40000  # the port that both clients have
    nat.write_control()
    nat.change_flow(tuple_of(result.packet).reversed(), seen_s=now_s() + 60)
    assert nat.send("uplink_in", other).verdict == SHOT
    nat.change_flow(tuple_of(result.packet).reversed(), seen_s=now_s() - 4)
    assert nat.send("uplink_in", other).verdict == REDIRECT


RUNS = 60_000
SWITCH_NS = 500_000
PLACES = 64  # of endpoints and slots: each rests while the others have their turn


def switch(nat, service, until):
    """A Service's only endpoint is replaced all the time, as the agent does it: the idle bank, the
    word, then the end of the old one."""
    memory = {name: memoryview(mmap.mmap(nat.maps[name].fd, size)).cast("Q") for name, size in (
        ("services", 8 * (service.id + 1)), ("ports", 64 * (service.port + 1)),
        ("slots", 8 * PLACES), ("endpoints", 32 * (PLACES + 1)))}
    services, ports, slots, endpoints = memory.values()
    word, place, generation, parent = services[service.id], 0, 1000, os.getppid()
    while until[0] == 0 and os.getppid() == parent:
        before, place, generation = place, (place + 1) % PLACES, generation + 1
        endpoints[4 * (place + 1)] = generation
        slots[place] = (place + 1) << 32 | generation
        word ^= abi.SERVICE_BANK
        ports[4 * (service.port * 2 + (word & 1)) + 1] = place << 32 | 1
        services[service.id] = word
        endpoints[4 * (before + 1)] = 0
        last = time.monotonic_ns()
        while time.monotonic_ns() < last + SWITCH_NS:
            pass


@TWO
def test_a_service_that_switches_meanwhile(nat):
    """Who has just read the old word, and finds all its endpoints gone, reads again."""
    service = nat.service(VIP[4], 80, [(POD2[4], 8000 + number) for number in range(PLACES)])
    service.update()
    cpus = sorted(os.sched_getaffinity(0))
    ended = memoryview(mmap.mmap(-1, 4)).cast("I")
    packet = bytes(frame("pod_in", POD1[4], 40000, VIP[4], 80))
    run = nat.live["pod_in"].prepare(packet, nat.world.index["pod1"])
    refused, end = 0, time.monotonic() + SECONDS
    with beside(cpus[1], switch, nat, service, ended), on_cpu(cpus[0]), interrupts():
        for number in range(RUNS):
            refused += run().verdict == REDIRECT
            if number % AT_A_TIME == 0 and time.monotonic() > end:
                break
        ended[0] = 1
    assert refused == 0, nat.refusals()
