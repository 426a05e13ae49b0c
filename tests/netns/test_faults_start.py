# SPDX-License-Identifier: Apache-2.0
"""Faults that keep an agent from starting, or from doing all that it should.

Two are where no network namespace is needed: a user outside the group in tests/cli/test_manners.py, kubeconfigs in
tests/cli/test_kubeconfig.py.
"""

from pathlib import Path

import pytest
from attached import attachments, strip
from faults import Table, check
from lab import wait, wait_equal
from lab.traffic import ask
from served import NO_HOLD, Service, announced, pods, start

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
WITHOUT = ("setpriv", "--bounding-set", "{0}", "--inh-caps", "{0}")


class World:
    """One node that serves `web` by a pod; its agent is started anew by most rows."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        [self.pod] = [pods(lab, "one")["one1"]]
        self.web = Service(lab)
        self.web.write(self.pod)
        [self.agent] = start(lab, self.web, routes=NO_HOLD)

    def restart(self, without="", ready=True, **services):
        """Another start; `without`: capabilities, as setpriv wants them."""
        agent = self.agent
        if agent.running():
            agent.stop()
        kept = {name: dict(agent.settings[name]) for name in ("services", "paths")}
        agent.settings["services"].update(services)
        agent.wrapper = tuple(word.format(without) for word in WITHOUT) if without else ()
        agent.write_config()
        agent.start(ready)
        agent.settings.update(kept)

    def served(self):
        announced(self.lab, self.web, self.node)


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows()
def no_uplinks_are_named(world):
    """They are found."""
    world.restart(uplinks="auto", podInterfaces="auto")
    yield
    world.served()
    assert "eth0" in {name for name, _ in attachments(world.agent)}
    world.restart()


@rows()
def a_program_is_detached(world):
    before = attachments(world.agent)
    strip(world.agent, "eth0")
    wait_equal(lambda: attachments(world.agent), before, "the programs to be back")
    yield
    wait(lambda: "attached" in world.agent.log_tail(), "a line in the log")


@rows("health-address-unserved", cause="Address already in use", remedy="stop kube-proxy, or name another address")
def the_health_port_is_taken(world):
    other = world.node.start("python3", "-m", "http.server", "10256", "--bind", "127.0.0.1",
                             log="other.log")
    wait(lambda: ":10256" in world.node.run("ss", "-Hltn").stdout, "the other program")
    world.restart(healthz="127.0.0.1:10256")
    yield
    other.kill()
    other.wait()
    wait_equal(world.agent.faults, [], "the port to be taken when it is free")
    world.restart()


@rows("nat-programs-forbidden", health="failed", cause="the kernel does not let us load BPF programs",
      remedy="give the agent CAP_BPF", beside="not announced")
def the_capability_is_missing(world):
    world.restart(without="-sys_admin,-bpf,-perfmon")
    yield
    world.restart()
    world.served()


@rows("nat-pins-without-bpffs", cause="is not on a bpf file system", remedy="mount -t bpf bpf", beside="not announced")
def there_is_no_bpf_file_system(world):
    folder = world.node.folder / "plain"
    folder.mkdir(exist_ok=True)
    world.agent.settings["paths"], kept = (
        {**world.agent.settings["paths"], "bpf": str(folder)}, world.agent.settings["paths"])
    world.restart()
    yield
    world.agent.settings["paths"] = kept
    world.restart()
    world.served()


@rows()
def a_pod_ends_while_no_agent_runs(world):
    """No fault, as at any other time: the interface goes before the EndpointSlice changes."""
    pod = world.lab.pod(world.node, "ends")
    world.web.write(world.pod, pod)
    world.agent.settled()
    world.agent.stop()
    world.lab.remove_pod(pod)
    begin = world.agent.log.stat().st_size
    world.restart()
    world.web.write(world.pod)
    world.agent.settled()
    yield
    world.served()
    assert "no way to" not in world.agent.log.read_text(errors="replace")[begin:]


def answers(world):
    """The Service is served, whether or not an agent runs."""
    address, port = world.web.address("loadBalancer", 4)
    return ask(world.lab.client, address, port, timeout=2).name == world.pod.role


def a_broken_configuration_at_a_start(world):
    """The agent refuses, and names the place; what it wrote stays in force."""
    world.agent.stop()
    good = world.agent.config_file.read_text(encoding="utf-8")
    world.agent.write_config(good.replace("services:", "servces:", 1))
    world.agent.start(ready=False)
    assert world.agent.wait_exit() == 78
    said = world.agent.log_tail()
    assert 'unknown key "servces"; did you mean "services"?' in said and "agentd.yaml:" in said
    answer = world.agent.ctl("status")
    assert answer.code == 3 and "is agentd.service running?" in answer.err
    assert answers(world)
    world.restart()


def the_agent_is_dead(world):
    world.agent.kill()
    answer = world.agent.ctl("status")
    assert answer.code == 3 and "is agentd.service running?" in answer.err
    assert "what an agent has written to the kernel stays in force" in answer.err
    assert answers(world)
    world.restart()


def second_agent(world, name, **how):
    """It refuses before it touches anything, and names the first; that one notices nothing."""
    first = world.agent
    before = attachments(first)
    second = world.lab.agent(world.node, ready=False, name=name, **how)
    assert second.wait_exit() not in (0, 99)
    said = second.log_tail()
    assert "another agentd" in said and str(first.process.pid) in said
    assert "stop it first" in said
    assert first.faults() == [] and attachments(first) == before
    world.node.agents.remove(second)


def a_second_agent_with_the_same_folders(world):
    second_agent(world, "same", paths=dict(world.agent.settings["paths"]), bpffs=False)


def a_second_agent_with_folders_of_its_own(world):
    second_agent(world, "other")


@pytest.mark.parametrize("row", [
    pytest.param(a_broken_configuration_at_a_start, id="23"),
    pytest.param(the_agent_is_dead, id="47"),
    pytest.param(a_second_agent_with_the_same_folders, id="48"),
    pytest.param(a_second_agent_with_folders_of_its_own, id="49"),
])
def test_who_does_not_answer(world, row):
    row(world)


@rows("health-address-unserved", cause="Cannot assign requested address", remedy="name an address of this machine")
def the_health_port_is_on_an_address_of_another_machine(world):
    """Expected: as a port that is taken, with the kernel's own word."""
    world.restart(healthz="192.0.2.55:10256")
    yield
    world.restart()


@rows("node-state-unread", cause=("standing.json", "is left aside, and this node serves"),
      remedy="agentctl drain or undrain writes it anew")
def the_state_is_garbage_after_a_power_failure(world):
    """Expected to be left aside in silence; but whether the node was drained is lost by it, which is told."""
    world.agent.stop()
    for file in Path(world.agent.settings["paths"]["state"]).rglob("*"):
        if file.is_file() and not file.is_socket():
            file.write_bytes(b"\0" * 512)
    world.restart()
    yield
    world.served()
    world.agent.ctl("undrain")


@rows("health-address-unserved", cause=("api.listen", "Address already in use"), remedy="name another port there")
def the_port_of_metrics_is_taken(world):
    other = world.node.start("python3", "-m", "http.server", "9394", "--bind", "127.0.0.1", log="metrics.log")
    wait(lambda: ":9394" in world.node.run("ss", "-Hltn").stdout, "the other program")
    world.agent.settings["api"] = {"listen": "127.0.0.1:9394"}
    world.restart()
    yield
    other.kill()
    other.wait()
    del world.agent.settings["api"]
    world.restart()


@rows("manifest-folder-missing", health="failed", cause="the folder of manifests is missing",
      remedy="make it, or name another", beside="not announced")
def the_folder_of_manifests_never_was_there(world):
    away = world.lab.manifests.rename(world.lab.manifests.with_name("elsewhere"))
    world.restart(ready=False)
    wait(world.agent.socket.exists, "the agent's socket")
    yield
    away.rename(world.lab.manifests)
    world.served()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
