# SPDX-License-Identifier: Apache-2.0
"""Masqueraded packets in the stack: NetworkPolicies in netfilter and policies of XFRM see the client
and the endpoint, on every way to a Service, and decide."""

import json
import subprocess
import threading
from contextlib import contextmanager

import pytest
from lab import wait, wait_equal
from lab.traffic import Connection
from moments import Moment, log_size
from policies import POLICY, allow, answered, path
from served import (
    FAMILIES,
    KINDS,
    PROTOCOLS,
    Expected,
    Plan,
    Service,
    address_of,
    check,
    node_of,
    pods,
    settle,
    start,
    steer,
)

pytestmark = pytest.mark.lab(nodes=2, nat=True)


@pytest.fixture(name="world")
def world_fixture(lab):
    """A Service with an endpoint on either node, all of whose packets come to the first."""
    lab.ones = pods(lab, "one")
    lab.near, lab.far = (Service(lab, name, number) for name, number in (("near", 10), ("far", 11)))
    lab.near.write(lab.ones["one1"])
    lab.far.write(lab.ones["one2"])
    return lab


def begin(world, **services):
    agent = start(world, services=services)[0]
    for service in (world.near, world.far):
        steer(world, world.nodes[0], *service.announced(), *service.of["clusterIP"])
    return agent


def test_policies_hold_on_every_way(world):
    """A policy that comes later is found, obeyed, and forgotten once it is gone."""
    node, client = world.nodes[0], world.client
    agent = begin(world)
    assert path(agent) == {"inForce": "direct", "listener": None}
    assert answered(world, client, (world.near, world.far)) == (32, 0)

    node.run("nft", "-f", "-", text=POLICY)
    wait_equal(lambda: path(agent), {"inForce": "stack",
               "listener": "nftables chain inet guard forward"}, "the path", 30)
    assert answered(world, client, (world.near, world.far)) == (0, 32)
    allow(node, client, world.ones["one2"])
    assert answered(world, client, (world.near, world.far)) == (16, 16)
    allow(node, client, world.ones["one1"])
    assert answered(world, client, (world.near, world.far)) == (32, 0)
    # A pod of the node is another client, and nobody has allowed it anything.
    assert answered(world, world.ones["one1"], (world.far,)) == (0, 16)

    node.run("nft", "delete", "table", "inet", "guard")
    wait_equal(lambda: path(agent)["inForce"], "direct", "the path", 30)
    assert answered(world, client, (world.near, world.far)) == (32, 0)


INGRESS = """
table netdev wall {
    chain in { type filter hook ingress device eth0 priority 0; ip daddr 10.224.0.0/16 drop; }
}
"""


@contextmanager
def changes(node):
    """Somebody changes rules of his own a hundred times a second."""
    node.run("nft", "add table inet churn; add chain inet churn seen")
    with node.entered():
        nft = subprocess.Popen(["nft", "-i"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    done = threading.Event()

    def change():
        while not done.wait(0.01):
            nft.stdin.write("add rule inet churn seen counter; flush chain inet churn seen\n")
            nft.stdin.flush()

    thread = threading.Thread(target=change)
    thread.start()
    yield
    done.set()
    thread.join()
    nft.communicate(timeout=30)
    node.run("nft", "delete table inet churn")


def told_after(world, agent, cause):
    """Seconds from a chain at ingress that drops what is forwarded to the fault, by the agent's log."""
    begin = log_size(agent)
    put_in = Moment(agent, begin)
    world.nodes[0].run("nft", "-f", "-", text=INGRESS)
    fault = wait(lambda: [each for each in agent.json("faults")["items"] if cause in each["message"]], cause)[0]
    assert "accept in nftables chain netdev wall in what is for pods" in fault["remedy"], fault
    seconds = put_in.until_told((cause,))
    world.nodes[0].run("nft", "delete", "table", "netdev", "wall")
    wait_equal(lambda: [each for each in agent.json("faults")["items"] if cause in each["message"]], [], "no fault")
    return seconds


def test_a_chain_that_drops_is_told_within_a_second(world):
    """The kernel tells of its rules, also where other rules change all the time; that costs next to nothing."""
    agent, node = begin(world), world.nodes[0]
    cause = "netfilter on this node drops what Services forward"
    assert told_after(world, agent, cause) <= 1.0
    with changes(node):
        assert told_after(world, agent, cause) <= 1.0


def test_a_pod_that_is_set_to_anothers_address_is_told(world):
    """The kernel believes what is set for good. One that is set rightly is nothing."""
    agent, node, pod = begin(world), world.nodes[0], world.ones["one1"]
    real = json.loads(pod.run("ip", "-j", "link", "show", "eth0").stdout)[0]["address"]

    def set_to(address):
        node.ip("neigh", "replace", pod.address4, "lladdr", address, "dev", pod.host_end, "nud", "permanent")

    assert agent.ctl("status").code == 0
    set_to("02:00:00:00:00:99")
    wait_equal(lambda: [(fault["place"], fault["remedy"]) for fault in agent.faults()],
               [(f"endpoint {pod.address4}", f"ip neigh del {pod.address4} dev {pod.host_end}; and see who sets it")],
               "the entry to be told", 30)
    assert f"{real} answers for it" in agent.faults()[0]["message"]
    set_to(real)
    wait_equal(agent.faults, [], "the fault to go", 30)


EGRESS = """
table netdev guard {
    chain leaving {
        type filter hook egress device eth0 priority 0
        ip daddr 10.224.0.0/16 counter drop
        ip6 daddr fd00:224::/64 counter drop
    }
}
"""


def test_a_chain_at_a_devices_egress_holds(world):
    """The kernel leads redirected packets past that hook, so that they have to go through the stack."""
    node, client = world.nodes[0], world.client
    agent = begin(world)
    assert answered(world, client, (world.far,)) == (16, 0)
    node.run("nft", "-f", "-", text=EGRESS)
    wait_equal(lambda: path(agent), {"inForce": "stack",
               "listener": "nftables chain netdev guard leaving"}, "the path", 30)
    assert answered(world, client, (world.far,)) == (0, 16)
    node.run("nft", "delete", "table", "netdev", "guard")
    wait_equal(lambda: path(agent)["inForce"], "direct", "the path", 30)
    assert answered(world, client, (world.far,)) == (16, 0)


def test_all_is_served_by_the_stack(world):
    """Who reaches what as whom is as past the stack, under strict reverse path filters."""
    guests = [world.pod(node, f"guest-{node.role[-1]}") for node in world.nodes]
    agent = begin(world, path="stack")
    assert path(agent) == {"inForce": "stack", "listener": None}
    settle(world)
    plans = {node.role: Plan(node.agents[0]) for node in world.nodes}
    clients = [world.client, *world.nodes, *world.ones.values(), *guests]
    cells = [Expected(plans, client, service, kind, family, protocol, world.nodes[0])
             for service in (world.near, world.far) for kind in KINDS for client in clients
             for family in FAMILIES for protocol in PROTOCOLS]
    check([cell for cell in cells if cell.comes_back() and cell.verdict == "forward"])
    where = world.far.address("loadBalancer", 4, world.nodes[0])
    with Connection(world.client, *where, source_port=45678):
        flows = [flow for flow in agent.json("flows", "--limit", "100000")["items"]
                 if flow["client"].endswith(":45678")]
        assert [flow["source"].rpartition(":")[0] for flow in flows] == [world.nodes[0].address4]


def test_nothing_goes_past_xfrm(world):
    """A policy without a security association drops what it is for; a packet past it would arrive.
    What the node itself sends is no exception."""
    node, far = world.nodes[0], world.ones["one2"]
    agent = begin(world)
    clients = (world.client, node)
    assert [answered(world, client, (world.far,), ("clusterIP", "nodePort")) for client in clients] == [(8, 0)] * 2
    for family in FAMILIES:
        node.run("ip", "xfrm", "policy", "add", "dst", address_of(far, family), "dir", "out", "tmpl",
                 "src", address_of(node, family), "dst", address_of(node_of(far), family), "proto",
                 "esp", "mode", "tunnel")
    wait_equal(lambda: path(agent), {"inForce": "stack", "listener": "policies of XFRM"},
               "the path", 30)
    assert [answered(world, client, (world.far,), ("clusterIP", "nodePort")) for client in clients] == [(0, 8)] * 2
    node.run("ip", "xfrm", "policy", "flush")
    wait_equal(lambda: path(agent)["inForce"], "direct", "the path", 30)
    assert [answered(world, client, (world.far,), ("clusterIP", "nodePort")) for client in clients] == [(8, 0)] * 2
