# SPDX-License-Identifier: Apache-2.0
"""The fault table, BGP: what BIRD and its peers may suffer, and what the agent says of it."""

import signal

import pytest
from cluster import VIP, start
from faults import Table, check
from lab import wait, wait_equal

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()

# BGP notices in seconds what takes it half a minute otherwise.
QUICK = {
    "connect retry time 5": "connect retry time 1",
    "error wait time 1, 30": "error wait time 1, 1",
    "hold time 30": "hold time 3",
    "keepalive time 10": "keepalive time 1",
}
UNFILTERED = "export filter fingerpost_export;"
FILTERED = (
    "export filter { if net = %s/32 then reject; if fingerpost_attributes() then accept; reject; };"
)
EXPLAIN, UNHEARD = f"explain {VIP}", f"{VIP} stands in table 119; not announced: no peer gets it"
ROUTES = "routes"
UP = {"tor_v4": "Established", "tor_v6": "Established"}


class World:
    """One node whose agent asks its BIRD, with both sessions up; BIRD's files are for editing."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        self.bird = self.node.bird
        self.texts = {}
        for file in self.bird.folder.glob("*.conf"):
            self.texts[file.name] = file.read_text(encoding="ascii")
        for old, new in QUICK.items():
            self.texts["node.conf"] = self.texts["node.conf"].replace(old, new)
        self.write("node.conf", self.texts["node.conf"])
        self.hasten_router()
        self.restart()
        [self.agent] = start(lab, bird={"socket": str(self.bird.socket)})
        self.up()

    def hasten_router(self):
        """After an error the ToR takes no connection for a minute, then longer."""
        bird = self.lab.tor.bird
        file = bird.folder / "tor.conf"
        text = file.read_text(encoding="ascii")
        file.unlink()
        file.write_text(text.replace("passive on;", "passive on; error wait time 1, 1;"),
                        encoding="ascii")
        bird.birdc("configure")

    def write(self, name, text):
        file = self.bird.folder / name
        file.unlink()
        file.write_text(text, encoding="ascii")

    def edit(self, name, old, new):
        """Another line in a file of BIRD's, and `birdc configure`."""
        assert old in self.texts[name]
        self.write(name, self.texts[name].replace(old, new))
        assert "Reconfigur" in self.bird.birdc("configure")

    def restore(self):
        for name, text in self.texts.items():
            self.write(name, text)
        assert "Reconfigur" in self.bird.birdc("configure")

    def kill(self):
        self.bird.process.kill()
        self.bird.process.wait()

    def restart(self):
        self.kill()
        self.bird.start()

    def peers(self, field):
        return {peer["name"]: peer[field] for peer in self.agent.json("peers")["items"]}

    def up(self):
        wait_equal(lambda: self.peers("state"), UP, "sessions")

    def edit_sessions(self, name, old, new):
        """Another line, for which BIRD ends all sessions; they are up again, and the agent knows."""
        before = self.peers("since")
        self.edit(name, old, new)
        wait(lambda: not before.items() & self.peers("since").items() and self.peers("state") == UP,
             "sessions of the new configuration")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows(1, cause="BIRD does not run: nobody listens at", remedy="start BIRD (systemctl status bird)",
      says={"status": ("BGP         WARN  BIRD does not run", "0 addresses announced, 2 unheard"),
            EXPLAIN: "whether a peer gets it is not known: BIRD does not run",
            ROUTES: "0 announced"},
      silent={EXPLAIN: "is announced"})
def bird_is_killed(world):
    world.kill()
    yield
    world.bird.start()


@rows(3, cause=('BIRD does not answer "show', "within 1s"), remedy="start BIRD (systemctl status bird)",
      says={EXPLAIN: "whether a peer gets it is not known: BIRD does not answer"},
      silent={EXPLAIN: "is announced"})
def bird_hangs(world):
    world.bird.process.send_signal(signal.SIGSTOP)
    yield
    world.bird.process.send_signal(signal.SIGCONT)


@rows(4, cause=f"tor_v4: 1 route of table 119 is filtered, this peer does not get it: {VIP}/32",
      remedy="look at the export filter of tor_v4",
      says={EXPLAIN: (UNHEARD + ": tor_v4: BIRD's filters keep it back",)}, silent={EXPLAIN: "is announced"})
def an_export_filter_drops_an_address(world):
    world.edit("node.conf", UNFILTERED, FILTERED % VIP)
    yield
    world.restore()


@rows(5, cause="no session exports IPv4: the routes of table 119 are announced to nobody",
      remedy="export filter fingerpost_export;`", beside="no session exports IPv6",
      says={EXPLAIN: UNHEARD + ": no session exports IPv4", ROUTES: ("unheard", "0 announced")},
      silent={EXPLAIN: "is announced"})
def nothing_is_exported(world):
    world.edit("node.conf", UNFILTERED, "export none;")
    yield
    world.restore()


@rows(6, cause="BIRD has no BGP session: nothing is announced",
      remedy="give BIRD a BGP protocol with `table fingerpost4;",
      health="failed", says={"status": "BGP         FAIL  0/0 peers established",
            EXPLAIN: UNHEARD + ": BIRD has no BGP session"})
def there_is_no_session(world):
    text = world.texts["node.conf"]
    world.edit("node.conf", text[text.index("protocol bgp"):], "")
    yield
    world.restore()


@rows(7, health="healthy", says={EXPLAIN: f"{VIP} is announced to 1/1 peer"})
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


@rows(8, cause="BIRD has learned no IPv4 route of table 119",
      remedy="a kernel protocol with this table, this family and `learn`",
      beside="BIRD has learned no IPv6 route of table 119",
      says={EXPLAIN: UNHEARD + ": tor_v4: BIRD has learned no route of this family"})
def bird_does_not_learn(world):
    world.edit("fingerpost.conf", "learn;", "")
    yield
    world.restore()


@rows(9, cause="BIRD has learned no IPv4 route of table 119",
      remedy="a kernel protocol with this table, this family and `learn`",
      beside="BIRD has learned no IPv6 route of table 119")
def bird_reads_another_table(world):
    world.edit("node.conf", "FINGERPOST_TABLE = 119", "FINGERPOST_TABLE = 118")
    yield
    world.restore()


@rows(10, cause=("tor_v4 10.0.1.1", "the session is disabled in BIRD"),
      remedy="birdc enable tor_v4",
      says={EXPLAIN: UNHEARD + ": tor_v4: the session is down",
            "explain fd00:203::10": "fd00:203::10 is announced to 1/1 peer"})
def a_session_is_disabled(world):
    world.bird.birdc("disable", "tor_v4")
    yield
    world.bird.birdc("enable", "tor_v4")


@rows(12, cause=("tor_v4 10.0.1.9", "the session with AS 64600 is down: Socket: No route to host"),
      remedy="ping 10.0.1.9")
def the_neighbor_address_is_wrong(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4", "neighbor 10.0.1.9")
    yield
    world.restore()


@rows(14, cause=("the session with AS 64600 is down with its interface: eth0 is down",),
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


@rows(61, cause=("tor_v4", "the session with AS 64600 is down: Socket: Connection refused"),
      remedy="birdc show protocols all tor_v4", beside="the session with AS 64600 is down",
      says={"status": "BGP         WARN  0/2 peers"})
def the_router_s_bgp_is_killed(world):
    world.lab.tor.bird.process.kill()
    world.lab.tor.bird.process.wait()
    yield
    world.lab.tor.bird.start()


def expect_peers(world, what):
    """bird.expectPeers of the agent, by a reload; None: it is not set."""
    bird = world.agent.settings["bird"]
    bird.pop("expectPeers", None)
    if what is not None:
        bird["expectPeers"] = what
    world.agent.write_config()
    world.agent.reload()


@rows(101)
def nothing_is_exported_as_configured(world):
    expect_peers(world, 0)
    wait(lambda: "expects none" in world.agent.ctl("status").out, "the reload")
    world.edit("node.conf", UNFILTERED, "export none;")
    wait(lambda: UNHEARD in world.agent.ctl(*EXPLAIN.split()).out, "nobody to get it")
    yield
    world.restore()
    expect_peers(world, None)


@rows(102, cause="BIRD has no BGP session of this name, which bird.expectPeers expects",
      remedy="correct bird.expectPeers")
def a_session_is_missing(world):
    expect_peers(world, ["tor_v4", "tor_v6", "spine"])
    yield
    expect_peers(world, None)


@rows(103, cause="BIRD has 2 of 3 BGP sessions that bird.expectPeers expects",
      remedy="give BIRD the sessions that it lacks")
def there_are_too_few_sessions(world):
    expect_peers(world, 3)
    yield
    expect_peers(world, None)


@rows(104, cause="no session exports IPv4", remedy="table fingerpost4; export filter",
      says={EXPLAIN: UNHEARD + ": no session exports IPv4"})
def the_session_has_another_table(world):
    world.edit("node.conf", "table fingerpost4; import none; export filter fingerpost_export;",
               "table master4; import none; export all;")
    yield
    world.restore()


@rows(2, cause=("/nowhere/bird.ctl", "there is no socket /nowhere/bird.ctl: BIRD does not run, or"),
      remedy="name its control socket in bird.socket")
def the_socket_is_elsewhere(world):
    path = world.agent.settings["bird"]["socket"]
    world.agent.settings["bird"]["socket"] = "/nowhere/bird.ctl"
    world.agent.write_config()
    world.agent.reload()
    yield
    world.agent.settings["bird"]["socket"] = path
    world.agent.write_config()
    world.agent.reload()


@rows(124, cause=("device1", "BIRD's device protocol is disabled"), remedy="birdc enable device1")
def the_device_protocol_is_disabled(world):
    world.bird.birdc("disable", "device1")
    yield
    world.bird.birdc("enable", "device1")
    world.up()


@rows(125, cause=("BIRD has learned no IPv4 route of table 119: its kernel protocol fingerpost_v4", "import none"),
      remedy="give fingerpost_v4 `import all`")
def the_kernel_protocol_imports_nothing(world):
    world.edit("fingerpost.conf", "ipv4 { table fingerpost4; import all;", "ipv4 { table fingerpost4; import none;")
    yield
    world.restore()


@rows(126, cause=("tor_v4", "Route limit exceeded"), remedy=("`export limit`", "birdc enable tor_v4"),
      beside=("is reached", "Route limit exceeded"))
def the_export_limit_disables_the_session(world):
    world.edit("node.conf", UNFILTERED, f"{UNFILTERED} export limit 1 action disable;")
    yield
    world.restore()
    for name in UP:
        world.bird.birdc("enable", name)
    world.up()


@rows(11, cause=("the session with AS 64600 is down: Received: Bad peer AS", "this node's is 64999"),
      remedy="the AS that the peer expects of this node", beside="the session with AS 64600 is down")
def the_node_s_as_is_wrong(world):
    world.edit("node.conf", "local as NODE_ASN", "local as 64999")
    yield
    world.restore()


FIREWALL = """table inet firewall {
    chain input { type filter hook input priority 0; tcp sport 179 drop; tcp dport 179 drop; }
}"""


@rows(13, cause="the session with AS 64600 is down: BGP Error: Hold timer expired",
      remedy="no firewall drops TCP port 179", beside="the session with AS 64600 is down")
def a_firewall_drops_bgp(world):
    world.node.run("nft", "-f", "-", text=FIREWALL)
    yield
    world.node.run("nft", "delete", "table", "inet", "firewall")


@rows(105, cause=("tor_v4", "the session with AS 64600 is down"), remedy="passwords")
def the_password_is_at_one_end_only(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4 as TOR_ASN;",
               'neighbor TOR_ADDRESS4 as TOR_ASN; password "secret";')
    yield
    world.restore()


@rows(106, cause=("tor_v4", "the session with AS 64601 is down: BGP Error: Bad peer AS"),
      remedy="give tor_v4 the peer's own AS")
def the_router_has_another_as(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4 as TOR_ASN", "neighbor TOR_ADDRESS4 as 64601")
    yield
    world.restore()


@rows(107)
def the_router_id_is_the_router_s(world):
    """No harm between two ASes (RFC 6286)."""
    world.edit_sessions("node.conf", "router id ROUTER_ID", "router id 10.0.0.1")
    assert "10.0.0.1" in world.bird.birdc("show", "status")
    yield
    world.restore()


@rows(109, cause="BIRD has learned no IPv4 route of table 119", remedy="birdc enable fingerpost_v4")
def the_kernel_protocol_is_disabled(world):
    world.bird.birdc("disable", "fingerpost_v4")
    yield
    world.bird.birdc("enable", "fingerpost_v4")


@rows(110)
def a_configuration_that_bird_refuses_changes_nothing(world):
    world.write("node.conf", world.texts["node.conf"] + "nonsense\n")
    done = world.node.run("birdc", "-s", str(world.bird.socket), "configure", check=False)
    assert "syntax error" in done.stdout
    yield
    world.restore()


@rows(113, cause="tor_v6: 1 route of table 119 is filtered, this peer does not get it: fd00:203::10/128",
      remedy="look at the export filter of tor_v6")
def a_filter_drops_an_ipv6_address(world):
    world.edit("node.conf", UNFILTERED, "export filter { if net = fd00:203::10/128 then reject; "
                                        "if fingerpost_attributes() then accept; reject; };")
    yield
    world.restore()


@rows(114, cause="BIRD has not learned all IPv4 routes of table 119", remedy="import all")
def the_kernel_protocol_imports_not_all(world):
    world.edit("fingerpost.conf", "ipv4 { table fingerpost4; import all;",
               "ipv4 { table fingerpost4; import where net != %s/32;" % VIP)
    yield
    world.restore()


@rows(117, cause=("tor_v4", "the session with AS 64600 is down: Received: Administrative shutdown"),
      remedy="enable the session at the peer",
      says={EXPLAIN: UNHEARD + ": tor_v4: the session is down"})
def the_router_s_side_is_disabled(world):
    """BIRD forgets what the peer said when its next attempt fails: that is later than anybody asks."""
    world.edit_sessions("node.conf", "error wait time 1, 1", "error wait time 60, 60")
    world.lab.tor.bird.birdc("disable", "node1_v4")
    yield
    world.lab.tor.bird.birdc("enable", "node1_v4")
    world.restore()
    world.bird.birdc("restart", "tor_v4")


@rows(119, cause=("tor_v4", "the session with AS 64600 is down: this end waits for the peer to connect (passive)"),
      remedy="take `passive` out of tor_v4")
def both_ends_wait_for_the_other(world):
    world.edit("node.conf", "neighbor TOR_ADDRESS4 as TOR_ASN;",
               "neighbor TOR_ADDRESS4 as TOR_ASN; passive on;")
    yield
    world.restore()


@rows(121, cause="BIRD has learned no IPv6 route of table 119", remedy="a kernel protocol with this table")
def one_family_is_read_from_another_table(world):
    text = world.texts["fingerpost.conf"]
    half = text[text.index("protocol kernel fingerpost_v6"):]
    world.edit("fingerpost.conf", half, half.replace("FINGERPOST_TABLE", "120", 1))
    yield
    world.restore()


@rows(122, cause=("tor_v4", "2 routes of table 119 are filtered, this peer does not get them"),
      remedy="look at the export filter of tor_v4")
def the_filter_is_one_for_other_routes(world):
    world.edit("node.conf", "table fingerpost4; import none; export filter fingerpost_export;",
               "table fingerpost4; import none; export where source = RTS_STATIC;")
    yield
    world.restore()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
