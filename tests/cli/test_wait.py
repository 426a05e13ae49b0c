# SPDX-License-Identifier: Apache-2.0
"""`status --wait`: returns as soon as all that was observed when it was asked is applied."""

import itertools
import socket
import subprocess
import threading
import time

from conftest import environment
from documents import generations, status
from scripted_agent import ScriptedAgent


class Script:
    """Gives one document after the other, then the last for ever; counts the questions."""

    def __init__(self, *documents):
        self.documents = documents
        self.count = 0

    def __call__(self):
        document = self.documents[min(self.count, len(self.documents) - 1)]
        self.count += 1
        return 200, document


def test_returns_when_what_was_observed_is_applied(ctl, agent):
    """New changes keep coming: they are not waited for."""
    script = Script(
        generations(5, 3),
        generations(6, 4),
        generations(9, 5),
        generations(12, 12),
    )
    agent({"/v1/status": script})
    code, output, errors = ctl.run("status", "--wait=60s")
    assert (code, errors, script.count) == (0, "", 3)
    assert output.startswith("node-7 · ")


def test_returns_at_once_if_all_is_applied(ctl, agent):
    script = Script(generations(5, 5))
    agent({"/v1/status": script})
    assert ctl.run("--wait", "60s")[0] == 0
    assert script.count == 1


def test_the_agent_answers_when_it_is_applied(ctl, agent):
    """One question with the mark; who asked waits, and the agent is not asked meanwhile."""
    release = threading.Event()

    def later():
        release.wait(60)
        return 200, generations(9, 5)

    served = agent({"/v1/status": (200, generations(5, 3)), "/v1/status?applied=5": later})
    process = subprocess.Popen(
        ctl.command("status", "--wait=60s"), stdout=subprocess.PIPE, env=environment()
    )
    while len(served.asked) < 2:
        time.sleep(0.01)
    assert process.poll() is None
    release.set()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and output.startswith(b"node-7")
    assert served.asked == ["/v1/status", "/v1/status?applied=5"]


def test_an_agent_with_too_many_who_wait_is_asked_the_plain_way(ctl, agent):
    served = agent({
        "/v1/status": Script(generations(5, 3), generations(6, 4), generations(6, 5)),
        "/v1/status?applied=5": (503, {"error": "too many wait already"}),
    })
    assert ctl.run("status", "--wait=60s")[0] == 0
    assert served.asked == ["/v1/status", "/v1/status?applied=5"] * 2 + ["/v1/status"]


def test_says_what_it_waited_for_if_the_answer_does_not_come(ctl, agent):
    never = threading.Event()

    def silent():
        never.wait(60)
        return 200, generations(5, 5)

    agent({"/v1/status": (200, generations(5, 3)), "/v1/status?applied=5": silent})
    done = ctl.run("status", "--wait=1s")
    never.set()
    assert done == (1, "", "agentctl: waited 1s for manifests: change 3 of 5 is applied\n")


def test_a_restart_while_the_answer_is_awaited_begins_again(ctl, agent):
    new = {"startedAt": "2026-11-20T10:00:00Z"}
    served = agent({
        "/v1/status": (200, generations(9, 8)),
        "/v1/status?applied=9": (200, generations(2, 1, **new)),
        "/v1/status?applied=2": (200, generations(2, 2, **new)),
    })
    assert ctl.run("status", "--wait=60s")[0] == 0
    assert served.asked == ["/v1/status", "/v1/status?applied=9", "/v1/status?applied=2"]


def test_exit_status_is_that_of_the_health(ctl, agent):
    agent({"/v1/status": Script(generations(5, 4), generations(5, 5, health="degraded"))})
    code, output, _ = ctl.run("--wait=60s", "--json")
    assert code == 1 and '"health": "degraded"' in output


def test_waits_for_the_first_complete_pass(ctl, agent):
    script = Script(
        status(phase="starting", routes__complete=False),
        status(phase="running", routes__complete=False),
        status(phase="starting", routes__complete=True),
        status(),
    )
    agent({"/v1/status": script})
    assert ctl.run("--wait=60s")[0] == 0
    assert script.count == 4


def test_a_restart_begins_again(ctl, agent):
    """The generations of a new process count from 0: 9 may never come."""
    new = {"startedAt": "2026-11-20T10:00:00Z"}
    script = Script(
        generations(9, 8),
        generations(0, 0, phase="starting", routes__complete=False, **new),
        generations(2, 1, **new),
        generations(2, 2, **new),
    )
    agent({"/v1/status": script})
    assert ctl.run("--wait=60s")[0] == 0
    # The question after the restart set the mark to 0, so that the next good answer will do.
    assert script.count == 3


def test_a_restart_within_one_second_is_seen_too(ctl, agent):
    script = Script(generations(9, 8), generations(2, 1), generations(2, 2))
    agent({"/v1/status": script})
    assert ctl.run("--wait=60s")[0] == 0
    assert script.count == 3


def test_waits_for_an_agent_that_comes_later(ctl):
    """The first two who connect are hung up on; then there is no socket; then the agent."""
    with socket.socket(socket.AF_UNIX) as shaky:
        shaky.bind(str(ctl.socket))
        shaky.listen()
        process = subprocess.Popen(
            ctl.command("--wait=60s"), stdout=subprocess.PIPE, env=environment()
        )
        for _ in range(2):
            connection, _ = shaky.accept()
            connection.close()
    ctl.socket.unlink()
    with ScriptedAgent(ctl.socket, {"/v1/status": (200, status())}):
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and output.startswith(b"node-7")


def test_says_what_it_waited_for(ctl, agent):
    agent({"/v1/status": (200, generations(5, 3))})
    assert ctl.run("--wait=2s") == (
        1,
        "",
        "agentctl: waited 2s for manifests: change 3 of 5 is applied\n",
    )


def test_says_that_the_pass_did_not_come(ctl, agent):
    agent({"/v1/status": (200, status(routes__complete=False))})
    assert ctl.run("--wait=2s") == (
        1,
        "",
        "agentctl: waited 2s for the first complete pass\n",
    )


def test_says_that_nobody_answered(ctl):
    code, output, errors = ctl.run("--wait=60ms")
    assert (code, output) == (1, "")
    assert errors.startswith(f"agentctl: waited 60ms for the agent at {ctl.socket} to answer: ")


def test_zero_asks_once(ctl, agent):
    script = Script(generations(5, 3))
    agent({"/v1/status": script})
    assert ctl.run("--wait=0")[0] == 1
    assert script.count == 1


def test_zero_gives_the_agent_the_usual_time_to_answer(ctl, agent):
    def late():
        time.sleep(0.2)
        return 200, status()

    agent({"/v1/status": late})
    assert ctl.run("--wait=0")[0] == 0


def test_many_wait_at_once(ctl, agent):
    """Each sets its own mark."""
    lock, counter = threading.Lock(), itertools.count(1)

    def reply():
        with lock:
            n = next(counter)
        return 200, generations(n + 20, n)

    agent({"/v1/status": reply})
    waiting = [
        subprocess.Popen(ctl.command("--wait=60s"), stdout=subprocess.DEVNULL, env=environment())
        for _ in range(4)
    ]
    assert [process.wait(timeout=60) for process in waiting] == [0, 0, 0, 0]
