# SPDX-License-Identifier: Apache-2.0
"""Starts while the API is away: what it said last is in force again, and nothing goes because of it.

A start after a reboot is one with empty tables; the API is a scripted one, that comes and goes.
"""

import json

import pytest
import scripted
from cluster import exported, pod_address, tables
from lab import objects, wait, wait_equal
from lab.authority import Authority, write_kubeconfig
from lab.traffic import Load, ask, wait_answers, wait_outcome
from scripted import ScriptedApi, server_context
from served import FAMILIES, NO_HOLD, Service, pods

ADDRESSES = [f"203.0.113.{number}" for number in range(1, 4)]
GONE = ADDRESSES[-1]
ONE = pytest.mark.lab(nodes=1)


class World:
    """An API that has one node and what more is put, and that node's agent; neither is started."""

    def __init__(self, lab, folder, *items, **settings):
        self.lab = lab
        (self.node,) = lab.nodes
        pki = Authority(folder, "ca")
        pair = pki.issue("server", hosts=[lab.client.address4])
        self.api = ScriptedApi(lab.client, lab.client.address4, server_context(pair))
        self.api.put(*self.node.objects(), *items)
        server = f"https://{lab.client.address4}:{scripted.PORT}"
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server, pki.certificate, {})
        self.agent = lab.agent(self.node, start=False, kubeconfig=kubeconfig,
                               source={"startWait": "1s"}, **settings)
        self.copy = self.agent.folder / "state" / "objects.json"

    def items(self, address):
        name = f"s{address.rpartition('.')[2]}"
        endpoint = objects.endpoint(pod_address(self.node), self.node.role)
        return (objects.service(name, [address], policy="Local"),
                objects.slice_of(name, [endpoint]))

    def serves(self, *addresses):
        wait_equal(lambda: tables(self.node), exported(self.node, *addresses), "table 119")

    def source(self):
        (source,) = self.agent.json("status")["sources"]
        return source

    def copied(self):
        """Waits until the copy has all that the API says."""
        items = [item for kind in ("Service", "EndpointSlice") for item in self.api.items(kind)]
        names = {(item["kind"], item["metadata"]["name"]) for item in items}

        def said():
            lines = map(json.loads, self.copy.read_text(encoding="utf-8").splitlines())
            return {(line["kind"], line["metadata"]["name"]) for line in lines
                    if line.get("kind") in ("Service", "EndpointSlice")}
        wait(lambda: self.copy.exists() and said() == names, "the copy", 60)

    def reboot(self):
        """What a reboot takes away."""
        for family in (4, 6):
            for table in (119, 120):
                words = ("ip", f"-{family}", "route", "flush", "table", str(table))
                self.node.run(*words, check=False)
            self.node.run("ip", f"-{family}", "rule", "del", "pref", "1990", check=False)
            assert self.node.table(119, family) == []

    def faults(self, group):
        return [fault["message"] for fault in self.agent.faults() if fault["group"] == group]


@pytest.fixture(name="world")
def world_fixture(lab, tmp_path):
    world = World(lab, tmp_path)
    for address in ADDRESSES:
        world.api.put(*world.items(address))
    world.api.start()
    world.agent.start()
    world.serves(*ADDRESSES)
    yield world
    if world.api.server:
        world.api.stop()


@ONE
def test_the_copy_stands_in_after_a_reboot(world):
    world.agent.stop()
    world.api.stop()
    world.reboot()
    world.agent.start()
    world.serves(*ADDRESSES)
    source = world.source()
    assert not source["synced"] and source["copy"]["inForce"]
    assert source["copy"]["objects"] >= 2 * len(ADDRESSES)
    status = world.agent.json("status")
    assert (status["health"], status["phase"]) == ("degraded", "running")
    (message,) = world.faults("start")
    assert "is in force, and nothing is removed" in message
    assert world.agent.json("explain", ADDRESSES[0])["copyAsOf"] == source["copy"]["asOf"]

    # What went meanwhile goes when the API says so, and nothing else flaps.
    monitor = world.lab.monitor()
    world.api.delete(*world.items(GONE))
    world.api.start()
    world.serves(*ADDRESSES[:-1])
    wait(lambda: world.source()["synced"], "the API's word")
    assert not world.source()["copy"]["inForce"] and world.faults("start") == []
    assert {prefix.partition("/")[0] for _, prefix, _ in monitor.losses()} <= {GONE}


@ONE
def test_the_copy_outlives_a_kill(world):
    world.copied()
    world.agent.kill()
    world.api.stop()
    world.reboot()
    world.agent.start()
    world.serves(*ADDRESSES)
    assert world.source()["copy"]["inForce"]


@ONE
def test_nothing_goes_on_the_account_of_an_old_copy(world):
    world.copied()
    old = world.copy.read_bytes()
    new = "203.0.113.99"
    world.api.put(*world.items(new))
    world.serves(*ADDRESSES, new)
    world.agent.stop()
    world.copy.write_bytes(old)
    world.api.stop()
    world.agent.start()
    wait(lambda: world.source()["copy"]["inForce"], "the copy in force")
    wait(lambda: world.agent.json("status")["routes"]["fullPasses"], "a full pass")
    world.serves(*ADDRESSES, new)
    world.api.start()
    wait(lambda: world.source()["synced"], "the API's word")
    world.serves(*ADDRESSES, new)


@ONE
def test_the_copy_is_not_used_while_the_api_answers(world):
    """Within startWait, which is long here: an agent that nobody runs meanwhile may start by it."""
    world.agent.stop()
    world.agent.settings["source"]["startWait"] = "1h"
    world.agent.write_config()
    world.api.delete(*world.items(GONE))
    world.reboot()
    monitor = world.lab.monitor()
    world.agent.start()
    world.serves(*ADDRESSES[:-1])
    announced = {event.prefix.partition("/")[0] for event in monitor.events()}
    assert GONE not in announced


@ONE
def test_without_a_copy_what_stands_stays(world):
    world.agent.stop()
    world.api.stop()
    world.copy.write_bytes(world.copy.read_bytes()[:-100])
    world.agent.start()
    (message,) = world.faults("copy")
    assert "it is damaged" in message
    (message,) = world.faults("start")
    assert "there is no copy" in message
    world.serves(*ADDRESSES)
    assert world.agent.json("status")["health"] == "failed"
    world.api.start()
    wait(lambda: world.agent.json("status")["health"] == "healthy", "health", 60)
    world.serves(*ADDRESSES)


@ONE
def test_a_full_disk_is_told_and_mended(world):
    world.copied()
    world.agent.stop()
    old = world.copy.read_bytes()
    state = world.copy.parent
    script = f'mount -t tmpfs -o size=16k copies {state} && cp {state}.old {world.copy} && exec "$@"'
    (state.parent / "state.old").write_bytes(old)
    world.agent.wrapper = ("unshare", "--mount", "sh", "-c", script, "sh")
    world.agent.start()
    many = [f"203.0.113.{number}" for number in range(100, 140)]
    for address in many:
        world.api.put(*world.items(address))
    wait(lambda: any("No space left on device" in message for message in world.faults("copy")),
         "the fault", 60)
    for address in many:
        world.api.delete(*world.items(address))
    wait(lambda: world.faults("copy") == [], "the end of the fault", 60)


@pytest.fixture(name="nat")
def nat_fixture(lab, tmp_path):
    """The same with service NAT: `web` is served by a pod of the node, of which there is another."""
    nat = World(lab, tmp_path, routes=NO_HOLD)
    nat.pods = pods(lab, "one", "two")
    nat.web, nat.late = Service(lab), Service(lab, "late", 20)
    nat.web.backends = nat.late.backends = [(nat.pods["one1"], {})]
    nat.api.put(*nat.web.objects())
    nat.api.start()
    nat.agent.start()
    answer(nat, nat.web)
    yield nat
    if nat.api.server:
        nat.api.stop()


def answer(nat, *services):
    """Waits until clients are served, outside and on the node."""
    for service in services:
        for family in FAMILIES:
            wait_outcome("forward", nat.lab.client, *service.address("loadBalancer", family))
            wait_outcome("forward", nat.node, *service.address("clusterIP", family))


NAT = pytest.mark.lab(nodes=1, nat=True)


@NAT
def test_nat_forwards_again_after_a_reboot(nat):
    nat.agent.stop()
    nat.api.stop()
    assert nat.agent.ctl("cleanup", "--config", str(nat.agent.config_file)).code == 0
    nat.agent.start()
    answer(nat, nat.web)
    status = nat.agent.json("status")
    assert status["sources"][0]["copy"]["inForce"] and status["nat"]["complete"]
    assert nat.agent.ctl("verify").code == 0
    nat.api.start()
    wait(lambda: nat.source()["synced"], "the API's word")
    wait(lambda: nat.agent.json("status")["health"] == "healthy", "health")
    answer(nat, nat.web)


@NAT
def test_an_old_copy_hurts_no_traffic(nat):
    """What the maps have and the copy does not, or has otherwise, is served on as it is there."""
    nat.copied()
    old = nat.copy.read_bytes()
    nat.web.backends = [(nat.pods["two1"], {})]
    nat.api.put(*nat.web.objects(), *nat.late.objects())
    answer(nat, nat.late)
    where = nat.web.address("loadBalancer", 4)
    both = {"web": "pod-two-1", "late": "pod-one-1"}

    def who():
        return {"web": ask(nat.lab.client, *where).name,
                "late": ask(nat.lab.client, *nat.late.address("loadBalancer", 4)).name}
    wait_equal(who, both, "the pods that answer")
    loads = [Load(client, kind, *service.address(where, 4), c=2, i=5)
             for service in (nat.web, nat.late)
             for client, where in ((nat.lab.client, "loadBalancer"), (nat.node, "clusterIP"))
             for kind in ("short", "long", "udp")]
    monitor = nat.lab.monitor()

    wait_answers(loads, 20)
    nat.agent.kill()
    nat.api.stop()
    nat.copy.write_bytes(old)
    nat.agent.start()
    wait(lambda: nat.source()["copy"]["inForce"], "the copy in force")
    wait_answers(loads, 100)
    assert nat.agent.json("status")["nat"]["writes"] == 0 and who() == both
    nat.api.start()
    wait(lambda: nat.source()["synced"], "the API's word")
    wait_answers(loads, 100)
    for load in loads:
        load.stop()
    for load in loads:
        load.unhurt()
    assert monitor.losses() == []
    assert nat.agent.ctl("verify").code == 0
