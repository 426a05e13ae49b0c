# SPDX-License-Identifier: Apache-2.0
"""A reload takes up a kubeconfig that has changed, and nothing else of what decides what is asked."""

import json

import pytest
import scripted
from cluster import exported, pod_address, tables
from lab import objects, wait, wait_equal
from lab.authority import Authority, write_kubeconfig
from scripted import ScriptedApi, server_context

ADDRESS, LATER = "203.0.113.1", "203.0.113.2"
ELSEWHERE = scripted.PORT + 1


class World:
    def __init__(self, lab, folder):
        self.lab, self.folder = lab, folder
        (self.node,) = lab.nodes
        self.pki = Authority(folder, "ca")
        self.api = self.serve(scripted.PORT, ADDRESS)
        self.agent = lab.agent(self.node, kubeconfig=self.name(scripted.PORT))
        self.reached(ADDRESS)
        self.monitor = lab.monitor()

    def serve(self, port, *addresses):
        client = self.lab.client
        pair = self.pki.issue(f"server-{port}", hosts=[client.address4])
        api = ScriptedApi(client, client.address4, server_context(pair), port=port)
        api.put(*self.node.objects())
        for number, address in enumerate(addresses):
            endpoint = objects.endpoint(pod_address(self.node), self.node.role)
            api.put(objects.service(f"s{number}", [address], policy="Local"),
                    objects.slice_of(f"s{number}", [endpoint]))
        return api.start()

    def name(self, port):
        """Writes the kubeconfig."""
        server = f"https://{self.lab.client.address4}:{port}"
        return write_kubeconfig(self.folder / "kubeconfig", server, self.pki.certificate, {})

    def reached(self, *addresses):
        wait_equal(lambda: tables(self.node), exported(self.node, *addresses), "table 119")

    def source(self):
        (source,) = self.agent.json("status")["sources"]
        return source

    def fault(self, text):
        return wait(lambda: [fault for fault in self.agent.faults() if text in json.dumps(fault)],
                    f"a fault about {text}")


@pytest.fixture(name="world")
def world_fixture(lab, tmp_path):
    world = World(lab, tmp_path)
    yield world
    if world.api.server:
        world.api.stop()


@pytest.mark.lab(nodes=1)
def test_the_api_moves(world):
    moved = world.serve(ELSEWHERE, ADDRESS, LATER)
    world.api.stop()
    world.name(ELSEWHERE)
    world.agent.reload()
    world.reached(ADDRESS, LATER)
    assert world.source()["path"].endswith(f":{ELSEWHERE}")
    wait(lambda: world.agent.faults() == [], "the end of all faults", 60)
    assert world.monitor.losses() == []
    copy = world.agent.folder / "state" / "objects.json"
    wait(lambda: f":{ELSEWHERE}" in copy.read_text(encoding="utf-8").splitlines()[0], "the copy", 60)
    moved.stop()


@pytest.mark.lab(nodes=1)
def test_a_broken_kubeconfig_changes_nothing(world):
    text = (world.folder / "kubeconfig").read_text(encoding="utf-8")
    (world.folder / "kubeconfig").write_text("clusters: [", encoding="utf-8")
    world.agent.reload()
    world.fault("kubeconfig:2:1")
    endpoint = objects.endpoint(pod_address(world.node), world.node.role)
    world.api.put(objects.service("more", [LATER], policy="Local"), objects.slice_of("more", [endpoint]))
    world.reached(ADDRESS, LATER)
    (world.folder / "kubeconfig").write_text(text, encoding="utf-8")
    lists = world.api.count(scripted.LIST)
    world.agent.reload()
    wait(lambda: world.agent.faults() == [], "the end of the fault")
    assert world.api.count(scripted.LIST) == lists, "it says what it said: nothing is asked anew"


@pytest.mark.lab(nodes=1)
def test_what_is_asked_for_stays(world):
    world.agent.settings["services"]["proxyName"] = "other"
    world.agent.write_config()
    world.agent.reload()
    world.fault("services.proxyName cannot change while agentd runs")
    world.reached(ADDRESS)
