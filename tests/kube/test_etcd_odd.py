# SPDX-License-Identifier: Apache-2.0
"""Claims in an etcd behind a balancer, one that refuses logins, stores whose watches fail: what is asked, and how often."""

import time

import pytest
import scripted
from lab import Lab, wait
from lab.authority import Authority, write_kubeconfig
from scripted_etcd import GRANT, HEADER, LOGIN, RANGE, TXN, VERSION, WATCH, ScriptedEtcd
from test_etcd import Claimant

ADDRESS = "192.0.2.1"


@pytest.fixture(name="host")
def host_fixture(request):
    with Lab(request.node.nodeid, nodes=1) as lab:
        host = lab.nodes[0]
        host.ip("address", "add", f"{ADDRESS}/32", "dev", "lo")
        yield host


def pass_time(seconds):
    wait(lambda end=time.monotonic() + seconds: time.monotonic() > end, "some time", seconds + 10)


LIMIT = 3  # of claimant.c, for an answer


@pytest.fixture(name="user")
def user_fixture(host):
    """Of an etcd that takes 0.5 s for a login, as the real one does on a busy processor."""
    etcd = ScriptedEtcd(host, ADDRESS).start()
    etcd.tokens = set()

    def slow(handler):
        time.sleep(0.5)
        handler.answer()

    etcd.faults[LOGIN] = slow
    password = host.folder / "password"
    password.write_text("sesame")
    one = Claimant(host, etcd, files=("node", password))
    yield etcd, one
    one.end()
    etcd.stop()


def ask_all(one, count):
    """The answers to that many questions at once."""
    before = len(one.told)
    for number in range(count):
        one.say("read", f"key-{number}")
    wait(lambda: len(one.told) == before + count, "all answers", 20)
    return one.told[before:]


def test_a_balancer_that_closes_idle_connections_ends_no_watch(host):
    """The endpoint is asked once more over another connection, once in a second at most, and that is all."""
    etcd = ScriptedEtcd(host, ADDRESS).start()
    one = Claimant(host, etcd)
    one.watch()
    begun = time.monotonic()
    wait(lambda: etcd.close_idle() or time.monotonic() > begun + 4, "a balancer's work", 10)
    assert etcd.count(WATCH) == 1 and one.watching == [""], (etcd.asked, one.watching)
    assert 2 <= etcd.count(VERSION, begun) <= 5, etcd.asked
    # Where nobody listens any more the watch ends.
    etcd.stop()
    etcd.close_idle()
    wait(lambda: one.watching[-1] != "", "the end of the watch", 5)
    one.end()


def test_a_watch_that_ends_as_it_begins_is_not_asked_for_without_a_pause(host):
    etcd = ScriptedEtcd(host, ADDRESS).start()
    etcd.faults[WATCH] = lambda handler: handler.say(200, {"result": {"header": HEADER, "created": True}})
    one = Claimant(host, etcd)
    one.watch()
    pass_time(4)
    print(f"{etcd.count(WATCH)} watches in 4 s")
    assert etcd.count(WATCH) <= 8
    del etcd.faults[WATCH]
    before = etcd.count(WATCH)
    wait(lambda: etcd.count(WATCH) > before, "the watch", 10)
    one.end()


KINDS = {
    "watch=1": (scripted.refuse(403), 8),
    "leases": (scripted.refuse(429, Retry_After=30), 2),
    "&watch=1": (lambda handler: handler.say(200, b""), 8),
}


@pytest.mark.lab(nodes=1)
@pytest.mark.parametrize("what", KINDS)
def test_a_watch_of_leases_that_is_refused_is_asked_for_ever_later(lab, tmp_path, what):
    """Or ends as it begins; a list that is good says nothing of it."""
    fault, most = KINDS[what]
    pki = Authority(tmp_path, "ca")
    [node] = lab.nodes
    api = scripted.ScriptedApi(lab.client, lab.client.address4, scripted.server_context(
        pki.issue("server", hosts=[lab.client.address4]))).start()
    api.served.add("Lease")
    server = f"https://{lab.client.address4}:{scripted.PORT}"
    one = Claimant(node, str(write_kubeconfig(tmp_path / "kubeconfig", server, pki.certificate, {})), prefix="kube-system")
    api.fail(what, fault)
    one.say("watch")
    pass_time(4)
    print(f"{what}: {api.count('leases')} requests in 4 s, {api.count('watch=1')} watches")
    assert 1 <= api.count("leases") <= 2 * most and api.count("watch=1") <= most
    one.end()
    api.stop()


def test_a_pause_without_end_is_one_of_half_a_minute(host):
    etcd = ScriptedEtcd(host, ADDRESS).start()
    one = Claimant(host, etcd)
    for wanted, after in ((7, 7000), (3600, 30000), (2 ** 63 - 1, 30000)):
        etcd.faults[RANGE] = lambda handler, wanted=wanted: handler.say(503, {}, Retry_After=wanted)
        told = one.ask("read", "a")
        assert told.outcome == "failed" and int(told.after) == after, told
    one.end()
    etcd.stop()


def test_many_requests_wait_for_one_login(user):
    """Also when a token is over in the midst of them: the one of a newer login is kept."""
    etcd, one = user
    assert {told.outcome for told in ask_all(one, 12)} == {"absent"}
    assert etcd.count(LOGIN) == 1, etcd.asked
    etcd.tokens.clear()
    late = []  # a refusal of the old token that comes after the new login

    def refuse_late(handler):
        if not late and not etcd.tokens:
            late.append(handler.headers["Authorization"])
            wait(lambda: etcd.count(RANGE) >= 24, "the others, with the new token", 10)
            handler.say(401, {"code": 16, "message": "etcdserver: invalid auth token"})
        else:
            etcd.faults.pop(RANGE)
            handler.take()
            etcd.faults[RANGE] = refuse_late

    etcd.faults[RANGE] = refuse_late
    assert {told.outcome for told in ask_all(one, 12)} == {"absent"}
    assert late and etcd.count(LOGIN) == 2, etcd.asked


def test_many_writes_wait_for_one_lease_of_etcd(host):
    etcd = ScriptedEtcd(host, ADDRESS).start()
    one = Claimant(host, etcd)

    def create(count):
        before = len(one.told)
        for number in range(count):
            one.say("create", f"key-{before + number}", "node-1")
        wait(lambda: len(one.told) == before + count, "all answers", 20)
        return {told.outcome for told in one.told[before:]}

    def refuse(handler):
        time.sleep(0.3)
        handler.say(403, {"code": 7, "message": "etcdserver: permission denied"})

    etcd.faults[GRANT] = refuse
    assert create(12) == {"failed"} and etcd.count(GRANT) == 1, etcd.asked

    def slow(handler):
        time.sleep(0.3)
        handler.answer()

    etcd.faults[GRANT] = slow
    assert create(12) == {"done"} and etcd.count(GRANT) == 2 and etcd.count(TXN) == 12, etcd.asked
    # Also when etcd knows the lease no more.
    etcd.faults[TXN] = lambda handler: handler.say(404, {"code": 5, "message": "etcdserver: requested lease not found"})
    assert create(1) == {"failed"}
    del etcd.faults[TXN]
    assert create(12) == {"done"} and etcd.count(GRANT) == 3, etcd.asked
    one.end()
    etcd.stop()


def test_a_refused_login_is_not_asked_for_again_at_once(user):
    etcd, one = user
    etcd.faults[LOGIN] = lambda handler: handler.say(400, {"code": 3, "message": "etcdserver: authentication failed\x1b[2J\n"})
    begun = time.monotonic()
    while time.monotonic() < begun + 4:
        for told in ask_all(one, 4):
            assert told.outcome == "failed" and told.why.endswith("authentication failed?[2J?"), told
    print(f"{len(one.told)} questions, {etcd.count(LOGIN)} logins in 4 s")
    assert 3 <= etcd.count(LOGIN) <= 6
    del etcd.faults[LOGIN]
    wait(lambda: one.ask("read", "a").outcome == "absent", "the end of the pause", 8)


def test_login_and_request_have_one_limit(user):
    etcd, one = user

    def slow(handler):
        time.sleep(LIMIT * 0.7)
        handler.answer()

    etcd.faults[LOGIN] = etcd.faults[RANGE] = slow
    begun = time.monotonic()
    told = one.ask("read", "a")
    seconds = time.monotonic() - begun
    print(f"{seconds:.1f} s: {told.why}")
    assert told.outcome == "failed" and seconds < LIMIT + 0.5
    # So have a lease of etcd's and the write under it.
    etcd.faults = {GRANT: slow, TXN: slow}
    begun = time.monotonic()
    assert one.ask("create", "a", "node-1").outcome == "failed" and time.monotonic() - begun < LIMIT + 0.5
    # A login that nobody answers holds up nobody for longer than he may wait.
    etcd.tokens.clear()
    etcd.faults = {LOGIN: lambda handler: time.sleep(LIMIT + 1)}
    begun = time.monotonic()
    assert {told.outcome for told in ask_all(one, 4)} == {"failed"}
    assert time.monotonic() - begun < LIMIT + 0.5
    assert "login" in one.told[-1].why, one.told[-1]
