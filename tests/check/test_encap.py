# SPDX-License-Identifier: Apache-2.0
"""The encapsulation of egress stands behind one header: the programs know no wire format."""

import re

from lab.agent import REPOSITORY

SEAM = {"bpf/packet/encap.h", "bpf/packet/fou.h", "bpf/packet/fou_error.h"}


def knows_fou(text):
    return re.search(r"\b(fou|FOU)_\w|packet/fou", text) is not None


def test_the_programs_know_encap_alone():
    agent = REPOSITORY / "agent"
    files = [path for folder in ("bpf", "apply") for path in (agent / folder).rglob("*.[ch]")]
    assert {str(path.relative_to(agent)) for path in files if knows_fou(path.read_text("utf-8"))} == SEAM


def test_the_seam_calls_and_does_nothing_else():
    """Each function of encap.h is one line, so that it costs nothing."""
    text = (REPOSITORY / "agent/bpf/packet/encap.h").read_text("utf-8")
    bodies = re.findall(r"\n\{\n(.*?)\n\}", text, re.S)
    assert len(bodies) == 8
    assert [body for body in bodies if not re.fullmatch(r"    return [^;]*;", body)] == []
