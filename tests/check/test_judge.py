# SPDX-License-Identifier: Apache-2.0
"""The judge of the fault tables: it counts faults that go and come."""

import pytest
from moments import flaps

CAUSE = ("tor", "is down")
DOWN, OTHER = "bird: session tor: is down: refused", "bird: session tor: is down: no route to host"
STRANGE = "api: watch: has ended"


def gone(line):
    subsystem, place, words = line.split(": ", 2)
    return f"{subsystem}: {place}: no longer: {words}"


@pytest.mark.parametrize("lines, found", [
    ([(0, DOWN), (9, gone(DOWN))], []),
    ([(0, DOWN), (9, "the configuration was read again"), (9, gone(DOWN))], []),
    ([(0, DOWN), (2, gone(DOWN)), (2, OTHER), (9, gone(OTHER))], []),  # in other words, at once
    ([(0, DOWN), (1, OTHER), (2, gone(DOWN)), (9, gone(OTHER))], []),
    ([(0, DOWN), (2, gone(DOWN)), (4, OTHER)], [OTHER]),  # for two seconds nothing was told of it
    ([(0, DOWN), (2, gone(DOWN)), (2, DOWN)], [DOWN]),  # two owners, who take it from each other
    ([(0, DOWN), (2, gone(DOWN)), (9, DOWN), (10, gone(DOWN)), (11, DOWN)], [DOWN, DOWN]),
    ([(0, DOWN + " after 2 ms"), (2, gone(DOWN + " after 2 ms")), (2, DOWN + " after 17 ms")], [DOWN + " after 17 ms"]),
    ([(0, STRANGE + " of ::1"), (2, gone(STRANGE + " of ::1")), (2, STRANGE + " of ::2")], []),  # another thing
    ([(0, STRANGE), (1, gone(STRANGE)), (2, STRANGE)], [STRANGE]),  # of another cause
    ([(0, STRANGE), (1, gone(STRANGE)), (2, "api: watch: has begun")], []),
    ([(0, DOWN), (1, gone(DOWN)), (3, "agentd 0.1.0 for node tor: manifests from /run/is down, routes in table 119")], []),
])
def test_what_goes_and_comes_again_is_found(lines, found):
    assert flaps(lines, CAUSE) == found


def test_without_a_cause_the_same_words_count():
    lines = [(0, STRANGE), (1, gone(STRANGE)), (2, DOWN), (3, gone(DOWN)), (4, STRANGE)]
    assert flaps(lines, ()) == [STRANGE]
