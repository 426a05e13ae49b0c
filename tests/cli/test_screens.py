# SPDX-License-Identifier: Apache-2.0
"""
What a person sees: every verb with a healthy agent, a degraded one and none, on terminals of 80 and
160 columns, in colour and without, and in a locale without UTF-8, compared with golden/STATE/VERB.txt.

After a change, `GOLDEN_UPDATE=1 tools/test cli` writes them anew: review the diff. Escape sequences
are written as \\e.
"""

import os
import pathlib
import re
import shutil

import pytest

import asked_documents
import controller_documents
import documents
import egress_documents
import nat_documents
from conftest import Ctl, environment
from documents import fault, items, status

GOLDEN = pathlib.Path(__file__).parent / "golden"

REFUSED = fault(
    subsystem="routes",
    group="10.0.0.9/32 table 119",
    place="10.0.0.9/32 table 119",
    message="the kernel refuses blackhole 10.0.0.9/32 proto 31: No space left on device",
    remedy="see the kernel's limit of routes",
)
HELD = {
    **documents.ROUTES[1],
    "prefix": "10.0.0.8/32",
    "state": "withheld",
    "reason": "held-down",
    "reasonText": "withdrawn a moment ago, comes back after hold-down",
    "protocol": None,
    "installed": False,
    "heldForMs": 4000,
}
MISSING = {**documents.ROUTES[1], "prefix": "10.0.0.9/32", "installed": False}
IDLE_CLAIM = {**documents.CLAIM, **documents.WITHHELD, "name": "idle", "forwarding": 0}
ENDPOINT = {
    "address": "10.224.1.3",
    "port": 8080,
    "node": "node-8",
    "ready": False,
    "serving": False,
    "terminating": False,
    "local": False,
}
DRAINING = {"phase": "draining", "since": None, "endsInMs": 8000, "reason": None, "nodeGone": False}

EXPORTS = [
    {"name": "tor-a", "address": "10.0.0.1", "exported": True, "reason": "exported",
     "reasonText": "exported"},
    {"name": "tor-b", "address": "10.0.0.2", "exported": False, "reason": "session-down",
     "reasonText": "its session is down"},
]

# Another address of the same Service, which not all peers get.
ELSEWHERE = {
    **asked_documents.EXPLANATION, "address": "10.0.0.2", "peers": EXPORTS,
    "route": {**documents.ROUTES[1], "prefix": "10.0.0.2/32"},
    "kernel": [line.replace("10.0.0.1", "10.0.0.2") for line in asked_documents.EXPLANATION["kernel"]],
}
TRACED = "/v1/trace?source=fd00%3A%3A9&destination=%5Bfd00%3A%3A10%5D%3A53&protocol=UDP&in=veth7"
DNS_STEPS = [
    {"step": "in", "text": "veth7, as asked"},
    {"step": "program", "text": "pod-in: what the pod sends"},
    {"step": "service", "text": "default/dns:53 has this address, port and protocol"},
    {"step": "verdict", "text": "forward"},
]
LEAVING = "/v1/trace?source=10.224.0.9%3A5000&destination=198.51.100.80%3A443&protocol=TCP"
NAT_IS_OFF = (503, {"error": "service NAT is off (services.enabled), or could not start"})

HEALTHY = {
    "/v1/status": status(bgp=documents.bgp(), services__enabled=True, nat=nat_documents.nat()),
    "/v1/peers": documents.peers(documents.PEERS[:1]),
    "/v1/faults": items("FaultList", []),
    "/v1/routes": items("RouteList", documents.ROUTES),
    "/v1/blocks": items("BlockList", [documents.BLOCK]),
    "/v1/services": items("ServiceList", [documents.SERVICE, nat_documents.SERVED]),
    "/v1/backends": items("BackendList", nat_documents.BACKENDS),
    "/v1/flows?limit=100": nat_documents.flows(nat_documents.FLOWS),
    "/v1/egress": egress_documents.document(egress_documents.BOTH, egress_documents.GATEWAY),
    "/v1/explain?address=10.244.1.5": egress_documents.POD,
    "/v1/addresses": {**documents.ADDRESSES, "items": documents.ADDRESSES["items"][:2]},
    "/v1/pods": {**documents.PODS, "pools": documents.PODS["pools"][:1]},
    "/v1/pools": {**documents.POOLS, "items": [{**documents.POOL, "refused": None}], "pending": []},
    "/v1/maps": nat_documents.maps(nat_documents.MAPS),
    "/v1/verify": nat_documents.verification([]),
    "/v1/explain?address=10.0.0.1&port=80&protocol=TCP": nat_documents.SERVED_EXPLANATION,
    "/v1/controller": controller_documents.controller(),
    "/v1/address-blocks": controller_documents.BLOCKS,
    "/v1/block-requests": controller_documents.REQUESTS,
    "/v1/egress-workloads": controller_documents.EGRESSES,
    "/v1/exports": controller_documents.EXPORTS,
    "/v1/diff": {**documents.DIFF, "items": [], "differences": 0, "foreign": 0},
    "/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "peers": EXPORTS[:1]},
    "/v1/explain?address=198.51.100.50": asked_documents.claimed(0),
    "/v1/explain?address=198.51.100.51": asked_documents.claimed(1),
    "/v1/explain?address=10.0.0.2": ELSEWHERE,
    TRACED: {**asked_documents.TRACE, "source": "fd00::9", "destination": "[fd00::10]:53", "protocol": "UDP",
             "service": "default/dns:53", "steps": DNS_STEPS},
    LEAVING: asked_documents.LEAVING_TRACE,
    "/v1/drain": status(standing=DRAINING),
    "/v1/withdraw": status(standing={**DRAINING, "phase": "drained", "endsInMs": None}),
    "/v1/undrain": status(),
}
DEGRADED = {
    **HEALTHY,
    "/v1/status": status(
        health="degraded",
        routes__installed=3,
        routes__refused=1,
        routes__held=1,
        routes__foreign=1,
        sources__brokenFiles=1,
        standing=DRAINING,
        bgp=documents.bgp(established=1, announced=2),
        services__enabled=True,
        nat=nat_documents.nat(
            interfaces=[
                nat_documents.interface("eth0", "uplink-in", "uplink-out"),
                nat_documents.interface("eth1", "uplink-out", missing=["uplink-in"]),
            ],
            maps=[{**use, "entries": use["capacity"]} for use in nat_documents.MAPS],
        ),
        faults=[fault(place=f"web.yaml:{line}:15") for line in (12, 20, 28, 36)] + [REFUSED],
    ),
    "/v1/faults": items("FaultList", [fault(), REFUSED]),
    "/v1/controller": controller_documents.controller(
        health="degraded",
        election__leading=False,
        election__error="connection refused",
        faults=[
            fault(subsystem="blocks", group="pool", place="AddressPool default",
                  message="no block is left", remedy="add a subnet"),
            fault(subsystem="config", group="", place="controller.yaml:3:1",
                  message='unknown key "elections"; did you mean "election"?', remedy=None),
            fault(subsystem="election", group="", place="Lease kube-system/fingerpost-controller",
                  message="connection refused", remedy=None),
        ],
    ),
    "/v1/routes": items("RouteList", [*documents.ROUTES, HELD, MISSING]),
    "/v1/blocks": items("BlockList", [{**documents.BLOCK, "installed": False}]),
    "/v1/addresses": documents.ADDRESSES,
    "/v1/pods": documents.PODS,
    "/v1/pools": documents.POOLS,
    "/v1/address-blocks": {**controller_documents.BLOCKS, "items": [], "pools": []},
    "/v1/block-requests": {**controller_documents.REQUESTS, "items": []},
    "/v1/egress-workloads": {**controller_documents.EGRESSES, "items": []},
    "/v1/exports": controller_documents.TROUBLED_EXPORTS,
    "/v1/peers": documents.peers(documents.PEERS),
    "/v1/diff": {
        **documents.DIFF,
        "items": [
            {
                "change": "add",
                "table": 119,
                "entry": "blackhole 10.0.0.9/32 proto 31",
                "reason": REFUSED["message"],
            },
            {
                "change": "blocked",
                "table": 119,
                "entry": "blackhole 10.224.0.0/27 proto 30",
                "reason": "a foreign route stands in its place",
            },
            documents.DIFF["items"][1],
        ],
        "nat": nat_documents.DIFFERENCES,
        "differences": 4,
    },
    "/v1/backends": NAT_IS_OFF,
    "/v1/flows?limit=100": nat_documents.flows(nat_documents.FLOWS[:1], truncated=True),
    "/v1/explain?address=10.244.1.5": egress_documents.WAITING,
    "/v1/egress": egress_documents.document(
        [egress_documents.egress(4, [])], {**egress_documents.GATEWAY, "phase": "draining", "clients": []},
        [egress_documents.NO_GATEWAY, egress_documents.SPOOFED]),
    "/v1/maps": NAT_IS_OFF,
    "/v1/verify": nat_documents.verification(nat_documents.DIFFERENCES),
    "/v1/explain?address=10.0.0.1&port=80&protocol=TCP": {
        **nat_documents.SERVED_EXPLANATION,
        "state": "none",
        "reason": "node-port",
        "reasonText": "an address of this node, with node ports; its network announces it",
        "route": None,
        "services": [],
        "kernel": [],
        "nat": {
            "proof": {
                "asPlanned": False,
                "served": False,
                "why": "10.0.0.1:80/TCP from outside: pass, not forward",
            },
            "frontends": [],
            "otherPorts": {"verdict": "pass", "reason": "none", "reasonText": "not NAT's"},
            "refusals": [],
        },
    },
    "/v1/explain?address=198.51.100.50": asked_documents.claimed(2, "198.51.100.50"),
    "/v1/explain?address=198.51.100.51": asked_documents.claimed(1),
    "/v1/explain?address=10.0.0.1": {
        **asked_documents.EXPLANATION,
        "state": "withheld",
        **documents.WITHHELD,
        "route": {**documents.ROUTES[1], **documents.WITHHELD, "state": "withheld"},
        "services": [
            {
                **IDLE_CLAIM,
                "source": "manifests",
                "file": "web.yaml",
                "line": 1,
                "endpoints": [{**ENDPOINT, "address": f"10.224.1.{i}"} for i in range(3, 15)],
            },
            {**documents.CLAIM, "reason": "ports-taken",
             "reasonText": "its ports belong to an older service", "name": "late",
             "forwarding": 0, "source": "manifests", "file": "late.yaml", "line": 7, "endpoints": []},
        ],
        "kernel": [],
    },
    TRACED: asked_documents.REFUSED_TRACE,
    "/v1/drain": (403, {"error": "only root may do this"}),
    "/v1/withdraw": (403, {"error": "only root may do this"}),
    "/v1/undrain": (500, {
        "error": "/var/lib/fingerpost/standing.json: can't be written: No space left on device; this node stays as it "
                 "was until that is mended", "place": "/var/lib/fingerpost/standing.json"}),
}
STATES = {"healthy": HEALTHY, "degraded": DEGRADED, "down": None}

SCREENS = {
    "status": ["status"],
    "status-verbose": ["status", "-v"],
    "status-brief": ["status", "--brief"],
    "faults": ["faults"],
    "explain": ["explain", "10.0.0.1"],
    "explain-peers": ["explain", "10.0.0.2"],
    "trace": ["trace", "--in=veth7", "fd00::9", "[fd00::10]:53/udp"],
    "trace-egress": ["trace", "10.224.0.9:5000", "198.51.100.80:443/tcp"],
    "explain-egress": ["explain", "10.244.1.5"],
    "explain-claim": ["explain", "198.51.100.50"],
    "explain-claim-other": ["explain", "198.51.100.51"],
    "explain-nat": ["explain", "10.0.0.1:80/tcp"],
    "controller": ["controller"],
    "controller-verbose": ["controller", "-v"],
    "controller-brief": ["controller", "--brief"],
    "controller-pools": ["controller", "pools"],
    "controller-blocks": ["controller", "blocks"],
    "controller-blocks-wide": ["controller", "blocks", "-o", "wide"],
    "controller-requests": ["controller", "requests"],
    "controller-egresses": ["controller", "egresses"],
    "export": ["export"],
    "export-wide": ["export", "-o", "wide"],
    "export-name": ["export", "-o", "name"],
    "diff": ["diff"],
    "verify": ["verify"],
    "routes": ["routes"],
    "routes-wide": ["routes", "-o", "wide"],
    "routes-name": ["routes", "-o", "name"],
    "routes-columns": ["routes", "-c", "state,prefix,held-for"],
    "services": ["services"],
    "services-wide": ["services", "-o", "wide"],
    "services-name": ["services", "-o", "name"],
    "backends": ["backends"],
    "flows": ["flows"],
    "flows-wide": ["flows", "-o", "wide"],
    "egress": ["egress"],
    "egress-ports": ["egress", "--ports", "-o", "wide"],
    "addresses": ["addresses"],
    "pods": ["pods"],
    "pods-verbose": ["pods", "-v"],
    "pools": ["pools"],
    "pools-verbose": ["pools", "-v"],
    "maps": ["maps"],
    "peers": ["peers"],
    "peers-wide": ["peers", "-o", "wide"],
    "blocks": ["blocks"],
    "drain": ["drain", "--no-wait"],
    "withdraw": ["withdraw"],
    "undrain": ["undrain"],
    "cleanup": ["cleanup", "--config", "none.yaml"],  # the real one would touch this machine
    "plan": ["plan", "--node=node-7", "-f"],
    "config-check": ["config", "check"],
    "config-show": ["config", "show"],
    "version": ["version"],
    "help": ["help"],
    "help-flows": ["help", "flows"],
}
# These need no agent; what is well or ill is their input.
INPUTS = {
    "plan": {"healthy": "manifests", "degraded": "broken", "down": "none"},
    "config-check": {"healthy": "agentd.yaml", "degraded": "bad.yaml", "down": "none.yaml"},
    "config-show": {"healthy": "agentd.yaml", "degraded": "bad.yaml", "down": "none.yaml"},
}


VIEWS = (
    ("80 columns", 80, "never", "C.UTF-8"),
    ("160 columns", 160, "never", "C.UTF-8"),
    ("colour", 80, "auto", "C.UTF-8"),
    ("160 columns, colour", 160, "auto", "C.UTF-8"),
    ("locale C", 80, "never", "C"),
    ("160 columns, locale C", 160, "never", "C"),
)


def written(text):
    text = re.sub(r"^agentctl \d+\.\d+\.\d+$", "agentctl VERSION", text, flags=re.MULTILINE)
    return text.replace("\033", "\\e")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("screen", SCREENS)
def test_screen(screen, state, agent, tmp_path):
    if STATES[state]:
        agent(STATES[state])
    shutil.copytree(GOLDEN / "input", tmp_path, dirs_exist_ok=True)
    words = SCREENS[screen] + [INPUTS[screen][state]] if screen in INPUTS else SCREENS[screen]
    got = ""
    for shown, columns, color, locale in VIEWS:
        code, output = Ctl("agentd.sock").on_terminal(
            *words, f"--color={color}", columns=columns, cwd=tmp_path, env=environment(LC_ALL=locale)
        )
        got += f"$ agentctl {' '.join(words)}  # {shown}, exit {code}\n{written(output)}"
    golden = GOLDEN / state / f"{screen}.txt"
    if os.environ.get("GOLDEN_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(got)
    assert got == golden.read_text()


def test_every_verb_has_screens(ctl):
    of_the_machine = {"doctor", "setup"}  # what they say is in tests/netns, on machines made for it
    verbs = {word for word, *_ in ctl.complete("")} - {"config"} - of_the_machine
    longer = {f"{first} {word}" for first in ("config", "controller") for word, *_ in ctl.complete(first, "")}
    shown = {" ".join(words[: 1 + (" ".join(words[:2]) in longer)]) for words in SCREENS.values()}
    assert verbs | longer == shown


def test_everything_fits_the_window():
    """But for help, a plan, whose lines are for diff(1), and messages of failure, for grep(1)."""
    for state in STATES:
        for screen in set(SCREENS) - {"help", "plan"}:
            text = (GOLDEN / state / f"{screen}.txt").read_text()
            for part in re.split(r"^\$ agentctl .*  # ", text, flags=re.MULTILINE)[1:]:
                shown, _, lines = part.partition("\n")
                plain = re.sub(r"\\e\[\d*m", "", lines)
                width = 160 if shown.startswith("160") else 80
                wide = [line for line in plain.splitlines() if len(line) > width]
                assert [line for line in wide if not line.startswith("agentctl: ")] == [], (screen, shown)
