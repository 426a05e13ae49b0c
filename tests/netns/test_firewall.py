# SPDX-License-Identifier: Apache-2.0
"""services.firewall: a host whose policies are drop serves exactly what Services have opened; the
table follows objects, survives other hands, and goes."""

import threading

import pytest
from lab import wait, wait_equal
from lab.traffic import ask
from policies import answered, path
from served import FAMILIES, KINDS, PROTOCOLS, Service, address_of, pods, start, steer

pytestmark = pytest.mark.lab(nodes=2, nat=True)

OPENED = ("loadBalancer", "externalIP")
CLOSED = tuple(kind for kind in KINDS if kind not in OPENED)
MARK = "0x1000"
# As in docs/firewall.md: what the operator's own ruleset says.
HOST = f"""
table inet host {{
    chain input {{
        type filter hook input priority filter; policy drop;
        iif lo accept
        ct state established,related accept
        meta l4proto {{ icmp, ipv6-icmp }} accept
        tcp dport bgp accept
        meta mark & {MARK} == {MARK} accept
    }}
    chain forward {{
        type filter hook forward priority filter; policy drop;
        ct state established,related accept
        meta l4proto {{ icmp, ipv6-icmp }} accept
        meta mark & {MARK} == {MARK} accept
    }}
}}
"""


@pytest.fixture(name="world")
def world_fixture(lab):
    """A Service with an endpoint on either node, all of whose packets come to the first."""
    lab.ones = pods(lab, "one")
    lab.near, lab.far = (Service(lab, name, number) for name, number in (("near", 10), ("far", 11)))
    lab.near.write(lab.ones["one1"])
    lab.far.write(lab.ones["one2"])
    return lab


def begin(world, firewall, **services):
    agent = start(world, services={**services, "firewall": firewall})[0]
    for service in (world.near, world.far):
        steer(world, world.nodes[0], *service.announced(), *service.of["clusterIP"])
    return agent


def table(node):
    shown = node.run("nft", "list", "table", "inet", "fingerpost", check=False)
    return shown.stdout if shown.returncode == 0 else ""


def firewall(agent):
    return agent.json("status")["firewall"]


def reload(agent, **changes):
    agent.settings["services"]["firewall"] = {**agent.settings["services"]["firewall"], **changes}
    agent.write_config()
    agent.reload()


def test_a_host_that_drops_serves_what_is_opened(world):
    """NAT's packets by the stack, near and far, in both families: opened kinds and no others."""
    node, client = world.nodes[0], world.client
    node.run("nft", "-f", "-", text=HOST)
    both = (world.near, world.far)
    agent = begin(world, {"mode": "mark"})
    wait(lambda: firewall(agent)["there"], "the table")
    assert path(agent)["inForce"] == "stack"
    assert answered(world, client, both, OPENED) == (16, 0)
    assert answered(world, client, both, CLOSED) == (0, 4 * 2 * len(CLOSED))
    assert not agent.faults()

    reload(agent, nodePorts=True)
    wait(lambda: "30" in table(node) and firewall(agent)["openings"] > 8, "node ports in the set")
    assert answered(world, client, both, ("nodePort",)) == (8, 0)
    assert answered(world, client, both, ("clusterIP",)) == (0, 8)

    reload(agent, mode="off")
    wait(lambda: not table(node), "the table's end")
    assert answered(world, client, both, OPENED) == (0, 16)
    assert "table inet host" in node.run("nft", "list", "ruleset").stdout


def test_elements_come_and_go_under_load(world):
    """Other Services come and go by the dozen; no packet to the one that stays is lost."""
    node, client, agent_node = world.nodes[0], world.client, world.nodes[0]
    node.run("nft", "-f", "-", text=HOST)
    agent = begin(world, {"mode": "mark"})
    wait(lambda: firewall(agent)["there"], "the table")
    address, port = world.far.address("loadBalancer", 4, agent_node)
    lost, asked, over = [], [], threading.Event()

    def keep_asking():
        while not over.is_set():
            try:
                ask(client, address, port, "TCP", timeout=3)
            except OSError as error:
                lost.append(error)
            asked.append(1)
    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        before = firewall(agent)
        for turn in range(6):
            more = [Service(world, f"more-{number}", number) for number in range(20, 32)]
            for service in more:
                service.write(world.ones["one1"])
            wait_equal(lambda: firewall(agent)["openings"], before["openings"] * 7, f"turn {turn}")
            for service in more:
                service.delete()
            wait_equal(lambda: firewall(agent)["openings"], before["openings"], f"turn {turn}")
        after = firewall(agent)
    finally:
        over.set()
        asking.join()
    assert len(asked) > 20 and not lost
    assert after["replaced"] == before["replaced"] and after["repairs"] == 0
    assert after["added"] - before["added"] == after["removed"] - before["removed"] > 0
    assert not agent.faults()


def test_another_hand_is_undone_and_the_table_outlives_the_agent(world):
    node = world.nodes[0]
    node.run("nft", "-f", "-", text=HOST)
    agent = begin(world, {"mode": "mark"})
    wait(lambda: firewall(agent)["there"], "the table")
    elements = [line for line in table(node).splitlines() if "." in line and "tcp" in line]
    assert elements
    hands = (("flush", "chain", "inet", "fingerpost", "mark-what-services-opened"),
             ("flush", "set", "inet", "fingerpost", "opened-ipv4"),
             ("add", "element", "inet", "fingerpost", "opened-ipv4", "{ 192.0.2.77 . tcp . 7 }"),
             ("delete", "table", "inet", "fingerpost"))
    for turn, hand in enumerate(hands):
        node.run("nft", *hand)
        wait(lambda: firewall(agent)["repairs"] > turn, f"the repair of {hand}")
        shown = table(node)
        assert "192.0.2.77" not in shown and "meta mark set" in shown
        assert [line for line in shown.splitlines() if "." in line and "tcp" in line] == elements

    agent.kill()
    stays = table(node)
    assert stays
    agent.start()
    wait(lambda: firewall(agent)["there"], "the table, adopted")
    assert firewall(agent)["replaced"] == 0
    agent.stop()
    assert "fingerpost" in table(node)
    done = agent.ctl("cleanup", "--config", str(agent.config_file))
    assert "table inet fingerpost of nftables removed" in done.out, done
    assert not table(node) and "table inet host" in node.run("nft", "list", "ruleset").stdout


def test_all_else_on_a_services_address_is_closed(world):
    """Mode accept: an address of a Service that this host answers for, as one that is claimed."""
    node, client = world.nodes[0], world.client
    address, port = world.near.address("loadBalancer", 4, node)
    agent = begin(world, {"mode": "accept"})
    node.ip("address", "add", f"{address}/32", "dev", "lo", "preferred_lft", "0")
    wait(lambda: address in table(node).partition("set closed-ipv4")[2], "the closed address")
    node.start("/usr/bin/python3", "-m", "http.server", "-b", "::", "2222",
               log=node.folder / "http.log")
    own = address_of(node, 4)
    wait(lambda: reaches(client, own, 2222), "the process on the node's own address")
    assert reaches(client, address, port)
    assert not reaches(client, address, 2222)
    assert reaches(node, address, 2222), "the node itself"
    wait(lambda: firewall(agent)["closedPackets"] > 0, "the count")
    assert not [fault for fault in agent.faults() if fault["group"] == "nftables"]
    node.run("nft", "-f", "-", text=HOST)
    reload(agent, scope="all")
    wait(lambda: any("inet host input" in fault["message"] or "inet host forward" in
                     fault["message"] for fault in agent.faults()), "the fault", 60)


def reaches(host, address, port):
    return host.run("bash", "-c", f"timeout 1 bash -c '</dev/tcp/{address}/{port}'",
                    check=False).returncode == 0


def test_the_holder_opens_with_its_announcement(world):
    """An address is announced, and withdrawn, by what NAT has proved: no object changes, nor an interface."""
    agent = begin(world, {"mode": "mark", "scope": "holder"})
    node, one = world.nodes[0], world.ones["one1"]
    world.near.write(one, policy="Local")
    address = world.near.address("loadBalancer", 4, node)[0]
    wait(lambda: address in table(node), "the opening")
    node.ip("route", "del", f"{one.address4}/32", "dev", one.host_end)
    wait(lambda: address not in table(node), "its end")
    node.ip("route", "add", one.address4, "dev", one.host_end)
    wait(lambda: address in table(node), "the opening again")
    wait_equal(agent.faults, [], "no fault")


def test_the_holder_alone_opens(world):
    """Scope holder: what is announced here is open; withdrawn, it is not."""
    agent = begin(world, {"mode": "mark", "scope": "holder"})
    node = world.nodes[0]
    address = world.near.address("loadBalancer", 4, node)[0]
    wait(lambda: address in table(node), "the opening")
    agent.ctl("withdraw")
    wait(lambda: address not in table(node), "its end")
    agent.ctl("undrain")
    wait(lambda: address in table(node), "the opening again")
