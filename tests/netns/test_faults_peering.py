# SPDX-License-Identifier: Apache-2.0
"""Faults of what BGP sessions go by: addresses and links of this node, and what the router does."""

import pytest
from bgp_world import DOWN, EXPLAIN, NEIGHBOR, UNHEARD, edit_router, up_in_bird, world_fixture  # noqa: F401
from cluster import VIP
from faults import Table, check
from lab import wait_equal

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows(says={EXPLAIN: f"{VIP} is announced to 1/1 peer"})
def the_router_drops_what_it_gets(world):
    """The one that can't be seen from here; docs/troubleshooting.md says so of doctor and of `announced`."""
    tor = world.lab.tor
    file = tor.bird.folder / "tor.conf"
    text = file.read_text(encoding="ascii")
    assert "import filter from_node_v4" in text
    file.write_text(text.replace("import filter from_node_v4", "import none", 1), encoding="ascii")
    tor.bird.birdc("configure")
    wait_equal(lambda: tor.via(VIP), set(), "the router to drop it")
    yield
    file.write_text(text, encoding="ascii")
    tor.bird.birdc("configure")
    wait_equal(lambda: tor.via(VIP), {world.node.role}, "the router to take it")


@rows("bgp-session-down", cause=("tor_v4 10.0.1.9", "the session with AS 64600 is down: Socket: No route to host"),
      remedy="ping 10.0.1.9")
def the_neighbor_address_is_wrong(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4", "neighbor 10.0.1.9")
    yield
    world.restore()


@rows("bgp-interface-down", cause=("the session with AS 64600 is down with its interface: eth0 is down",),
      remedy="ip link set eth0 up", beside="eth0 is down")
def the_interface_to_the_router_is_down(world):
    """Both sessions name it, and nothing else of BIRD's is told beside it."""
    node = world.node
    node.ip("link", "set", "eth0", "down")
    yield
    node.ip("link", "set", "eth0", "up")
    node.ip("addr", "add", f"{node.address6}/64", "dev", "eth0", "nodad")
    for gateway in (node.gateway4, node.gateway6):
        node.ip("route", "replace", "default", "via", gateway)


@rows("bgp-session-down", cause=("tor_v4", "the session with AS 64600 is down: Socket: Connection refused"),
      remedy="birdc show protocols all tor_v4", beside="the session with AS 64600 is down",
      says={"status": "BGP         WARN  0/2 peers"})
def the_router_s_bgp_is_killed(world):
    world.lab.tor.bird.process.kill()
    world.lab.tor.bird.process.wait()
    yield
    world.lab.tor.bird.start()


FIREWALL = """table inet firewall {
    chain input { type filter hook input priority 0; tcp sport 179 drop; tcp dport 179 drop; }
}"""


@rows("bgp-session-down", cause="the session with AS 64600 is down: BGP Error: Hold timer expired",
      remedy="no firewall drops TCP port 179", beside="the session with AS 64600 is down")
def a_firewall_drops_bgp(world):
    world.node.run("nft", "-f", "-", text=FIREWALL)
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows("bgp-session-down", cause=("tor_v4", "the session with AS 64600 is down: Received: Administrative shutdown"),
      remedy="enable the session at the peer", says={EXPLAIN: UNHEARD + ": tor_v4: the session is down"})
def the_router_s_side_is_disabled(world):
    """BIRD forgets what the peer said when its next attempt fails: that is later than anybody asks."""
    world.edit_sessions("node.conf", "error wait time 1, 1", "error wait time 60, 60")
    world.lab.tor.bird.birdc("disable", "node1_v4")
    yield
    world.lab.tor.bird.birdc("enable", "node1_v4")
    world.restore()
    world.bird.birdc("restart", "tor_v4")


@rows("bgp-session-down",
      cause=("tor_v4", "the session with AS 64600 is down: this end waits for the peer to connect (passive)"),
      remedy="take `passive` out of tor_v4")
def both_ends_wait_for_the_other(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4 as TOR_ASN;",
               "neighbor TOR_ADDRESS4 as TOR_ASN; passive on;")
    yield
    world.restore()


@rows("bgp-session-down", cause=("tor_v4", "capabilit"), remedy="tor_v4")
def the_router_speaks_another_family_on_the_session(world):
    """Expected: nothing of IPv4 can be sent there, whatever state the session has: told with the peer's or BIRD's word."""
    tor = world.lab.tor
    file = tor.bird.folder / "nodes.conf"
    text = file.read_text(encoding="ascii")
    file.write_text(text.replace("_v4 from node_v4 {", "_v4 from node_v6 {", 1), encoding="ascii")
    assert "Reconfigur" in tor.bird.birdc("configure")
    yield
    file.write_text(text, encoding="ascii")
    tor.bird.birdc("configure")


@rows("bgp-session-down", cause=("tor_v4", "the session with AS 64600 is down", "Maximum number of prefixes"),
      remedy="raise the peer's limit", says={EXPLAIN: UNHEARD + ": tor_v4: the session is down"})
def the_router_takes_no_more_prefixes(world):
    """Expected: the peer's own word, that the maximum number of prefixes is reached."""
    tor = world.lab.tor
    file = tor.bird.folder / "tor.conf"
    text = file.read_text(encoding="ascii")
    file.write_text(text.replace("import filter from_node_v4;",
                                 "import filter from_node_v4; import limit 1 action disable;", 1), encoding="ascii")
    tor.bird.birdc("configure")
    yield
    file.write_text(text, encoding="ascii")
    tor.bird.birdc("configure")
    tor.bird.birdc("enable", "node1_v4")


@rows("bgp-session-down", cause=("tor_v6", "the session with AS 64600 is down"), remedy="ip route get",
      beside="the session with AS 64600 is down")
def the_node_loses_its_ipv6_address(world):
    """Expected: the session of this family is down with its reason; IPv4 goes on."""
    node = world.node
    node.ip("-6", "addr", "flush", "dev", "eth0", "scope", "global")
    yield
    node.ip("addr", "add", f"{node.address6}/64", "dev", "eth0", "nodad")
    node.ip("route", "replace", "default", "via", node.gateway6)


@rows("bgp-session-down", cause=("tor_v4", DOWN), remedy="address")
def the_source_address_is_of_another_machine(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " source address 10.0.1.99;")
    yield
    world.restore()


@rows("bgp-session-down", cause=("tor_v4", DOWN), remedy="peer")
def the_router_knows_the_node_no_more(world):
    undo = edit_router(world, "nodes.conf", "protocol bgp node1_v4", "protocol bgp node1_gone { disabled; local as 64600; "
                       "neighbor 10.9.9.9 as 64999; }\n#")
    yield
    undo()


@rows("bgp-session-down", cause=("tor_v4", DOWN), remedy="tor_v4")
def ttl_security_is_on_at_one_end(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " ttl security on;")
    yield
    world.restore()


@rows("bgp-interface-missing", cause=("tor_v4", DOWN + ": no interface is called eth9"),
      remedy="see why it is not there: ip -br link")
def the_session_is_bound_to_an_interface_that_is_not_there(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + ' interface "eth9";')
    yield
    world.restore()


@rows()
def bfd_is_on_at_one_end_only(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " bfd on;")
    yield
    world.restore()


@rows()
def the_hold_times_differ(world):
    world.edit("node.conf", "hold time 3;", "hold time 240;")
    yield
    world.restore()


@rows("bgp-session-down", cause=("tor_v4", DOWN), remedy="address", beside=("address", DOWN))
def the_node_loses_its_ipv4_address(world):
    node = world.node
    node.ip("addr", "del", f"{node.address4}/24", "dev", "eth0")
    yield
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    world.up()


@rows("bgp-session-down", cause=("tor_v4", DOWN), remedy="TCP port 179")
def the_router_has_another_machines_mac_address(world):
    node = world.node
    node.ip("neigh", "replace", node.gateway4, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
    yield
    node.ip("neigh", "del", node.gateway4, "dev", "eth0")
    world.up()


TAKES = "import filter from_node_v4;"


@rows("bgp-session-down", within=2, cause=("tor_v4", "Received: Administrative"), remedy="enable the session at the peer")
def the_routers_operator_disables_the_session(world):
    router = world.lab.tor.bird
    router.birdc("disable", f"{world.node.role}_v4")
    yield
    router.birdc("enable", f"{world.node.role}_v4")
    up_in_bird(world)
    yield
    world.up()


@rows("bgp-session-down", within=2, cause=("tor_v4", "Maximum number of prefixes"), remedy="peer's limit")
def the_router_takes_fewer_prefixes(world):
    back = edit_router(world, "tor.conf", TAKES, f"{TAKES} import limit 1 action disable;")
    yield
    back()
    world.lab.tor.bird.birdc("enable", f"{world.node.role}_v4")
    up_in_bird(world)
    yield
    world.up()


@rows("bgp-session-down", within=2, lingers=1, cause="tor_v4", remedy=("",), beside=("10.0.1", "route", "session"))
def the_nodes_address_has_the_length_of_a_host(world):
    """BIRD waits for a second after the error, and for one before it connects; it is asked each second."""
    node = world.node
    node.ip("addr", "del", f"{node.address4}/24", "dev", "eth0")
    node.ip("addr", "add", f"{node.address4}/32", "dev", "eth0")
    yield
    node.ip("addr", "del", f"{node.address4}/32", "dev", "eth0")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    yield
    world.up()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
