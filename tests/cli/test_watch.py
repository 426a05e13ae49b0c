# SPDX-License-Identifier: Apache-2.0
"""--watch: every change is shown, in place on a terminal, one after the other elsewhere."""

import fcntl
import json
import os
import pty
import queue
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

import documents
from conftest import environment
from documents import items, status
from scripted_agent import ScriptedAgent
from test_wait import Script

EMPTY = items("RouteList", [])
FULL = items("RouteList", documents.ROUTES)


@pytest.fixture
def watch(ctl):
    """Starts a watch, whose standard output and errors are pipes."""
    started = []

    def start(*words, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        started.append(subprocess.Popen(ctl.command(*words), env=environment(), **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def test_one_document_per_line(agent, watch):
    script = Script(EMPTY, EMPTY, FULL, EMPTY)
    agent({"/v1/routes": script})
    process = watch("routes", "--watch", "--json")
    lines = [process.stdout.readline().decode() for _ in range(3)]
    kinds = [len(json.loads(line)["items"]) for line in lines]
    assert kinds == [0, 3, 0]
    assert script.count >= 4


def test_what_does_not_change_is_not_repeated(agent, watch):
    agent({"/v1/routes": Script(EMPTY, EMPTY, FULL, FULL, items("RouteList", documents.ROUTES[2:]))})
    process = watch("routes", "-w", "-o", "name")
    assert [process.stdout.readline() for _ in range(5)] == [
        b"10.224.0.0/27\n", b"10.0.0.1/32\n", b"fd00::2/128\n", b"\n", b"fd00::2/128\n"
    ]


def test_outputs_for_people_are_set_apart(agent, watch):
    agent({"/v1/routes": Script(EMPTY, FULL)})
    process = watch("routes", "-w")
    lines = [process.stdout.readline().decode() for _ in range(3)]
    assert lines[:2] == ["0 routes, 0 announced.\n", "\n"] and lines[2].startswith("PREFIX")


def test_an_agent_that_is_away_does_not_end_it(ctl, watch):
    process = watch("routes", "-w")
    assert b"cannot reach the agent" in process.stderr.readline()
    assert b"stays in force" in process.stderr.readline()
    with ScriptedAgent(ctl.socket, {"/v1/routes": (200, EMPTY)}):
        assert process.stdout.readline() == b"0 routes, 0 announced.\n"
    ctl.socket.unlink()
    assert b"cannot reach the agent" in process.stderr.readline()
    assert process.poll() is None


def test_what_never_gets_better_ends_it(ctl, agent):
    agent({"/v1/routes": (403, {"error": "not for you"})})
    assert ctl.run("routes", "-w") == (77, "", "agentctl: not for you\n")


def test_a_reader_that_leaves_ends_it(agent, watch):
    agent({"/v1/routes": Script(EMPTY, FULL)})
    ours, theirs = os.pipe()
    process = watch("routes", "-w", stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    os.close(ours)
    assert process.wait(timeout=60) in (2, -signal.SIGPIPE)


def test_a_terminal_is_rewritten(agent, watch):
    agent({"/v1/routes": Script(FULL, EMPTY)})
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 60, 0, 0))
    watch("routes", "-w", "--color=never", stdout=theirs, stderr=theirs)
    os.close(theirs)
    output = ""
    while "0 routes" not in output or not output.endswith("\033[?7h"):
        output += os.read(ours, 65536).decode()
    os.close(ours)
    first, second = output.split("\033[H")[1:]
    assert output.startswith("\033[2J\033[H") and output.count("\033[2J") == 1
    # Three lines fit above the cursor.
    assert first.count("\033[K\r\n") == 3 and "10.0.0.1/32" in first and "fd00::2" not in first
    assert second == "\033[?7l0 routes, 0 announced.\033[K\r\n\033[J\033[?7h"


def test_status_can_be_watched(agent, watch):
    agent({"/v1/status": Script(status(), status(health="degraded"))})
    process = watch("status", "-w", "--brief")
    assert [process.stdout.readline() for _ in range(2)] == [b"healthy\n", b"degraded\n"]


def change(number):
    return {**documents.CHANGE, "change": number}


def count(served, path):
    """How often the agent was asked for it."""
    return served.asked.count(path)


def await_count(served, path, number):
    while count(served, path) < number:
        time.sleep(0.01)


def await_seconds(tmp_path, watch, seconds):
    """By what else waits on this machine: an agent that can't tell is asked each second."""
    clock = tmp_path / "clock.sock"
    with ScriptedAgent(clock, {"/v1/routes": (200, EMPTY)}) as older:
        watch("routes", "-w", "--socket", str(clock))
        await_count(older, "/v1/routes", seconds + 1)


def test_it_asks_when_the_agent_tells_of_a_change(ctl, agent, watch, tmp_path):
    """And only then: while a list is watched that nothing changes, nobody asks for it. Another
    watch, of an agent that can't tell, counts the seconds."""
    lines = queue.Queue()
    script = Script(EMPTY, EMPTY, FULL)
    served = agent({"/v1/routes": script, "/v1/changes": (200, lines)})
    process = watch("routes", "-w", "-o", "name")
    lines.put(change(0))
    await_count(served, "/v1/routes", 2)
    await_seconds(tmp_path, watch, 3)
    assert (count(served, "/v1/routes"), count(served, "/v1/changes")) == (2, 1)
    lines.put(change(1))
    assert [process.stdout.readline() for _ in range(3)] == [
        b"10.224.0.0/27\n", b"10.0.0.1/32\n", b"fd00::2/128\n"
    ]
    lines.put(None)


def test_what_moves_by_itself_is_asked_for_all_the_same(agent, watch):
    lines = queue.Queue()
    lines.put(change(0))
    served = agent({"/v1/services": (200, items("ServiceList", [])), "/v1/changes": (200, lines)})
    watch("services", "-w")
    await_count(served, "/v1/services", 4)
    assert count(served, "/v1/changes") == 1
    lines.put(None)


def test_an_agent_that_restarts_is_followed_again(ctl, watch):
    """Its end is told at once, then it is asked as if there were no streams, until there is one."""
    first, second = queue.Queue(), queue.Queue()
    first.put(change(7))
    with ScriptedAgent(ctl.socket, {"/v1/routes": (200, EMPTY), "/v1/changes": (200, first)}) as old:
        process = watch("routes", "-w", "-o", "name")
        await_count(old, "/v1/routes", 2)
        ctl.socket.unlink()
        first.put(None)
        assert b"cannot reach the agent" in process.stderr.readline()
    second.put(change(0))
    with ScriptedAgent(ctl.socket, {"/v1/routes": (200, FULL), "/v1/changes": (200, second)}) as new:
        assert process.stdout.readline() == b"10.224.0.0/27\n"
        await_count(new, "/v1/changes", 1)
        second.put(None)


def test_a_busy_agent_is_not_asked_more_than_it_bears(agent, watch, tmp_path):
    """However many changes it tells of: after an answer that took 100 ms, it rests for a second."""
    lines = queue.Queue()

    def slow():
        time.sleep(0.1)
        return 200, EMPTY

    served = agent({"/v1/routes": slow, "/v1/changes": (200, lines)})
    watch("routes", "-w")
    lines.put(change(0))
    await_count(served, "/v1/routes", 2)
    done = threading.Event()

    def tell():
        while not done.wait(0.01):
            lines.put(change(1))

    teller = threading.Thread(target=tell)
    teller.start()
    await_seconds(tmp_path, watch, 4)
    asked = count(served, "/v1/routes")
    done.set()
    teller.join()
    lines.put(None)
    assert 3 <= asked <= 10  # once a second; a hundred times it was told that it could
