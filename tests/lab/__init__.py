# SPDX-License-Identifier: Apache-2.0
"""The network that tests, demo and benchmarks share; see lab.py for the picture."""

from . import objects
from .lab import (
    BLOCK_COMMUNITY,
    GRACEFUL_SHUTDOWN,
    SERVICE_COMMUNITY,
    Lab,
    label_of,
)
from .wait import Timeout, wait, wait_equal

__all__ = [
    "BLOCK_COMMUNITY",
    "GRACEFUL_SHUTDOWN",
    "SERVICE_COMMUNITY",
    "Lab",
    "Timeout",
    "label_of",
    "objects",
    "wait",
    "wait_equal",
]
