# SPDX-License-Identifier: Apache-2.0
"""Requests over a live agent's socket that are cut, slow, too large, deep, no JSON, or not for who
makes them. None of them changes anything, and everybody else is answered."""

import json
import socket
import threading

import pytest
from cluster import start
from lab import wait

pytestmark = pytest.mark.lab(nodes=1)

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Sends what it reads, as far as that is taken, and prints what comes, up to the end.
STRANGER = """
import contextlib, socket, sys
with socket.socket(socket.AF_UNIX) as peer, contextlib.suppress(ConnectionError):
    peer.settimeout(60)
    peer.connect(sys.argv[1])
    with contextlib.suppress(ConnectionError):
        peer.sendall(sys.stdin.buffer.read())
    while piece := peer.recv(65536):
        sys.stdout.buffer.write(piece)
"""
JSON = "Content-Type: application/json\r\n"
DEEP = '{"reason": ' + "[" * 3000


def post(body, size=None, headers=JSON):
    size = len(body) if size is None else size
    return (f"POST /v1/drain HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}"
            f"Content-Length: {size}\r\n\r\n{body}").encode()


def ask(agent, request, end=False):
    """The answer, up to the end of the connection; `end`: there is no more to come from us."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(60)
        peer.connect(str(agent.socket))
        peer.sendall(request)
        if end:
            peer.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := peer.recv(65536):
            answer += piece
    return answer.decode()


def status_of(answer):
    return int(answer.split()[1])


def serving(agent):
    return agent.json("status")["standing"]["phase"] == "serving"


def open_to_all(agent):
    agent.socket.chmod(0o666)
    for folder in agent.socket.parents:
        if folder.name.startswith("fp-") or folder.parent.name.startswith("fp-"):
            folder.chmod(0o755)


def test_who_may_not_is_refused_before_the_body(lab):
    """Whatever it is, and whether it comes at all."""
    [agent] = start(lab)
    open_to_all(agent)
    for request in (
        post('{"reason": "mine"}'),
        post("", size=4096),  # a body that never comes
        post(DEEP),
        post("{", size=100),  # cut
        post("x" * 100000),
        post("not JSON", headers="Content-Type: text/plain\r\n"),
    ):
        done = agent.node.run(*NOBODY, "/usr/bin/python3", "-c", STRANGER, str(agent.socket),
                              text=request.decode(), check=False)
        assert status_of(done.stdout) == 403 and "only root" in done.stdout, (request, done)
    assert serving(agent)


def test_bodies_that_are_no_good(lab):
    [agent] = start(lab)
    for request, status, words in (
        (post(DEEP), 400, '"place":"body:1:'),
        (post("{"), 400, '"place":"body:1:'),
        (post("reason=mine"), 400, '"place":"body:1:1'),
        (post('{"reason": "a\\u0007b"}'), 400, '"place":"body:1:'),
        (post('{"until": "noon"}'), 400, "until"),
        (post("x" * 5000), 413, "error"),
        (post("{}", headers="Content-Type: text/plain\r\n"), 415, "JSON"),
    ):
        answer = ask(agent, request)
        assert status_of(answer) == status and words in answer, (request[:200], answer)
    assert ask(agent, post('{"reason": "mi', size=100), end=True) == ""  # cut
    assert serving(agent)


def test_a_body_that_drips_is_hung_up_on(lab):
    """And nobody else has to wait for it."""
    [agent] = start(lab)
    gone = threading.Event()

    def drip():
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(agent.socket))
            peer.sendall(post('{"reason": "', size=4000))
            try:
                while not gone.wait(0.05):
                    peer.sendall(b"x")
            except OSError:
                gone.set()

    dripping = [threading.Thread(target=drip, daemon=True) for _ in range(3)]
    for thread in dripping:
        thread.start()
    assert json.loads(agent.get("/v1/status"))["kind"] == "Status"
    wait(gone.is_set, "the agent to hang up", 60)
    for thread in dripping:
        thread.join()
    assert serving(agent)
