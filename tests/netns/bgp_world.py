# SPDX-License-Identifier: Apache-2.0
"""The node of test_faults_{sessions,peering,export,bird}.py: one that announces by BIRD."""

import pytest
from cluster import VIP, start
from lab import wait, wait_equal

# BGP notices in seconds what takes it half a minute otherwise.
QUICK = {
    "connect retry time 5": "connect retry time 1",
    "error wait time 1, 30": "error wait time 1, 1",
    "hold time 30": "hold time 3",
    "keepalive time 10": "keepalive time 1",
}
UNFILTERED = "export filter fingerpost_export;"
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


def expect_peers(world, what):
    """bird.expectPeers of the agent, by a reload; None: it is not set."""
    bird = world.agent.settings["bird"]
    bird.pop("expectPeers", None)
    if what is not None:
        bird["expectPeers"] = what
    world.agent.write_config()
    world.agent.reload()


DOWN = "the session with AS 64600 is down"
NEIGHBOR = "neighbor TOR_ADDRESS4 as TOR_ASN;"
WITHOUT = "-dac_override,-dac_read_search"


def edit_router(world, name, old, new):
    """Another line in a file of the router's; returns what puts the old one back."""
    bird = world.lab.tor.bird
    file = bird.folder / name
    text = file.read_text(encoding="ascii")
    assert old in text

    def write(now):
        file.unlink()
        file.write_text(now, encoding="ascii")
        bird.birdc("configure")

    write(text.replace(old, new))
    return lambda: write(text)


def restart_agent(world, wrapper=()):
    agent = world.agent
    agent.stop()
    agent.wrapper = wrapper
    agent.start()


def up_in_bird(world):
    """Before the agent can know it."""
    wait(lambda: world.bird.birdc("show", "protocols").count("Established") == 2, "both sessions, by BIRD")
