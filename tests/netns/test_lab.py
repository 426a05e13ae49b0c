# SPDX-License-Identifier: Apache-2.0
"""The lab itself: pods can be reached, and nothing of it is ever left behind."""

import os
import signal
import subprocess
import sys

import pytest
from lab import Lab, label_of, wait, wait_equal
from lab.showing import lasting
from lab.wait import tell_waits
from lab.reaper import ROOT, marked_processes, namespaces


def announce_blocks(lab):
    for node in lab.nodes:
        for block in (node.block4, node.block6):
            node.ip("route", "add", "blackhole", block, "table", "119", "proto", "30")
    for node in lab.nodes:
        for block in (node.block4, node.block6):
            wait_equal(lambda: lab.tor.via(block), {node.role}, f"{block} on the ToR")


def fetch_everywhere(lab):
    node1, node2 = lab.nodes
    pod1, pod2 = lab.pod(node1, "one"), lab.pod(node2, "two")
    for pod in (pod1, pod2):
        pod.serve()
        for address in (pod.address4, pod.address6):
            for client in (lab.client, node1, node2, pod1, pod2):
                assert client.fetch(address) == f"{pod.role} on {pod.node}\n", f"from {client}"


def test_pods_can_be_reached_from_everywhere(lab):
    announce_blocks(lab)
    fetch_everywhere(lab)


@pytest.mark.lab(pod_table=116)
def test_pods_in_a_table_of_their_own(lab):
    announce_blocks(lab)
    fetch_everywhere(lab)
    assert not [line for line in lab.nodes[0].table("main") if line.startswith("10.224.")]


def test_monitor_sees_a_path_that_goes_and_a_route_that_goes(lab):
    node1, node2 = lab.nodes
    for node in lab.nodes:
        node.ip("route", "add", "blackhole", "203.0.113.1", "table", "119", "proto", "31")
    wait_equal(lambda: lab.tor.via("203.0.113.1"), {"node1", "node2"}, "ECMP")
    monitor = lab.monitor()
    assert monitor.losses() == []
    node1.ip("route", "replace", "blackhole", "203.0.113.1", "table", "119", "proto", "32")
    wait_equal(lambda: lab.tor.via("203.0.113.1"), {"node2"}, "drain")
    node2.ip("route", "del", "203.0.113.1", "table", "119")
    wait_equal(lambda: lab.tor.via("203.0.113.1"), {"node1"}, "fall back to the draining node")
    node1.ip("route", "del", "203.0.113.1", "table", "119")
    wait_equal(lambda: lab.tor.via("203.0.113.1"), set(), "withdrawal")
    assert [(prefix, lost) for _, prefix, lost in monitor.losses()] == [
        ("203.0.113.1", {"node1"}),
        ("203.0.113.1", {"node2"}),
        ("203.0.113.1", {"node1"}),
    ]


OWNER = """
import signal, sys
sys.path.insert(0, sys.argv[1])
from lab import Lab
with Lab(sys.argv[2], nodes=1) as lab:
    lab.pod(lab.nodes[0], "web").serve()
    print("up", flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["standing", "building"])
def test_nothing_is_left_behind(request, end, moment):
    name = request.node.nodeid + "/owner"
    label = label_of(name)
    tests = os.path.dirname(os.path.dirname(__file__))
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, tests, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if moment == "standing":
        assert owner.stdout.readline() == b"up\n", owner.stderr.read().decode()
        assert len(namespaces(label)) == 4
    else:
        wait(lambda: namespaces(label), "the first namespace")
    owner.send_signal(end)
    owner.communicate()

    def gone():
        return not (namespaces(label) or marked_processes(label) or (ROOT / label).exists())

    wait(gone, f"{label} to be gone")


def test_leftovers_of_a_crashed_run_are_removed(request):
    name = request.node.nodeid + "/kept"
    with Lab(name, nodes=1) as first:
        leftover = first.tor.start("/bin/sleep", "1000", log="sleep.log")
        first.keep()
    assert leftover.poll() is None
    assert len(namespaces(first.label)) == 3
    with Lab(name, nodes=1) as second:
        assert leftover.wait(timeout=10) == -signal.SIGKILL
        assert len(namespaces(second.label)) == 3
    assert namespaces(second.label) == []


def test_only_processes_of_the_lab_are_ended(request):
    bystander = subprocess.Popen(["/bin/sleep", "1000"])
    try:
        with Lab(request.node.nodeid + "/lab", nodes=1) as lab:
            with lab.tor.entered():
                visitor = subprocess.Popen(["/bin/sleep", "1000"])
        assert bystander.poll() is None
        assert visitor.poll() is None
        visitor.kill()
        visitor.wait()
    finally:
        bystander.kill()
        bystander.wait()


def test_who_watches_is_told_of_waits(capsys):
    """The demo says what it waits for; a moment is not worth a word."""
    told = []
    stop = tell_waits(lambda what, seconds: told.append((what, seconds >= 1)))
    try:
        wait(lambda: True, "nothing")
        wait(lambda: told, "the word")
    finally:
        stop()
    assert told == [("the word", True)]
    with lasting("a long thing", every=0.01):
        wait(lambda: "... a long thing, for 0 s" in capsys.readouterr().out, "the line")
