# SPDX-License-Identifier: Apache-2.0
"""The soak: what tests/netns does for seconds, for as long as one likes.

Restarts under churn, where no withdrawal may happen that the objects didn't ask for; edits of
manifests, after which the kernel must hold what the plan says and memory must not have grown;
drains that are interrupted by kill -9; pods that come and go while clients ask, none of whom may be
refused by an address that is announced; sieges of service NAT (soak_nat.py); pods that start while
egress changes (soak_egress.py); egress gateways whose agents are killed (soak_gateways.py); writes to an
API that is killed (soak_kube.py); addresses with one holder, whatever fails (soak_claims.py); ordinary
life of a cluster (soak_life.py); `agentctl --watch` beside an agent that restarts (soak_watch.py); pods
that come and go while agentd is killed (soak_pods.py); the siege of egress at full size (soak_siege.py);
FRR as the router (soak_fabric.py); and
all packets of tests/bpf, and addresses on VLANs and bonds, with Debian's kernels (soak_guests.py). A run is named by its seed; the same
seed makes the same changes, though not at the same moments.
"""

import os
import random
import time
import traceback
from collections import Counter

from churn import NO_HOLD, Churn, losses_at
from cluster import VIP, VIP6, announced_by, exported, start, tables
from lab import Lab, wait_equal
from races import Race

from . import (process, soak_claims, soak_egress, soak_fabric, soak_gateways, soak_guests, soak_kube, soak_life,
               soak_nat, soak_pods, soak_siege, soak_watch)
from .edits import Edits

SAID_EVERY = 20
QUICK_DRAIN = {**NO_HOLD, "drain": {"shutdown": "100ms", "withdraw": "100ms"}}


def add_options(parser):
    group = parser.add_argument_group("soak")
    group.add_argument("--soak", action="store_true", help="run the soak instead of benchmarks")
    group.add_argument("--kills", type=int, default=200, metavar="N")
    group.add_argument("--edits", type=int, default=3000, metavar="N")
    group.add_argument("--drains", type=int, default=100, metavar="N")
    group.add_argument("--races", type=int, default=200, metavar="N")
    group.add_argument("--minutes", type=float, metavar="N",
                       help="again with other seeds, until so much time has passed")
    group.add_argument("--part", action="append", choices=[part.__name__ for part in parts()],
                       help="only this part; may be given again")
    soak_nat.add_options(group)
    soak_egress.add_options(group)
    soak_kube.add_options(group)
    soak_claims.add_options(group)
    soak_life.add_options(group)
    soak_watch.add_options(group)
    soak_pods.add_options(group)
    group.add_argument("--seed", type=int, default=1, metavar="N")


def listed(undue):
    return [{"address": address, "node": node, "count": count}
            for (address, node), count in sorted(undue.items())]


def restarts(options, seed, say):
    with Lab("soak-restarts") as lab:
        churn = Churn(lab, seed)
        while churn.done["kill"] < options.kills:
            churn.restart_some(SAID_EVERY)
            churn.settle()
            say(f"kills: {churn.done['kill']} of {options.kills}, undue: {dict(churn.undue())}")
        losses, undue = losses_at(churn.monitor), churn.undue()
    return {
        "passed": not undue,
        "changes": dict(sorted(churn.done.items())),
        "withdrawalsAsked": sum(churn.asked.values()),
        "withdrawalsSeen": sum(losses.values()),
        "undue": listed(undue),
    }


def edits(options, seed, say):
    memory = []
    os.environ["GLIBC_TUNABLES"] = process.NO_CACHES
    with Lab("soak-edits", nodes=2) as lab:
        del os.environ["GLIBC_TUNABLES"]
        agent = lab.agent(lab.nodes[0], routes=NO_HOLD)
        run = Edits(lab, agent, random.Random(seed))
        comparisons = 0
        while run.count < options.edits:
            run.compare()
            comparisons += 1
            memory.append(process.memory(agent.process.pid)[1])
            if comparisons % SAID_EVERY == 0:
                say(f"edits: {run.count} of {options.edits}, {memory[-1]:.2f} MiB anonymous")
        repairs = agent.json("status")["routes"]["repairs"]
        flat = None if process.is_sanitized(agent.process.pid) else process.is_flat(memory)
    return {
        "passed": flat is not False and repairs == 0,
        "edits": run.count,
        "comparisons": comparisons,
        "largestPlan": run.largest,
        "repairs": repairs,
        "anonymousMiB": {"first": round(memory[0], 2), "last": round(memory[-1], 2),
                         "max": round(max(memory), 2), "flat": flat},
    }


def drain_one(lab, agent, chance):
    """Takes a node out of service and back, with kills in between; nobody else notices."""
    others = [node for node in lab.nodes if node is not agent.node]
    answer = agent.ctl(*chance.choice([("drain", "--no-wait"), ("withdraw",)]))
    assert answer.code == 0, answer
    for _ in range(chance.randrange(3)):
        agent.kill()
        agent.start(ready=chance.random() < 0.5)
    wait_equal(lambda: agent.json("status")["standing"]["phase"], "drained", "the end of the drain")
    wait_equal(lambda: tables(agent.node), exported(agent.node), "table 119 with blocks only")
    announced_by(lab, *others)
    if chance.random() < 0.5:
        agent.kill()
        agent.start()
    assert tables(agent.node) == exported(agent.node)
    assert agent.ctl("undrain").code == 0
    announced_by(lab, *lab.nodes)


def drains(options, seed, say):
    chance = random.Random(seed)
    asked = Counter()
    with Lab("soak-drains") as lab:
        agents = start(lab, routes=QUICK_DRAIN)
        monitor = lab.monitor()
        for number in range(options.drains):
            agent = chance.choice(agents)
            asked.update((address, agent.node.role) for address in (VIP, VIP6))
            drain_one(lab, agent, chance)
            if (number + 1) % SAID_EVERY == 0:
                say(f"drains: {number + 1} of {options.drains}")
        undue = losses_at(monitor) - asked
    return {"passed": not undue, "drains": options.drains, "undue": listed(undue)}


def races(options, seed, say):
    """Half of them under each policy; the seed has nothing to choose."""
    violations = []
    for policy in ("Local", "Cluster"):
        with Lab(f"soak-races-{policy}", nodes=1, nat=True) as lab:
            race = Race(lab, policy)
            while race.rounds < options.races / 2:
                race.round()
                if race.rounds % SAID_EVERY == 0:
                    say(f"races: {race.rounds} under {policy}, {len(race.violations)} lost")
            violations += race.violations
    return {"passed": not violations, "races": options.races, "violations": violations}


def parts():
    return (restarts, edits, drains, races, *soak_nat.PARTS, *soak_egress.PARTS,
            *soak_gateways.PARTS, *soak_kube.PARTS, *soak_claims.PARTS, *soak_life.PARTS, *soak_watch.PARTS,
            *soak_pods.PARTS, *soak_siege.PARTS, *soak_fabric.PARTS, *soak_guests.PARTS)


def attempt(part, options, seed, say):
    """A part's document; one that ends with an exception has failed, and says how."""
    begin = time.monotonic()
    try:
        document = part(options, seed, say)
    except Exception as error:
        traceback.print_exc()
        document = {"passed": False, "error": str(error)}
    return {"part": part.__name__, "seed": seed, "seconds": round(time.monotonic() - begin, 1),
            **document}


def run(options, say):
    end = time.monotonic() + 60 * (options.minutes or 0)
    items, seed = [], options.seed
    while not items or time.monotonic() < end:
        items += [attempt(part, options, seed, say) for part in parts()
                  if part.__name__ in (options.part or [part.__name__])]
        seed += 1
    return {"apiVersion": "v1", "kind": "Soak", "items": items,
            "passed": all(item["passed"] for item in items)}
