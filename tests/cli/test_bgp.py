# SPDX-License-Identifier: Apache-2.0
"""What agentctl shows of BIRD: peers, a line of status, where an address goes."""

import pytest

import asked_documents
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
    "WARN  0/0 peers established, 0 prefixes announced": {
        "peers": 0, "established": 0, "announced": 0,
    },
    "WARN  1/2 peers established, 1 prefix announced": {"established": 1, "announced": 1},
    "WARN  0/2 peers established, 0 prefixes announced": {"established": 0, "announced": 0},
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
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "peers": peers}})
    assert ctl.run("explain", "10.0.0.1")[1].endswith(
        "  peer      tor-a 10.0.0.1: exported\n"
        "  peer      tor-b 10.0.0.2: BIRD's filters keep it back\n"
        "            what a peer makes of it can't be seen from here\n"
    )


@pytest.mark.parametrize("reach, headline, listed", [
    ({"state": "announced", "sent": 2, "meant": 2, "why": None},
     "10.0.0.1 is announced to 2/2 peers\n", "announced"),
    ({"state": "partly", "sent": 1, "meant": 2, "why": "not all peers get it: tor-b: down"},
     "10.0.0.1 is announced to 1/2 peers\n", "partly"),
    ({"state": "nobody", "sent": 0, "meant": 2, "why": "no peer gets it: tor-b: down"},
     "10.0.0.1 stands in table 119; not announced: no peer gets it: tor-b: down\n", "unheard"),
    ({"state": "unknown", "sent": 0, "meant": 0, "why": "whether a peer gets it is not known: why"},
     "10.0.0.1 stands in table 119; whether a peer gets it is not known: why\n", "unknown"),
    ({"state": "unwatched", "sent": 0, "meant": 0, "why": "BIRD is not asked (bird.socket)"},
     "10.0.0.1 is announced\n", "announced"),
])
def test_announced_is_what_a_peer_gets(ctl, agent, reach, headline, listed):
    """One judgement: of the address, of the list, and of their number."""
    route = {**asked_documents.EXPLANATION["route"], "reach": reach}
    agent({
        "/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "route": route},
        "/v1/routes": items("RouteList", [route]),
    })
    assert ctl.run("explain", "10.0.0.1")[1].startswith(headline)
    out = ctl.run("routes")[1]
    sent = listed in ("announced", "partly")
    assert f" {listed} " in out and out.endswith(f"1 route, {int(sent)} announced.\n")
    assert (str(reach["why"]) in out) == (listed != "announced")


def test_unheard_addresses_are_not_counted_as_announced(ctl, agent):
    routes = {**status()["routes"], "announced": 5, "reach": {"nobody": 2, "unknown": 1}}
    agent({"/v1/status": status(routes=routes, health="degraded",
                                bgp=documents.bgp(unheard=True))})
    code, out, _ = ctl.run()
    assert code == 1 and "2 addresses announced, 3 unheard, " in out
    assert "degraded: no peer gets what this node announces" in out.splitlines()[0]
