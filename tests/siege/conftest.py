# SPDX-License-Identifier: Apache-2.0
"""Attacks use what tests/netns has to build a network and its Services with."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "netns"))
