# SPDX-License-Identifier: Apache-2.0
"""Random pods and an agentd that is killed: see turnover.py. tools/bench --soak has 100,000 operations."""

import pytest
import turnover


@pytest.mark.lab(nodes=1)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_address_is_given_twice_and_none_is_lost(lab, seed):
    agent = turnover.start(lab)
    run = turnover.Turnover(lab, agent, seed)
    run.run(300)
    run.finish()
    print(dict(sorted(run.done.items())))
    assert not run.violations, "\n".join(run.violations)
    assert run.done["restart"] and run.done["ADD"] and run.done["GC"]
