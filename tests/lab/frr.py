# SPDX-License-Identifier: Apache-2.0
"""FRR in the place of the ToR's BIRD, of both address families, with BFD and a view of the nodes as
birdconf/tor.conf has it: graceful restart, local preference 0 for a path that is drained."""

import shutil
from pathlib import Path

from .wait import wait

DAEMONS = Path("/usr/lib/frr")
HEAD = """
frr defaults datacenter
log stdout informational
"""
RELAX = " bgp bestpath as-path multipath-relax\n"
BGP = """
router bgp {asn}
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp graceful-restart
{relax}{neighbours}
 address-family ipv4 unicast
  maximum-paths 8
{active4}
 exit-address-family
 address-family ipv6 unicast
  maximum-paths 8
{active6}
 exit-address-family
"""


def is_there():
    return shutil.which("vtysh") and (DAEMONS / "bfdd").exists()


class Frr:
    """`relax`: whether paths of other AS numbers, and the same length, share the traffic."""

    def __init__(self, host, asn, nodes, relax=True):
        self.host, self.folder = host, host.folder / "frr"
        self.folder.mkdir(exist_ok=True)
        neighbours, active = "", {4: "", 6: ""}
        for node in nodes:
            for family, address in ((4, node.address4), (6, node.address6)):
                neighbours += (f" neighbor {address} remote-as {node.asn}\n neighbor {address} bfd\n"
                               f" neighbor {address} bfd 3 200 200\n neighbor {address} timers connect 1\n")
                active[family] += f"  neighbor {address} activate\n"
        self.config = self.folder / "frr.conf"
        self.config.write_text(HEAD + BGP.format(
            asn=asn, relax=RELAX if relax else "", neighbours=neighbours, active4=active[4], active6=active[6]),
            encoding="ascii")
        self.asn = asn
        for path in (self.folder, self.config):
            shutil.chown(path, "frr", "frr")

    def start(self):
        for name in ("zebra", "bfdd", "bgpd"):
            self.host.start(
                str(DAEMONS / name), "-f", str(self.config), "-z", str(self.folder / "zserv.api"),
                "-i", str(self.folder / f"{name}.pid"), "--vty_socket", str(self.folder), "-P", "0",
                *(("--bfdctl", str(self.folder / "bfdd.sock")) if name == "bfdd" else ()),
                log=f"{name}.log")
            wait(lambda: (self.folder / f"{name}.vty").exists(), f"{name} on {self.host}")

    def vtysh(self, *commands):
        words = [word for command in commands for word in ("-c", command)]
        return self.host.run("vtysh", "--vty_socket", str(self.folder), *words).stdout

    def set_relax(self, on):
        word = "" if on else "no "
        self.vtysh("configure terminal", f"router bgp {self.asn}", f"{word}bgp bestpath as-path multipath-relax")
