# SPDX-License-Identifier: Apache-2.0
"""A crowd of pods that starts under load, with `unknownPods: hold`: outside nothing is seen but from
the gateways' addresses. The soak does the same with many more."""

import pytest
from crowd import Crowd
from lab import wait

pytestmark = pytest.mark.lab(nat=True, nodes=3)


def test_no_wrong_source(lab):
    crowd = Crowd(lab, seed=1)
    while crowd.started < 60:
        crowd.round()
    wait(lambda: {"held", "ports"} <= crowd.drops(), "packets were held, and ports used up")
    crowd.close()
    assert crowd.judge.passed > 1000
    assert crowd.judge.wrong == {}, crowd.done


def test_born_while_no_agent_runs(lab):
    """Nobody attaches a program to its interface: its packets stay in the cluster until somebody does."""
    crowd = Crowd(lab, seed=2)
    crowd.round(events=0)
    [agent] = crowd.first.agents
    agent.kill()
    waiting = crowd.start_pod()
    begin = crowd.load.rounds
    wait(lambda: crowd.load.rounds > begin + 50, "it has sent many packets")
    agent.start()
    wait(lambda: not crowd.silent(waiting), "it gets answers from outside")
    crowd.close()
    assert crowd.judge.wrong == {}
