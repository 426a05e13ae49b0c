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
    "pools": ("s", "agentctl plan of 10,000 Services that get an address of a pool each", {"p50": 10}),
    "pools-none": ("s", "the same without a pool", {}),
    "blocks": ("s", "1,000 nodes have asked for a block when a controller begins to lead -> the last "
               "is answered", {"p50": 10}),
    "blocks-peak": ("MiB", "the most that was resident of the controller", {"p50": 64}),
    "blocks-cpu": ("s", "its processor time", {}),
    "blocks-writes": ("writes", "that it sent: one for each block, one for each request", {"max": 2000}),
    "blocks-failed": ("writes", "of which the API refused", {"max": 0}),
    "cni-add": ("ms", "one ADD by the CNI plugin, agentd played", {"p50": 20}),
    "cni-cpu": ("ms", "of which the plugin's processor time, the kernel's part included", {}),
    "cni-many": ("s", "each of 160 ADDs that begin at once", {"p99": 2}),
    "cni-all": ("s", "all of them", {"p50": 5}),
    "cni-agentd-add": ("ms", "as cni-add, by agentd itself: until its routes stand", {"p50": 20}),
    "cni-agentd-cpu": ("ms", "of which the plugin's processor time", {}),
    "cni-agentd-many": ("s", "each of 160 ADDs that begin at once, by agentd itself", {"p99": 2}),
    "cni-agentd-all": ("s", "all of them", {"p50": 5}),
    "cni-ptp-add": ("ms", "as cni-add, by the reference plugin ptp with host-local", {}),
    "cni-ptp-cpu": ("ms", "as cni-cpu, likewise", {}),
    "cni-ptp-many": ("s", "as cni-many, likewise", {}),
    "cni-ptp-all": ("s", "as cni-all, likewise", {}),
    "exports": ("s", "5,000 Services of three ports, a controller begins -> every document in Consul's KV",
                {"p50": 30}),
    "exports-change": ("s", "another port of one of them then -> its document", {"p50": 1}),
    "exports-quiet": ("requests", "to Consul while nothing changes, but for renewals of the session: one query waits",
                      {"max": 0}),
    "exports-peak": ("MiB", "the most that was resident of the controller", {"p50": 128}),
    "large-yaml-rss": ("MiB", "resident memory then", {}),
}

KIND_TEXTS = {"floor": "a program that parses, finds the flow and rewrites, and does nothing else",
              "established": "a packet of an established TCP flow, hit and translated",
              "asked": "the same, each time asked by which interface its source is routed",
              "miss": "a packet that is for no service",
              "new": "the first packet of a flow: both halves made",
              "inserts": "the bare insertion of two entries into a table as large",
              "reject": "a refusal, with its ICMP error"}
WAY_TEXTS = {"path": "from pod to pod of another node", "outside": "from outside to a pod, masqueraded"}
PATH_TEXTS = {"udp": ("ns", "a datagram of one flow"),
              "rate": ("1/s", "connections opened and reset, one after the other"),
              "stream": ("Gbit/s", "one TCP connection")}
VARIANT_TEXTS = {"none": "without NAT", "nft": "nftables as kube-proxy writes it, 1,000 Services",
                 "ours": "served by us, 1,000 Services", "stack": "the same with path: stack"}
# By way: who is compared with whom.
PATH_PAIRS = {"path": ("nft/none", "ours/none", "ours/nft"),
              "outside": ("nft/none", "ours/none", "stack/none", "stack/nft")}
# The most that a kind of traffic may cost, by way and by who is compared.
PATH_LIMITS = {
    ("path", "ours/nft"): {"udp": 1.0, "rate": 1 / 1.05, "stream": 1.0},
    ("outside", "stack/nft"): {"udp": 1.0, "rate": 1 / 1.05, "stream": 1.0},
    ("outside", "ours/none"): {"stream": 1.05},
}

EGRESS_TEXTS = {"none": "without a gateway", "idle": "the same of a pod that names no Egress beside one that does",
                "detour": "by as many hops as with a gateway, without a tunnel and not translated",
                "fou": "by a gateway, both ends the kernel's FoU and nftables",
                "ours": "by a gateway, both ends ours"}
# Where it is measured (egress_path.py, egress_guest.py): what the names of its figures begin with.
EGRESS_PLACES = {"egress": "", "egress-6.1-": ", Linux 6.1 in instructions",
                 "egress-6.12-": ", Linux 6.12 in instructions",
                 "egress-6.12-emulated-": ", Linux 6.12 in an emulator's time, which says little"}
EGRESS_PAIRS = (("idle", "none"), ("ours", "none"), ("ours", "detour"), ("fou", "none"), ("ours", "fou"))
EGRESS_PROGRAM_TEXTS = {"datagram": "a datagram that leaves by a gateway, at the pod's interface",
                        "connection": "a connection's first packet there",
                        "gateway": "such a datagram at the gateway"}
EGRESS_LIMITS = {("idle", "none"): {"udp": 1.05, "stream": 1.05},
                 ("ours", "fou"): {"udp": 1 / 1.5, "stream": 1.0}}


def egress_place(place, where, family):
    found = {}
    counted = where.endswith("instructions")
    for kind in ("udp", "stream"):
        (unit, text), name = PATH_TEXTS[kind], f"{place}{family}-{kind}"
        if counted:
            unit = {"udp": "instructions", "stream": "bit/instruction"}[kind]
        for variant, how in EGRESS_TEXTS.items():
            found[f"{name}-{variant}"] = (
                unit, f"{text} from a pod to a host outside, {how}, IPv{family}{where}", {})
        for pair in EGRESS_PAIRS:
            limit = EGRESS_LIMITS.get(pair, {}).get(kind)
            found[f"{name}-cost-{'/'.join(pair)}"] = (
                "ratio", f"cost of the same, {'/'.join(pair)}, IPv{family}{where}",
                {"p50": limit} if limit and "emulator" not in where else {})
    found[f"{place}{family}-udp-ends-ours/fou"] = (
        "ratio", f"what a datagram costs above the detour, ours/fou, IPv{family}{where}", {})
    return found


def egress_figures():
    found = {}
    for family in (4, 6):
        for place, where in EGRESS_PLACES.items():
            found |= egress_place(place, where, family)
    return found


def egress_program_figures():
    found = {}
    for family in (4, 6):
        name = f"egress-program{family}"
        for kind, text in EGRESS_PROGRAM_TEXTS.items():
            found[f"{name}-{kind}"] = ("ns", f"{text}, fastest tenth of single runs, IPv{family}", {})
            if kind != "gateway":
                found[f"{name}-{kind}-source"] = (
                    "ratio", f"the same, to what it costs without the check of the source, IPv{family}", {"p50": 1.02})
    return found


def egress_load_figures():
    text = "1,000 of 2,000 pods of one gateway, 200 Egresses"
    found = {
        "egress-load-named": ("ms", f"{text}, annotated at once: manifest renamed into place -> in both "
                              "agents' maps", {}),
        "egress-load-named-cpu": ("ms", "of which both agents' processor time", {}),
        "egress-load-moved": ("ms", f"{text}, each given another: manifest renamed into place -> in the "
                              "client's maps", {}),
        "egress-load-lines": ("lines", "in both agents' logs meanwhile", {}),
        "egress-one-ratio": ("ratio", "one pod more, 2,000 to 10", {}),
        "egress-one-cpu-ratio": ("ratio", "its processor time, 2,000 to 10", {"p50": 1.5}),
    }
    for name in ("client", "gateway"):
        found[f"egress-load-calls-{name}"] = (
            "calls", f"{text}, each given another: calls of bpf() and netlink messages of the {name}", {})
        found[f"egress-load-rss-{name}"] = ("MiB", f"resident memory of the {name}'s agent then", {})
        found[f"egress-load-maps-{name}"] = ("MiB", "memory of its maps then", {})
    for count in (10, 2000):
        found[f"egress-one-{count}"] = (
            "ms", f"one pod more than {count}: manifest renamed into place -> in both agents' maps", {})
        found[f"egress-one-{count}-cpu"] = ("ms", "of which both agents' processor time", {})
    return found


# How a gateway fails or leaves (egress_failover.py).
FAILURES = {"killed": "gateway killed: agent, BIRD and link; BIRD as birdconf/ has it",
            "bfd": "gateway silent, BIRD as birdconf/ has it, without probes",
            "silent": "gateway silent, without routes to gateways",
            "pod": "gateway pod killed: agent and network",
            "unready": "gateway pod not ready any more: from the rename of its EndpointSlices",
            "drain": "planned drain of a gateway"}


def egress_failover_figures():
    found = {}
    for name, how in FAILURES.items():
        figure_name = f"egress-failover-{name}"
        found[figure_name] = ("ms", f"{how}: until new flows are served, all of them", {"p99": 1500})
        found[f"{figure_name}-others"] = (
            "flows", f"{how}: flows of the other gateway broken in a round", {"max": 0})
        if name == "drain":
            found[f"{figure_name}-own"] = ("flows", f"{how}: its own flows broken in a round", {"max": 0})
            continue
        found[f"{figure_name}-own"] = (
            "ms", f"{how}: its own connections, next packet -> reset", {"p99": 1000})
        found[f"{figure_name}-busy"] = (
            "ms", f"{how}: its own connections that always send, until their reset", {})
    return found


def nat_figures():
    """What the NAT benchmarks measure, and what was promised of it."""
    found = {"program-empty": ("ns", "a program that does nothing, by BPF_PROG_TEST_RUN", {}),
             "program-established-6/4": ("ratio", "established, IPv6 to IPv4", {"p50": 1.2})}
    for family in (4, 6):
        name = f"program{family}"
        for kind, text in KIND_TEXTS.items():
            found[f"{name}-{kind}"] = ("ns", f"{text}, IPv{family}", {})
        found[f"{name}-established/floor"] = ("ratio", "established to the floor", {"p50": 1.6})
        found[f"{name}-asked/floor"] = ("ratio", "asked to the floor", {"p50": 6})
        found[f"{name}-miss/floor"] = ("ratio", "miss to the floor", {"p50": 0.6})
        found[f"{name}-new/inserts"] = ("ratio", "a new flow to its bare insertions", {"p50": 2.2})
        found |= path_figures(family)
        for count in (1, 10000):
            found[f"first{family}-{count}"] = (
                "us", f"first datagram of a flow and its answer, {count} Services, IPv{family}", {})
        found[f"first{family}-ratio"] = ("ratio", "10,000 Services to one", {"p50": 1.1})
    for count in (1000, 10000):
        found |= load_figures(count)
    return found


def path_figures(family):
    found = {}
    for way, where in WAY_TEXTS.items():
        pairs = PATH_PAIRS[way]
        for kind, (unit, text) in PATH_TEXTS.items():
            name = f"{way}{family}-{kind}"
            for variant in {variant for pair in pairs for variant in pair.split("/")}:
                found[f"{name}-{variant}"] = (
                    unit, f"{text} {where}, {VARIANT_TEXTS[variant]}, IPv{family}", {})
            for pair in pairs:
                limit = PATH_LIMITS.get((way, pair), {}).get(kind)
                found[f"{name}-cost-{pair}"] = (
                    "ratio", f"cost of the same, {pair}", {"p50": limit} if limit else {})
    return found


def load_figures(count):
    name, text = f"load-{count}", f"{count} Services of 10 endpoints"
    full = count == 10000
    return {
        f"{name}-seconds": ("s", f"{text}, manifest renamed into place -> all done", {}),
        f"{name}-cpu": ("s", "of which the agent's processor time", {}),
        f"{name}-written": ("s", f"{text}, planned, written into the maps and proved", {"p50": 0.5} if full else {}),
        f"{name}-change": ("ms", "one endpoint then: manifest renamed into place -> in force",
                           {"p50": 1}),
        f"{name}-rss": ("MiB", "resident memory then", {}),
        f"{name}-maps": ("MiB", "memory of all maps then", {}),
        f"{name}-nft": ("s", f"{text}, nft -f", {}),
        f"{name}-nft-rss": ("MiB", "resident memory of nft at most", {}),
        f"{name}-nft-change": ("ms", "one endpoint then, nft -f", {}),
        f"{name}-written/nft": ("ratio", "time to load, ours to nftables'",
                                {"p50": 0.01} if full else {}),
    }


FIGURES |= nat_figures() | egress_figures() | egress_program_figures() | egress_load_figures() | egress_failover_figures()


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
    text = f"{document['name']:26} {shown} {document['unit']} ({document['count']})"
    if "budget" in document:
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in document["budget"].items())
        text += f"  [{limits}: {document['verdict']}]"
    if "against" in document:
        text += f"  against p50 {document['against']['p50']:g}, ratio {document['ratio']}"
    return text
