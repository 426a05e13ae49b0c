# SPDX-License-Identifier: Apache-2.0
"""Two CPUs at once, for what can only happen then."""

import os
from contextlib import contextmanager

import pytest

TWO = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@contextmanager
def on_cpu(cpu):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [cpu])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def beside(cpu, function, *arguments):
    """Calls it in a process of its own on that CPU; has to end well."""
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, [cpu])
            function(*arguments)
            os._exit(0)
        finally:
            os._exit(1)
    yield
    assert os.waitpid(child, 0)[1] == 0
