# SPDX-License-Identifier: Apache-2.0
"""Each code of the catalogue is raised by a test, which has its name, its type, or words of its message alone."""

import collections
import json
import re
import subprocess

import pytest
from lab.agent import REPOSITORY, build_folder

TESTS = REPOSITORY / "tests"
READ = {".c", ".h", ".py", ".txt", ".yaml", ".json"}
MADE_FROM_THE_CATALOGUE = TESTS / "unit/faults/rendered.txt"
SHORTEST = 12  # characters of words that prove a message


@pytest.fixture(name="catalogue", scope="module")
def catalogue_fixture():
    command = [build_folder() / "agent/agentctl/agentctl", "help", "fault", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["items"]


def without_comments(path, text):
    if path.suffix in (".c", ".h"):
        return re.sub(r'/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', r"\1", text, flags=re.DOTALL)
    return re.sub(r"^\s*#.*", "", text, flags=re.MULTILINE) if path.suffix == ".py" else text


def whole_literals(text):
    """A literal that goes on in the next line is one, and has no escapes."""
    return re.sub(r'"\s*\n\s*f?"', "", text).replace('\\"', '"').replace("\\n", "\n")


def texts_of_tests():
    paths = (path for path in sorted(TESTS.rglob("*")) if path.suffix in READ and path != MADE_FROM_THE_CATALOGUE)
    texts = [without_comments(path, path.read_text(encoding="utf-8", errors="replace")) for path in paths if path.is_file()]
    return whole_literals("\n".join(texts))


def pieces(message):
    """What a message says between its arguments."""
    parts = (part.strip(" :,;") for part in re.split(r"<\w+>", message))
    return [part for part in parts if len(part) >= SHORTEST and " " in part]


def unexpected(catalogue, text):
    named = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", text))
    named |= {found.replace("_", "-") for found in re.findall(r"fault_type_(\w+)", text)}
    owners = collections.Counter(piece for piece in {piece for fault in catalogue for piece in pieces(fault["message"])}
                                 for fault in catalogue if piece in fault["message"])
    return [fault["code"] for fault in catalogue if fault["code"] not in named
            and not any(owners[piece] == 1 and piece in text for piece in pieces(fault["message"]))]


def test_every_code_is_expected_by_a_test(catalogue):
    assert unexpected(catalogue, texts_of_tests()) == [], "write a test that raises these"


def test_what_counts_as_expected():
    faults = [{"code": "web-gone", "message": "the web is gone: <reason>"},
              {"code": "web-odd", "message": "the web is gone: <reason> for ever and ever"}]
    assert unexpected(faults, "") == ["web-gone", "web-odd"]
    assert unexpected(faults, 'assert_raised(&faults, "web-gone at x")') == ["web-odd"]
    assert unexpected(faults, "&fault_type_web_odd") == ["web-gone"]
    assert unexpected(faults, "is gone: x for ever and ever") == ["web-gone"]
    assert unexpected(faults, "the web is gone: x") == ["web-gone", "web-odd"]
    assert without_comments(TESTS / "a.c", '/* web-gone */ f("web-odd /* */");') == ' f("web-odd /* */");'
