# SPDX-License-Identifier: Apache-2.0
"""The demo shows what it promises, and leaves nothing behind."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from lab import label_of, wait
from lab.agent import build_folder
from lab.reaper import PYTHON, ROOT, marked_processes, namespaces

TESTS = Path(__file__).resolve().parent.parent


def demo(name, *options):
    return subprocess.Popen(
        [PYTHON, "-m", "lab.demo", "--name", name, *options],
        cwd=TESTS,
        env={**os.environ, "FINGERPOST_BUILD": str(build_folder())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def nothing_left(name):
    label = label_of(name)
    return not (namespaces(label) or marked_processes(label) or (ROOT / label).exists())


def test_it_shows_everything_and_cleans_up(request):
    name = request.node.nodeid
    process = demo(name)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert nothing_left(name)
    for prefix, nodes in {
        "10.224.0.0/27": "node1",
        "10.224.0.32/27": "node2",
        "fd00:224::/123": "node1",
        "fd00:224::20/123": "node2",
        "203.0.113.10": "node1 and node2",
        "fd00:203::10": "node1 and node2",
    }.items():
        assert f"ok: {prefix} via {nodes}, in the ToR's BGP table" in said
        assert f"ok: {prefix} via {nodes}, in the ToR's kernel" in said
    assert "ok: http://10.224.0.1 says: pod-web-1 on node1" in said
    assert "ok: http://10.224.0.33 says: pod-web-2 on node2" in said
    for host in ("203.0.113.10", "[fd00:203::10]"):
        assert f"ok: http://{host} gives pages of both nodes" in said
        assert f"ok: http://{host} gives pages of node2 alone" in said
    for verb in ("services", "backends", "trace 192.0.2.2 203.0.113.10:80/TCP"):
        assert f"$ agentctl-node1 {verb}\n" in said
    assert "ok: 203.0.113.10 via node2, in the ToR's BGP table" in said
    assert "ok: 203.0.113.10 gone, in the ToR's BGP table" in said
    for pod in ("pod-web-1", "pod-web-2"):
        for host in ("192.0.2.2", "2001:db8:c::2"):
            assert re.search(f"ok: {pod} is seen by {host} as .*: router[12]\n", said)
    assert "s  router1 is off the network" in said
    for step in ("that took less than 2 s", "a connection by router2 has gone on"):
        assert f"ok: {step}" in said
    assert said.count("$ agentctl-node1 status") == 1
    assert "2 peers, 2 established." in said and "BGP         OK    2/2 peers" in said


@pytest.mark.parametrize("moment", [
    "A ToR, two nodes",
    "agentd runs on both",
    "fetches a page",
    "turns unready (policy",
    "say of themselves",
])
def test_ctrl_c_leaves_nothing(request, moment):
    name = request.node.nodeid
    process = demo(name)
    for line in process.stdout:
        if moment in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 130, rest
    assert nothing_left(name)


def test_an_expectation_that_fails_is_a_failure(request, monkeypatch):
    """Without its agents nothing reaches the ToR."""
    from lab import demo as module, showing

    monkeypatch.setattr("sys.argv", ["demo", "--name", request.node.nodeid])
    monkeypatch.setattr(module, "start", lambda lab: None)
    monkeypatch.setattr(showing, "wait_equal",
                        lambda observe, expected, what: wait(lambda: observe() == expected, what, 1))
    assert module.main() == 1
    assert nothing_left(request.node.nodeid)


def test_kept_until_cleaned(request):
    name = request.node.nodeid
    process = demo(name, "--keep")
    said, _ = process.communicate()
    try:
        assert process.returncode == 0, said
        assert "tools/demo --clean" in said
        status = ROOT / label_of(name) / "bin" / "agentctl-node1"
        assert subprocess.run([status, "status"], capture_output=True).returncode == 0
    finally:
        assert demo(name, "--clean").wait() == 0
    assert nothing_left(name)
