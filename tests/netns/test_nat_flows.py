# SPDX-License-Identifier: Apache-2.0
"""The life of a flow: who may share its ports, where its client comes back to, what ends it and
what must not."""

import signal
import time

import pytest
import siege
from lab import wait
from lab.traffic import Connection, Datagrams, ask, outcome, parse
from served import (
    FAMILIES,
    PROTOCOLS,
    QUIET,
    TARGET,
    Service,
    address_of,
    pods,
    settle,
    start,
    steer,
)

pytestmark = pytest.mark.lab(nodes=1, nat=True)
BOTH = pytest.mark.parametrize("family", FAMILIES)
EACH = pytest.mark.parametrize("protocol", PROTOCOLS)


@pytest.fixture(name="world")
def world_fixture(lab):
    """Two endpoints and a guest on one node; web is served, and its agent is lab.agents[0]."""
    if hasattr(lab, "web"):  # shared
        return lab
    lab.pods = pods(lab, "one", "two")
    lab.guest = lab.pod(lab.nodes[0], "guest")
    lab.web = Service(lab)
    lab.web.write(*lab.pods.values())
    lab.agents = start(lab, lab.web)
    steer(lab, lab.nodes[0], *lab.web.of["clusterIP"], *lab.web.announced())
    return lab


def connect(client, address, port, protocol, **more):
    kind = Connection if protocol == "TCP" else Datagrams
    return kind(client, address, port, **more)


def clients(world):
    return [world.guest, world.nodes[0], world.client]


def serves(world, *hosts, **spec):
    world.web.write(*hosts, **spec)
    settle(world)


def pass_time(seconds):
    """What is waited for is the time itself: a limit of the contract in seconds."""
    end = time.monotonic() + seconds
    wait(lambda: time.monotonic() > end, f"{seconds} s", seconds + 10)


@pytest.mark.shared
@EACH
@BOTH
@pytest.mark.parametrize("first", ["service", "endpoint"])
def test_one_client_port_to_a_service_and_its_endpoint(world, family, protocol, first):
    """At once, whichever came first, from a pod, the node itself and from outside: both get their
    answers, each from whom it asked."""
    pod = world.pods["one1"]
    serves(world, pod)
    ways = [world.web.address("clusterIP", family), (address_of(pod, family), TARGET)]
    if first == "endpoint":
        ways.reverse()
    for number, client in enumerate(clients(world)):
        port = 41000 + number
        with connect(client, *ways[0], protocol, source_port=port) as one:
            assert one.who().name == pod.role
            with connect(client, *ways[1], protocol, source_port=port) as two:
                for _ in range(3):
                    assert one.who().name == two.who().name == pod.role, client
                # What the endpoint sees are two clients.
                assert one.who()[1:3] != two.who()[1:3], client
                assert one.socket.getpeername()[:2] == ways[0]
                assert two.socket.getpeername()[:2] == ways[1]


@pytest.mark.shared
@EACH
@BOTH
def test_one_client_port_to_two_services_of_one_endpoint(world, family, protocol):
    pod = world.pods["one1"]
    serves(world, pod)
    other = Service(world, "other", 11)
    other.write(pod)
    settle(world)
    for number, client in enumerate(clients(world)[:2]):
        port = 41000 + number
        with connect(client, *world.web.address("clusterIP", family), protocol, source_port=port) as a, \
                connect(client, *other.address("clusterIP", family), protocol, source_port=port) as b:
            for _ in range(3):
                assert a.who()[1:3] != b.who()[1:3]


@pytest.mark.shared
@EACH
@BOTH
def test_many_clients_behind_one_port_each(world, family, protocol):
    """All from the same port number, of the node, pods, and outside, to the same node port."""
    where = world.web.address("nodePort", family, world.nodes[0])
    open_ones = [connect(client, *where, protocol, source_port=41000) for client in clients(world)]
    for _ in range(3):
        for connection in open_ones:
            assert connection.who().name.startswith("pod-")
    for connection in open_ones:
        connection.close()


AFFINITY = 2  # seconds


def homes(client, where, protocol, times, pause=0):
    """The servers of a client that comes so often, and was never away for as long as its affinity
    lasts. It begins anew if it was, because nobody ran it."""
    found, before = [], time.monotonic()
    while len(found) < times:
        began = time.monotonic()
        name = ask(client, *where, protocol).name
        if time.monotonic() - before >= AFFINITY:
            found.clear()
        found.append(name)
        before = began
        if len(found) < times:
            pass_time(pause)
    return set(found)


@pytest.mark.shared
@EACH
@BOTH
def test_affinity(world, family, protocol):
    """A client comes back to where it was, each of its connections anew, until it stays away for
    longer than the timeout; or until that endpoint goes."""
    serves(world, *world.pods.values(), sessionAffinity="ClientIP",
           sessionAffinityConfig={"clientIP": {"timeoutSeconds": AFFINITY}})
    for kind in ("clusterIP", "nodePort", "loadBalancer"):
        where = world.web.address(kind, family, world.nodes[0])
        for client in clients(world):
            assert len(homes(client, where, protocol, 20)) == 1, (client, kind)
    where = world.web.address("clusterIP", family)
    [home] = homes(world.guest, where, protocol, 5, pause=1)  # in all for longer than that
    others = 0
    for _ in range(12):
        pass_time(AFFINITY + 1.1)  # whole seconds are counted: up to one more
        now = ask(world.guest, *where, protocol).name
        others, home = others + (now != home), now
        if others:
            break
    assert others, "it came back to the same one every time"
    [left] = [pod for pod in world.pods.values() if pod.role != home]
    serves(world, left)
    assert {ask(world.guest, *where, protocol).name for _ in range(8)} == {left.role}


@BOTH
def test_affinity_spreads_clients(world, family):
    """By client, not for all of them; and it holds after the agent was killed."""
    serves(world, *world.pods.values(), sessionAffinity="ClientIP")
    guests = [world.pod(world.nodes[0], f"g{number}") for number in range(10)]
    where = world.web.address("clusterIP", family)
    for guest in guests:
        wait(lambda: ask(guest, *where, timeout=1), f"{guest} to be served")
    homes = {guest: ask(guest, *where).name for guest in guests}
    assert len(set(homes.values())) == 2, "one in 512 that all ten like the same one"
    world.agents[0].kill()
    assert {guest: ask(guest, *where).name for guest in guests} == homes
    world.agents[0].start()
    settle(world)
    assert {guest: ask(guest, *where).name for guest in guests} == homes


@BOTH
def test_udp_leaves_an_endpoint_that_no_longer_serves(world, family):
    """At once, though the pod would still answer; and not one that only is not ready, or on its way
    out."""
    one, two = world.pods.values()
    for kind in ("clusterIP", "nodePort"):
        for client in clients(world):
            serves(world, one)
            with Datagrams(client, *world.web.address(kind, family, world.nodes[0])) as flow:
                assert flow.who().name == one.role
                for away in ({"ready": False, "serving": True},
                             {"ready": False, "serving": True, "terminating": True}):
                    serves(world, (one, away), two)
                    assert [flow.who().name for _ in range(5)] == [one.role] * 5, (client, away)
                serves(world, (one, {"ready": False, "serving": False}), two)
                assert [flow.who().name for _ in range(5)] == [two.role] * 5, client
                serves(world, one)
                assert [flow.who().name for _ in range(5)] == [one.role] * 5, client


@BOTH
def test_udp_of_a_service_that_is_gone(world, family):
    where = world.web.address("clusterIP", family)
    place = f"[{where[0]}]:{where[1]}" if family == 6 else f"{where[0]}:{where[1]}"
    trace = ("trace", address_of(world.guest, family), f"{place}/UDP")
    with Datagrams(world.guest, *where) as flow:
        assert flow.who().name.startswith("pod-")
        world.web.delete()
        settle(world)
        wait(lambda: world.agents[0].json(*trace)["verdict"] == "drop", "the Service to go")
        flow.socket.settimeout(QUIET)
        with pytest.raises(TimeoutError):
            flow.who()
        flow.socket.settimeout(5)
        world.web.write(*world.pods.values())
        settle(world)
        assert flow.who().name.startswith("pod-")


def test_who_was_asked_may_answer_when_it_serves_no_longer(world):
    """A sweep over the flows comes between the end of the endpoint and its answers."""
    agent, (one, two) = world.agents[0], world.pods.values()
    serves(world, one)
    [server] = one.processes
    asked = [Datagrams(client, *world.web.address("clusterIP", family))
             for client in clients(world) for family in FAMILIES]
    server.send_signal(signal.SIGSTOP)
    for flow in asked:
        flow.socket.send(b"who")
    serves(world, two)
    with Connection(world.guest, *world.web.address("clusterIP", 4)) as later:
        assert later.who().name == two.role
        wait(lambda: siege.flows(agent).get("established"), "a sweep", 60)
        server.send_signal(signal.SIGCONT)
        assert [parse(flow.socket.recv(100).decode()).name for flow in asked] == [one.role] * len(asked)
        # Who asks again asks another.
        assert [flow.who().name for flow in asked] == [two.role] * len(asked)
    for flow in asked:
        flow.close()


@BOTH
def test_a_new_pod_does_not_inherit_from_the_old_one(world, family):
    """The endpoint's address goes and comes back as another pod's: a flow may choose anew."""
    one, two = world.pods.values()
    serves(world, one)
    flows = [Datagrams(world.guest, *world.web.address("clusterIP", family)) for _ in range(20)]
    for flow in flows:
        flow.who()
    serves(world, two)
    serves(world, one, two)
    names = {flow.who().name for flow in flows}
    assert names == {one.role, two.role}
    for flow in flows:
        flow.close()


@BOTH
@pytest.mark.parametrize("kind", ["clusterIP", "loadBalancer", "nodePort"])
def test_tcp_outlives_its_endpoint_and_its_service(world, family, kind):
    """New connections follow the objects; those that are there go on to their end."""
    one, two = world.pods.values()
    serves(world, one)
    where = world.web.address(kind, family, world.nodes[0])
    flows = [Connection(client, *where) for client in clients(world)]

    def go_on():
        assert {flow.who().name for flow in flows} == {one.role}
        assert all(flow.put(b"x" * 5000) for flow in flows)

    go_on()
    for conditions in ({"ready": False, "serving": True, "terminating": True},
                       {"ready": False, "serving": False, "terminating": True}):
        serves(world, (one, conditions), two)
        go_on()
        assert {ask(client, *where).name for client in clients(world)} == {two.role}
    serves(world, two)
    go_on()
    serves(world, externalTrafficPolicy="Local")
    go_on()
    assert outcome(world.guest, *where) == "reject"
    # With the Service goes the node's own route to svc0, unless its network is led there: what the
    # node itself had to an address outside serviceCIDRs ends. Known, and in docs/services.md.
    if kind != "clusterIP":
        flows.pop(1).close()
    world.web.delete()
    settle(world)
    go_on()
    world.agents[0].kill()
    go_on()
    world.agents[0].start()
    settle(world)
    go_on()
    for flow in flows:
        flow.close()


@BOTH
@pytest.mark.parametrize("end", [Connection.close, Connection.reset])
def test_a_port_can_be_used_again_at_once(world, family, end):
    for client in clients(world):
        for kind in ("clusterIP", "nodePort"):
            where = world.web.address(kind, family, world.nodes[0])
            for _ in range(20):
                connection = Connection(client, *where, source_port=41100)
                assert connection.who().name.startswith("pod-")
                # The other side closes first, so that this one keeps no port waiting.
                if end is Connection.close:
                    connection.line("bye")
                    assert connection.file.read() == b""
                end(connection)


@BOTH
def test_flows_are_shown(world, family):
    where = world.web.address("clusterIP", family)
    with Connection(world.guest, *where, source_port=41200) as connection:
        connection.who()
        said = world.agents[0].ctl("flows")
        assert said.code == 0
        lines = [line for line in said.out.splitlines() if "41200" in line]
        assert len(lines) == 1 and where[0] in lines[0], said.out
