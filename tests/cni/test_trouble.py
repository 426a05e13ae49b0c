# SPDX-License-Identifier: Apache-2.0
"""Everything that the plugin asks of the kernel fails once, and it is killed at every step.

strace makes a system call fail, or kills at it, by its number (inject=). What must hold afterwards
is always the same: an ADD that failed left nothing and says why; one that was killed leaves nothing
that DEL does not take away, and the next ADD makes the pod's wire as if nothing had been."""

import itertools
import os

import pytest
from conftest import Refusal

# By name: what differs between them is which of the plugin's own lines sees the failure.
CALLS = {
    "sendto": "ENOBUFS", "sendmsg": "ENOBUFS", "recvmsg": "ENOMEM", "recvfrom": "EIO",
    "setns": "EPERM", "capset": "EPERM", "prctl": "EPERM", "socket": "EMFILE", "connect": "ECONNREFUSED",
    "setsockopt": "EINVAL", "bind": "EADDRINUSE", "fcntl": "ENOLCK", "ioctl": "EINVAL", "write": "EIO",
}
MOST = 200  # no call is made so often: the end comes before


def inject(node, call, what, count):
    """strace over one plugin. Leaks can't be looked for under it."""
    return ("env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-f", "-qq", "-o", str(node.folder / "strace"),
            "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={count}")


def was_injected(node):
    text = (node.folder / "strace").read_text(encoding="utf-8", errors="replace")
    return "(INJECTED)" in text or "+++ killed by SIGKILL" in text


def add(node, pod, wrapper):
    """Whether it succeeded; a plugin that was killed did not."""
    process = node.start(node.environment("ADD", pod, "c1"), node.config(), *wrapper)
    try:
        return node.end(process) is not None
    except Refusal as refusal:
        assert refusal.message and refusal.remedy
        return False
    except AssertionError:  # without an answer: killed, or standard output did not take it
        assert process.returncode != 0
        return False


def is_bare(node, pod, before):
    return node.links() == before and [link["ifname"] for link in pod.ip_json("link")] == ["lo"]


def works(node, pod):
    node.call("ADD", pod, "c1")
    node.call("CHECK", pod, "c1")
    assert node.host.ping("10.1.2.3") and node.host.ping("fd01::3")


@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_call_fails(node, agent, pod, call):
    before = node.links()
    failures = 0
    for count in range(1, MOST):
        agent.given = 2
        done = add(node, pod, inject(node, call, f"error={CALLS[call]}", count))
        if not was_injected(node):
            assert done
            break
        failures += not done
        if not done and call not in ("write", "sendmsg", "sendto", "recvmsg"):
            # Where nothing could be said to agentd or the kernel any more, DEL has to do it.
            assert node.links() == before
        node.call("DEL", pod, "c1")
        assert is_bare(node, pod, before) and agent.pods == {}
    else:
        pytest.fail("it never came to its end")
    agent.given = 2
    node.call("DEL", pod, "c1")
    works(node, pod)
    assert failures > 0 or call in ("setsockopt",)


@pytest.mark.parametrize("call", ("sendto", "recvmsg", "setns", "capset", "connect", "openat"))
def test_killed_at_a_call(node, agent, pod, call):
    before = node.links()
    for count in itertools.count(1):
        agent.given = 2
        done = add(node, pod, inject(node, call, "signal=KILL", count))
        if not was_injected(node):
            assert done
            break
        if count % 2:  # the runtime tries again, without a DEL
            works(node, pod)
        node.call("DEL", pod, "c1")
        assert is_bare(node, pod, before) and agent.pods == {}


@pytest.mark.parametrize("command", ("DEL", "CHECK"))
@pytest.mark.parametrize("call", ("sendto", "connect", "recvfrom", "socket"))
def test_others_fail_too(node, agent, pod, command, call):
    """What fails is repeated by the runtime: it must be said, and done by the repetition."""
    before = node.links()
    for count in range(1, MOST):
        agent.given = 2
        node.call("ADD", pod, "c1")
        process = node.start(node.environment(command, pod, "c1"), node.config(),
                             *inject(node, call, f"error={CALLS[call]}", count))
        try:
            node.end(process)
        except Refusal as refusal:
            assert refusal.message and refusal.remedy
        injected = was_injected(node)
        node.call("DEL", pod, "c1")
        assert is_bare(node, pod, before) and agent.pods == {}
        if not injected:
            break
    else:
        pytest.fail("it never came to its end")


def test_capabilities(node, agent, pod):
    """Of root's, two are left before agentd is asked, and one in the pod."""
    agent.gates["POST"].clear()
    process = node.start(node.environment("ADD", pod, "c1"), node.config())
    assert agent.came["POST"].wait(60)
    assert capabilities(process.pid) == {12, 21}  # CAP_NET_ADMIN, CAP_SYS_ADMIN
    agent.gates["wired"].clear()
    agent.gates["POST"].set()
    assert agent.came["wired"].wait(60)
    assert capabilities(process.pid) == {12}
    assert os.readlink(f"/proc/{process.pid}/ns/net") == pod.run("readlink", "/proc/self/ns/net").stdout.strip()
    agent.gates["wired"].set()
    node.end(process)


def test_none_is_needed_to_ask(node, agent):
    agent.gates["GET"].clear()
    process = node.start(node.environment("STATUS", None, ""), node.config("1.1.0"))
    assert agent.came["GET"].wait(60)
    assert capabilities(process.pid) == set()
    agent.gates["GET"].set()
    node.end(process)


def capabilities(pid):
    """The permitted and the effective ones of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        sets = dict(line.split(":\t") for line in file.read().splitlines() if line.startswith("Cap"))
    both = int(sets["CapPrm"], 16) | int(sets["CapEff"], 16) | int(sets["CapInh"], 16)
    return {number for number in range(64) if both >> number & 1}
