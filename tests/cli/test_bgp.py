# SPDX-License-Identifier: Apache-2.0
"""What agentctl shows of BIRD: peers, a line of status, where an address goes."""

import pytest

import documents
from documents import items, status


def test_peers(ctl, agent):
    agent({"/v1/peers": documents.peers(documents.PEERS)})
    assert ctl.run("peers") == (
        0,
        "PEER  ADDRESS    ASN STATE       SINCE RECEIVED ANNOUNCED LAST ERROR\n"
        "tor-a 10.0.0.1 64512 Established 3d 4h     1204         5 -\n"
        "tor-b 10.0.0.2 64512 Connect     -            -         - Hold timer expired\n"
        "\n"
        "2 peers, 1 established.\n",
        "",
    )


@pytest.mark.parametrize("facts, hint", [
    ({"enabled": False, "reachable": False, "error": None},
     "-> BIRD is not asked: bird.socket is not set in agentd.yaml\n"),
    ({"enabled": True, "reachable": False, "error": "BIRD does not run"}, "-> BIRD does not run\n"),
    ({"enabled": True, "reachable": False, "error": None}, "-> BIRD has not answered yet\n"),
    ({"enabled": True, "reachable": True, "error": None}, ""),
])
def test_why_there_are_no_peers(ctl, agent, facts, hint):
    agent({"/v1/peers": documents.peers([], **facts)})
    assert ctl.run("peers") == (0, f"0 peers, 0 established.\n{hint}", "")


BGP_LINES = {
    "OK    2/2 peers established, 5 prefixes announced": {},
    "FAIL  0/0 peers established, 0 prefixes announced": {
        "peers": 0, "established": 0, "announced": 0,
    },
    "WARN  1/2 peers established, 1 prefix announced": {"established": 1, "announced": 1},
    "FAIL  0/2 peers established, 0 prefixes announced": {"established": 0, "announced": 0},
    "OK    2/2 peers established, 5 prefixes announced; BIRD has 1 of 3 ipv4 routes": {
        "learned": {"ipv4": 1, "ipv6": None},
    },
    "WARN  BIRD does not run, since 3d 4h ago": {
        "reachable": False, "error": "BIRD does not run",
    },
    "WARN  BIRD has not answered yet": {"reachable": False, "since": None},
}


@pytest.mark.parametrize("line", BGP_LINES)
def test_status_of_bgp(ctl, agent, line):
    agent({"/v1/status": status(bgp=documents.bgp(**BGP_LINES[line]))})
    code, output, _ = ctl.run()
    assert code == 0 and f"  BGP         {line}\n" in output


def test_status_without_bird(ctl, agent):
    agent({"/v1/status": status(bgp=documents.bgp(enabled=False, reachable=False))})
    assert "BGP" not in ctl.run()[1]


def test_explain_peers(ctl, agent):
    peers = [
        {"name": "tor-a", "address": "10.0.0.1", "exported": True, "reason": "exported",
         "reasonText": "exported"},
        {"name": "tor-b", "address": "10.0.0.2", "exported": False, "reason": "filtered",
         "reasonText": "BIRD's filters keep it back"},
    ]
    agent({"/v1/explain?address=10.0.0.1": {**documents.EXPLANATION, "peers": peers}})
    assert ctl.run("explain", "10.0.0.1")[1].endswith(
        "  peer      tor-a 10.0.0.1: exported\n"
        "  peer      tor-b 10.0.0.2: BIRD's filters keep it back\n"
    )
