# SPDX-License-Identifier: Apache-2.0
"""The soak's fabric of another maker: FRR as the ToR, with multipath-relax, BFD and graceful restart at
once. What a drain loses, whether a BIRD that is killed and started with -R is a gap, and how soon a node that falls
silent is left. Half a minute."""

import signal
import time
from contextlib import contextmanager

from lab import Lab, wait, wait_equal
from lab.frr import Frr, is_there
from lab.lab import TOR_ASN
from lab.traffic import Load, wait_answers
from served import FAMILIES, Service, pods, start

BOTH = {"node1", "node2"}
CLIENTS = 2  # of a family, one connection after the other
PAUSE_S = 2.5  # between the end of BIRD and its start


def replace_tor(lab):
    """FRR instead of BIRD, and nodes that have both BFD and graceful restart."""
    for node in lab.nodes:
        file = node.bird.config
        text = file.read_text(encoding="ascii")
        assert "graceful restart off" in text
        file.unlink()
        file.write_text(text.replace("graceful restart off", "graceful restart on"), encoding="ascii")
        node.bird.birdc("configure")
    lab.tor.bird.process.terminate()
    lab.tor.bird.process.wait(30)
    for family in FAMILIES:
        lab.tor.ip(f"-{family}", "route", "flush", "proto", "bird")
    frr = Frr(lab.tor, TOR_ASN, lab.nodes, relax=False)
    frr.start()
    return frr


@contextmanager
def loaded(lab, web, figures):
    """Short connections from outside meanwhile, and how many of them failed."""
    loads = [Load(lab.client, "short", *web.address("loadBalancer", family), c=CLIENTS, i=5) for family in FAMILIES]
    wait_answers(loads, 100)
    yield
    wait_answers(loads, 100)
    results = [load.stop() for load in loads]
    figures["connections"] = sum(result["done"] for result in results)
    figures["lost"] = sum(sum(result["errors"].values()) for result in results)


def left_after(lab, addresses, nodes):
    """Seconds until the ToR sends the addresses to these nodes alone."""
    begin = time.monotonic()
    for address in addresses:
        wait_equal(lambda: lab.tor.via(address), nodes, f"{address} on the ToR")
    return round(time.monotonic() - begin, 2)


def drained(lab, agent, web, addresses):
    figures = {}
    with loaded(lab, web, figures):
        assert agent.ctl("drain", "--no-wait").code == 0
        figures["seconds"] = left_after(lab, addresses, {"node2"})
        wait_equal(lambda: agent.json("status")["standing"]["phase"], "drained", "the end of the drain")
    assert agent.ctl("undrain").code == 0
    left_after(lab, addresses, BOTH)
    return figures


def killed(lab, bird, addresses):
    """BIRD of a node is killed: after what time which routes were others."""
    monitor, before = lab.monitor(), bird.process
    before.kill()
    before.wait(30)
    time.sleep(PAUSE_S)
    bird.process = bird.host.start("bird", "-f", "-R", "-c", str(bird.config), "-s", str(bird.socket),
                                   "-P", str(bird.folder / "bird.pid"), log="bird.log")
    wait(lambda: all(bird.sessions().values()), "its sessions", 60)
    wait_equal(lambda: "Graceful restart" in bird.birdc("show", "status"), False, "the end of its recovery", 60)
    left_after(lab, addresses, BOTH)
    return {"gaps": sorted({event.prefix for event in monitor.events()
                            if event.prefix in addresses and event.nodes() != BOTH})}


def silent(lab, bird, addresses):
    bird.process.send_signal(signal.SIGSTOP)
    seconds = left_after(lab, addresses, {"node2"})
    bird.process.send_signal(signal.SIGCONT)
    left_after(lab, addresses, BOTH)
    return {"seconds": seconds}


def fabric(options, seed, say):
    if not is_there():
        return {"passed": False, "error": "no FRR here: apt-get install frr"}
    with Lab("soak-fabric", nodes=2, nat=True, bfd=True) as lab:
        web = Service(lab)
        web.write(*pods(lab, "one").values())
        agent, _ = start(lab, web, routes={"holdDown": {"initial": "0s", "max": "0s"},
                                           "drain": {"shutdown": "5s", "withdraw": "1s"}})
        addresses = web.of["loadBalancer"]
        frr = replace_tor(lab)
        for address in addresses:
            wait(lambda: lab.tor.via(address), f"{address} on the ToR", 60)
        alone = [len(lab.tor.via(address)) for address in addresses]
        frr.set_relax(True)
        left_after(lab, addresses, BOTH)
        bird = lab.nodes[0].bird
        figures = {"nextHopsWithoutRelax": alone, "drain": drained(lab, agent, web, addresses),
                   "kill": killed(lab, bird, addresses), "silence": silent(lab, bird, addresses)}
        say(f"fabric: {figures}")
    # The node that a connection moves to in the midst of it does not know it: one of each client at most.
    passed = alone == [1, 1] and figures["drain"]["lost"] <= CLIENTS * len(FAMILIES) and not figures["kill"]["gaps"]
    return {"passed": passed, **figures}


PARTS = (fabric,)
