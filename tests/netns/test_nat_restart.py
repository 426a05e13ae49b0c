# SPDX-License-Identifier: Apache-2.0
"""Traffic does not notice the agent: killed, restarted, upgraded, or busy with changes. And where it
can't serve, it says why and goes on with the routes."""

import os
import random
import threading
from pathlib import Path

import pytest
from attached import attachments
from cluster import exported, guard_rules, tables
from lab import wait, wait_equal
from lab.traffic import Load, ask, outcome, wait_answers, wait_outcome
from served import FAMILIES, NO_HOLD, Service, announced, pods, settle, start, steer

NAT = pytest.mark.lab(nat=True)
ONE = pytest.mark.lab(nodes=1, nat=True)
ANSWERS = 40  # that each client gets in each state of the agents
KILLS = 8
CHANGES = 300
CHANGES_PER_SECOND = 100
BIRTHS = 12


@pytest.fixture(name="world")
def world_fixture(lab):
    """An endpoint on each node that stays, and room for others that come and go."""
    lab.pods = pods(lab, "one", "extra")
    lab.guest = lab.pod(lab.nodes[0], "guest")
    lab.web = Service(lab)
    lab.stay = [pod for name, pod in lab.pods.items() if name.startswith("one")]
    lab.extra = [pod for name, pod in lab.pods.items() if name.startswith("extra")]
    lab.web.write(*lab.stay)
    return lab


def loads(world, kinds=("short", "long", "udp")):
    """Traffic of every kind: from outside, a pod and a node itself, of both families."""
    node = world.nodes[0]
    found = []
    for family in FAMILIES:
        for kind in kinds:
            for client, address in ((world.client, "loadBalancer"), (world.guest, "clusterIP"),
                                    (node, "clusterIP"), (world.client, "nodePort")):
                where = world.web.address(address, family, node)
                found.append(Load(client, kind, *where, c=2, i=5))
    return found


def all_unhurt(found):
    for load in found:
        load.stop()
    for load in found:
        load.unhurt()


@pytest.mark.busy
@NAT
def test_kills_under_load(world):
    """Nothing is refused, reset, lost or even late; what was written is found, not written anew."""
    agents = start(world, world.web)
    monitor = world.monitor()
    found = loads(world)
    wait_answers(found, ANSWERS)
    for number in range(KILLS):
        agent = agents[number % len(agents)]
        agent.kill()
        wait_answers(found, ANSWERS)
        agent.start()
        wait_answers(found, ANSWERS)
    settle(world)
    assert all(agent.ctl("verify").code == 0 for agent in agents)
    all_unhurt(found)
    assert monitor.losses() == []


@pytest.mark.busy
@NAT
def test_a_clean_stop_and_a_reload_under_load(world):
    agents = start(world, world.web)
    found = loads(world)
    for agent in agents:
        wait_answers(found, ANSWERS)
        agent.stop()
        wait_answers(found, ANSWERS)
        agent.start()
        agent.reload()
        wait_answers(found, ANSWERS)
    all_unhurt(found)


@pytest.mark.busy
@NAT
def test_endpoints_that_change_all_the_time(world):
    """A hundred changes a second, of this Service and of others; connections to what stays are not
    hurt, nor new ones."""
    agents = start(world, world.web)
    others = [Service(world, f"other{number}", 20 + number) for number in range(8)]
    chance = random.Random(4)
    found = loads(world)
    wait_answers(found, ANSWERS)
    written = 0
    while written < CHANGES:
        for _ in range(CHANGES_PER_SECOND // 10):
            service = chance.choice([world.web, world.web, *others])
            more = [pod for pod in world.extra if chance.random() < 0.5]
            service.write(*world.stay, *more)
            written += 1
        wait_answers(found, 2)
    world.web.write(*world.stay)
    settle(world)
    assert all(agent.ctl("verify").code == 0 for agent in agents)
    for load in found:
        load.stop()
    for load in found:
        errors, waits = load.result["errors"], load.result["waits"]
        # A datagram flow of an extra endpoint that was taken away goes on to another one.
        allowed = {"moved"} if " udp " in f" {load.what} " else set()
        assert set(errors) <= allowed and not waits, (load.what, errors, waits)


def leads(node):
    """Per table: how many routes lead to svc0."""
    return [sum("svc0" in line and "proto 33" in line for lines in tables(node, table).values()
                for line in lines) for table in (120, 254)]


@pytest.mark.busy
@NAT
def test_rules_of_others_come_and_go(world):
    """They might pass main by: what leads to svc0 goes behind a rule of our own, and back."""
    agents = start(world, world.web)
    node = world.nodes[0]
    found = loads(world)
    wait_answers(found, ANSWERS)
    behind, count = leads(node)
    assert behind == 0 and count and not guard_rules(node)
    rule = ("from", "192.0.2.99", "lookup", "77")
    for _ in range(3):
        node.ip("rule", "add", *rule)
        wait_equal(lambda: (leads(node), guard_rules(node)),
                   ([count, 0], ["1990: from all lookup 120 proto 33"] * 2), "the rules")
        wait_answers(found, ANSWERS)
        node.ip("rule", "del", *rule)
        wait_equal(lambda: (leads(node), guard_rules(node)), ([0, count], []), "main")
        wait_answers(found, ANSWERS)
    assert agents[0].json("diff")["items"] == []
    all_unhurt(found)


@pytest.mark.busy
@NAT
def test_source_ports_are_used_again(world):
    """Many more connections to one endpoint than there are ports: each goes on with one whose
    connection is over, and no two with the same."""
    world.web.write(world.stay[1])
    start(world, world.web, services={"snatPorts": "20000-20199"})
    found = [Load(world.client, "short", *world.web.address("nodePort", family, world.nodes[0]), c=4)
             for family in FAMILIES]
    wait_answers(found, 5000)
    for load in found:
        load.unbroken()


@pytest.mark.busy
@NAT
def test_a_drained_node(world):
    """Connections that came by the node go on over it until the ToR stops sending them; those that
    the ToR moves to the other node are its own affair, so the node's own traffic is looked at."""
    quick = {**NO_HOLD, "drain": {"shutdown": "300ms", "withdraw": "300ms"}}
    agents = start(world, world.web, routes=quick)
    node = world.nodes[0]
    balanced = world.web.of["loadBalancer"]
    found = [load for load in loads(world) if not any(ip in load.what for ip in balanced)]
    wait_answers(found, ANSWERS)
    assert agents[0].ctl("drain").code == 0
    announced(world, world.web, world.nodes[1])
    wait_answers(found, ANSWERS)
    assert agents[0].ctl("undrain").code == 0
    announced(world, world.web, *world.nodes)
    wait_answers(found, ANSWERS)
    all_unhurt(found)
    assert tables(node)[4]


@ONE
def test_what_changed_while_the_agent_was_away(world):
    """It writes the difference only; what went is gone, what came is there."""
    [agent] = start(world, world.web)
    [node] = world.nodes
    steer(world, node, *world.web.announced())
    gone, new = Service(world, "gone", 21), Service(world, "new", 22)
    gone.write(*world.stay)
    settle(world)
    agent.kill()
    gone.delete()
    new.write(*world.stay)
    agent.start()
    settle(world)
    assert agent.ctl("verify").code == 0
    names = {item["name"] for item in agent.json("services")["items"]}
    assert names == {"web", "new"}
    wait_outcome("drop", node, *gone.address("clusterIP", 4))
    assert outcome(node, *new.address("clusterIP", 4)) == "forward"


def born_as_the_agent_dies(world, agent, name):
    """A pod whose agent is killed as soon as its interface has a hook, and how many that has then."""
    links = Path(agent.settings["paths"]["bpf"]) / "links"
    before, born = set(os.listdir(links)), []
    birth = threading.Thread(target=lambda: born.append(world.pod(agent.node, name)))
    birth.start()
    while set(os.listdir(links)) == before:
        pass  # the next one comes within microseconds
    agent.kill()
    birth.join()
    return born[0], len(set(os.listdir(links)) - before)


@ONE
def test_killed_while_a_pod_is_born(world):
    """Also between the hooks of its interface: then it has the exit, where answers are translated."""
    [agent] = start(world, world.web)
    steer(world, agent.node, *world.web.of["clusterIP"])
    between = 0
    for number in range(BIRTHS):
        pod, hooks = born_as_the_agent_dies(world, agent, f"born-{number}")
        between += hooks == 1
        for family in FAMILIES:
            assert ask(pod, *world.web.address("clusterIP", family)), (hooks, family)
        agent.start()
        settle(world)
        for family in FAMILIES:
            assert ask(pod, *world.web.address("clusterIP", family)), family
        if between == 3:
            return
    assert between, "no agent died between two hooks"


@ONE
def test_two_agents_do_not_share_a_data_plane(world):
    """Another state folder, so that only the maps can tell."""
    [agent] = start(world, world.web)
    [node] = world.nodes
    second = world.agent(node, ready=False, name="second",
                         paths={"bpf": agent.settings["paths"]["bpf"]},
                         routes={"table": 121, **NO_HOLD})
    wait(lambda: not second.running() or second.faults(), "the second one to refuse", 90)
    if second.running():
        assert any("nat" in f"{fault}".lower() for fault in second.faults()), second.faults()
    assert agent.settled()["health"] == "healthy" and agent.ctl("verify").code == 0


def told(agent, *words):
    """A fault that names all of the words."""
    return [f for f in agent.faults() if all(word in f"{f}".lower() for word in words)]


@ONE
def test_without_a_bpf_file_system(world):
    """A named fault; blocks are announced, addresses that nobody proves are not."""
    world.write_nodes()
    [node] = world.nodes
    agent = world.agent(node, bpffs=False, routes=NO_HOLD)
    agent.settled()
    assert agent.ctl("status").code == 1
    assert wait(lambda: told(agent, "bpf"), "a fault about the file system")
    wait_equal(lambda: tables(node), exported(node), "table 119 with the blocks alone")


def agent_without(world, capabilities):
    """A settled agent from which setpriv has taken these, written as its options want them."""
    world.write_nodes()
    [node] = world.nodes
    agent = world.agent(node, start=False, routes=NO_HOLD)
    agent.wrapper = ("setpriv", "--bounding-set", capabilities, "--inh-caps", capabilities)
    agent.start()
    agent.settled()
    return agent


@ONE
def test_without_the_capability(world):
    """The same where the kernel refuses: what loading a program needs is gone."""
    agent = agent_without(world, "-sys_admin,-bpf,-perfmon")
    assert wait(lambda: told(agent, "cap_bpf"), "a fault that names the capability")
    wait_equal(lambda: tables(agent.node), exported(agent.node), "table 119 with the blocks alone")


@ONE
def test_the_words_of_the_verifier(world):
    """It finds fault with the programs of who lacks CAP_PERFMON; why is in the log, and no more of
    it than somebody reads."""
    agent = agent_without(world, "-sys_admin,-perfmon")
    assert wait(lambda: told(agent, "cap_perfmon"), "a fault that names the capability")
    log = agent.log.read_text(errors="replace")
    assert "END PROG LOAD LOG" in log and "processed" in log
    assert len(log.splitlines()) < 40


@ONE
def test_nat_can_be_switched_off(world):
    """By configuration and restart: nothing of ours touches packets any more."""
    [agent] = start(world, world.web)
    [node] = world.nodes
    agent.stop()
    agent.settings["services"]["enabled"] = False
    agent.write_config()
    agent.start()
    agent.settled()
    assert attachments(agent) == set()
    assert not [link for link in node.ip_json("link") if link["ifname"].startswith("svc0")]


@pytest.mark.busy
@NAT
def test_maps_of_other_sizes_under_load(world):
    """The old programs go on with the old maps until the new ones are in their place."""
    agents = start(world, world.web)
    found = loads(world)
    wait_answers(found, ANSWERS)
    for size in (20000, 300, 20000):
        for agent in agents:
            agent.stop()
            agent.settings["services"]["maps"] = {"services": size, "endpoints": size}
            agent.write_config()
            agent.start()
            wait_answers(found, ANSWERS)
    assert all(agent.ctl("verify").code == 0 for agent in agents)
    all_unhurt(found)
