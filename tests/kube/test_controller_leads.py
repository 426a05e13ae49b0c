# SPDX-License-Identifier: Apache-2.0
"""Who leads: two controllers, a real API server, and what may happen to leader, network and etcd.

The audit log judges: what a controller has written to the Lease after another had taken it, whatever the
controller thinks of itself. Jobs are judged in files of their own.
"""

import json
import signal
import time
from collections import Counter

import pytest
from lab import wait, wait_equal
from lab.controller import Controller
from lab.kube_api import path_of, wall_time
from lab.kube_programs import program
from lab.wall_clock import WallClock
from moments import Stopwatch

LEASE = ("Lease", "kube-system", "fingerpost-controller")
TAKEN = 60  # seconds, on a machine with other work
WITHIN = 20  # by the times in the Lease: 15 from when a candidate saw it renewed, after 4.4 at most


class Pair:
    """Controllers a and b, each on a node of its own."""

    def __init__(self, cluster):
        self.plane = cluster.plane
        self.controllers = {
            name: Controller(node, name, self.plane.controller_kubeconfig(name))
            for name, node in zip("ab", cluster.nodes)
        }

    def start(self):
        for controller in self.controllers.values():
            if not controller.running():
                controller.start()

    def stop(self):
        for controller in self.controllers.values():
            if controller.running():
                controller.signal(signal.SIGCONT)
                controller.stop()

    def leaders(self, *but):
        return [name for name, controller in self.controllers.items()
                if name not in but and controller.leads()]

    def leader(self):
        """The one that leads, and the other."""
        name = wait(self.leaders, "a leader", TAKEN)[0]
        return self.controllers[name], self.controllers["b" if name == "a" else "a"]

    def lease(self):
        return self.plane.api.get(path_of(*LEASE))["spec"]

    def succeeds(self, successor, since=None):
        """The successor has taken the Lease soon enough after the leader was gone: now, or at that wall time."""
        since = since or time.time()
        watch = Stopwatch(*(each.process.pid for each in (successor, self.plane.api_server, self.plane.etcd)))
        wait(successor.leads, f"{successor.name} to lead", TAKEN)
        lease = self.lease()
        assert lease["holderIdentity"] == successor.status()["identity"]
        assert wall_time(lease["acquireTime"]) - since - watch.waited() <= WITHIN

    def writes(self):
        """(user, code) of each write to a Lease, in the order of the answers."""
        return [(entry["user"]["username"], entry["responseStatus"]["code"])
                for entry in self.plane.audited() if entry["verb"] in ("create", "patch", "update")
                and entry["objectRef"]["resource"] == "leases"]

    def answered(self, controller, before):
        """What it was answered about Leases after the first `before` entries of the audit log."""
        return [entry for entry in self.plane.audited()[before:] if entry["responseStatus"]["code"] < 300
                and entry["user"]["username"] == controller.user and entry["objectRef"]["resource"] == "leases"]

    def judged(self, old, new, before):
        """That of the writes after the first `before`, `old` made none once `new` had made one."""
        later = [user for user, code in self.writes()[before:] if code < 300]
        assert new.user in later
        assert old.user not in later[later.index(new.user):]


@pytest.fixture(name="pair", scope="module")
def pair_fixture(cluster):
    pair = Pair(cluster)
    yield pair
    pair.stop()


@pytest.fixture(name="pair_at_work")
def pair_at_work_fixture(pair):
    """Both run, one leads."""
    for controller in pair.controllers.values():
        if controller.running():
            controller.signal(signal.SIGCONT)
    pair.start()
    pair.leader()
    wait(lambda: all(c.ask("/readyz")[0] == 200 for c in pair.controllers.values()), "both ready", TAKEN)
    return pair


def test_one_leads_and_the_other_is_ready(pair_at_work):
    leader, other = pair_at_work.leader()
    assert not other.leads() and leader.ask("/readyz") == other.ask("/readyz") == (200, "ok\n")
    wait_equal(lambda: other.status()["election"]["holder"], leader.status()["identity"], "the holder")
    assert leader.status()["health"] == other.status()["health"] == "healthy"
    assert leader.ask("/livez")[0] == other.ask("/livez")[0] == 200
    assert "fingerpost_controller_leading 1" in leader.ask("/metrics")[1]
    assert "fingerpost_controller_leading 0" in other.ask("/metrics")[1]


def test_a_leader_that_ends_gives_the_lease_back(pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    transitions, before = pair.lease()["leaseTransitions"], len(pair.writes())
    assert leader.stop() == 0
    pair.succeeds(other)
    assert pair.lease()["leaseTransitions"] == transitions + 1
    pair.judged(leader, other, before)
    assert "leads no more" in leader.log_text()


def test_a_leader_that_is_killed_is_followed(pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    before = len(pair.writes())
    leader.kill()
    pair.succeeds(other)
    pair.judged(leader, other, before)


def test_a_leader_that_is_stopped_beyond_its_lease_writes_nothing_more(pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    before = len(pair.writes())
    leader.signal(signal.SIGSTOP)
    pair.succeeds(other)
    leader.signal(signal.SIGCONT)
    identity = other.status()["identity"]
    wait_equal(lambda: leader.status()["election"]["holder"], identity, "the old leader to see", TAKEN)
    assert not leader.leads() and other.leads()
    pair.judged(leader, other, before)
    assert leader.status()["election"]["lost"] >= 1


def test_a_leader_that_is_cut_off_follows_and_needs_no_restart(pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    before = len(pair.writes())
    leader.host.configure("route add blackhole 192.0.3.0/24")
    since = time.time()
    try:
        wait(lambda: not leader.leads(), "the end of its leadership", TAKEN)
        pair.succeeds(other, since)
        assert not leader.leads()
    finally:
        leader.host.configure("route del blackhole 192.0.3.0/24")
    identity = other.status()["identity"]
    wait_equal(lambda: leader.status()["election"]["holder"], identity, "the old leader to see", 120)
    pair.judged(leader, other, before)
    wait_equal(lambda: leader.status()["faults"], [], "the end of its faults", 120)


def test_no_clock_decides(pair_at_work):
    """Of a leader, a year ahead, then one behind: what it says of the time is no matter."""
    pair = pair_at_work
    leader, other = pair.leader()
    leader.stop()
    pair.succeeds(other)
    clock = WallClock(leader.host)
    leader.start(**clock.environment)
    other.stop()
    pair.succeeds(leader)
    other.start()
    transitions = pair.lease()["leaseTransitions"]
    for days in (365, -365):
        clock.set(days)
        renewals = len(pair.writes())
        wait(lambda: len(pair.writes()) >= renewals + 10, "ten renewals", 120)
        assert leader.leads() and not other.leads()
    assert pair.lease()["leaseTransitions"] == transitions
    leader.stop()
    pair.succeeds(other)


def test_nothing_is_asked_needlessly_and_nothing_is_forbidden(pair_at_work):
    """All that was asked of Leases up to here. (An API server that has just started, as in what follows,
    forbids everything until it has read the roles.)"""
    entries = [entry for entry in pair_at_work.plane.audited()
               if entry["user"]["username"].startswith("fingerpost:controller:")
               and entry["objectRef"]["resource"] == "leases"]
    codes = Counter((entry["verb"], entry["responseStatus"]["code"]) for entry in entries)
    assert {verb for verb, _ in codes} <= {"get", "create", "patch"}
    assert not [key for key in codes if key[1] in (401, 403)]
    assert {entry["objectRef"]["name"] for entry in entries if entry["verb"] != "create"} == {LEASE[2]}


def test_etcd_is_restored_from_a_backup(pair_at_work):
    pair = pair_at_work
    pair.plane.backup()
    pair.leader()
    leader, other = pair.leader()
    leader.stop()  # so that the backup names another holder than there is
    pair.succeeds(other)
    before = len(pair.plane.audited())
    pair.plane.restore()
    answered = [wall_time(entry["requestReceivedTimestamp"]) for entry in wait(
        lambda: pair.answered(other, before), "an answer after the restore", TAKEN)]
    wait(lambda: len(pair.leaders(leader.name)) == 1, "a leader after the restore", TAKEN)
    pair.succeeds(other, answered[0])
    leader.start()
    renewals = len(pair.writes())
    wait(lambda: len(pair.writes()) >= renewals + 5, "five renewals", 120)
    assert len(pair.leaders()) == 1


def test_sighup_starts_anew_and_a_bad_file_is_refused(pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    identity, pid = leader.status()["identity"], leader.process.pid
    leader.write_config("elections: {}\n")
    leader.signal(signal.SIGHUP)
    wait(lambda: leader.status()["faults"], "the fault")
    assert leader.status()["faults"][0]["subsystem"] == "config"
    assert leader.status()["identity"] == identity and leader.leads()
    leader.write_config()
    leader.signal(signal.SIGHUP)
    wait(lambda: leader.status()["identity"] != identity, "another run")
    assert leader.process.pid == pid and leader.running() and leader.status()["faults"] == []
    pair.leader()


def test_sigterm_ends_also_one_that_was_to_start_anew(pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    leader.signal(signal.SIGSTOP)
    leader.signal(signal.SIGHUP)  # a signalfd gives the lower number first
    leader.signal(signal.SIGTERM)
    leader.signal(signal.SIGCONT)
    wait(lambda: not leader.running(), "its end")
    pair.succeeds(other)
    leader.start()


def go_elector(cluster, name):
    """client-go's own elector on the control plane's host, as an administrator."""
    plane = cluster.plane
    return plane.host.start(program("elector"), str(plane.admin), LEASE[1], LEASE[2], name,
                            log=f"{name}.log")


def test_client_go_and_ours_take_turns(cluster, pair_at_work):
    pair = pair_at_work
    leader, other = pair.leader()
    other.stop()
    for turn in range(2):
        transitions = pair.lease()["leaseTransitions"]
        elector = go_elector(cluster, f"go-{turn}")
        leader.stop() if turn else leader.kill()
        wait_equal(lambda: pair.lease()["holderIdentity"], f"go-{turn}", "client-go to lead", TAKEN)
        assert pair.lease()["leaseTransitions"] == transitions + 1
        leader.start()
        wait_equal(lambda: leader.status()["election"]["holder"], f"go-{turn}", "the holder", TAKEN)
        assert not leader.leads()
        elector.send_signal(signal.SIGKILL if turn else signal.SIGTERM)
        elector.wait(30)
        pair.succeeds(leader)
        assert pair.lease()["leaseTransitions"] == transitions + 2


@pytest.mark.parametrize("verb", ["get", "create", "patch"])
def test_each_verb_is_needed(cluster, verb):
    """Without it a controller never leads, and a fault says so."""
    plane, name = cluster.plane, f"without-{verb}"
    rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
              "verbs": sorted({"get", "create", "patch"} - {verb})}]
    group = "rbac.authorization.k8s.io"
    plane.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": f"{group}/v1", "kind": "Role", "rules": rules,
         "metadata": {"name": name, "namespace": "default"}},
        {"apiVersion": f"{group}/v1", "kind": "RoleBinding",
         "metadata": {"name": name, "namespace": "default"},
         "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
         "subjects": [{"kind": "User", "name": name, "apiGroup": group}]},
    ]}))
    others = sorted({"get", "create", "patch"} - {verb})
    wait(lambda: all("yes" in plane.kubectl("auth", "can-i", other, "leases", f"--as={name}")
                     for other in others), "the role", 60)
    if verb == "patch":
        plane.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                   "metadata": {"name": name, "namespace": "default"}, "spec": {}})
    controller = Controller(plane.host, name, plane.kubeconfig(name, name),
                            {"election": {"namespace": "default", "name": name}}).start()
    try:
        (fault,) = wait(lambda: [fault for fault in controller.status()["faults"]
                                 if fault["subsystem"] == "election"], "the fault", TAKEN)
        assert "forbidden" in fault["message"] and "RBAC" in fault["remedy"]
        assert not controller.leads()
    finally:
        controller.stop()
