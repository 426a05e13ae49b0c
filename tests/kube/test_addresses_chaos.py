# SPDX-License-Identifier: Apache-2.0
"""LoadBalancer addresses while the leader is cut off, its clock jumps, etcd is restored from a backup, the API
takes two seconds for each answer, and two lead at once: no address has two holders by the audit log, everybody
gets one, and nothing needs hands."""

import time

import pytest
from giving import (Controllers, addresses, all_have_one_each, assert_one_holder_each, begin, condition,
                    follows, holders, pool, service, sweep)
from lab import wait, wait_equal
from lab.asking import ELECTION, allow_lease
from lab.late import LateApi
from lab.wall_clock import WallClock

LAB = {"nodes": 2}
API = "192.0.3.0/24"  # the control plane's network
LATE = 2  # seconds for each answer
NAMES = [f"s{number:02}" for number in range(40)]


@pytest.fixture(name="clean")
def clean_fixture(plane):
    sweep(plane)
    yield plane
    sweep(plane)


@pytest.fixture(name="make")
def make_fixture(cluster, clean):
    controllers = Controllers(cluster, clean)
    yield controllers
    controllers.end()


def put(plane, names):
    for name in names:
        plane.put(service(name))


def test_a_leader_that_is_cut_off(clean, make):
    """It has claimed and told some when it is cut off, and comes back when others have had theirs."""
    first = begin(make("a", node=0))
    second = make("b", node=1).start()
    clean.put(pool("203.0.113.0/24"))
    put(clean, NAMES[:20])
    wait(lambda: addresses(clean, NAMES[0]), "the first address")
    since = time.time()
    first.host.configure(f"route add blackhole {API}")
    try:
        put(clean, NAMES[20:])
        follows(clean, second, since)
        given = all_have_one_each(clean, NAMES)
    finally:
        first.host.configure(f"route del blackhole {API}")
    identity = second.status()["identity"]
    wait_equal(lambda: first.status()["election"]["holder"], identity, "the first one to follow", 120)
    put(clean, ["late"])
    assert all_have_one_each(clean, [*NAMES, "late"]).items() >= given.items()
    assert_one_holder_each(clean)


def test_a_leaders_clock_jumps(cluster, clean, make):
    """A year ahead while it gives, so that all that rests has rested; then a year behind."""
    clock = WallClock(cluster.nodes[0])
    leader = begin(make("a"), **clock.environment)
    clean.put(pool("203.0.113.0/26"))
    put(clean, NAMES[:20])
    all_have_one_each(clean, NAMES[:20])
    for days, names in ((365, NAMES[20:30]), (-365, NAMES[30:])):
        clock.set(days)
        clean.api.delete("Service", NAMES[0 if days > 0 else 1])
        put(clean, names)
        all_have_one_each(clean, names)
    given = all_have_one_each(clean, NAMES[2:])
    put(clean, ["late"])
    assert all_have_one_each(clean, [*NAMES[2:], "late"]).items() >= given.items()
    assert leader.leads() and leader.status()["faults"] == []
    assert_one_holder_each(clean)


def test_etcd_is_restored_from_a_backup(clean, make):
    """Services and the record go back together: who is there after it keeps what it had in the backup,
    and who comes after it gets what nobody has. What the restore itself took back is no second gift."""
    controllers = [begin(make("a", node=0)), make("b", node=1).start()]
    clean.put(pool("203.0.113.0/26"))
    put(clean, NAMES[:10])
    kept = all_have_one_each(clean, NAMES[:10])
    clean.backup()
    put(clean, NAMES[10:20])
    all_have_one_each(clean, NAMES[:20])
    assert_one_holder_each(clean)
    clean.restore()
    since, has = len(clean.audited()), holders(clean)
    assert {name for _, name in has} - {"kubernetes"} == set(NAMES[:10])
    put(clean, NAMES[20:])
    given = all_have_one_each(clean, [*NAMES[:10], *NAMES[20:]], 180)
    assert given.items() >= kept.items()
    assert_one_holder_each(clean, since, has)
    wait(lambda: any(each.leads() for each in controllers), "a leader", 60)
    put(clean, ["late"])
    wait_equal(lambda: condition(clean, "late"), ("True", "Assigned", ""), "one more", 60)


def statuses(plane, each):
    """What a controller has written of Services: the code of each answer."""
    return [entry["responseStatus"]["code"] for entry in plane.audited(each.user)
            if entry["objectRef"].get("subresource") == "status" and entry["objectRef"]["resource"] == "services"]


def taken(plane, each):
    return [code for code in statuses(plane, each) if code < 300]


def test_an_api_that_takes_two_seconds(clean, make):
    """With an election as it is by default; who leads is killed when some are given. (That leadership stays
    meanwhile, test_controller_slow.py shows.)"""
    late = LateApi(clean, LATE)
    default = {"lease": "15s", "renew": "10s", "retry": "2s"}
    try:
        first, second = [make(name, node=number, election=default,
                              source={"kubernetes": {"kubeconfig": str(late.kubeconfig(name))}})
                         for number, name in enumerate("ab")]
        earlier = [len(taken(clean, each)) for each in (first, second)]  # by the tests before
        begin(first)
        second.start()
        clean.put(pool("203.0.113.0/24"))
        put(clean, NAMES[:20])
        given = all_have_one_each(clean, NAMES[:20], 120)
        good = [len(taken(clean, each)) for each in (first, second)]
        assert sum(good) - sum(earlier) == 20, "one write for each"
        if second.leads():
            first, second = second, first
        since = time.time()
        first.kill()
        put(clean, NAMES[20:])
        follows(clean, second, since, 20 + 6 * LATE)  # the Lease is read twice and written, so is the record
        assert all_have_one_each(clean, NAMES, 120).items() >= given.items()
        assert_one_holder_each(clean)
        assert [fault["message"] for fault in second.status()["faults"]] == []
        second.kill()  # the Lease's return would take its time
    finally:
        late.stop()


def test_two_that_lead_at_once(clean, make):
    """Each by a Lease of its own, as during an upgrade that renames it. What is claimed is in one record, so that
    they give nothing twice; and when all is given, neither writes any more."""
    allow_lease(clean, "another")
    both = [begin(make("a", node=0)), begin(make("b", node=1, election={**ELECTION, "name": "another"}))]
    earlier = sum(len(statuses(clean, each)) for each in both)  # of the tests before
    clean.put(pool("203.0.113.0/24"))
    put(clean, NAMES)
    given = all_have_one_each(clean, NAMES, 120)
    assert all(each.leads() for each in both)
    for name in NAMES[:5]:
        clean.api.delete("Service", name)
    put(clean, ["late"])
    all_have_one_each(clean, ["late"], 60)
    assert_one_holder_each(clean)
    assert all_have_one_each(clean, NAMES[5:]).items() >= {
        name: ip for name, ip in given.items() if name in NAMES[5:]}.items()

    def written():
        return [len(statuses(clean, each)) for each in both]
    before, renewed = written(), [each.status()["election"]["renewedAt"] for each in both]
    wait(lambda: all(each.status()["election"]["renewedAt"] > was for each, was in zip(both, renewed)), "renewals")
    assert written() == before, "nothing is written when all is given"
    assert sum(before) - earlier < 4 * len(NAMES), "they do not fight"
