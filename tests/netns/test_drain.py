# SPDX-License-Identifier: Apache-2.0
"""A node is taken out of service in order: drain, withdraw, undrain, cleanup, the dead-man, and the
node that was removed from the cluster."""

import json
import re
import threading
import time

import pytest
from cluster import VIP, VIP6, announced_by, exported, guard_rules, nat, start, tables, write_web
from lab import BLOCK_COMMUNITY, SERVICE_COMMUNITY, wait, wait_equal
from lab.agent import program

ONE = pytest.mark.lab(nodes=1)
SHUTDOWN = (65535, 0)  # GRACEFUL_SHUTDOWN, RFC 8326
DRAIN = {"drain": {"shutdown": "1s", "withdraw": "1s"}}


PHASES = ["draining", "withdrawing", "drained"]


def phase(agent):
    return agent.json("status")["standing"]["phase"]


def let_drains_last(agent, duration):
    """Each phase of a drain; one that is under way begins anew."""
    agent.settings["routes"]["drain"] = {"shutdown": duration, "withdraw": duration}
    agent.write_config()
    agent.kill()
    agent.start()


class Client(threading.Thread):
    """Fetches web's page over and over; each answer or error is noted, in order."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.lab, self.pages, self.ended = lab, [], threading.Event()
        self.start()

    def run(self):
        while not self.ended.is_set():
            try:
                self.pages.append(self.lab.client.fetch(VIP).split()[-1])
            except (OSError, ValueError) as error:
                self.pages.append(error)

    def count(self):
        return len(self.pages)

    def more(self, number=20):
        """Waits for further pages and returns them."""
        before = self.count()
        wait(lambda: self.count() >= before + number, f"{number} more pages")
        return self.pages[before:]

    def stop(self):
        self.ended.set()
        self.join()


def test_drain_under_traffic(lab):
    """The drained node is marked first and gone after; no connection is started to it in between.

    The ToR moves flows when a path goes, so that the one connection that is open at each of the two
    moments may break; nothing else may.
    """
    agents = start(lab, routes={"holdDown": {"initial": "0s"}})
    node1, node2 = lab.nodes
    let_drains_last(agents[0], "1h")
    for node in lab.nodes:
        pod = lab.pod(node, f"web-{node.role}")
        pod.serve()
        nat(pod)
    client = Client(lab)
    wait(lambda: set(client.pages) == {"node1", "node2"}, "pages from both nodes")
    monitor = lab.monitor()

    assert agents[0].ctl("drain", "--no-wait").code == 0
    for address in (f"{VIP}/32", f"{VIP6}/128"):
        wait_equal(
            lambda: lab.tor.paths(address)["node1"].communities,
            {SERVICE_COMMUNITY, SHUTDOWN},
            "GRACEFUL_SHUTDOWN on the ToR",
        )
    assert tables(node1) == exported(node1, VIP, VIP6, protocol=32)
    announced_by(lab, node2)
    wait(lambda: set(client.more()) == {"node2"}, "pages from node2 alone")

    let_drains_last(agents[0], "1s")
    wait_equal(lambda: phase(agents[0]), "drained", "the end of the drain")
    assert tables(node1) == exported(node1)
    assert set(client.more()) == {"node2"}
    assert lab.tor.paths(node1.block4)["node1"].communities == {BLOCK_COMMUNITY}

    agents[0].kill()
    agents[0].start()
    assert phase(agents[0]) == "drained"
    assert tables(node1) == exported(node1)

    assert agents[0].ctl("undrain").out == "serving\n"
    announced_by(lab, node1, node2)
    wait(lambda: set(client.more()) == {"node1", "node2"}, "pages from both nodes again")
    client.stop()
    assert len([page for page in client.pages if page not in ("node1", "node2")]) <= 2
    assert {prefix for _, prefix, _ in monitor.losses()} == {VIP, VIP6}
    assert all(nodes == {"node1"} for _, _, nodes in monitor.losses())


@ONE
def test_drain_says_each_phase_and_can_be_ended(lab):
    [agent] = start(lab, routes={**DRAIN, "holdDown": {"initial": "0s"}})
    answer = agent.ctl("drain")
    assert answer.code == 0
    log = agent.log.read_text(encoding="utf-8", errors="replace")
    assert re.findall("this node's service addresses: (.*)", log) == PHASES
    # It asks ten times a second: a phase that is over before it asks again is not said.
    said = [re.match("[a-z]+", line)[0] for line in answer.out.splitlines()]
    assert said == [word for word in PHASES if word in said]
    assert (said[0], said[-1]) == ("draining", "drained")
    assert agent.ctl("drain").out.startswith("drained")
    assert "withdrawn by the operator" in agent.ctl("explain", VIP).out
    assert agent.ctl("undrain").code == 0
    announced_by(lab, *lab.nodes)


@ONE
def test_a_drain_goes_on_after_a_crash(lab):
    [agent] = start(lab, routes=DRAIN)
    [node] = lab.nodes
    assert agent.ctl("drain", "--no-wait").code == 0
    agent.kill()
    agent.start()
    wait_equal(lambda: phase(agent), "drained", "the end of the drain")
    assert tables(node) == exported(node)


@ONE
def test_a_reason_and_a_time_of_its_own_survive_a_crash(lab):
    [agent] = start(lab, routes={"drain": {"shutdown": "0s", "withdraw": "0s"}})
    [node] = lab.nodes
    assert agent.ctl("drain", "--no-wait", "--for=1h", "--reason=a disk").code == 0
    agent.kill()
    agent.start()
    standing = agent.json("status")["standing"]
    assert (standing["phase"], standing["reason"]) == ("draining", "a disk")
    assert standing["endsInMs"] > 0
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6, protocol=32), "routes of a drain")

    assert agent.ctl("drain", "--for=0s", "--reason=two disks").out.splitlines()[-1].startswith("drained")
    assert agent.json("status")["standing"]["reason"] == "two disks"
    late = agent.ctl("drain", "--for=1s")
    assert late.code == 2 and "past that" in late.err
    assert agent.ctl("undrain").code == 0
    assert agent.json("status")["standing"]["reason"] is None


@ONE
def test_withdraw_is_at_once_and_survives_a_restart(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    answer = agent.ctl("withdraw", "--json")
    assert answer.code == 0 and json.loads(answer.out)["standing"]["phase"] == "drained"
    wait_equal(lambda: tables(node), exported(node), "table 119 without addresses")
    agent.stop()
    agent.start()
    assert tables(node) == exported(node)
    agent.ctl("undrain")
    announced_by(lab, node)


@ONE
def test_state_that_cannot_be_kept_is_refused(lab):
    """A full disk: the operator is told, and nothing changes."""
    [agent] = start(lab)
    [node] = lab.nodes
    blocker = agent.folder / "state/standing.json.new"
    blocker.mkdir()
    answer = agent.ctl("drain", "--no-wait")
    assert answer.code == 2 and answer.err == (
        f"agentctl: {agent.folder}/state/standing.json: can't be written: Is a directory; this node stays as it was "
        "until that is mended\n")
    assert phase(agent) == "serving"
    assert tables(node) == exported(node, VIP, VIP6)
    blocker.rmdir()


@ONE
def test_a_broken_state_file_is_a_fault(lab):
    [agent] = start(lab)
    agent.stop()
    (agent.folder / "state/standing.json").write_text('{"phase": "sleeping"}')
    agent.start()
    assert phase(agent) == "serving"
    [fault] = agent.faults()
    assert fault["place"].endswith("standing.json:1:11")


@ONE
def test_cleanup_leaves_nothing_and_twice_does_nothing(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    node.ip("route", "add", "blackhole", "192.0.2.7", "table", "119", "proto", "static")
    command = ("cleanup", "--config", str(agent.config_file))
    refused = agent.ctl(*command)
    assert refused.code == 2 and f"process {agent.process.pid}" in refused.err

    agent.kill()
    assert agent.ctl(*command).out == "8 routes and 2 rules removed\n"
    assert tables(node) == {4: ["blackhole 192.0.2.7 proto static"], 6: []}
    assert tables(node, 120) == {4: [], 6: []}
    assert guard_rules(node) == []
    assert not [line for family in (4, 6) for line in node.table("main", family) if "proto 33" in line]
    assert agent.ctl(*command).out == "0 routes and 0 rules removed\n"


@ONE
def test_the_dead_man_withdraws_what_nobody_watches(lab):
    [agent] = start(lab, routes={"deadman": "2s"})
    [node] = lab.nodes
    command = (program("agentd"), "--deadman", "--config", str(agent.config_file))
    watcher = node.start(*command, log="deadman.log")

    def withdrawals():
        return (node.folder / "deadman.log").read_text(encoding="utf-8").count("withdrawn")

    def back_in_time():
        """False if the agent may have been away for too long, whoever is to blame for that."""
        before, end = withdrawals(), time.monotonic() + 2
        agent.kill()
        agent.start()
        in_time = time.monotonic() < end
        return in_time and [withdrawals() - before]

    assert wait(back_in_time, "a start that takes less than 2 s", 120) == [0]
    assert tables(node) == exported(node, VIP, VIP6)
    agent.kill()
    wait_equal(lambda: tables(node), exported(node), "table 119 with blocks only")
    announced_by(lab)
    agent.start()
    announced_by(lab, node)
    watcher.terminate()
    assert watcher.wait() == 0


@ONE
def test_a_removed_node_withdraws(lab):
    [agent] = start(lab, routes={"nodeGone": "1s", "holdDown": {"initial": "0s"}})
    [node] = lab.nodes
    nodes = (lab.manifests / "nodes.yaml").read_text()
    (lab.manifests / "nodes.yaml").unlink()
    wait(lambda: [f for f in agent.faults() if f["place"] == "Node"], "a fault about the Node")
    wait_equal(lambda: tables(node), {4: [], 6: []}, "an empty table 119")
    agent.stop()
    agent.start()  # it remembers that there was a Node object
    wait_equal(lambda: tables(node), {4: [], 6: []}, "an empty table 119")
    lab.write_text("nodes.yaml", nodes)
    announced_by(lab, node)
    assert tables(node) == exported(node, VIP, VIP6)
    assert agent.faults() == []


@ONE
def test_only_root_may_drain(lab):
    [agent] = start(lab)
    agent.socket.chmod(0o666)
    for folder in agent.socket.parents:
        if folder.name.startswith("fp-") or folder.parent.name.startswith("fp-"):
            folder.chmod(0o755)
    answer = agent.node.run(
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
        program("agentctl"), "--socket", str(agent.socket), "drain", check=False,
    )
    assert (answer.returncode, phase(agent)) == (77, "serving"), answer.stderr
