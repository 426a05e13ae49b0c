# SPDX-License-Identifier: Apache-2.0
"""The encapsulation of egress stands behind one header of the programs and one file of the agent."""

import re

from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"
SEAM = {"bpf/packet/encap.h", "bpf/packet/fou.h", "bpf/packet/fou_error.h"}
NAMES = {"base/net/tunnel.h"}  # what people call it


def files_that(have):
    return {str(path.relative_to(AGENT)) for path in AGENT.rglob("*.[ch]") if re.search(have, path.read_text("utf-8"))}


def test_code_knows_the_seam_alone():
    assert files_that(r"\b(fou|FOU)_\w|packet/fou") == SEAM


def test_what_people_read_names_it_in_one_place():
    assert files_that(r'"[^"\n]*\bFoU\b[^"\n]*"') == NAMES


def test_the_seam_calls_and_does_nothing_else():
    """Each function of encap.h is one line, so that it costs nothing."""
    text = (AGENT / "bpf/packet/encap.h").read_text("utf-8")
    bodies = re.findall(r"\n\{\n(.*?)\n\}", text, re.S)
    assert len(bodies) == 8
    assert [body for body in bodies if not re.fullmatch(r"    return [^;]*;", body)] == []
