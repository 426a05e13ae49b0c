# SPDX-License-Identifier: Apache-2.0
"""Settings of the host that change while the agent runs: told, and acted upon, when the kernel says
so. Without its notifications that would take minutes, and the waiting here ends sooner."""

import signal
import time

import pytest
from lab import wait, wait_equal
from served import Service, announced, pods, start

pytestmark = pytest.mark.lab(nodes=1, nat=True)
FORWARDING = {
    4: ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
    6: ("net.ipv6.conf.all.forwarding", "net/ipv6/conf/all/forwarding"),
}


@pytest.mark.parametrize("family", FORWARDING)
def test_forwarding_off_and_on(lab, family):
    [node] = lab.nodes
    place, path = FORWARDING[family]
    one = pods(lab, "one")["one1"]
    web = Service(lab)
    web.write(one)
    [agent] = start(lab)
    announced(lab, web, node)

    def told():
        return [f for f in agent.faults() if f["place"] == place]

    node.set_sysctls({path: 0})
    [fault] = wait(told, "the fault")
    assert fault["remedy"] == f"sysctl -w {place}=1 (60-fingerpost.conf of sysctl.d keeps it)"
    assert agent.ctl("status").code == 2  # failed: no pod and no Service is reached
    hit = [address for address in web.announced() if (":" in address) == (family == 6)]
    assert hit
    for address in hit:
        wait_equal(lambda: lab.tor.via(address), set(), f"the ToR without {address}")

    node.set_sysctls({path: 1})
    wait_equal(told, [], "the fault gone")
    announced(lab, web, node)
    wait_equal(agent.faults, [], "no fault left")


@pytest.mark.parametrize("family", FORWARDING)
def test_an_interface_of_the_other_family(lab, family):
    """What is off as a whole in one family hides no interface of the other."""
    [node], other = lab.nodes, 10 - family
    Service(lab).write(pods(lab, "one")["one1"])
    [agent] = start(lab)
    node.set_sysctls({FORWARDING[family][1]: 0, f"net/ipv{other}/conf/eth0/forwarding": 0})

    def places():
        return {fault["place"] for fault in agent.faults() if "not-forwarding" in fault["code"]
                or "forwarding-off" in fault["code"]}

    wait_equal(places, {FORWARDING[family][0], f"net.ipv{other}.conf.eth0.forwarding"}, "both faults")
    node.set_sysctls({FORWARDING[family][1]: 1, f"net/ipv{other}/conf/eth0/forwarding": 1})
    wait_equal(agent.faults, [], "no fault left")


def test_the_name_of_svc0_is_taken(lab):
    """Services wait for it; pods' networks do not."""
    [node] = lab.nodes
    web = Service(lab)
    web.write(pods(lab, "one")["one1"])
    node.configure("link add svc0 type bridge")
    [agent] = start(lab)
    [fault] = agent.faults()
    assert (fault["code"], fault["severity"]) == ("nat-svc0-foreign", "failed")
    for address in web.announced():
        assert lab.tor.via(address) == set()
    node.configure("link set svc0 name taken0")
    announced(lab, web, node)
    wait_equal(agent.faults, [], "no fault left")
    agent.process.send_signal(signal.SIGSTOP)  # it would make its own first
    node.configure("link del svc0", "link set taken0 name svc0")
    agent.process.send_signal(signal.SIGCONT)
    wait_equal(lambda: {fault["code"] for fault in agent.faults()} & {"nat-svc0-foreign"},
               {"nat-svc0-foreign"}, "the fault")
    for address in web.announced():
        wait_equal(lambda: lab.tor.via(address), set(), f"the ToR without {address}")
    assert lab.tor.via(node.block4) == {node.role}
    node.configure("link del svc0")
    announced(lab, web, node)
    wait_equal(agent.faults, [], "no fault left")


def test_what_is_due_without_svc0_waits(lab):
    """A Service that is leaving when the name is taken makes no pass follow the other."""
    [node] = lab.nodes
    web = Service(lab)
    web.write(pods(lab, "one")["one1"])
    [agent] = start(lab)
    announced(lab, web, node)
    node.configure("link add taken0 type bridge")
    web.delete()
    announced(lab, web)
    agent.process.send_signal(signal.SIGSTOP)
    node.configure("link del svc0", "link set taken0 name svc0")
    agent.process.send_signal(signal.SIGCONT)
    wait(lambda: "nat-svc0-foreign" in {fault["code"] for fault in agent.faults()}, "the fault")
    passes, begun = agent.json("status")["routes"]["passes"], time.monotonic()
    wait(lambda: time.monotonic() > begun + 4, "the time at which it would have left", 10)
    assert agent.json("status")["routes"]["passes"] - passes < 10
    node.configure("link del svc0")
    wait_equal(agent.faults, [], "no fault left")
