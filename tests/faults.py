# SPDX-License-Identifier: Apache-2.0
"""The fault table: what an operator may get wrong, and what the agent has to say of it.

A row is a function that puts one fault in, as an operator would, yields, and mends it:

    rows = Table()

    @rows("bgp-session-disabled", within=2, cause="tor_v4", remedy="birdc enable tor_v4")
    def a_session_is_disabled(world):
        world.node.bird.birdc("disable", "tor_v4")
        yield
        world.node.bird.birdc("enable", "tor_v4")

    @rows.each
    def test_told_and_gone(world, row):
        check(row, world)

The code is that of the catalogue; a row without one is of nothing wrong. A fault has to be told `within` that time (1 s
for what this machine knows, 2 s for what BIRD and Consul know, 5 s where an answer has to stay out or a program has to
come up, 15 s for the API), and gone in the same when it is mended, by what the agent itself has written into its log; a
row of which nothing is wrong may raise what is gone by then. So a row yields twice where mending it takes a while, once
when it is put in and once when it is mended, and waits behind that. What the agent mends (`heals`) the row awaits between
the two. No fault may go and come again while the row's cause is there, nor from when the row begins to mend it until its
end.

`world` is what the suite has made, for all its rows one after the other (mark `shared`): it has an
`agent` that is healthy. A row that fails takes its lab along.
"""

import re
from dataclasses import dataclass, field

import pytest
from lab import wait, wait_equal
from moments import Moment, log_size

EXIT_STATUS = {"healthy": 0, "degraded": 1, "failed": 2}
ITSELF = ("",)  # no remedy: the message says what to put right


@dataclass(frozen=True)
class Row:
    name: str
    put_in: callable  # a generator of the world: mends behind its yield
    code: str = None  # of the catalogue; none: nothing is wrong
    cause: tuple = ()  # words of its message, or of its place
    remedy: tuple = ()  # words of its remedy
    health: str = "degraded"
    beside: tuple = ()  # other faults may be told, with these words; without them it stands alone
    says: dict = field(default_factory=dict)  # words of agentctl VERB's output, by its arguments
    silent: dict = field(default_factory=dict)  # likewise: what it must not say
    heals: bool = False  # the agent mends it, which the row awaits behind its first yield
    lingers: float = 0  # seconds for which the fault is kept on purpose after its last occurrence
    within: float = None  # seconds in which it is told or healed, and gone; None: nobody has written it down

    def __str__(self):
        return self.name


def words(given):
    return (given,) if isinstance(given, str) else tuple(given)


def all_words(given):
    return {verb: words(said) for verb, said in (given or {}).items()}


class Table:
    """The rows of a module, in order."""

    def __init__(self):
        self.rows = []

    def __call__(self, code=None, *, within=None, health=None, heals=False, lingers=0, cause=(), remedy=(), beside=(),
                 says=None, silent=None):
        assert bool(code) == bool(cause) == bool(remedy), (code, cause, remedy)
        assert "" not in words(beside), f"{code}: every fault has the empty word"
        health = health or ("degraded" if code else "healthy")

        def add(function):
            name = function.__name__
            assert name not in map(str, self.rows), f"{name} is there twice"
            self.rows.append(Row(name, function, code, words(cause), words(remedy), health, words(beside),
                                 all_words(says), all_words(silent), heals, lingers, within))
            return function

        return add

    def each(self, test):
        """One call of the test for each row."""
        return pytest.mark.parametrize("row", self.rows, ids=str)(test)


def is_told(fault, row):
    """By code, message and remedy; the place may be a word of the cause."""
    message = f"{fault['place']}: {fault['message']}"
    return (row.code == fault["code"]
            and all(word in message for word in row.cause)
            and all(word in (fault["remedy"] or "") for word in row.remedy))


def untold(agent, row):
    """What is missing of the row's cause, or stands beside it: empty when it is told right."""
    faults = agent.faults()
    others = [fault for fault in faults if not is_told(fault, row)]
    strangers = [fault for fault in others
                 if not any(word in fault["message"] for word in row.beside)]
    missing = bool(row.code) and len(others) == len(faults)
    return {"faults": faults} if missing or strangers else {}


def missaid(agent, row):
    """The outputs of agentctl that lack a word, or have one too much."""
    wrong = []
    for verb in {**row.says, **row.silent}:
        out = agent.ctl(*verb.split()).out
        lacks = [word for word in row.says.get(verb, ()) if word not in out]
        has = [word for word in row.silent.get(verb, ()) if word in out]
        if lacks or has:
            wrong.append((verb, out, {"lacks": lacks, "has": has}))
    return wrong


def check_screen(agent, row):
    """Health word, exit status, and the cause where an operator looks first."""
    answer = agent.ctl("status")
    headline = answer.out.splitlines()[0]
    assert row.health in headline, answer.out
    assert answer.code == EXIT_STATUS[row.health], answer
    assert all(word in answer.out for word in (*row.cause, *row.remedy)), answer.out
    brief = agent.ctl("status", "--brief")
    assert (brief.out, brief.code) == (f"{row.health}\n", EXIT_STATUS[row.health]), brief


def wait_quiet(agent, what):
    """Nothing is wrong, by the list of faults and by the word."""
    wait_equal(agent.faults, [], what)
    wait_equal(lambda: agent.ctl("status", "--brief"), (0, "healthy\n", ""), what)


def harms_nothing(agent, row):
    """No fault, and the screen of a healthy agent."""
    try:
        check_screen(agent, row)
    except AssertionError:
        return False
    return agent.faults() == []


def is_in_time(row, seconds, what, more=0):
    assert row.within is None or seconds <= row.within + more, f"{row}: {what} after {seconds:.2f} s, not {row.within:.0f}"
    return f"{what} after {seconds:.2f} s"


def names_a_field(fault):
    """What to put right stands in the message: of a file with line and column, of an object of the API with the field."""
    return re.search(r":\d+:\d+$", fault["place"]) or fault["message"].startswith("object.")


def check_remedies(agent):
    """Each fault says what to do, but for those of a line of a file, which say what is expected there."""
    lacking = [fault for fault in agent.faults() if not fault["remedy"] and not names_a_field(fault)]
    assert lacking == [], lacking


def check_told(agent, row, put_in):
    """That the cause is told, in time and everywhere; or that nothing is wrong, again in time."""
    wait_equal(lambda: untold(agent, row), {}, f"{row} to be told: {row.code}, {row.cause} -> {row.remedy}")
    if row.code:
        said = is_in_time(row, put_in.until_told(row.cause), "told")
        check_screen(agent, row)
        check_remedies(agent)
    else:  # sessions that begin anew with other settings are down for a moment, and that is told
        wait(lambda: harms_nothing(agent, row), f"{row} to harm nothing")
        said = is_in_time(row, put_in.until_gone(), "quiet")
    wait_equal(lambda: missaid(agent, row), [], "what agentctl says beside it")
    return said


def check_steady(row, put_in, mending):
    """No fault went and came again: neither while the cause was there, nor since somebody began to mend it."""
    flapping = [*put_in.flaps(row.cause, mending.at), *mending.flaps(row.cause)]
    assert flapping == [], f"{row}: told, let go and told again: {flapping}"


def check(row, world):
    """Puts the fault in, compares what is told, mends it, and waits until all is well again."""
    agent = world.agent
    wait_quiet(agent, "nothing wrong before")
    fault, begin = row.put_in(world), log_size(agent)
    next(fault)
    put_in = Moment(agent, begin)
    if row.heals:
        next(fault)
        said = [is_in_time(row, put_in.until_now(), "healed"), check_told(agent, row, put_in)]
        mending = mended = put_in
    else:
        said = [check_told(agent, row, put_in)]
        mending = Moment(agent, begin)
        next(fault, None)
        mended = Moment(agent, begin)
    wait_quiet(agent, f"{row} to be gone")
    said.append(is_in_time(row, mended.until_gone(), "gone", row.lingers))
    next(fault, None)
    wait_quiet(agent, f"{row} to leave nothing behind")
    check_steady(row, put_in, mending)
    print(f"{row}: {', '.join(said)}")
