# SPDX-License-Identifier: Apache-2.0
"""The lab's servers and clients see what there is, and tell what goes wrong."""

import errno
import signal
import subprocess
import time

import pytest
from cluster import VIP, nat, start
from lab import Lab, wait
from lab.reaper import ROOT, mounts
from lab.traffic import Connection, Datagrams, Load, ask, outcome, serve

ONE = pytest.mark.lab(nodes=1)
FAMILIES = ("address4", "address6")
DROP_ONE_SYN = """
table ip lossy {
    chain in {
        type filter hook input priority 0;
        tcp flags & (syn | ack) == syn limit rate 1/hour burst 1 packets drop
    }
}
"""


@ONE
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_server_says_whom_it_sees(lab, family, protocol):
    [node] = lab.nodes
    pod = lab.pod(node, "one")
    serve(pod, 80, 8080, name="one")
    address = getattr(pod, family)
    answer = ask(node, address, 8080, protocol, source_port=41000)
    assert answer == ("one", getattr(node, family), 41000, address, 8080)
    assert outcome(node, address, 80, protocol) == "forward"
    assert outcome(node, address, 81, protocol) == "reject"
    assert outcome(pod, getattr(node, family), 81, protocol) == "reject"
    pod.ip("link", "set", "eth0", "down")
    assert outcome(node, address, 80, protocol, timeout=0.3) == "drop"


@ONE
@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_are_compared(lab, family):
    [node] = lab.nodes
    pod = lab.pod(node, "one")
    serve(pod, 80)
    address = getattr(pod, family)
    with Connection(node, address, 80) as connection:
        assert connection.get(300000) and connection.put(b"x" * 300001)
        assert connection.who().name == "pod-one"
    with Datagrams(node, address, 80) as datagrams:
        assert datagrams.get(9000) and datagrams.put(bytes(range(200)) * 40)


@ONE
@pytest.mark.parametrize("kind", ["short", "long", "udp"])
def test_load_tells_what_fails(lab, kind):
    [node] = lab.nodes
    pod = lab.pod(node, "one")
    server = serve(pod, 80)
    with Load(node, kind, pod.address4, 80, c=4) as load:
        load.more()
    assert load.unhurt()["names"].keys() == {"pod-one"}
    with Load(node, kind, pod.address4, 80, c=4) as load:
        load.more()
        server.kill()
        wait(lambda: load.now()["errors"], "an error")
    with pytest.raises(AssertionError):
        load.unbroken()


@ONE
def test_load_tells_what_was_lost_from_what_stood_still(lab):
    """Several clients: whatever each was doing, asking or waiting for the end, it is counted."""
    [node] = lab.nodes
    pod = lab.pod(node, "one")
    server = serve(pod, 80)
    with Load(node, "short", pod.address4, 80, c=8) as load:
        load.more(20)
        server.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        wait(lambda: time.monotonic() - begin > 1.5, "a second and a half")
        server.send_signal(signal.SIGCONT)
        wait(lambda: sum(load.now()["stalls"].values()) >= 8, "eight clients that stood still")
    assert not load.unhurt()["waits"]
    with Load(node, "short", pod.address4, 80) as load:
        load.more(20)
        pod.run("nft", "-f", "-", text=DROP_ONE_SYN)
        wait(lambda: load.now()["waits"], "a connection that came about in the second try")
    [word] = load.unbroken()["waits"]
    assert word.startswith("connect")
    with pytest.raises(AssertionError):
        load.unhurt()


@ONE
def test_load_tells_a_connection_that_moved(lab):
    pod = lab.pod(lab.nodes[0], "one")
    server = serve(pod, 80, name="first")
    with Load(lab.nodes[0], "udp", pod.address4, 80) as load:
        load.more(20)
        server.kill()
        server.wait()
        serve(pod, 80, name="second")
        wait(lambda: "moved" in load.now()["errors"], "the other server's answer")


def test_strangers_cannot_pass_for_drops(lab):
    """Behind an address that no one has, and one that is refused."""
    start(lab)
    pod = lab.pod(lab.nodes[0], "one")
    nat(pod)
    assert outcome(lab.client, VIP, 81) in (errno.errorcode[errno.EHOSTUNREACH], "ENETUNREACH")


def test_a_file_system_of_pins_goes_with_its_lab(request):
    name = request.node.nodeid + "/pins"
    with Lab(name, nodes=1, nat=True) as lab:
        agent = lab.agent(lab.nodes[0], start=False)
        [place] = mounts(lab.label)
        assert place == agent.settings["paths"]["bpf"]
        subprocess.run(["bpftool", "map", "create", f"{place}/m", "type", "array", "key", "4",
                        "value", "4", "entries", "1", "name", "m"], check=True)
    assert mounts(lab.label) == [] and not (ROOT / lab.label).exists()
