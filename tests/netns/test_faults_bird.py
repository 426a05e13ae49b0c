# SPDX-License-Identifier: Apache-2.0
"""Faults of BIRD itself: whether it runs, its socket, its protocols, its configuration."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from bgp_world import EXPLAIN, ROUTES, WITHOUT, restart_agent, world_fixture  # noqa: F401
from cluster import tables
from faults import Table, check
from lab import wait
from lab.wall_clock import WallClock

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows("bird-silent", cause="BIRD does not run: nobody listens at", remedy="start BIRD (systemctl status bird)",
      says={"status": ("BGP         WARN  BIRD does not run", "0 addresses announced, 2 unheard"),
            EXPLAIN: "whether a peer gets it is not known: BIRD does not run",
            ROUTES: "0 announced"}, silent={EXPLAIN: "is announced"})
def bird_is_killed(world):
    world.kill()
    yield
    world.bird.start()


@rows("bird-silent", within=5, cause=('BIRD does not answer "show', "within 1s"), remedy="start BIRD (systemctl status bird)",
      says={EXPLAIN: "whether a peer gets it is not known: BIRD does not answer"}, silent={EXPLAIN: "is announced"})
def bird_hangs(world):
    world.bird.process.send_signal(signal.SIGSTOP)
    yield
    world.bird.process.send_signal(signal.SIGCONT)


@rows("bird-silent", cause=("/nowhere/bird.ctl", "there is no socket /nowhere/bird.ctl: BIRD does not run, or"),
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


@rows("bird-device-disabled", cause=("device1", "BIRD's device protocol is disabled"), remedy="birdc enable device1")
def the_device_protocol_is_disabled(world):
    world.bird.birdc("disable", "device1")
    yield
    world.bird.birdc("enable", "device1")
    world.up()


@rows()
def a_configuration_that_bird_refuses_changes_nothing(world):
    world.write("node.conf", world.texts["node.conf"] + "nonsense\n")
    done = world.node.run("birdc", "-s", str(world.bird.socket), "configure", check=False)
    assert "syntax error" in done.stdout
    yield
    world.restore()


@rows("bird-socket-gone", cause="there is no socket any more", remedy="restart BIRD")
def the_control_socket_is_deleted(world):
    """Expected: BIRD can't be asked, told at the next question; a start of BIRD makes it anew."""
    world.bird.socket.unlink()
    yield
    world.restart()


@rows()
def bird_is_started_anew(world):
    """Expected: no fault is left, and no route of the kernel's was touched for it."""
    before = tables(world.node)
    world.restart()
    world.up()
    yield
    wait(lambda: tables(world.node) == before, "the same routes")


@rows("bird-socket-denied", cause=("bird.ctl", "Permission denied"), remedy="usermod -aG bird fingerpost")
def the_agent_is_not_in_the_group_of_bird(world):
    socket = world.bird.socket
    os.chown(socket, 65534, 65534)
    socket.chmod(0o660)
    restart_agent(world, ("setpriv", "--bounding-set", WITHOUT, "--inh-caps", WITHOUT))
    yield
    os.chown(socket, 0, 0)
    restart_agent(world)
    world.up()


@rows("bird-silent", cause="BIRD does not run", remedy="systemctl status bird")
def bird_does_not_come_up_with_a_broken_configuration(world):
    world.write("node.conf", world.texts["node.conf"] + "nonsense\n")
    world.kill()
    done = world.node.run("bird", "-c", str(world.bird.folder / "node.conf"), "-s", str(world.bird.socket), check=False)
    assert done.returncode != 0 and "syntax error" in done.stderr
    yield
    world.write("node.conf", world.texts["node.conf"])
    world.bird.start()
    world.up()


@rows("bird-silent", cause="BIRD does not run", remedy="systemctl status bird")
def bird_is_shut_down_by_birdc(world):
    world.bird.birdc("down")
    world.bird.process.wait()
    yield
    world.bird.start()
    world.up()


@rows(within=1)
def the_wall_clock_jumps(world):
    agent, clock = world.agent, WallClock(world.node)
    agent.stop()
    agent.wrapper = ("env", *[f"{key}={value}" for key, value in clock.environment.items()])
    agent.start()
    world.up()
    for days in (1, 0):
        clock.set(days)
        before = agent.json("status")
        wait(lambda before=before: agent.json("status") != before, "the agent to see it")
        assert agent.faults() == []
    yield
    agent.stop()
    agent.wrapper = ()
    agent.start()
    world.up()


@rows("bird-silent", within=2, cause="bird.conf", remedy="bird.socket")
def the_socket_is_the_configuration(world):
    agent = world.agent
    path = agent.settings["bird"]["socket"]
    conf = world.bird.folder / "bird.conf"
    if not conf.exists():
        conf.write_text("# BIRD's configuration\n", encoding="ascii")

    def reload(socket):
        agent.settings["bird"]["socket"] = socket
        agent.write_config()
        agent.reload()
    reload(str(conf))
    yield
    reload(path)


OLD = {
    b"restrict": b"0016 Access restricted\n",
    b"show status": b"1000-BIRD 1.6.8\n0013 Daemon is up and running\n",
    b"show protocols all": b"2002-name     proto    table    state  since       info\n"
                           b"1002-device1  Device   master   up     20:00:00\n0000 \n",
}


def old_bird(path):
    """Answers as BIRD 1.6 does; returns what ends it."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def talk(connection):
        with connection, connection.makefile("rwb") as stream:
            stream.write(b"0001 BIRD 1.6.8 ready.\n")
            stream.flush()
            for line in stream:
                stream.write(OLD.get(line.strip(), b"9001 syntax error\n"))
                stream.flush()

    def serve():
        try:
            while True:
                threading.Thread(target=talk, args=server.accept()[:1], daemon=True).start()
        except OSError:
            pass

    threading.Thread(target=serve, daemon=True).start()
    return lambda: (server.shutdown(socket.SHUT_RDWR), server.close(), path.unlink())


@rows("bird-too-old", health="failed", cause="BIRD 1.6.8 is too old", remedy="use BIRD 2.0.8 or later")
def the_socket_is_that_of_an_old_bird(world):
    path = world.bird.folder / "old.ctl"
    end = old_bird(path)
    settings = world.agent.settings["bird"]
    known, settings["socket"] = settings["socket"], str(path)
    world.agent.write_config()
    world.agent.reload()
    yield
    settings["socket"] = known
    world.agent.write_config()
    world.agent.reload()
    world.up()
    end()


@rows("node-state-unwritable", cause=("state", "nothing can be written here any more: No space left on device"),
      remedy="df -h")
def the_disk_of_the_state_folder_is_full(world):
    """A file system of its own in its place, in which there is no room."""
    folder = Path(world.agent.settings["paths"]["state"])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "state", folder], check=True)
    with (folder / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    yield
    (folder / "filler").unlink()
    yield
    subprocess.run(["umount", "-l", folder], check=True)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
