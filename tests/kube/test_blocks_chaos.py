# SPDX-License-Identifier: Apache-2.0
"""Blocks while the leader is cut off, its clock jumps, the API takes two seconds for each answer, and two lead at
once: each request has one block, no block overlaps another, and nothing needs hands. (A leader that is killed or
stopped, and etcd's restore, are in test_blocks.py.)"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from giving import Controllers, begin
from lab import wait, wait_equal
from lab.asking import ELECTION, Nodes, allow_lease, ask_all, assert_disjoint, blocks, pool
from lab.late import LateApi
from lab.wall_clock import WallClock
from test_blocks import sweep

LAB = {"nodes": 2}
API = "192.0.3.0/24"  # the control plane's network
LATE = 2  # seconds for each answer
NAMES = [f"asker{number:02}" for number in range(60)]
BLOCKS = {"enabled": True}


@pytest.fixture(name="clean")
def clean_fixture(plane):
    sweep(plane)
    yield plane
    sweep(plane)


@pytest.fixture(name="make")
def make_fixture(cluster, clean):
    clean.put(pool("default", "10.2.0.0/20", bits=4))
    controllers = Controllers(cluster, clean)
    yield lambda name, **settings: controllers(name, **{"blocks": BLOCKS, "addresses": {"enabled": False}, **settings})
    controllers.end()


def asked(nodes, names, during=lambda: None, timeout=120):
    """What each of these Nodes was given that asked at once; `during` is called when some have theirs."""
    before = len(blocks(nodes.plane))
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(ask_all, nodes, names, timeout)
        wait(lambda: len(blocks(nodes.plane)) >= before + 3, "the first blocks", 60)
        during()
        return {name: block for name, (block, _) in asking.result().items()}


def assert_one_each(plane, given):
    """Each Node has what it was told, and nobody has any of it beside it."""
    assert None not in given.values() and len(set(given.values())) == len(given)
    assert {block: node for node, block in given.items()} == blocks(plane)
    assert_disjoint(plane)


def asked_late(nodes):
    """One more, when all is over."""
    return {name: block for name, (block, _) in ask_all(nodes, NAMES[59:]).items()}


def made_by(plane, each):
    """How many blocks a controller has made, by the audit log."""
    return sum(entry["verb"] == "create" and entry["objectRef"]["resource"] == "addressblocks"
               and entry["responseStatus"]["code"] == 201 for entry in plane.audited(each.user))


def test_a_leader_that_is_cut_off(clean, make):
    """It comes back when the other one has given the rest, and gives nothing a second time."""
    first = begin(make("a", node=0))
    second = make("b", node=1).start()
    nodes = Nodes(clean, *NAMES)
    before = made_by(clean, second)
    try:
        given = asked(nodes, NAMES[:30], lambda: first.host.configure(f"route add blackhole {API}"))
        given |= asked(nodes, NAMES[30:59])
        assert second.leads() and made_by(clean, second) > before
    finally:
        first.host.configure(f"route del blackhole {API}")
    identity = second.status()["identity"]
    wait_equal(lambda: first.status()["election"]["holder"], identity, "the first one to follow", 120)
    assert_one_each(clean, given | asked_late(nodes))


def test_a_leaders_clock_jumps(cluster, clean, make):
    """A year ahead while it gives, and a year behind. A connection that is opened then finds a certificate that has
    expired, or is not valid yet: that is told until the clock is right again."""
    clock = WallClock(cluster.nodes[0])
    leader = begin(make("a"), **clock.environment)
    nodes = Nodes(clean, *NAMES)
    given = asked(nodes, NAMES[:30], lambda: clock.set(365)) | asked(nodes, NAMES[30:59], lambda: clock.set(-365))
    assert_one_each(clean, given | asked_late(nodes))
    clock.set(0)
    wait_equal(lambda: leader.leads() and leader.status()["faults"], [], "the leader to be well")


def test_an_api_that_takes_two_seconds(clean, make):
    """With an election as it is by default; who leads is killed when some are given."""
    late = LateApi(clean, LATE)
    default = {"lease": "15s", "renew": "10s", "retry": "2s"}
    try:
        first, second = [make(name, node=number, election=default,
                              source={"kubernetes": {"kubeconfig": str(late.kubeconfig(name))}})
                         for number, name in enumerate("ab")]
        begin(first)
        second.start()
        nodes = Nodes(clean, *NAMES)
        given = asked(nodes, NAMES[:59], first.kill)
        assert second.leads() and second.status()["faults"] == []
        assert_one_each(clean, given | asked_late(nodes))
        second.kill()  # the Lease's return would take its time
    finally:
        late.stop()


def test_two_that_lead_at_once(clean, make):
    """Each by a Lease of its own, as during an upgrade that renames it. Both may make a block for one request; the Node
    is told of one, has the other as well, and gives back what it does not need (pods.emptyBlocks)."""
    allow_lease(clean, "another")
    both = [begin(make("a", node=0)), begin(make("b", node=1, election={**ELECTION, "name": "another"}))]
    nodes = Nodes(clean, *NAMES)
    given = asked(nodes, NAMES[:59])
    assert all(each.leads() for each in both)
    given |= asked_late(nodes)
    assert None not in given.values() and len(set(given.values())) == len(given)
    assert blocks(clean).items() >= {block: node for node, block in given.items()}.items()
    assert len(blocks(clean)) < 2 * len(given), "they do not go on"
    items = clean.items("AddressBlock")
    for key in ("index", "ipv4"):
        assert len({item[key] for item in items}) == len(items), f"an {key} has two blocks"
