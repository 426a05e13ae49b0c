# SPDX-License-Identifier: Apache-2.0
"""The soak's sieges of service NAT: what tests/siege/test_nat_attack.py and test_nat_tenants.py do for
seconds, for as long and in as great numbers as an operator has to expect. `--siege 0.01` is a
hundredth of it, in time and in numbers.

The tables have their default sizes. Each part fails by a client that was lost.
"""

import random
import time

import siege
from lab import Lab, wait_equal

CHANGES = 200
CROWD = 1000  # endpoints of each of the hostile tenant's Services


def add_options(group):
    group.add_argument("--siege", type=float, default=1, metavar="SHARE",
                       help="how long and how large the sieges of NAT are; 1: an hour in all")


def scaled(options, number):
    return max(1, round(number * options.siege))


def nothing_lost(figures):
    return {"passed": not any(figures.get(key) for key in
                              ("refused", "errors", "broken", "lost", "untranslated")), **figures}


def hangs(options, seed, say):
    """Two minutes of 200 connections a second to an endpoint that hears nothing."""
    with Lab("soak-hangs", nodes=1, nat=True) as lab:
        figures = siege.hang(siege.build(lab), scaled(options, 120), 200)
    said = nothing_lost(figures)
    return {**said, "passed": said["passed"] and said["firstAfterSeconds"] < 1}


def floods(options, seed, say):
    """A million answered SYNs of clients that are not there, and who is left two minutes later."""
    with Lab("soak-floods", nodes=1, nat=True) as lab:
        world = siege.build(lab)
        figures, held = siege.syns(world, scaled(options, 1000000), 20000)
        begin = time.monotonic()
        wait_equal(lambda: siege.flows(world.agent_here), {"established": len(held)},
                   "the table to hold what lives", 240)
        figures["emptyAfterSeconds"] = round(time.monotonic() - begin, 1)
        figures["broken"] += siege.broken(held)
    return nothing_lost(figures)


def ask_for_long(name, options, seconds, dead):
    with Lab(f"soak-{name}", nodes=1, nat=True) as lab:
        world = siege.build(lab)
        held = siege.hold(world, 10)
        if dead:
            world.agent_here.kill()
        figures = siege.questions(world, scaled(options, seconds))
        figures["broken"] = siege.broken(held)
        if dead:
            world.agent_here.start()
        figures["told"] = siege.tells_of_loss(world.agent_here)
    said = nothing_lost(figures)
    return {**said, "passed": said["passed"] and not figures["told"]}


def questions(options, seed, say):
    """Ten minutes of questions from ever new ports, by all ways at once, as fast as they go."""
    return ask_for_long("questions", options, 600, dead=False)


def absences(options, seed, say):
    """The same for half an hour while no agent runs."""
    return ask_for_long("absences", options, 1800, dead=True)


def guesses(options, seed, say):
    """A million segments with guessed numbers at a thousand connections; five minutes of idleness."""
    with Lab("soak-guesses", nodes=1, nat=True) as lab:
        figures = siege.guesses(siege.build(lab), scaled(options, 1000), scaled(options, 1000000),
                                scaled(options, 300))
    return nothing_lost(figures)


def move_back_and_forth(world, before=None):
    """The seconds of each of a neighbour's changes, sorted. `before` each, something else is done."""
    world.web.write(world.pods["one1"])
    world.agent_here.settled(timeout=300)
    took = []
    for number in range(CHANGES):
        if before:
            before()
        pod = world.pods[("two1", "one1")[number % 2]]
        took.append(siege.change_of_neighbour(world, pod))
    return sorted(took)


def tenants(options, seed, say):
    """A hundred thousand endpoints of one tenant, who changes them; and how long another's changes
    take, beside those without him: a machine that is busy is slow with both."""
    chance = random.Random(seed)
    with Lab("soak-tenants", nodes=1, nat=True) as lab:
        world = siege.build(lab)
        held, before = siege.hold(world, 2), siege.announced_of(world.node)
        alone = move_back_and_forth(world)
        count = scaled(options, 100)
        for number in range(count):
            world.write(f"crowd{number}.json", *siege.crowd(f"crowd{number}", CROWD))
        world.write("thefts.yaml", *siege.thefts(world))
        world.agent_here.settled(timeout=300)

        def change_crowd():
            moved, size = chance.randrange(count), CROWD - chance.randrange(CROWD // 2)
            world.write(f"crowd{moved}.json", *siege.crowd(f"crowd{moved}", size))

        took = move_back_and_forth(world, change_crowd)
        world.agent_here.settled(timeout=300)
        undue = sorted(set(siege.announced_of(world.node)) ^ set(before))
        figures = {"endpoints": count * CROWD, "changes": CHANGES, "undue": undue,
                   "p50Ms": round(1000 * took[CHANGES // 2], 1),
                   "p99Ms": round(1000 * took[CHANGES * 99 // 100], 1),
                   "aloneP50Ms": round(1000 * alone[CHANGES // 2], 1),
                   "aloneP99Ms": round(1000 * alone[CHANGES * 99 // 100], 1),
                   "broken": siege.broken(held)}
    said = nothing_lost(figures)
    return {**said, "passed": said["passed"] and not undue and figures["p99Ms"] <= 50}


PARTS = (hangs, floods, questions, absences, guesses, tenants)
