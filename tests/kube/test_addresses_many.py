# SPDX-License-Identifier: Apache-2.0
"""Many Services that have no address, given one at once; then many that wish for another, second by second.
The soak has 10,000 of them. What it took is printed (-s), beside what a plain client needs that writes as many
statuses: seconds, and those of the processor that API server and etcd have spent on it, which tell the two
apart on a busy machine, too. It is no matter of the test."""

import json
import os
import statistics
import time
from datetime import datetime, timezone
from itertools import chain

import pytest
from bench import process
from giving import Controllers, assert_one_holder_each, begin, ingress_of, pool, sweep
from lab import objects, wait
from lab.control_plane import ACCOUNT_USER
from plain import patches

LAB = {"nodes": 1}
SERVICES = int(os.environ.get("ADDRESS_SERVICES", 200))
SECONDS = int(os.environ.get("ADDRESS_SECONDS", 2))
CHANGES = 200  # in a second
PATIENCE = 60 + SERVICES // 20
LOOKS = 0.2  # seconds between looks: to be asked costs processor time, too


@pytest.fixture(name="clean")
def clean_fixture(plane):
    sweep(plane)
    yield plane
    sweep(plane)


@pytest.fixture(name="leader")
def leader_fixture(cluster, clean):
    controllers = Controllers(cluster, clean)
    made = controllers(source={"kubernetes": {"kubeconfig": str(clean.account_kubeconfig())}})
    made.user = ACCOUNT_USER
    yield begin(made)
    controllers.end()


def wishing(number, wish=None):
    """As it stands in etcd, without a status. Its endpoints are nobody's to make: others' writes do not count here."""
    internal = f"10.96.{8 + (number >> 8)}.{number & 255}"
    item = objects.service(f"s{number:05}", clusterIP=internal, clusterIPs=[internal], selector={},
                           annotations={"fingerpost.io/loadBalancerIPs": wish} if wish else {})
    item["metadata"]["uid"] = f"00000000-0000-4000-8000-{number:012}"
    item["status"] = {"loadBalancer": {}}
    return item


def put_services(plane):
    """Past the API server, which is to find them as it would have made them, and so with nothing to mend."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    items = [wishing(number) for number in range(SERVICES)]
    plane.store(*chain.from_iterable(objects.allocated(item, now) for item in items))
    plane.store(*items)


def job(leader):
    (found,) = [item for item in leader.status()["jobs"] if item["name"] == "addresses"]
    return found


def queue(leader):
    """Services that do not have what was decided."""
    return job(leader)["counts"]["behind"]


def settled(leader):
    counts = job(leader)["counts"]
    return counts["services"] == SERVICES and counts["behind"] == 0


def knows(plane, leader):
    """Whether the leader has heard of all Services as etcd has them: what is measured begins after that."""
    (services,) = [kind for kind in leader.status()["sources"][0]["kinds"] if kind["kind"] == "Service"]
    return int(services["resourceVersion"]) >= max(int(item["metadata"]["resourceVersion"])
                                                   for item in plane.items("Service"))


def spent(plane):
    """Seconds of the processor that API server and etcd have had."""
    return sum(process.seconds(daemon.process.pid) for daemon in (plane.api_server, plane.etcd))


def timed(plane, work):
    """(seconds, of the processor) of some work."""
    begun, before = time.monotonic(), spent(plane)
    work()
    return round(time.monotonic() - begun, 2), round(spent(plane) - before, 2)


def grows(samples):
    """Of a queue, second by second: whether its last quarter is longer than the second one, by more than a second's
    changes. Of a few seconds, nobody can tell."""
    quarter = len(samples) // 4
    if quarter < 2:
        return False
    return statistics.median(samples[-quarter:]) > statistics.median(samples[quarter:2 * quarter]) + CHANGES


def statuses(plane, user):
    return [entry for entry in plane.audited(user)
            if (entry.get("objectRef") or {}).get("resource") == "services"
            and entry["objectRef"].get("subresource") == "status"]


def mended(plane):
    """What the API server has found wrong with the Services."""
    return [item for item in plane.items("Event") if item.get("reason") == "ClusterIPNotAllocated"]


def test_many_services_at_once_and_many_changes(clean, leader):
    put_services(clean)
    wait(lambda: knows(clean, leader), "the Services", PATIENCE, LOOKS)
    plain = timed(clean, lambda: patches(clean, [f"s{number:05}" for number in range(SERVICES)]))
    clean.store(*[wishing(number) for number in range(SERVICES)])
    wait(lambda: knows(clean, leader), "the Services, without addresses", PATIENCE, LOOKS)

    def give():
        clean.put(pool("198.18.0.0/16"))
        wait(lambda: settled(leader), "an address for each", PATIENCE, LOOKS)
    since, before = len(statuses(clean, leader.user)), process.seconds(leader.process.pid)
    took = timed(clean, give)
    own = round(process.seconds(leader.process.pid) - before, 2)
    given = [ip for item in clean.items("Service") for ip in ingress_of(item)]
    assert len(given) == len(set(given)) == SERVICES
    good = [entry for entry in statuses(clean, leader.user)[since:] if entry["responseStatus"]["code"] < 300]
    assert len(good) == SERVICES, "one write for each"

    behind = []
    for second in range(SECONDS):
        end = time.monotonic() + 1
        clean.store(*[wishing(number % SERVICES, f"198.18.{128 + number // 250}.{number % 250}")
                      for number in range(second * CHANGES, (second + 1) * CHANGES)])
        behind.append(queue(leader))
        time.sleep(max(0, end - time.monotonic()))
    assert not grows(behind), behind
    wait(lambda: queue(leader) == 0, "the end of the queue", PATIENCE)
    assert_one_holder_each(clean)
    assert mended(clean) == [], "work of the API server that no other cluster's has"
    print(json.dumps({"services": SERVICES, "seconds": took[0], "plain": plain[0], "processor": took[1],
                      "plain processor": plain[1], "own processor": own,
                      "MiB": process.peak(leader.process.pid), "changes": CHANGES, "behind": behind}))
