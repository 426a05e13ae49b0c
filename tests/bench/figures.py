# SPDX-License-Identifier: Apache-2.0
"""Samples become figures: percentiles beside a budget. BUDGETS is what the project promises."""

import math
import statistics

PERCENTILES = {"p50": 50, "p90": 90, "p99": 99}

# Name of a figure: unit, what it measures, and the most that a statistic may be.
FIGURES = {
    "announce4": ("ms", "manifest renamed into place -> route in the ToR's kernel, IPv4",
                  {"p50": 10, "p99": 50}),
    "announce6": ("ms", "the same, IPv6", {"p50": 10, "p99": 50}),
    "announce-table": ("ms", "manifest renamed into place -> route in table 119", {}),
    "withdraw4": ("ms", "endpoint not ready -> route gone from the ToR's kernel, IPv4", {}),
    "withdraw6": ("ms", "the same, IPv6", {}),
    "repair": ("ms", "a deleted route is back in table 119", {"p50": 50, "p99": 50}),
    "repair-1000": ("ms", "1,000 deleted routes are back in table 119", {}),
    "idle-rss": ("MiB", "resident memory of an idle agent", {"p50": 16}),
    "idle-anonymous": ("MiB", "of which anonymous", {"p50": 5}),
    "idle-ticks": ("ticks", "processor time of 10 s idle, in ticks of the kernel", {"max": 0}),
    "idle-cpu": ("us", "processor time of 10 s idle, as the scheduler counts it", {}),
    "idle-wakeups": ("wake-ups", "wake-ups in 10 s idle", {}),
    "bird-idle-ticks": ("ticks", "as idle-ticks, with BIRD's socket configured", {"max": 0}),
    "bird-idle-cpu": ("us", "as idle-cpu, with BIRD's socket configured", {}),
    "bird-idle-wakeups": ("wake-ups", "as idle-wakeups, with BIRD's socket configured", {}),
    "status": ("ms", "agentctl status, the program's start included", {}),
    "large-json": ("s", "10,000 Services of 10 addresses, one JSON file renamed into place -> "
                   "table 119 complete", {"p50": 4}),
    "large-json-cpu": ("s", "of which the agent's processor time", {}),
    "large-json-file": ("MiB", "size of that file", {}),
    "large-rss": ("MiB", "resident memory then", {"p50": 150}),
    "large-peak": ("MiB", "the most that was resident until then", {}),
    "large-change": ("ms", "one more Service then: manifest renamed into place -> table 119",
                     {"p50": 5}),
    "large-pass": ("ms", "a full pass over the 100,000 addresses that finds nothing", {}),
    "large-status": ("ms", "agentctl status then", {}),
    "large-restart": ("s", "start of an agent that finds the 100,000 routes there -> READY", {}),
    "large-yaml": ("s", "as large-json, as a YAML file of 20,000 documents", {}),
    "large-yaml-cpu": ("s", "of which the agent's processor time", {}),
    "large-yaml-rss": ("MiB", "resident memory then", {}),
}


def percentile(samples, percent):
    """By nearest rank: a value that was measured, never one between two."""
    ordered = sorted(samples)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def statistics_of(samples):
    values = {name: percentile(samples, percent) for name, percent in PERCENTILES.items()}
    values |= {"min": min(samples), "max": max(samples)}
    if len(samples) % 2 == 0:
        values["p50"] = statistics.median(samples)
    return {"count": len(samples), **{name: round(value, 3) for name, value in values.items()}}


def figure(name, samples, before=None):
    """The document of one figure; `before`: the samples of the build that is compared with."""
    unit, text, budget = FIGURES[name]
    document = {"name": name, "text": text, "unit": unit, **statistics_of(samples)}
    if budget:
        within = all(document[statistic] <= limit for statistic, limit in budget.items())
        document |= {"budget": budget, "verdict": "ok" if within else "over"}
    if before:
        document["against"] = statistics_of(before)
        base = document["against"]["p50"]
        document["ratio"] = round(document["p50"] / base, 3) if base else None
    return document


def line(document):
    """A figure for people, on one line."""
    shown = " ".join(f"{name} {document[name]:g}" for name in ("p50", "p99", "max"))
    text = f"{document['name']:18} {shown} {document['unit']} ({document['count']})"
    if "budget" in document:
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in document["budget"].items())
        text += f"  [{limits}: {document['verdict']}]"
    if "against" in document:
        text += f"  against p50 {document['against']['p50']:g}, ratio {document['ratio']}"
    return text
