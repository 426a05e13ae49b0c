# SPDX-License-Identifier: Apache-2.0
"""The fault table, BIRD: found by going through a list of what can go wrong in its configuration, one by one, and silent, vague
or wrong then."""

import contextlib
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from faults import Table, check
from test_fault_table_bgp import UNFILTERED, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()
LEARNS = "ipv4 { table fingerpost4; import all;"
OLD = {
    b"restrict": b"0016 Access restricted\n",
    b"show status": b"1000-BIRD 1.6.8\n0013 Daemon is up and running\n",
    b"show protocols all": b"2002-name     proto    table    state  since       info\n"
                           b"1002-device1  Device   master   up     20:00:00\n0000 \n",
}


@rows(1101, cause=("IPv4", "its kernel protocol fingerpost_v4 has reached its import limit"),
      remedy=("`import limit`", "birdc restart fingerpost_v4"))
def the_kernel_protocol_has_an_import_limit(world):
    world.edit("fingerpost.conf", LEARNS, f"{LEARNS} import limit 1 action block;")
    world.bird.birdc("restart", "fingerpost_v4")
    yield
    world.restore()
    world.bird.birdc("restart", "fingerpost_v4")
    world.up()


@rows(1102, cause=("IPv4", "its kernel protocol fingerpost_v4 has reached its import limit"),
      remedy="birdc restart fingerpost_v4", beside="route")
def the_import_limit_disables_the_kernel_protocol(world):
    world.edit("fingerpost.conf", LEARNS, f"{LEARNS} import limit 1 action disable;")
    world.bird.birdc("restart", "fingerpost_v4")
    yield
    world.restore()
    world.bird.birdc("restart", "fingerpost_v4")
    world.bird.birdc("enable", "fingerpost_v4")
    world.up()


@rows(1103)
def an_export_limit_only_warns(world):
    """And keeps nothing back."""
    world.edit("node.conf", UNFILTERED, f"{UNFILTERED} export limit 1 action warn;")
    for name in ("tor_v4", "tor_v6"):
        assert "[HIT]" in world.bird.birdc("show", "protocols", "all", name)
    world.agent.settled()
    yield
    world.restore()


@rows(1104, cause=("tor_v4", "routes that lead to 10.0.1.77, which no interface of this node has"),
      remedy=("next hop self", "birdc restart tor_v4"), beside="the session")
def routes_lead_elsewhere(world):
    """BIRD takes another next hop with the next session."""
    world.edit("node.conf", f"fingerpost4; import none; {UNFILTERED} next hop self;",
               f"fingerpost4; import none; {UNFILTERED} next hop address 10.0.1.77;")
    world.bird.birdc("restart", "tor_v4")
    yield
    world.restore()
    world.bird.birdc("restart", "tor_v4")
    world.up()


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


@rows(1105, cause="BIRD 1.6.8 is too old", remedy="use BIRD 2.0.8 or later", health="failed")
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


@rows(1106, cause=("state", "nothing can be written here any more: No space left on device"), remedy="df -h")
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
