# SPDX-License-Identifier: Apache-2.0
"""A real BIRD in a namespace, with the configuration of birdconf/ as it is.

The files of birdconf/ are linked into the daemon's folder, beside small files of definitions that
they include.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from .namespace import CommandFailed
from .wait import wait

BIRDCONF = Path(__file__).resolve().parents[2] / "birdconf"


@dataclass
class BgpPath:
    """One BGP path of a prefix, as `birdc show route all` tells it."""

    prefix: str
    protocol: str
    best: bool
    via: str = ""
    as_path: str = ""
    local_pref: int = 100
    med: int | None = None
    communities: set = field(default_factory=set)


class Bird:
    def __init__(self, host, main, files):
        self.host = host
        self.folder = host.folder / "bird"
        self.folder.mkdir()
        for source in BIRDCONF.glob("*.conf"):
            (self.folder / source.name).symlink_to(source)
        for name, content in files.items():
            (self.folder / name).write_text(content, encoding="ascii")
        self.config = self.folder / main
        self.socket = self.folder / "bird.ctl"
        self.process = None

    def start(self):
        self.process = self.host.start(
            "bird", "-f", "-c", str(self.config), "-s", str(self.socket),
            "-P", str(self.folder / "bird.pid"), log="bird.log",
        )
        wait(self._up, f"BIRD on {self.host}")

    def _up(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"BIRD on {self.host} ended with {self.process.returncode}")
        return "Daemon is up" in self.birdc("show", "status")

    def birdc(self, *words):
        return self.host.run("birdc", "-s", str(self.socket), *words).stdout

    def sessions(self):
        """BGP sessions by name: True if established."""
        lines = self.birdc("show", "protocols").splitlines()
        return {
            line.split()[0]: line.split()[-1] == "Established"
            for line in lines
            if len(line.split()) > 3 and line.split()[1] == "BGP"
        }

    def paths(self, prefix=None):
        """The BGP paths of a prefix, or of all."""
        words = ["show", "route", *([prefix] if prefix else []), "all", "where", "source = RTS_BGP"]
        done = self.host.run("birdc", "-s", str(self.socket), *words, check=False)
        if done.returncode != 0 and "Network not found" not in done.stdout:
            raise CommandFailed(done.stdout + done.stderr)
        return parse_routes(done.stdout)


HEAD = re.compile(r"^(\S+)?\s+(?:unicast|blackhole|unreachable|prohibit) \[(\S+) [^]]*\]( \*)?")


def parse_routes(text):
    """The output of `show route all` as a list of BgpPath."""
    paths = []
    prefix = ""
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            prefix = head[1] or prefix
            paths.append(BgpPath(prefix, head[2], head[3] is not None))
            continue
        word, _, rest = line.strip().partition(" ")
        if not paths:
            continue
        if word == "via":
            paths[-1].via = rest.split()[-1]
        elif word == "BGP.as_path:":
            paths[-1].as_path = rest
        elif word == "BGP.local_pref:":
            paths[-1].local_pref = int(rest)
        elif word == "BGP.med:":
            paths[-1].med = int(rest)
        elif word == "BGP.community:":
            paths[-1].communities = {
                (int(a), int(b)) for a, b in re.findall(r"\((\d+),(\d+)\)", rest)
            }
    return paths
