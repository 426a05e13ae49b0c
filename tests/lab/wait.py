# SPDX-License-Identifier: Apache-2.0
"""Waiting for conditions. This is the only place in the lab that lets time pass."""

import os
import subprocess
import time

TICK = 0.03
# How much slower than usual the machine is: of a guest that is emulated.
PATIENCE = float(os.environ.get("FINGERPOST_PATIENCE", 1))

# What a condition may raise while it is not yet true.
NOT_YET = (AssertionError, LookupError, OSError, ValueError, subprocess.SubprocessError)


TOLD_AFTER = 1  # second; then each five

_listeners = []


class Timeout(AssertionError):
    pass


def tell_waits(listener):
    """Calls listener(what, seconds) for each wait that takes longer than a moment, again and again."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


class _Patience:
    """When somebody who watches is to be told that a wait goes on."""

    def __init__(self, what):
        self.what, self.begin, self.due = what, time.monotonic(), TOLD_AFTER

    def tell(self):
        seconds = time.monotonic() - self.begin
        if seconds < self.due:
            return
        self.due = seconds + 5
        for listener in _listeners:
            listener(self.what, seconds)


def wait(condition, what, timeout=30, tick=TICK):
    """Calls condition() until it answers something true, and returns that; so often, in seconds.

    An exception of NOT_YET counts as a no. A Timeout says what was waited for and the last answer.
    """
    timeout *= PATIENCE
    deadline = time.monotonic() + timeout
    patience = _Patience(what)
    while True:
        try:
            last = condition()
            if last:
                return last
        except NOT_YET as error:
            last = error
        if time.monotonic() > deadline:
            raise Timeout(f"waited {timeout} s for: {what}; last seen: {last!r}")
        patience.tell()
        time.sleep(tick)


def wait_equal(observe, expected, what, timeout=30):
    """Waits until observe() gives the expected value; the Timeout shows what it gave instead."""
    seen = None

    def equal():
        nonlocal seen
        seen = observe()
        return seen == expected

    try:
        wait(equal, what, timeout)
    except Timeout as error:
        raise Timeout(f"{error}\n  expected: {expected!r}\n  observed: {seen!r}") from None
