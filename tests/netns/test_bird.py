# SPDX-License-Identifier: Apache-2.0
"""What the agent sees of a real BIRD, and that it needs none."""

import json
import signal

import pytest
from cluster import VIP, VIP6, announced_by, exported, start, tables, write_service, write_web
from lab import wait, wait_equal

pytestmark = pytest.mark.lab(nodes=1)

UNFILTERED = "export filter fingerpost_export;"
FILTERED = (
    "export filter { if net = %s/32 then reject; if fingerpost_attributes() then accept; reject; };"
)


def watch(lab):
    """An agent that asks its node's BIRD, with both sessions up."""
    [node] = lab.nodes
    [agent] = start(lab, bird={"socket": str(node.bird.socket)})
    wait_equal(lambda: states(agent), {"tor_v4": "Established", "tor_v6": "Established"}, "peers")
    return node, agent


def peers(agent):
    return {peer["name"]: peer for peer in agent.json("peers")["items"]}


def states(agent):
    return {name: peer["state"] for name, peer in peers(agent).items()}


def bgp(agent):
    return agent.json("status")["bgp"]


def faults(agent):
    """Place and message of each fault about BGP; others must not be there."""
    found = agent.faults()
    assert {fault["subsystem"] for fault in found} <= {"bgp"}
    return {fault["place"]: fault["message"] for fault in found}


def rewrite(node, name, old, new):
    """Changes a file of the node's BIRD, which is a link into birdconf/."""
    path = node.bird.folder / name
    text = path.read_text(encoding="ascii")
    assert old in text
    path.unlink()
    path.write_text(text.replace(old, new), encoding="ascii")


def restart(node):
    node.bird.process.kill()
    node.bird.process.wait()
    node.bird.start()


def test_sessions_and_counts(lab):
    node, agent = watch(lab)
    wait(lambda: peers(agent)["tor_v4"]["announced"] == 2, "block and address announced")
    peer = peers(agent)["tor_v4"]
    assert peer["address"] == node.gateway4 and peer["asn"] == 64600
    assert peer["received"] == 0 and peer["filtered"] == 0 and peer["lastError"] is None
    assert peer["bfd"] is None and peer["since"] is not None
    status = bgp(agent)
    assert status["reachable"] and status["overflowsHeard"]
    assert status["version"] == node.bird.birdc("show", "status").split()[1]
    wait_equal(lambda: bgp(agent)["learned"], {"ipv4": 2, "ipv6": 2}, "routes learned")
    assert bgp(agent)["expected"] == {"ipv4": 2, "ipv6": 2}
    assert faults(agent) == {}

    listed = agent.ctl("peers")
    assert listed.code == 0 and listed.out.endswith("\n\n2 peers, 2 established.\n")
    answer = agent.ctl("status")
    assert answer.code == 0
    assert "BGP         OK    2/2 peers established, 4 prefixes announced\n" in answer.out
    wait(lambda: any("2/2 peers" in line for line in agent.notified), "STATUS of systemd")
    metrics = agent.get("/metrics")
    assert 'fingerpost_bgp_peer_up{peer="tor_v4"} 1\n' in metrics
    assert 'fingerpost_bgp_prefixes{peer="tor_v6",direction="announced"} 2\n' in metrics


def test_a_session_that_goes_down_is_a_fault_with_its_error(lab):
    node, agent = watch(lab)
    lab.tor.bird.birdc("disable", f"{node.role}_v4")
    wait(lambda: faults(agent), "a fault about the session")
    [(place, message)] = faults(agent).items()
    assert place == f"tor_v4 {node.gateway4}"
    # BIRD's last error soon is that of its attempts to connect again.
    assert message.startswith("the session with AS 64600 is down: ")
    assert message.endswith((": Received: Administrative shutdown", ": Socket: Connection refused"))
    status = agent.ctl("status")
    assert status.code == 1
    assert "BGP         WARN  1/2 peers established" in status.out and message in status.out
    explained = json.loads(agent.ctl("explain", VIP, "--json").out)["peers"]
    assert {p["name"]: p["reason"] for p in explained} == {
        "tor_v4": "session-down", "tor_v6": "not-meant",
    }
    lab.tor.bird.birdc("enable", f"{node.role}_v4")
    wait(lambda: faults(agent) == {}, "the fault to go")
    assert agent.ctl("status").code == 0


def test_a_disabled_session_says_so(lab):
    node, agent = watch(lab)
    node.bird.birdc("disable", "tor_v6")
    wait_equal(
        lambda: faults(agent),
        {f"tor_v6 {node.gateway6}": "the session is disabled in BIRD"},
        "the fault",
    )


def test_a_filtered_route_is_found(lab):
    node, agent = watch(lab)
    rewrite(node, "node.conf", UNFILTERED, FILTERED % VIP)
    # The IPv6 session has the same words; its filter compares nets of another family.
    assert "Reconfigured" in node.bird.birdc("configure")
    wait_equal(
        lambda: faults(agent),
        {"tor_v4": f"1 route of table 119 is filtered, this peer does not get it: {VIP}/32"},
        "the fault",
    )
    wait_equal(lambda: lab.tor.via(VIP), set(), "the ToR without it")

    def reasons(address):
        document = json.loads(agent.ctl("explain", address, "--json").out)
        return {peer["name"]: (peer["exported"], peer["reason"]) for peer in document["peers"]}

    assert reasons(VIP) == {"tor_v4": (False, "filtered"), "tor_v6": (False, "not-meant")}
    assert reasons(VIP6) == {"tor_v4": (False, "not-meant"), "tor_v6": (True, "exported")}
    assert "  peer      tor_v4 10.0.1.1: BIRD's filters keep it back\n" in agent.ctl("explain", VIP).out

    # It goes with the route, soon after the pass.
    write_web(lab, False)
    wait_equal(lambda: faults(agent), {}, "no fault")


def test_sessions_that_export_nothing_are_told(lab):
    node, agent = watch(lab)
    rewrite(node, "node.conf", UNFILTERED, "export none;")
    assert "Reconfigured" in node.bird.birdc("configure")
    text = "no session exports %s: the routes of table 119 are announced to nobody"
    wait_equal(lambda: faults(agent), {n: text % n for n in ("IPv4", "IPv6")}, "the faults")
    assert agent.ctl("status").code == 1
    rewrite(node, "node.conf", "export none;", UNFILTERED)
    assert "Reconfigured" in node.bird.birdc("configure")
    wait_equal(lambda: faults(agent), {}, "no fault")


def test_a_bird_without_sessions_announces_nothing(lab):
    node, agent = watch(lab)
    path = node.bird.folder / "node.conf"
    text = path.read_text(encoding="ascii")
    path.unlink()
    path.write_text(text[:text.index("protocol bgp")], encoding="ascii")
    # It answers before the sessions have said goodbye.
    assert "Reconfigur" in node.bird.birdc("configure")
    wait_equal(
        lambda: faults(agent),
        {"BIRD": "BIRD has no BGP session: nothing is announced"},
        "the fault",
    )
    answer = agent.ctl("status")
    assert answer.code == 2 and "BGP         FAIL  0/0 peers established" in answer.out


def test_bird_killed_and_restarted(lab):
    node, agent = watch(lab)
    node.bird.process.kill()
    node.bird.process.wait()
    wait(lambda: not bgp(agent)["reachable"], "BIRD to be missed")
    wait(lambda: "nobody listens" in (bgp(agent)["error"] or ""), "the reason")
    answer = agent.ctl("status")
    assert answer.code == 1 and "BGP         WARN  BIRD does not run: nobody listens" in answer.out
    [(place, message)] = faults(agent).items()
    assert place == str(node.bird.socket) and "announced is not known: BIRD does not run" in message
    assert states(agent) == {}

    # Routes are kept true meanwhile.
    write_service(lab, "other", ["203.0.113.11"], {node: True})
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6, "203.0.113.11"), "table 119")
    node.bird.start()
    wait_equal(lambda: states(agent), {"tor_v4": "Established", "tor_v6": "Established"}, "peers")
    announced_by(lab, node, addresses=[VIP, VIP6, "203.0.113.11"])
    wait_equal(lambda: faults(agent), {}, "no fault")


def test_a_bird_that_hangs_stalls_nobody(lab):
    node, agent = watch(lab)
    node.bird.process.send_signal(signal.SIGSTOP)
    try:
        write_service(lab, "other", ["203.0.113.11"], {node: True})
        wait_equal(lambda: tables(node), exported(node, VIP, VIP6, "203.0.113.11"), "table 119")
        wait(lambda: not bgp(agent)["reachable"], "BIRD to be given up")
        assert "does not answer" in bgp(agent)["error"]
        assert "does not answer" in faults(agent)[str(node.bird.socket)]
    finally:
        node.bird.process.send_signal(signal.SIGCONT)
    wait(lambda: bgp(agent)["reachable"], "BIRD to answer")
    wait_equal(lambda: states(agent), {"tor_v4": "Established", "tor_v6": "Established"}, "peers")


def test_an_agent_without_bird(lab):
    [node] = lab.nodes
    [agent] = start(lab, bird={"socket": "/nowhere/bird.ctl"})
    wait(lambda: bgp(agent)["error"], "the first attempt")
    answer = agent.ctl("status")
    assert answer.code == 1
    assert "WARN  there is no socket /nowhere/bird.ctl: BIRD does not run, or has it elsewhere" in answer.out
    assert agent.json("status")["health"] == "degraded" and peers(agent) == {}
    [fault] = agent.faults()
    assert fault["place"] == "/nowhere/bird.ctl" and "start BIRD" in fault["remedy"]
    assert agent.ctl("peers").out == (
        "0 peers, 0 established.\n-> there is no socket /nowhere/bird.ctl: BIRD does not run, or has it elsewhere\n"
    )

    # A reload names another socket, or none.
    agent.settings["bird"]["socket"] = str(node.bird.socket)
    agent.write_config()
    agent.reload()
    wait_equal(lambda: states(agent), {"tor_v4": "Established", "tor_v6": "Established"}, "peers")
    del agent.settings["bird"]
    agent.write_config()
    agent.reload()
    wait(lambda: not bgp(agent)["enabled"], "BIRD to be left alone")
    assert peers(agent) == {} and "BGP" not in agent.ctl("status").out
    assert faults(agent) == {}


def test_lost_notifications_are_told(lab):
    """Without the larger buffer, a batch of routes while BIRD is busy is partly lost."""
    [node] = lab.nodes
    rewrite(node, "fingerpost.conf", "netlink rx buffer 67108864;", "")
    restart(node)
    node, agent = watch(lab)
    assert bgp(agent)["overflows"] == 0
    batch = node.folder / "batch"
    batch.write_text("".join(
        f"route add blackhole fd00:9::{i:x}/128 table 119 proto 4\n" for i in range(1, 4000)
    ))
    node.bird.process.send_signal(signal.SIGSTOP)
    try:
        node.ip("-6", "-batch", str(batch))
    finally:
        node.bird.process.send_signal(signal.SIGCONT)
    wait(lambda: bgp(agent)["overflows"] > 0, "the overflow to be seen")
    assert "lost notifications" in faults(agent)["BIRD"]
    [fault] = agent.faults()
    assert "netlink rx buffer 67108864" in fault["remedy"]


def test_a_table_that_bird_does_not_read(lab):
    [node] = lab.nodes
    rewrite(node, "node.conf", "FINGERPOST_TABLE = 119", "FINGERPOST_TABLE = 118")
    restart(node)
    lab.write_nodes()
    write_web(lab)
    agent = lab.agent(node, bird={"socket": str(node.bird.socket)})
    wait_equal(
        lambda: faults(agent),
        {
            "IPv4": "BIRD has learned no IPv4 route of table 119",
            "IPv6": "BIRD has learned no IPv6 route of table 119",
        },
        "the faults",
    )
    assert "BIRD has 0 of 2 ipv4 routes" in agent.ctl("status").out
    rewrite(node, "node.conf", "FINGERPOST_TABLE = 118", "FINGERPOST_TABLE = 119")
    restart(node)
    wait_equal(lambda: faults(agent), {}, "no fault")
