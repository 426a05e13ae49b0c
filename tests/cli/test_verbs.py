# SPDX-License-Identifier: Apache-2.0
"""What each verb prints that asks an agent, as --json and for people, and its exit status."""

import json

import pytest

import asked_documents
import documents
import nat_documents
from documents import fault, items, status

HEALTHY = """\
node-7 · agent 0.1.0 · up 3d 4h · healthy
All is well: routes are in the kernel; BIRD is not asked (bird.socket).

  Manifests   OK    synced, 12 objects in 3 files, last event 3d 4h ago
  Services    off
  Routes      OK    4 wanted, 4 installed; 2 addresses announced, 1 withheld, 1 block
"""

DEGRADED = """\
node-7 · agent 0.1.0 · up 3d 4h · degraded: 2 faults

  Manifests   WARN  synced, 1 object in 1 file, 1 broken, last event 3d 4h ago
              web.yaml:12:15: spec.ports[0].port: 70000 is not a port (for 3d 4h)
              -> use 1..65535
  Kernel      WARN  1 fault
              lo: is down (for 3d 4h)
  Services    OK    2 services, 12 endpoints, 1225 flows; tcx on eth0, eth1 and 3 more
  Routes      OK    4 wanted, 4 installed; 2 addresses announced, 1 withheld, 1 block
"""

MISSING = """\
node-7 · agent 0.1.0 · up 3d 4h · degraded: wanted and installed differ

  Routes      WARN  4 wanted, 3 installed; 2 addresses announced, 1 withheld, 1 block; 2 foreign
              -> see: agentctl diff
  Manifests   OK    synced, 12 objects in 3 files, last event 3d 4h ago
  Services    off
"""

STARTING = """\
node-7 · agent 0.1.0 · up 5s · starting

  Manifests   WARN  not read yet, 0 objects in 0 files
  Routes      WARN  the first complete pass is still to come
  Services    off
"""

FAILED = """\
node-7 · agent 0.1.0 · up 5s · failed: 1 fault

  Manifests   FAIL  not read yet, 0 objects in 0 files
              /etc/fingerpost/manifests: no such folder (for 3d 4h)
  Routes      WARN  the first complete pass is still to come
  Services    off
"""


def nothing_yet(**changes):
    document = status(
        uptimeSeconds=5,
        sources__synced=False,
        sources__files=0,
        sources__objects={"Service": 0},
        sources__lastEventAt=None,
        **changes,
    )
    document["routes"] = {**dict.fromkeys(document["routes"], 0), "complete": False}
    return document


CASES = {
    "healthy": (status(), HEALTHY, 0),
    "degraded": (
        status(
            health="degraded",
            sources__brokenFiles=1,
            sources__files=1,
            sources__objects={"Service": 1},
            services__enabled=True,
            nat=nat_documents.nat(),
            faults=[fault(subsystem="kernel", place="lo", message="is down", remedy=None), fault()],
        ),
        DEGRADED,
        1,
    ),
    "missing": (
        status(health="degraded", routes__installed=3, routes__foreign=2),
        MISSING,
        1,
    ),
    "starting": (nothing_yet(health="starting", phase="starting"), STARTING, 1),
    "failed": (
        nothing_yet(
            health="failed",
            faults=[
                fault(
                    group="",
                    place="/etc/fingerpost/manifests",
                    message="no such folder",
                    remedy=None,
                )
            ],
        ),
        FAILED,
        2,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("words", [[], ["status"]])
def test_status(ctl, agent, case, words):
    document, expected, code = CASES[case]
    agent({"/v1/status": document})
    assert ctl.run(*words) == (code, expected, "")


@pytest.mark.parametrize("case", CASES)
def test_status_json_is_the_document_unchanged(ctl, agent, case):
    document, _, code = CASES[case]
    agent({"/v1/status": document})
    assert ctl.run("--json") == (code, json.dumps(document) + "\n", "")


def test_status_shows_three_faults_of_a_subsystem_unless_verbose(ctl, agent):
    faults = [fault(place=f"{i}.yaml", remedy=None) for i in range(5)]
    agent({"/v1/status": status(health="degraded", faults=faults)})
    _, short, _ = ctl.run()
    assert "2.yaml" in short and "3.yaml" not in short
    assert "              2 more (agentctl faults)\n" in short
    for option in ("-v", "--verbose"):
        _, full, _ = ctl.run(option)
        assert "4.yaml" in full and "more" not in full


def test_status_of_a_refused_configuration(ctl, agent):
    agent({"/v1/status": status(health="degraded", config__refused=True)})
    _, output, _ = ctl.run()
    assert (
        "  Config      WARN  /etc/fingerpost/agentd.yaml is refused; "
        "in force is what was loaded 3d 4h ago\n" in output
    )


def test_status_of_an_agent_that_stops(ctl, agent):
    agent({"/v1/status": status(phase="stopping", uptimeSeconds=0)})
    assert ctl.run()[1].startswith("node-7 · agent 0.1.0 · up 0s · healthy · stopping\n")


EGRESS = {"pods": 2, "gateways": 3, "gateway": True, "clients": 1}


def test_status_shows_egress_and_firewall_that_are_well(ctl, agent):
    """Health on one screen: what is on has a row, well or not."""
    document = documents.status(egress=EGRESS, firewall__mode="mark", firewall__there=True, firewall__openings=12)
    agent({"/v1/status": document})
    code, output, _ = ctl.run()
    assert code == 0
    assert "Egress      OK    2 pods leave by 3 gateways; this node is a gateway of 1 client\n" in output
    assert "Firewall    OK    mark: 12 openings in nftables\n" in output


def test_a_fault_shows_its_code_and_can_be_asked_for_by_it(ctl, agent):
    down = fault(subsystem="bgp", place="tor1", message="is down", remedy=None, code="bgp-session-down")
    agent({"/v1/faults?code=bgp-session-down": items("FaultList", [down])})
    code, output, _ = ctl.run("faults", "--code", "bgp-session-down")
    assert code == 1 and output.splitlines()[0] == "tor1: is down (for 3d 4h, bgp-session-down)"
    for wrong in ("", "no such", "a&b=c"):
        code, _, error = ctl.run("faults", "--code", wrong)
        assert code == 64 and "not a code such as" in error


@pytest.mark.parametrize("egress, row", [(EGRESS, "Egress      WARN  2 pods leave by"), (None, "Egress      WARN  1 fault\n")])
def test_status_shows_faults_of_egress(ctl, agent, egress, row):
    agent({"/v1/status": documents.status(egress=egress, health="degraded", faults=[fault(subsystem="egress")])})
    output = ctl.run()[1]
    assert row in output and output.count("Egress ") == 1


def test_the_cause_comes_first(ctl, agent):
    """An uplink that is gone, before the Services and sessions that it takes down; no row is worse than the headline."""
    told = [fault(subsystem="bgp", place="session tor_v4", message="is down"),
            fault(subsystem="services", place="Service default/web", message="no way to 10.224.0.1"),
            fault(subsystem="services", place="interface eth0", message="is gone")]
    agent({"/v1/status": documents.status(health="degraded", faults=told, bgp=documents.bgp(established=0, announced=0))})
    output = ctl.run()[1]
    places = [output.index(place) for place in ("interface eth0", "Service default/web", "session tor_v4")]
    assert places == sorted(places) and "FAIL" not in output, output


def test_all_is_well_claims_what_is_known(ctl, agent):
    """BIRD says what it sends, never what a peer accepts."""
    agent({"/v1/status": documents.status(bgp=documents.bgp())})
    assert "sent to 2 BGP peers; what a peer makes of them can't be seen from here.\n" in ctl.run()[1]


def test_faults(ctl, agent):
    other = fault(place="api.yaml", message="is empty", remedy=None, since=None)
    agent({"/v1/faults": items("FaultList", [fault(), other])})
    assert ctl.run("faults") == (
        1,
        "web.yaml:12:15: spec.ports[0].port: 70000 is not a port (for 3d 4h)\n"
        "-> use 1..65535\n"
        "api.yaml: is empty\n"
        "\n"
        "2 faults.\n",
        "",
    )


LOST = fault(subsystem="bgp", code="bird-notifications-lost", place="BIRD", message="lost", remedy=None, since=None)
STALE = {**LOST, "code": "bird-routes-stale", "place": "IPv4", "message": "stale", "remedy": "scan",
         "follows": {"code": LOST["code"], "place": "BIRD"}}
DEAD = {**STALE, "subsystem": "routes", "severity": "failed", "place": "pass", "message": "dead"}


def test_what_follows_from_a_fault_is_below_it(ctl, agent):
    """What has failed is never folded; a cause that is not listed folds nothing."""
    agent({"/v1/faults": items("FaultList", [STALE, {**STALE, "place": "IPv6"}, LOST, DEAD]),
           "/v1/faults?code=bird-routes-stale": items("FaultList", [STALE])})
    failed = "  pass: dead (bird-routes-stale)\n  -> scan\n"
    cause = "BIRD: lost (bird-notifications-lost)\n"
    assert ctl.run("faults")[1] == cause + failed + "  and 2 that follow (-v shows them)\n\n4 faults.\n"
    every = "".join(f"  {family}: stale (bird-routes-stale)\n  -> scan\n" for family in ("IPv4", "IPv6"))
    assert ctl.run("faults", "-v")[1] == cause + every + failed + "\n4 faults.\n"
    assert ctl.run("faults", "--code", "bird-routes-stale")[1] == "IPv4: stale (bird-routes-stale)\n-> scan\n\n1 fault.\n"


def test_status_folds_what_follows(ctl, agent):
    """In its own subsystem, and without a say about health."""
    agent({"/v1/status": status(health="failed", faults=[STALE, LOST, DEAD], bgp=documents.bgp())})
    code, output, _ = ctl.run()
    below = " " * 14
    assert code == 2 and "3 faults" in output
    assert f"{below}BIRD: lost (bird-notifications-lost)\n{below}  and 1 that follows (-v shows it)\n" in output
    assert f"{below}pass: dead (bird-routes-stale)\n{below}-> scan\n" in output
    assert f"{below}  IPv4: stale (bird-routes-stale)\n{below}  -> scan\n" in ctl.run("-v")[1]


def test_what_status_leaves_out_counts_with_what_follows(ctl, agent):
    others = [{**LOST, "place": f"{i}"} for i in range(3)]
    agent({"/v1/status": status(health="degraded", faults=[*others, LOST, STALE], bgp=documents.bgp())})
    assert "2 more (agentctl faults)\n" in ctl.run()[1]


def test_no_faults(ctl, agent):
    agent({"/v1/faults": items("FaultList", [])})
    assert ctl.run("faults") == (0, "0 faults.\n", "")
    assert ctl.run("faults", "--json")[0] == 0


def test_routes(ctl, agent):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    assert ctl.run("routes") == (
        0,
        "PREFIX        STATE     PROTOCOL INSTALLED OBJECT                   REASON\n"
        "10.224.0.0/27 announced       30 yes       default-0                -\n"
        "10.0.0.1/32   announced       31 yes       default/web              -\n"
        "fd00::2/128   withheld         - no        default/web, default/api "
        "policy Local, no usable endpoint here\n"
        "\n"
        "3 routes, 2 announced.\n",
        "",
    )


def test_blocks(ctl, agent):
    block = {**documents.BLOCK, "prefix": "fd00:1::/123", "reserved": True, "installed": False,
             "size": None, "used": None}
    agent({"/v1/blocks": items("BlockList", [documents.BLOCK, block])})
    assert ctl.run("blocks") == (
        0,
        "NAME      POOL    PREFIX        USED RESERVED PROTOCOL INSTALLED\n"
        "default-0 default 10.224.0.0/27 3/32 no             30 yes\n"
        "default-0 default fd00:1::/123     - yes            30 no\n"
        "\n"
        "2 blocks.\n",
        "",
    )


def test_services(ctl, agent):
    headless = {**documents.SERVICE, "name": "db", "type": "ClusterIP", "addresses": []}
    agent({"/v1/services": items("ServiceList", [documents.SERVICE, headless])})
    assert ctl.run("services") == (
        0,
        "NAMESPACE NAME TYPE         ADDRESSES           ANNOUNCED PORTS          VERDICT"
        " STARTED REFUSED\n"
        "default   web  LoadBalancer 10.0.0.1, 10.96.0.1       1/1 80/TCP, 53/UDP -      "
        "       -       -\n"
        "default   db   ClusterIP    -                           - 80/TCP, 53/UDP -      "
        "       -       -\n"
        "\n"
        "2 services.\n",
        "",
    )


def test_services_verbose_is_wide(ctl, agent):
    agent({"/v1/services": items("ServiceList", [documents.SERVICE])})
    assert ctl.run("services", "-v") == ctl.run("services", "-o", "wide")
    assert "NODE PORTS" in ctl.run("services", "-v")[1]


def test_services_without_an_address(ctl, agent):
    lacking = {**documents.SERVICE, "addresses": documents.SERVICE["addresses"][:1],
               "pending": [documents.EXHAUSTED]}
    agent({"/v1/services": items("ServiceList", [lacking])})
    assert "10.96.0.1, pending: exhausted" in ctl.run("services")[1]


def test_pools(ctl, agent):
    agent({"/v1/pools": documents.POOLS})
    table = (
        "NAMESPACE NAME           SIZE      FREE USED RESTING RESERVED AUTO\n"
        "lb        everybody        16        12    2       1        1 yes\n"
        "lb        six       countless countless    0       0        0 no\n"
        "\n"
        "2 pools.\n"
        "-> the edit of lb/everybody is refused: 2 Services would lose an address: shop/web, shop/old\n"
    )
    addresses = (
        "  203.0.113.2 is given to shop/web, shop/dns\n"
        "  203.0.113.4 rests, freed by shop/gone 3d 4h ago\n"
    )
    pending = (
        "-> shop/api is pending, has no IPv4: every address of its pools is in use\n"
        "-> shop/wish is pending, has no 203.0.113.2: the address is another's: Service shop/web\n"
    )
    assert ctl.run("pools") == (0, table + pending, "")
    assert ctl.run("pools", "-v") == (0, table + addresses + pending, "")


def test_explain_an_address_of_a_pool(ctl, agent):
    pool = {"namespace": "lb", "name": "everybody", "state": "used", "freedAt": None,
            "services": documents.POOL["addresses"][0]["services"],
            "pending": documents.POOLS["pending"][1:]}
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "pool": pool}})
    assert (
        "  pool      lb/everybody: used by shop/web, shop/dns\n"
        "            shop/wish is pending, has no 203.0.113.2: the address is another's: Service shop/web\n"
    ) in ctl.run("explain", "10.0.0.1")[1]


LISTS = {
    "routes": ("RouteList", documents.ROUTES),
    "blocks": ("BlockList", [documents.BLOCK]),
    "services": ("ServiceList", [documents.SERVICE]),
    "peers": ("PeerList", documents.PEERS),
    "faults": ("FaultList", [fault()]),
}
ENDS = {verb: 1 if verb == "faults" else 0 for verb in LISTS}  # a fault is bad news


@pytest.mark.parametrize("verb", LISTS)
def test_list_as_json(ctl, agent, verb):
    document = items(*LISTS[verb])
    agent({f"/v1/{verb}": document})
    assert ctl.run(verb, "--json") == (ENDS[verb], json.dumps(document) + "\n", "")


@pytest.mark.parametrize("verb", LISTS)
def test_no_header_leaves_rows_alone(ctl, agent, verb):
    agent({f"/v1/{verb}": items(*LISTS[verb])})
    _, with_header, _ = ctl.run(verb)
    code, bare, _ = ctl.run("--no-header", verb)
    assert code == ENDS[verb]
    lines = with_header.splitlines()
    first = 0 if verb == "faults" else 1
    assert bare.splitlines() == lines[first:-2]


def test_diff(ctl, agent):
    agent({"/v1/diff": documents.DIFF})
    assert ctl.run("diff") == (
        1,
        "TABLE CHANGE  ENTRY                          REASON\n"
        "  119 add     blackhole 10.0.0.1/32 proto 31 wanted, not in the kernel\n"
        "  119 foreign blackhole 192.0.2.0/24 proto 4 not ours (protocol 4), left alone\n"
        "\n"
        "1 difference, 1 foreign.\n"
        "-> tried again at every pass; if it stays, see: agentctl faults\n",
        "",
    )
    assert ctl.run("diff", "--json") == (1, json.dumps(documents.DIFF) + "\n", "")


def test_foreign_routes_are_no_difference(ctl, agent):
    document = {**documents.DIFF, "items": documents.DIFF["items"][1:], "differences": 0}
    agent({"/v1/diff": document})
    code, output, _ = ctl.run("diff")
    assert code == 0 and output.endswith("0 differences, 1 foreign.\n")
    assert ctl.run("diff", "--json")[0] == 0


def test_explain_service(ctl, agent):
    agent({"/v1/explain?address=10.0.0.1": asked_documents.EXPLANATION})
    assert ctl.run("explain", "10.0.0.1") == (
        0,
        "10.0.0.1 is announced\n"
        "  service   default/web (loadBalancer, web.yaml:1)\n"
        "            1 of 1 port with endpoints; 2 endpoints, 1 ready, 1 of them here\n"
        "            10.224.0.3 port 8080 on node-7 (here): ready\n"
        "            10.224.1.3: terminating, still serving\n"
        "  route     10.0.0.1/32 wanted in table 119, protocol 31; installed, guarded\n"
        "  kernel    table 119: blackhole 10.0.0.1/32 proto 31\n"
        "            table 120: unreachable 10.0.0.1/32 proto 33\n",
        "",
    )
    document = json.dumps(asked_documents.EXPLANATION) + "\n"
    assert ctl.run("explain", "10.0.0.1", "--json") == (0, document, "")


def test_explain_block(ctl, agent):
    document = {
        **asked_documents.EXPLANATION,
        "address": "10.224.0.9",
        "reasonText": "in a pod block of this node",
        "block": documents.BLOCK,
        "route": documents.ROUTES[0],
        "services": [],
        "kernel": [],
    }
    agent({"/v1/explain?address=10.224.0.9": document})
    assert ctl.run("explain", "10.224.0.9") == (
        0,
        "10.224.0.9 is announced: in a pod block of this node\n"
        "  block     10.224.0.0/27 default-0 of pool default\n"
        "  route     10.224.0.0/27 wanted in table 119, protocol 30; installed, guarded\n"
        "  kernel    no route for exactly this\n",
        "",
    )


def test_explain_withheld_address_in_any_notation(ctl, agent):
    document = {
        **asked_documents.EXPLANATION,
        "address": "fd00::2",
        "state": "withheld",
        **documents.WITHHELD,
        "route": documents.ROUTES[2],
        "services": [],
    }
    agent({"/v1/explain?address=fd00::2": document})
    code, output, _ = ctl.run("explain", "FD00:0::0:2")
    assert code == 0
    assert output.splitlines()[:3] == [
        "fd00::2 is withheld: policy Local, no usable endpoint here",
        "  -> the nodes with a ready endpoint announce it; for this one, run a ready pod here",
        "  route     fd00::2/128 not wanted in table 119; not installed, guarded",
    ]


def test_explain_unknown_address(ctl, agent):
    agent({"/v1/explain?address=10.9.9.9": (404, {"error": "no service has this address"})})
    assert ctl.run("explain", "10.9.9.9") == (4, "", "agentctl: no service has this address\n")
    assert ctl.run("explain", "10.9.9.9", "--json")[0] == 4
