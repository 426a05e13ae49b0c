# SPDX-License-Identifier: Apache-2.0
"""Addresses that one node of a segment has at a time, on a real API server, a bridge that learns and a client
with a neighbour cache: whatever becomes of a node, of the API or of the cable, one holder at most."""

import ipaddress
import json
import os
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest
import schema
from giving import pool
from lab import objects, wait, wait_equal
from lab.agent import program
from lab.kube_api import MERGE, path_of
from lab.segment import NET4, NET6, Asker, Judge, Segment, Served
from moments import Stopwatch

LAB = {"nodes": 3}
V4, V6 = "198.51.100.50", "2001:db8:5::50"
DURATION = 5
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAMES = ("node1", "node2", "node3")
RESTARTS = int(os.environ.get("CLAIM_RESTARTS", 10))
AWAY = "test_the_api_is_away_for_one_and_for_all"


def advertisement(**spec):
    return {"apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement",
            "metadata": {"name": "lan", "namespace": "default"}, "spec": spec}


def service(name, *addresses, policy="Cluster"):
    item = objects.service(name, addresses, policy=policy)
    del item["spec"]["selector"]
    item["spec"]["ipFamilyPolicy"] = "PreferDualStack" if len(item["spec"]["ipFamilies"]) > 1 else "SingleStack"
    for field in ("clusterIP", "clusterIPs"):
        item["spec"].pop(field)
    return item


class Setting:
    """Three nodes with agents on a segment."""

    def __init__(self, lab):
        self.lab, self.plane = lab, lab.plane
        self.segment = Segment(lab)
        self.agents = {}
        self.judge = None
        self.refused = self.refusals()

    def refusals(self):
        """How often nodes were refused by the API; one that has just started refuses everybody."""
        return len([entry for node in NAMES for entry in self.plane.audited(f"fingerpost:agent:{node}")
                    if entry["responseStatus"]["code"] == 403])

    def begin(self, services=None, **addresses):
        for node in self.lab.nodes:
            folder = node.folder / "agentd"
            if folder.exists():
                folder.rename(folder.with_name(f"agentd-{len(node.agents)}"))
            self.agents[node.role] = self.start(
                node, kubeconfig=self.plane.agent_kubeconfig(node.role),
                addresses={"duration": f"{DURATION}s", "failback": "never", "interfaces": ["lan"], **addresses},
                services=services or {})
        self.judge = Judge(self.segment)

    def start(self, node, **settings):
        return self.lab.agent(node, **settings)

    def put(self, *addresses, policy="Cluster", nodes=NAMES, name="web"):
        self.plane.put(pool("198.51.100.0/26", "2001:db8:5::/120"), advertisement(),
                       service(name, *addresses, policy=policy))
        for family in {"IPv6" if ":" in address else "IPv4" for address in addresses}:
            self.plane.put(objects.slice_of(name, [
                objects.endpoint(f"10.224.0.{9 + index}" if family == "IPv4" else f"fd00:224::{9 + index}", node)
                for index, node in enumerate(nodes)], family=family, suffix=family.lower()))

    def put_service(self, name, *addresses):
        """One of which any node may have the addresses, beside a pool and its advertisement."""
        self.plane.put(service(name, *addresses))
        for family in {"IPv6" if ":" in address else "IPv4" for address in addresses}:
            self.plane.put(objects.slice_of(
                name, [objects.endpoint("10.224.0.9" if family == "IPv4" else "fd00:224::9", "node1")],
                family=family, suffix=family.lower()))

    def held(self):
        """What each node's kernel has for claims."""
        return {node.role: [found["local"] for link in node.ip_json("addr", "show", "dev", "lan")
                            for found in link["addr_info"] if found["prefixlen"] in (32, 128)]
                for node in self.lab.nodes}

    def ages(self):
        """Of each Lease: for how many seconds its holder had it when it was renewed last."""
        items = self.plane.api.get(f"{LEASES}?labelSelector=fingerpost.io/claim")["items"]
        times = [[datetime.fromisoformat(item["spec"][key]) for key in ("acquireTime", "renewTime")] for item in items]
        return [(renewed - acquired).total_seconds() for acquired, renewed in times]

    def requests(self, names=NAMES):
        """To the store, by nodes' own counts."""
        return sum(int(line.split()[1]) for name in names for line in self.agents[name].get("/metrics").splitlines()
                   if line.startswith("fingerpost_claim_requests_total "))

    def request_rate(self, seconds):
        """Requests to the store per second, over at least so long."""
        begin, before = time.monotonic(), self.requests()
        wait(lambda: time.monotonic() > begin + seconds, "requests", seconds + 30)
        return (self.requests() - before) / (time.monotonic() - begin)

    def row(self, name, address=V4):
        rows = [row for row in self.agents[name].json("addresses")["items"] if row["address"] == address]
        return rows[0] if rows else None

    def holder(self, address=V4, timeout=30):
        """The node that has it by its kernel, once one has and the client reaches it there."""
        [name] = wait(lambda: self.segment.at(address), f"a holder of {address}", timeout)
        wait(lambda: self.segment.client.ping(address), f"{name} to answer for {address}", 10)
        wait_equal(lambda: self.segment.cached(address), name, "the client's cache")
        return name

    def node(self, name):
        return next(node for node in self.lab.nodes if node.role == name)

    def faults(self, name):
        return {fault["place"]: fault["message"] for fault in self.agents[name].faults()
                if fault["subsystem"] == "addresses"}

    def lease(self, address=V4, part="spec"):
        groups = ipaddress.ip_address(address).exploded.split(":")
        key = "address." + "-".join(f"{int(group, 16):x}" for group in groups) if ":" in address else \
            "address." + address.replace(".", "-")
        return self.plane.api.get(f"{LEASES}/{key}")[part]

    def metadata(self):
        return self.lease(part="metadata")

    def leases(self):
        """Their names."""
        return self.plane.kubectl("get", "leases", "-n", "kube-system", "-l", "fingerpost.io/claim",
                                  "-o", "name").split()

    def stopwatch(self):
        """For what agents do by way of the API."""
        running = [*self.agents.values(), self.plane.api_server, self.plane.etcd]
        return Stopwatch(*(each.process.pid for each in running if each.running()))

    def moved(self, before, watch, most, address=V4):
        """Waits until another node than `before` answers: it has to say that it has the address within so many
        seconds from the start of the watch."""
        after = wait(lambda: [name for name in self.segment.at(address) if name != before], "another holder", 60)[0]
        told = wait(lambda: self.judge.first_word(address, after, watch.at), "its word", 20)
        took = watch.seconds(told)
        wait(lambda: self.segment.client.ping(address, timeout=0.2), "an answer", 20)
        print(f"{address}: from {before} to {after} in {took:.2f} s, by the clock {told - watch.at:.2f}")
        assert took <= most, f"{took:.2f} s"
        return after

    def end(self):
        for agent in self.agents.values():
            if agent.running():
                agent.process.send_signal(signal.SIGCONT)
                agent.stop()
        if self.judge:
            self.judge.close()
        for item in self.plane.items("Service"):
            if item["metadata"]["name"] != "kubernetes":
                self.plane.api.delete("Service", item["metadata"]["name"], "default")
        for kind, name in (("L2Advertisement", "lan"), ("IPAddressPool", "lb")):
            if [item for item in self.plane.items(kind) if item["metadata"]["name"] == name]:
                self.plane.api.delete(kind, name, "default")
        self.segment.remove()
        self.plane.kubectl("delete", "leases", "-n", "kube-system", "-l", "fingerpost.io/claim")


@pytest.fixture(name="setting")
def setting_fixture(request, cluster, kubelets):
    del kubelets
    setting = Setting(cluster)
    yield setting
    refused = setting.refusals() - setting.refused
    setting.end()
    assert refused == 0 or request.node.name == AWAY


def test_one_node_has_each_address_and_says_so(setting):
    setting.put(V4, V6)
    setting.begin()
    for address in (V4, V6):
        name = setting.holder(address)
        [row] = [setting.row(name, address)]
        assert (row["state"], row["holder"], row["interface"], row["service"]) == (
            "held", name, "lan", "default/web"), row
        assert row["renewalAgeMs"] < DURATION * 1000
        for other in NAMES:
            if other != name:
                wait_equal(lambda other=other: setting.row(other, address)["holder"], name, "what others know")
                assert setting.row(other, address)["state"] == "other"
    schema.check(setting.agents["node1"].json("addresses"))
    name = setting.holder()
    assert setting.lease()["holderIdentity"] == name
    # Announced, to all and several times; never by another; no route of it in table 119.
    wait(lambda: len(setting.judge.announcements(V4)) >= 5, "announcements")
    assert setting.judge.holders(V4) == [name]
    assert not any(V4 in line for node in setting.lab.nodes for line in node.table(119))
    reasons = {row["address"]: row["reason"] for row in setting.agents[name].json("routes")["addresses"]} \
        if "addresses" in setting.agents[name].json("routes") else {}
    assert reasons.get(V4, "claimed") == "claimed"
    assert all(setting.faults(node) == {} for node in NAMES)
    for node in NAMES:
        explained = setting.agents[node].json("explain", V4)
        schema.check(explained)
        assert (explained["claim"]["holder"], explained["claim"]["state"]) == (
            name, "held" if node == name else "other"), explained
        words = " ".join(setting.agents[node].ctl("explain", V4).out.split())
        assert f"{name} has it by claim address.{V4.replace('.', '-')}, for " in words, words
        assert ("here by lan, renewed" if node == name else "not here: another node has it") in words, words
    metrics = setting.agents[name].get("/metrics")
    assert 'fingerpost_claimed_addresses{state="held"}' in metrics
    # The Service goes: so does the address, and the Lease names nobody, and then goes as well.
    setting.plane.api.delete("Service", "web", "default")
    wait_equal(lambda: setting.segment.at(V4), [], "no holder")
    wait_equal(lambda: setting.lease()["holderIdentity"], "", "a Lease of nobody")
    wait_equal(setting.leases, [], "no Lease", DURATION + 5)
    assert all(setting.faults(node) == {} for node in NAMES)


def test_a_lease_outlives_neither_its_service_nor_a_dead_holder(setting):
    setting.put(V4)
    setting.begin()
    setting.holder()
    made = setting.metadata()
    setting.plane.api.delete("Service", "web", "default")
    wait_equal(lambda: setting.lease()["holderIdentity"], "", "a Lease of nobody")
    # Somebody wants it again before it is deleted: it stays.
    setting.put(V4)
    name = setting.holder()
    assert setting.lease()["holderIdentity"] == name and setting.metadata()["uid"] == made["uid"]
    # Who would give it back is dead: another sees to it, when nobody can have the address any more.
    setting.agents[name].kill()
    begun = time.monotonic()
    setting.plane.api.delete("Service", "web", "default")
    wait_equal(setting.leases, [], "no Lease", 4 * DURATION)
    print(f"deleted {time.monotonic() - begun:.1f} s after its holder's death")
    assert time.monotonic() - begun > DURATION and setting.segment.at(V4) == []


def test_an_agent_that_is_killed_or_stopped_loses_it_to_one_other(setting):
    setting.put(V4)
    setting.begin()
    first = setting.holder()
    setting.agents[first].kill()
    second = setting.moved(first, setting.stopwatch(), DURATION + 2)
    setting.agents[second].process.send_signal(signal.SIGSTOP)
    third = setting.moved(second, setting.stopwatch(), DURATION + 2)
    assert setting.segment.at(V4) == [third]
    setting.agents[second].process.send_signal(signal.SIGCONT)
    wait_equal(lambda: setting.row(second)["state"], "other", "what it knows again")
    assert setting.segment.at(V4) == [third]
    assert setting.judge.holders(V4) == [first, second, third]


def test_a_restart_moves_nothing_and_says_nothing(setting):
    setting.put(V4)
    setting.begin(duration="12s")  # longer than a start takes, on a slow machine too
    name = setting.holder()
    wait(lambda: len(setting.judge.announcements(V4)) >= 10, "all announcements")
    before, transitions = len(setting.judge.announcements(V4)), setting.lease()["leaseTransitions"]
    asker, served = Asker(setting.segment, [V4]), Served(setting.segment, [V4])
    begun = wait(lambda: served.answers[V4].times, "an answer")[0]
    for number in range(RESTARTS):
        (setting.agents[name].kill if number % 2 else setting.agents[name].stop)()
        setting.agents[name].start()
        wait_equal(lambda: setting.row(name)["state"], "held", "the address still here")
        assert setting.segment.at(V4) == [name]
        if number % 3 == 0:
            renewed = setting.lease()["renewTime"]
            wait(lambda: setting.lease()["renewTime"] != renewed, "a renewal")
    for worker in (served, asker):
        worker.close()
    gap = served.answers[V4].longest(begun, served.answers[V4].times[-1], served.stalls)
    print(f"{RESTARTS} restarts: the longest time without an answer was {gap.end - gap.begin:.2f} s")
    assert gap.end - gap.begin < 1
    assert setting.judge.doubles() == []
    assert setting.judge.holders(V4) == [name]
    # Each minute one is due, of two frames.
    due = 2 * (1 + (time.monotonic() - begun) // 60)
    assert len(setting.judge.announcements(V4)) - before <= due, "none that was not due"
    assert setting.lease()["leaseTransitions"] == transitions


def test_the_api_is_away_for_one_and_for_all(setting):
    setting.put(V4)
    setting.begin()
    first = setting.holder()
    setting.node(first).configure("route add blackhole 192.0.3.2/32")
    second = setting.moved(first, setting.stopwatch(), DURATION + 3)
    assert setting.segment.at(V4) == [second]
    setting.node(first).configure("route del blackhole 192.0.3.2/32")
    setting.plane.api_server.kill()
    wait_equal(lambda: setting.segment.at(V4), [], "no holder without the API", DURATION + 3)
    for agent in setting.agents.values():
        wait(lambda agent=agent: [f for f in agent.faults() if f["subsystem"] == "addresses"], "a fault", 30)
    gone = time.monotonic()
    setting.plane.start_api_server()
    watch = setting.stopwatch()
    [third] = wait(lambda: setting.segment.at(V4), "a holder", 60)
    took = watch.seconds(wait(lambda: setting.judge.first_word(V4, third, gone), "its word"))
    print(f"{took:.2f} s after the API")
    assert took < 2
    assert setting.holder() == third
    assert setting.segment.at(V4) == [third]
    for kind in ("L2Advertisement", "IPAddressPool", "Service"):
        wait(lambda kind=kind: setting.plane.items(kind), f"an API that has read {kind} objects")
    holders = setting.judge.holders(V4)
    assert holders[:2] == [first, second] and holders[2:] in ([], [third]), holders


def test_a_cable_that_is_pulled_moves_it_at_once(setting):
    setting.put(V4)
    setting.begin()
    first = setting.holder()
    watch = setting.stopwatch()
    setting.segment.cable(setting.node(first), "down")
    second = setting.moved(first, watch, 1)
    wait_equal(lambda: setting.row(first)["why"], "the interface in its network is down", "why not here")
    setting.segment.cable(setting.node(first), "up")
    wait_equal(lambda: setting.row(first)["why"], "another node has it", "the end of that")
    assert setting.segment.at(V4) == [second]
    assert setting.judge.holders(V4) == [first, second]


def test_a_strangers_address_is_never_used_and_taken_when_he_goes(setting):
    stranger = setting.segment.guest("stranger", 9)
    stranger.configure(f"addr add {V4}/24 dev lan", f"addr add {V6}/64 dev lan nodad")
    setting.put(V4, V6)
    setting.begin()
    mac = setting.segment.macs["stranger"]
    [other] = wait(lambda: [name for name in NAMES if V6 in setting.faults(name)], "the fault of IPv6", 60)
    assert mac in setting.faults(other)[V6] and setting.row(other, V6)["state"] == "taken"
    assert setting.segment.client.ping(V6)
    assert setting.judge.holders(V6) == ["stranger"] and setting.segment.at(V6) == []
    stranger.configure(f"addr del {V6}/64 dev lan")
    assert setting.holder(V6) == other
    [name] = wait(lambda: [name for name in NAMES if V4 in setting.faults(name)], "the fault", 60)
    assert mac in setting.faults(name)[V4]
    assert setting.row(name)["state"] == "taken" and mac in setting.row(name)["why"]
    assert setting.segment.client.ping(V4)
    assert setting.judge.holders(V4) == ["stranger"] and setting.segment.at(V4) == []
    stranger.configure(f"addr del {V4}/24 dev lan")
    assert setting.holder() == name
    wait_equal(lambda: setting.faults(name), {}, "the end of the fault")
    # He comes back while it is held, and says so: it is left to him, after the store was asked.
    stranger.configure(f"addr add {V4}/24 dev lan")
    setting.segment.announce(stranger, V4)
    wait(lambda: "fingerpost_claim_conflicts_total 0" not in setting.agents[name].get("/metrics"), "a conflict")
    wait_equal(lambda: setting.segment.at(V4), [name], "its defence")

    def says_so_again():  # until it is not while the holder asks him
        setting.segment.announce(stranger, V4)
        return setting.row(name)["state"] == "taken"

    wait(says_so_again, "the end of it")
    assert setting.segment.at(V4) == [] and mac in setting.faults(name)[V4]
    stranger.configure(f"addr del {V4}/24 dev lan")
    assert setting.holder() == name


def test_an_orderly_move(setting):
    setting.put(V4)
    setting.begin()
    first = setting.holder()
    watch = setting.stopwatch()
    setting.node(first).start(program("agentctl"), "--socket", str(setting.agents[first].socket), "drain",
                              log="drain.log")  # which waits for its end
    second = setting.moved(first, watch, 1)
    assert setting.row(first)["why"] == "the node is drained or withdrawn"
    assert setting.judge.holders(V4) == [first, second]
    assert setting.agents[first].ctl("undrain").code == 0
    # The label says so as well.
    label = "node.kubernetes.io/exclude-from-external-load-balancers"
    setting.plane.api.request("PATCH", path_of("Node", name=second), {"metadata": {"labels": {label: ""}}}, MERGE)
    third = setting.moved(second, setting.stopwatch(), 2)
    assert setting.segment.at(V4) == [third]
    setting.plane.api.request("PATCH", path_of("Node", name=second), {"metadata": {"labels": {label: None}}}, MERGE)


def test_a_host_that_hears_no_broadcast_is_told_too(setting):
    """Its cache is right at once, without a question of its own: it would ask after five seconds, and in vain."""
    setting.put(V4, V6)
    setting.begin(group="all")
    first, client = setting.holder(), setting.segment.client
    assert setting.holder(V6) == first
    for index in range(1, 4):  # who has him as a neighbour
        for net in (NET4, NET6):
            wait(lambda net=net, index=index: client.ping(net.format(index).split("/")[0]), "an answer", 10)
    for node in setting.lab.nodes:  # where it was is no neighbour to be told: it would pass that on
        wait(lambda node=node: node.ping(V6), "an answer", 10)
    client.run("nft", "-f", "-", text="""table netdev deaf {
        chain arriving { type filter hook ingress device lan priority 0; meta pkttype { broadcast, multicast } drop; }
    }""")
    watch = setting.stopwatch()
    setting.node(first).start(program("agentctl"), "--socket", str(setting.agents[first].socket), "drain",
                              log="drain.log")
    for address in (V4, V6):
        second = setting.moved(first, watch, 2, address)  # the first may have passed it on
        wait_equal(lambda address=address: setting.segment.cached(address), second, "the client's cache", 4)
    wait(lambda: len(setting.judge.announcements(V6)) >= 4, "what is said a second later")
    assert setting.judge.doubles() == []
    assert setting.agents[first].ctl("undrain").code == 0


def test_the_policy_local_follows_endpoints(setting):
    setting.put(V4, policy="Local", nodes=["node2"])
    setting.begin()
    assert setting.holder() == "node2"
    watch = setting.stopwatch()
    setting.put(V4, policy="Local", nodes=["node3"])
    assert setting.moved("node2", watch, 2) == "node3"
    assert setting.judge.holders(V4) == ["node2", "node3"]


def test_many_addresses_are_spread_and_those_of_a_lost_node_too(setting):
    """CLAIMED_ADDRESSES, CLAIMED_GROUP and CLAIMED_DURATION ask for more, CLAIMED_FIGURES for a file of figures."""
    count, group = int(os.environ.get("CLAIMED_ADDRESSES", "30")), os.environ.get("CLAIMED_GROUP", "address")
    duration = int(os.environ.get("CLAIMED_DURATION", DURATION))
    addresses = [f"198.51.100.{number}" for number in range(10, 60)][:count]
    addresses += [f"2001:db8:5::{number:x}" for number in range(0x1000, 0x1000 + count - len(addresses))]
    setting.plane.put(pool("198.51.100.0/26", "2001:db8:5::/64"), advertisement())
    for number in range(0, count, 10):
        setting.put_service(f"many-{number}", *addresses[number:number + 10])
    setting.begin(failback="3s", group=group, duration=f"{duration}s")  # the first agent had them all
    begun = time.monotonic()
    wait(lambda: sorted(sum(setting.held().values(), [])) == sorted(addresses), "a holder of each", 120)
    taken = time.monotonic() - begun
    claims = count if group == "address" else len(range(0, count, 10))
    # Nothing moves any more: each holder was renewed for longer than it takes to be sent back to another.
    wait(lambda: min(setting.ages()) > 3 + 2 * duration / 3 and len(setting.ages()) == claims, "the end of moves", 120)
    held = setting.held()
    assert min(map(len, held.values())) >= count / 6, {name: len(share) for name, share in held.items()}
    rate = setting.request_rate(2 * duration)
    assert rate <= claims * 3 / duration * 1.25, f"{rate:.1f} requests a second for {claims} claims"
    lost = held.pop("node1")
    before = setting.requests(tuple(held))
    watch = setting.stopwatch()
    setting.agents["node1"].kill()
    wait(lambda: not set(lost) - set(sum((setting.held()[name] for name in held), [])),
         f"{len(lost)} addresses of a lost node", duration + 30)
    ended = time.monotonic()
    took = ended - watch.at
    # Each claim is renewed as ever, and each lost one taken once: nobody tries what another has taken.
    extra = setting.requests(tuple(held)) - before - took * claims * 3 / duration
    figures = {"addresses": count, "claims": claims, "takenSeconds": round(taken, 1),
               "requestsPerSecond": round(rate, 1),
               "shares": {name: len(share) for name, share in {"node1": lost, **held}.items()}, "lost": len(lost), "movedSeconds": round(took, 1),
               "extraRequests": round(extra)}
    print(figures)
    if "CLAIMED_FIGURES" in os.environ:
        Path(os.environ["CLAIMED_FIGURES"]).write_text(json.dumps(figures), encoding="utf-8")
    assert watch.seconds(ended) < duration + 4
    after = setting.held()
    assert all(set(share) <= set(after[name]) for name, share in held.items()), "nothing else moved"
