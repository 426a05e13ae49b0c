# SPDX-License-Identifier: Apache-2.0
"""The verbs about service NAT: what they ask the agent for, and their exit statuses."""

import json

import pytest

import asked_documents
import documents
import nat_documents
from documents import fault, items, status

OFF = (503, {"error": "service NAT is off (services.enabled), or could not start"})


@pytest.mark.parametrize(
    "words, path",
    [
        (["backends"], "/v1/backends"),
        (["backends", "default/web"], "/v1/backends?service=default/web"),
        (["flows"], "/v1/flows?limit=100"),
        (["flows", "--limit=7"], "/v1/flows?limit=7"),
        (["flows", "--service=default/web"], "/v1/flows?limit=100&service=default/web"),
        (["maps"], "/v1/maps"),
        (["verify"], "/v1/verify"),
        (["explain", "10.0.0.1:80"], "/v1/explain?address=10.0.0.1&port=80"),
        (["explain", "10.0.0.1:80/udp"], "/v1/explain?address=10.0.0.1&port=80&protocol=UDP"),
        (["explain", "[FD00::0:1]:53/TCP"], "/v1/explain?address=fd00::1&port=53&protocol=TCP"),
        (["explain", "fd00::1"], "/v1/explain?address=fd00::1"),
    ],
)
def test_requests(ctl, agent, words, path):
    """--json prints what stands at exactly that path; and what the agent refuses fails."""
    agent({path: {"kind": "Any", "differences": 0}})
    code, output, errors = ctl.run(*words, "--json")
    if words[0] != "explain":
        assert (code, json.loads(output), errors) == (0, {"kind": "Any", "differences": 0}, "")
    else:
        assert code == 0 and json.loads(output)["kind"] == "Any"


@pytest.mark.parametrize("verb, path", [
    ("backends", "/v1/backends"), ("flows", "/v1/flows?limit=100"), ("maps", "/v1/maps"),
    ("verify", "/v1/verify"),
])
def test_without_nat(ctl, agent, verb, path):
    agent({path: OFF})
    for words in ([verb], [verb, "--json"]):
        assert ctl.run(*words) == (2, "", f"agentctl: {OFF[1]['error']}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["backends", "web"], ["backends", "default/"], ["backends", "/web"],
        ["backends", "a/b/c"], ["backends", "default/web&limit=1"], ["flows", "--service", "web"],
        ["flows", "--limit", "0"], ["flows", "--limit", "ten"], ["flows", "--limit=1000001"],
        ["flows", "--limit", "5x"], ["maps", "--limit", "5"], ["backends", "--service=a/b"],
        ["explain", "10.0.0.1:0"], ["explain", "10.0.0.1:65536"], ["explain", "10.0.0.1:http"],
        ["explain", "10.0.0.1:80/ICMP"], ["explain", "10.0.0.1:80/"], ["explain", "[fd00::1:80"],
        ["explain", "[fd00::1]"], ["explain", "10.0.0.1:-1"],
    ],
)
def test_usage(ctl, words):
    code, output, errors = ctl.run(*words)
    assert (code, output) == (64, "")
    assert errors.startswith("agentctl: ") and errors.count("\n") == 1


def test_an_unknown_service(ctl, agent):
    agent({"/v1/backends?service=default/none": (404, {"error": "NAT serves no such service"})})
    assert ctl.run("backends", "default/none")[0] == 4


def test_verify(ctl, agent):
    agent({"/v1/verify": nat_documents.verification(nat_documents.DIFFERENCES)})
    code, output, _ = ctl.run("verify")
    assert code == 1 and "2 differences in 2 services.\n-> repaired" in output
    code, output, _ = ctl.run("verify", "--json")
    assert code == 1 and json.loads(output)["items"] == nat_documents.DIFFERENCES


def test_verify_finds_nothing(ctl, agent):
    agent({"/v1/verify": nat_documents.verification([])})
    assert ctl.run("verify") == (0, "0 differences in 2 services.\n", "")
    assert ctl.run("verify", "--json")[0] == 0


def test_diff_lists_what_verify_finds(ctl, agent):
    agent({"/v1/diff": {**documents.DIFF, "items": [], "nat": nat_documents.DIFFERENCES,
                        "differences": 2, "foreign": 0}})
    code, output, _ = ctl.run("diff")
    assert code == 1
    assert "  nat differs default/web frontend 10.96.0.1:80/TCP is missing\n" in output
    assert "-> tried again" in output and ctl.run("diff", "--json")[0] == 1


def test_backends(ctl, agent):
    agent({"/v1/backends": items("BackendList", nat_documents.BACKENDS)})
    code, output, _ = ctl.run("backends", "-c", "endpoint,here,state,sets,flows", "--no-header")
    assert code == 0 and [line.split() for line in output.splitlines()] == [
        "10.224.0.3:8080 yes ready cluster, local 700".split(),
        "[fd00:1::3]:8080 no terminating serving -".split(),
    ]
    assert ctl.run("backends")[1].endswith("2 endpoints, 1 for new flows.\n")
    assert ctl.run("backends", "-o", "name")[1] == "10.224.0.3:8080\n[fd00:1::3]:8080\n"


def test_flows(ctl, agent):
    agent({"/v1/flows?limit=100": nat_documents.flows(nat_documents.FLOWS, truncated=True)})
    code, output, _ = ctl.run("flows", "-c", "source,state,idle,packets-back")
    assert code == 0 and output.splitlines() == [
        "SOURCE         STATE         IDLE PACKETS BACK",
        "10.0.1.7:20011 established     4s           10",
        "-              direct, stale   0s            0",
        "",
        "2 flows; there are more (--limit).",
    ]


def test_maps(ctl, agent):
    agent({"/v1/maps": nat_documents.maps(nat_documents.MAPS[:2])})
    assert ctl.run("maps")[1].splitlines() == [
        "MAP       ENTRIES CAPACITY FILL   MEMORY",
        "frontends       5   262144   0%  4.0 MiB",
        "flows       65536   524288  12% 12.0 MiB",
        "",
        "2 maps, 16.0 MiB.",
    ]


SEEN = "packets seen: uplink-in 48211, uplink-out 47033, pod-in 1204, pod-out 1187, lo-out 12," \
    " svc-out 0"


def services_line(ctl, agent, **changes):
    running = agent({"/v1/status": status(services__enabled=True, **changes)})
    output = ctl.run("status", "-v")[1]
    running.__exit__()
    ctl.socket.unlink()
    lines = output.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("  Services "))
    block = [lines[begin][14:]]
    for line in lines[begin + 1:]:
        if not line.startswith(" " * 14):
            break
        block.append(line.strip())
    return block


def test_status_says_who_listens_in_the_stack(ctl, agent):
    line = "2 services, 12 endpoints, 1225 flows; tcx on eth0, eth1 and 3 more"
    for listener, text in ((None, ""), ("nftables chain inet guard forward",) * 2):
        path = {"inForce": "stack", "listener": listener}
        shown = services_line(ctl, agent, nat=nat_documents.nat(path=path))[0]
        assert shown == f"OK    {line}; masqueraded packets through the stack" + (
            f" ({text})" if text else "")


def test_status_of_nat(ctl, agent):
    refused = "default/web: refused 12, no usable endpoint anywhere; last 10.0.2.5:43122 ->" \
        " 10.0.0.1:80/TCP on eth0, 3d 4h ago"
    assert services_line(ctl, agent, nat=nat_documents.nat()) == [
        "OK    2 services, 12 endpoints, 1225 flows; tcx on eth0, eth1 and 3 more", SEEN, refused
    ]
    assert services_line(ctl, agent, nat=nat_documents.nat(complete=False, refusals=[])) == [
        "WARN  2 services, the first complete pass is still to come", SEEN
    ]
    bare = nat_documents.nat(interfaces=[], maps=[], refusals=[], hookPackets={})
    assert services_line(ctl, agent, nat=bare) == ["OK    2 services, 12 endpoints, 1225 flows"]
    pods = nat_documents.nat(interfaces=[nat_documents.interface("veth1", "pod-in")], refusals=[])
    assert services_line(ctl, agent, nat=pods)[0].endswith("; tcx on 1 interface")


def test_status_tells_what_needs_attention(ctl, agent):
    lacks = [nat_documents.interface("eth0", missing=["uplink-in", "uplink-out"])]
    full = [{"name": "flows", "entries": 81, "capacity": 100, "fill": 0.81, "bytes": 1}]
    assert services_line(
        ctl, agent, nat=nat_documents.nat(interfaces=lacks, maps=full, refusals=[])
    ) == [
        "WARN  2 services, 12 endpoints, 1225 flows; tcx on 1 interface",
        "eth0 lacks uplink-in uplink-out",
        "-> see: agentctl verify",
        "map flows is 81% full",
        "-> raise services.maps in agentd.yaml",
        SEEN,
    ]
    # A map that forgets is meant to be full.
    lru = [{"name": "affinity", "entries": 100, "capacity": 100, "fill": 1.0, "bytes": 1}]
    assert services_line(ctl, agent, nat=nat_documents.nat(maps=lru))[0].startswith("OK ")


def test_a_fault_while_nat_is_off(ctl, agent):
    agent({"/v1/status": status(health="degraded", faults=[fault(subsystem="services")])})
    assert "  Services    WARN  NAT is off\n" in ctl.run("status")[1]


def test_services_in_one_word(ctl, agent):
    ports = nat_documents.SERVED["ports"]
    both = {**nat_documents.SERVED, "ports": [{**port, "verdict": "drop"} for port in ports]}
    agent({"/v1/services": items("ServiceList", [nat_documents.SERVED, both, documents.SERVICE])})
    output = ctl.run("services", "-c", "verdict,started,refused,packets,bytes", "--no-header")[1]
    assert [line.split() for line in output.splitlines()] == [
        "partly 1204 12 48211 36700160".split(),
        "drop 1204 12 48211 36700160".split(),
        "- - - - -".split(),
    ]


def test_explain_of_a_draining_address(ctl, agent):
    draining = {**asked_documents.EXPLANATION["route"], "protocol": 32}
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "route": draining}})
    assert ctl.run("explain", "10.0.0.1")[1].startswith(
        "10.0.0.1 is announced as draining: peers are asked to prefer other nodes\n"
    )


def test_explain_shows_as_many_endpoints_as_fit(ctl, agent):
    many = {**nat_documents.FORWARD, "endpoints": [f"10.224.0.{i}:80" for i in range(1, 13)]}
    frontend = {**nat_documents.FRONTEND, "from": dict.fromkeys(("outside", "pod", "node"), many)}
    nat = {**nat_documents.SERVED_EXPLANATION["nat"], "proof": None, "frontends": [frontend]}
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "nat": nat}})
    short, whole = ctl.run("explain", "10.0.0.1")[1], ctl.run("explain", "10.0.0.1", "-v")[1]
    assert "10.224.0.8:80 and 4 more, masqueraded\n" in short
    assert "  nat       not proved yet\n" in short
    assert "10.224.0.12:80, masqueraded\n" in whole


@pytest.mark.parametrize("words, line", [
    (["10.224.0.9"], "serves no port of it"), (["10.224.0.9:80/TCP"], "not proved yet"),
])
def test_explain_an_address_without_frontends(ctl, agent, words, line):
    """Nothing will ever be proved for it; but a port that was named may hide those it has."""
    nat = {**nat_documents.SERVED_EXPLANATION["nat"], "proof": None, "frontends": []}
    answer = {**asked_documents.EXPLANATION, "nat": nat}
    agent({"/v1/explain?address=10.224.0.9": answer,
           "/v1/explain?address=10.224.0.9&port=80&protocol=TCP": answer})
    assert f"  nat       {line}\n" in ctl.run("explain", *words)[1]


def test_completion_knows_services_and_verbs(ctl, agent):
    agent({"/v1/services": items("ServiceList", [documents.SERVICE])})
    assert ctl.complete("backends", "def") == [("default/web", "LoadBalancer")]
    assert ctl.complete("flows", "--service=") == [("--service=default/web", "LoadBalancer")]
    assert [word for word, *_ in ctl.complete("help", "fl")] == ["flows"]
    assert [word for word, *_ in ctl.complete("help", "config", "sh")] == ["show"]
