# SPDX-License-Identifier: Apache-2.0
"""A fault says what to do about it: none is added without a remedy, but where the message itself has it."""

import re

from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"

# Who adds faults whose message says what was expected, with file, line and column.
SAY_IT = {"format/place.c"}


def call_ends(text, at):
    """Where the arguments of a call end each, of which the first begins at `at`."""
    depth, quoted, ends = 1, False, []
    while depth:
        character = text[at]
        if quoted and character == "\\":
            at += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
            if depth == 0 or (depth == 1 and character == ","):
                ends.append(at)
        at += 1
    return ends


def remedies(text):
    """(line, remedy) of each fault that a file adds."""
    for call in re.finditer(r"\bfaults_add\((?!struct)", text):
        ends = call_ends(text, call.end())
        yield text.count("\n", 0, call.start()) + 1, " ".join(text[ends[1] + 1:ends[2]].split())


def without(text):
    return [line for line, remedy in remedies(text) if re.search(r"\bNULL\b", re.sub(r'"(\\.|[^"\\])*"', "", remedy))]


def test_every_fault_has_a_remedy():
    lacking = {str(path.relative_to(AGENT)): without(path.read_text("utf-8")) for path in sorted(AGENT.rglob("*.c"))}
    assert {name: lines for name, lines in lacking.items() if lines and name not in SAY_IT} == {}


def test_who_says_it_in_the_message_is_still_there():
    assert all(without((AGENT / name).read_text("utf-8")) for name in SAY_IT)


def test_a_fault_without_a_remedy_is_found():
    assert without('faults_add(&faults, f(a, "b"), NULL,\n "x: %s", y);') == [1]
    assert without('\nfaults_add(faults, place, bad ? "do (this), or that" : NULL, "x");') == [2]
    assert without('faults_add(faults, place ? place : NULL, "NULL is no word", "x");') == []
    assert without('faults_add(faults, place, remedy, "x, NULL");') == []
