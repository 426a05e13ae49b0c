# SPDX-License-Identifier: Apache-2.0
"""The soak of pods' addresses: 100,000 operations of the CNI plugin while agentd is killed, of which no
address may be given twice or lost (turnover.py); and 10,000 pods by an agentd that lives, which may not
grow by it."""

import os

from lab import Lab
from turnover import Turnover, start

from . import process

AT_ONCE = 5000  # operations between two looks at what is left
MEASURED_EVERY = 200


def add_options(group):
    group.add_argument("--operations", type=int, default=100000, metavar="N",
                       help="of the CNI plugin while agentd is killed")
    group.add_argument("--pods-made", type=int, default=10000, metavar="N",
                       help="pods by an agentd whose memory is measured")


def turnover(options, seed, say):
    with Lab("soak-turnover", nodes=1) as lab:
        run, done = Turnover(lab, start(lab), seed), 0
        while done < options.operations and not run.violations:
            count = min(AT_ONCE, options.operations - done)
            run.run(count)
            run.finish()
            done += count
            say(f"turnover: {done} of {options.operations}, {run.done['restart']} restarts, "
                f"{len(run.violations)} violations")
        if run.agent.running():
            run.agent.stop()
    return {"passed": not run.violations, "operations": done, "calls": dict(sorted(run.done.items())),
            "violations": run.violations[:20]}


def pod_memory(options, seed, say):
    memory = []
    os.environ["GLIBC_TUNABLES"] = process.NO_CACHES
    with Lab("soak-pod-memory", nodes=1) as lab:
        del os.environ["GLIBC_TUNABLES"]
        agent = start(lab)
        run = Turnover(lab, agent, seed)
        while run.done["ADD"] < options.pods_made and not run.violations:
            run.run(MEASURED_EVERY, trouble=False)
            memory.append(process.memory(agent.process.pid)[1])
            say(f"pod_memory: {run.done['ADD']} of {options.pods_made}, {memory[-1]:.2f} MiB anonymous")
        run.finish()
        flat = None if process.is_sanitized(agent.process.pid) else process.is_flat(memory)
    return {
        "passed": flat is not False and not run.violations,
        "calls": dict(sorted(run.done.items())),
        "violations": run.violations[:20],
        "anonymousMiB": {"first": round(memory[0], 2), "last": round(memory[-1], 2),
                         "max": round(max(memory), 2), "flat": flat},
    }


PARTS = (turnover, pod_memory)
