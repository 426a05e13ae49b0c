# SPDX-License-Identifier: Apache-2.0
"""Addresses of a segment on an API whose writes are slow, or refused, while all else is well: a node keeps the address,
or gives it back and says why. What must not last is that nobody has it under a Lease that is renewed."""

import contextlib
import json
import socket
import time

import pytest
import scripted
from lab import wait, wait_equal
from lab.authority import Authority, write_kubeconfig
from lab.segment import Judge, Segment, Served
from scripted import ScriptedApi, server_context
from test_etcd import Claimant

V4 = "198.51.100.50"
KEY = ("Lease", "kube-system", "address.198-51-100-50")
DURATION = 5
KEPT = 1.2  # lease_keepable_ms() of that
WRITES = r"^(POST|PATCH|DELETE) .*/leases"
NODES = pytest.mark.lab(nodes=2)


class World:
    """Two agents on a segment, one address of theirs, and the API behind their router."""

    def __init__(self, lab, folder, duration=DURATION, own=(V4,)):
        self.lab = lab
        pki = Authority(folder, "ca")
        pair = pki.issue("server", hosts=[lab.client.address4])
        self.api = ScriptedApi(lab.client, lab.client.address4, server_context(pair)).start()
        self.api.served.add("Lease")
        for item in [item for node in lab.nodes for item in node.objects()]:
            ready = {"status": {**item.get("status", {}), "conditions": [{"type": "Ready", "status": "True"}]}}
            self.api.put({**item, **(ready if item["kind"] == "Node" else {})})
        server = f"https://{lab.client.address4}:{scripted.PORT}"
        self.segment = Segment(lab)
        self.judge = Judge(self.segment)
        claims = {"own": list(own), "interfaces": ["lan"], "duration": f"{duration}s", "failback": "never"}
        self.agents = {node.role: lab.agent(
            node, addresses=claims, kubeconfig=write_kubeconfig(folder / node.role, server, pki.certificate, {}))
            for node in lab.nodes}

    def holder(self, timeout=30):
        [name] = wait(lambda: self.segment.at(V4), f"a holder of {V4}", timeout)
        return name

    def lease(self):
        with self.api.changed:
            item = self.api.objects.get(KEY)
            return item and (item["metadata"].get("resourceVersion"), item["spec"])

    def row(self, name):
        [row] = self.agents[name].json("addresses")["items"]
        return row

    def told(self, text):
        """The faults of claims that have this text, as (node, fault)."""
        return [(name, fault) for name, agent in self.agents.items() for fault in agent.faults()
                if fault["subsystem"] == "addresses" and text in json.dumps(fault)]

    def end(self):
        self.judge.close()
        for agent in self.agents.values():
            agent.stop()
        self.segment.remove()
        self.api.stop()
        self.api.end_watches()


@pytest.fixture(name="world")
def world_fixture(request, lab, tmp_path):
    world = World(lab, tmp_path, **getattr(request, "param", {}))
    yield world
    world.end()


class Vain:
    """For how long nobody had the address under a valid record, from the first renewal of the kind on."""

    def __init__(self, world):
        self.world = world
        self.version, self.landed, self.since, self.most = None, 0, None, 0

    def look(self):
        now, held = time.monotonic(), self.world.segment.at(V4)
        version, spec = self.world.lease() or (None, {})
        named = spec.get("holderIdentity")
        if version != self.version:
            self.version, self.landed = version, now
            self.since = self.since or (now if named else None)
        if not named or held or now - self.landed > DURATION:
            self.since = None
        if self.since:
            self.most = max(self.most, now - self.since)
        return False


@NODES
@pytest.mark.parametrize("seconds", [0.2 * DURATION, 0.5 * DURATION, 0.9 * DURATION])
def test_slow_writes_keep_an_address_or_give_it_back(world, seconds):
    first = world.holder()
    served, vain = Served(world.segment, [V4]), Vain(world)
    begin = time.monotonic()
    world.api.fail(WRITES, scripted.slow(seconds))
    if seconds < KEPT:
        wait(lambda: vain.look() or time.monotonic() - begin > 4 * DURATION, "four claims", 5 * DURATION)
        assert world.holder() == first and world.judge.holders(V4) == [first]
        assert served.answers[V4].longest(begin, time.monotonic()) is None or \
            served.answers[V4].longest(begin, time.monotonic()).end - \
            served.answers[V4].longest(begin, time.monotonic()).begin < 0.5
    else:
        [told, *_] = wait(lambda: vain.look() or world.told(f"can't be kept above {KEPT}"), "the fault", 3 * DURATION)
        print(told)
        assert "addresses.duration" in told[1]["remedy"] or "timed out" in told[1]["message"], told
        wait(lambda: vain.look() or time.monotonic() - begin > 6 * DURATION, "six claims", 7 * DURATION)
        print(f"writes of {seconds} s: nobody had it under a record that was renewed for {vain.most:.1f} s at most")
        assert vain.most <= DURATION + 0.5
        assert "its last holder" not in {world.row(name)["why"] for name in world.agents
                                         if world.row(name).get("holder") == name}
    served.close()
    world.api.mend()
    world.holder(8 * DURATION)
    wait_equal(lambda: world.told(""), [], "no fault any more", 8 * DURATION)
    assert world.judge.doubles() == []


def quota(handler):
    handler.say(403, scripted.status_of(403, "leases is forbidden: exceeded quota: few, requested: count/leases=1"))


def webhook(handler):
    handler.say(403, scripted.status_of(403, 'admission webhook "no.example.com" denied the request: not these'))


REFUSALS = {
    "forbidden": (scripted.refuse(403), "on purpose", "addresses.yaml"),
    "quota": (quota, "exceeded quota", "ResourceQuota"),
    "webhook": (webhook, "not these", "webhook"),
    "throttled": (scripted.refuse(429, Retry_After=1), "429", "flowschemas"),
    "out of space": (lambda handler: handler.say(500, scripted.status_of(
        500, "etcdserver: mvcc: database space exceeded")), "database space exceeded", "defragment"),
}


@NODES
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refused_write_is_told(world, kind):
    """To a holder, and to who would take it."""
    refuse, words, remedy = REFUSALS[kind]
    first = world.holder()
    before = world.api.count(WRITES)
    world.api.fail(WRITES, refuse)
    wait(lambda: world.api.count(WRITES) > before, "a refused renewal", DURATION)
    begin = time.monotonic()
    [told, *_] = wait(lambda: world.told(words), "the fault", DURATION)
    seconds = time.monotonic() - begin
    print(f"{kind}: told after {seconds:.1f} s: {told}")
    assert told[0] == first and seconds < 2 and remedy in told[1]["remedy"], told
    wait_equal(lambda: world.segment.at(V4), [], "that nobody has it", 2 * DURATION)
    other = next(name for name in world.agents if name != first)
    wait(lambda: [name for name, _ in world.told(words) if name == other], "the other's fault", 3 * DURATION)
    world.api.mend()
    world.holder()
    wait_equal(lambda: world.told(""), [], "no fault any more", 30)


def pass_time(seconds):
    wait(lambda end=time.monotonic() + seconds: time.monotonic() > end, "some time", seconds + 10)


MANY = [f"198.51.100.{host}" for host in range(50, 70)]
REQUESTS = r"^(?!.*watch=).*/leases"


@pytest.mark.lab(nodes=1)
@pytest.mark.parametrize("world", [{"duration": 10, "own": MANY}], indirect=True)
def test_an_api_with_too_much_to_do_is_not_asked_more(world):
    """Not before it wants to be, but for once while an answer is of use: who holds addresses has that chance."""
    wait(lambda: all(world.segment.at(address) for address in MANY), "all addresses", 30)
    served, begin = Served(world.segment, MANY), time.monotonic()
    world.api.fail(REQUESTS, scripted.refuse(429, Retry_After=30))
    before = world.api.count(REQUESTS)
    wait(lambda: world.api.count(REQUESTS) >= before + len(MANY), "a refusal of each", 10)
    [told] = wait(lambda: [fault for _, fault in world.told("429")], "the fault", 2)
    assert "flowschemas" in told["remedy"]
    pass_time(2.5)
    asked = world.api.count(REQUESTS) - before
    world.api.mend()
    pass_time(8)
    gaps = [gap.end - gap.begin for address in MANY if (gap := served.answers[address].longest(begin, time.monotonic()))]
    served.close()
    assert asked <= len(MANY) * 1.5 and max(gaps, default=0) < 1, (asked, gaps)
    # Of an API that does not say when.
    world.api.fail(REQUESTS, scripted.refuse(429))
    wait_equal(lambda: [address for address in MANY if world.segment.at(address)], [], "that nobody has any", 20)
    before, seconds = world.api.count(REQUESTS), 8
    pass_time(seconds)
    rate = (world.api.count(REQUESTS) - before) / seconds
    print(f"{len(MANY)} claims: {asked} requests with Retry-After; without it {rate:.1f} in a second")
    assert rate <= len(MANY) / 3
    world.api.mend()
    wait(lambda: all(world.segment.at(address) for address in MANY), "all addresses", 30)


@NODES
@pytest.mark.parametrize("answer, words", [(scripted.refuse(409), "has changed, and it has not"),
                                           (scripted.unstored, "is done, and the record is as it was")],
                         ids=("conflicts", "unstored"))
def test_a_write_that_changes_nothing_is_told(world, answer, words):
    """As an admission webhook may, or whoever changes the patch on its way: the record is as it was."""
    first = world.holder()
    before = world.api.count(WRITES)
    world.api.fail(WRITES, answer)
    wait(lambda: world.api.count(WRITES) > before, "a refused renewal", DURATION)
    begin = time.monotonic()
    [(name, told)] = wait(lambda: world.told(words), "the fault", DURATION)
    print(f"told after {time.monotonic() - begin:.1f} s: {told}")
    assert name == first and time.monotonic() - begin < 2 and "webhook" in told["remedy"], told
    wait_equal(lambda: world.segment.at(V4), [], "that nobody has it", 2 * DURATION)
    before = world.api.count(WRITES)
    pass_time(4)
    writes = world.api.count(WRITES) - before
    print(f"{writes} writes in 4 s")
    assert writes <= 8
    world.api.mend()
    world.holder()
    wait_equal(lambda: world.told(""), [], "no fault any more", 30)


def leave(handler):
    """A good answer, and the orderly end of the connection behind it, of which no header tells."""
    handler.answer()
    handler.close_connection = True
    handler.connection.settimeout(0.1)
    with contextlib.suppress(OSError):
        handler.connection.unwrap()
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.lab(nodes=1)
def test_a_connection_that_the_api_has_closed_costs_no_write(lab, tmp_path):
    """As after a restart of the API in order: a write is sent once, and not where nobody hears it."""
    pki = Authority(tmp_path, "ca")
    [node] = lab.nodes
    pair = pki.issue("server", hosts=[lab.client.address4])
    api = ScriptedApi(lab.client, lab.client.address4, server_context(pair)).start()
    api.served.add("Lease")
    server = f"https://{lab.client.address4}:{scripted.PORT}"
    claimant = Claimant(node, str(write_kubeconfig(tmp_path / "kubeconfig", server, pki.certificate, {})),
                        prefix="kube-system")
    for name in ("a", "b", "c"):
        api.fail("leases", leave, times=1)
        assert claimant.ask("read", name).outcome == "absent"
        wait(lambda: not api.connections, "the end of the connection", 10)
        told = claimant.ask("create", name, "node-1")
        assert told.outcome == "done", told
    claimant.end()
    api.stop()
