# SPDX-License-Identifier: Apache-2.0
"""LoadBalancer addresses while the leader is cut off, its clock jumps, and etcd is restored from a backup:
no address has two holders by the audit log, everybody gets one, and nothing needs hands."""

import pytest
from giving import (Controllers, addresses, all_have_one_each, assert_one_holder_each, begin, condition,
                    holders, pool, service, sweep)
from lab import wait, wait_equal
from lab.wall_clock import WallClock

LAB = {"nodes": 2}
API = "192.0.3.0/24"  # the control plane's network
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
    first.host.configure(f"route add blackhole {API}")
    try:
        put(clean, NAMES[20:])
        wait(second.leads, "the second one to lead", 60)
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
