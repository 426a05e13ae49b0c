# SPDX-License-Identifier: Apache-2.0
"""What the demos show with, and check what they show."""

import contextlib
import subprocess
import textwrap
import threading
import time

from .wait import tell_waits, wait_equal


def say(text):
    print(f"\n{text}", flush=True)


def show(lab, command):
    """Prints a command and what it says, as one would see it with bin/ in the PATH."""
    print(f"  $ {command}")
    program, *words = command.split()
    done = subprocess.run(
        [str(lab.folder / "bin" / program), *words], capture_output=True, text=True
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "ready." not in line]
    print(textwrap.indent("\n".join(lines), "    "), flush=True)
    return done.returncode


def progress():
    """From now on, what is waited for is told."""
    tell_waits(lambda what, seconds: print(f"  ... {what}, for {seconds:.0f} s", flush=True))


@contextlib.contextmanager
def lasting(what, every=10):
    """Says every so many seconds that something still goes on."""
    over, begin = threading.Event(), time.monotonic()

    def tell():
        while not over.wait(every):
            print(f"  ... {what}, for {time.monotonic() - begin:.0f} s", flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def expect(what, observe, expected):
    wait_equal(observe, expected, what)
    print(f"  ok: {what}", flush=True)


def expect_via(lab, prefix, nodes):
    """An address or block at the ToR: in the BGP table and in the kernel, via just these nodes."""
    full = prefix if "/" in prefix else prefix + ("/128" if ":" in prefix else "/32")
    where = f"via {' and '.join(sorted(nodes))}" if nodes else "gone"
    expect(f"{prefix} {where}, in the ToR's BGP table", lambda: set(lab.tor.paths(full)), nodes)
    expect(f"{prefix} {where}, in the ToR's kernel", lambda: lab.tor.via(prefix), nodes)


def pages_of(lab, address, count=20):
    """What so many clients get, one after the other."""
    return {lab.client.fetch(address) for _ in range(count)}


def health(lab):
    say("What the agents say of themselves:")
    for node in lab.nodes:
        expect(f"agentctl status on {node} is healthy",
               lambda: lab.agentctl(node, "status", "--wait=10s").code, 0)
        show(lab, f"agentctl-{node} status")
