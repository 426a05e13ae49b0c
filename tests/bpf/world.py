# SPDX-License-Identifier: Apache-2.0
"""The node that packets of these tests come to: real interfaces, addresses and routes in a network
namespace of the process, so that the kernel's look-ups are real ones.

    client --- eth0 [node] pod1 (host's end) --- pod1's
                     |  \\- pod2 (host's end) --- pod2's
                    svc0 --- svc0p

Names of pods' ends and the like in the same namespace end in "p".
"""

import ctypes
import socket
import subprocess
from pathlib import Path

CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000
libc = ctypes.CDLL(None, use_errno=True)

NODE = {4: "192.0.2.10", 6: "2001:db8:2::10"}
CLIENT = {4: "198.51.100.7", 6: "2001:db8:51::7"}  # behind the gateway
POD1 = {4: "10.244.1.5", 6: "fd00:244:1::5"}
POD2 = {4: "10.244.1.6", 6: "fd00:244:1::6"}
REMOTE = {4: "10.244.2.5", 6: "fd00:244:2::5"}  # a pod behind another node
LED = {4: "203.0.113.99", 6: "2001:db8:203::99"}  # an address of a Service, led to svc0
NOWHERE = {4: "10.99.0.5", 6: "fd00:99::5"}  # no route
POD_NETS = ("10.244.0.0/16", "fd00:244::/32")
SERVICE_NETS = ("10.96.0.0/16", "fd00:96::/112")

MACS = {
    "lo": "00:00:00:00:00:00", "eth0": "02:00:00:00:00:01", "eth0p": "02:00:00:00:00:02",
    "pod1": "02:00:00:00:01:01", "pod1p": "02:00:00:00:01:02", "pod2": "02:00:00:00:02:01",
    "pod2p": "02:00:00:00:02:02", "svc0": "02:00:00:00:03:01", "svc0p": "02:00:00:00:03:02",
}
COMMANDS = """
link set lo up
link add eth0 type veth peer name eth0p
link add pod1 type veth peer name pod1p
link add pod2 type veth peer name pod2p
link add svc0 type veth peer name svc0p
link set eth0 address 02:00:00:00:00:01
link set eth0p address 02:00:00:00:00:02
link set pod1 address 02:00:00:00:01:01
link set pod1p address 02:00:00:00:01:02
link set pod2 address 02:00:00:00:02:01
link set pod2p address 02:00:00:00:02:02
link set svc0 address 02:00:00:00:03:01 arp off
link set svc0p address 02:00:00:00:03:02 arp off
link set eth0 up
link set eth0p up
link set pod1 up
link set pod1p up
link set pod2 up
link set pod2p up
link set svc0 up
link set svc0p up
address add 192.0.2.10/24 dev eth0
address add 2001:db8:2::10/64 dev eth0 nodad
route add default via 192.0.2.1 dev eth0
route add default via 2001:db8:2::1 dev eth0
neighbour add 192.0.2.1 lladdr 02:00:00:00:00:02 dev eth0 nud permanent
neighbour add 2001:db8:2::1 lladdr 02:00:00:00:00:02 dev eth0 nud permanent
route add 10.244.1.5 dev pod1
route add 10.244.1.6 dev pod2
route add fd00:244:1::5 dev pod1
route add fd00:244:1::6 dev pod2
neighbour add 10.244.1.5 lladdr 02:00:00:00:01:02 dev pod1 nud permanent
neighbour add 10.244.1.6 lladdr 02:00:00:00:02:02 dev pod2 nud permanent
neighbour add fd00:244:1::5 lladdr 02:00:00:00:01:02 dev pod1 nud permanent
neighbour add fd00:244:1::6 lladdr 02:00:00:00:02:02 dev pod2 nud permanent
route add unreachable 10.99.0.0/16
route add 203.0.113.99 dev svc0
route add 2001:db8:203::99 dev svc0
route add unreachable fd00:99::/32
"""
SYSCTLS = {
    "net/ipv4/ip_forward": 1,
    "net/ipv6/conf/all/forwarding": 1,
    "net/ipv6/conf/default/accept_dad": 0,
    "net/ipv6/conf/default/router_solicitations": 0,
    "net/ipv6/conf/default/addr_gen_mode": 1,  # no link-local addresses: nobody else sends
}


class World:
    """Entered by the calling thread until close()."""

    NODE, MACS = NODE, MACS

    def __init__(self, folder):
        self.old = [open(f"/proc/thread-self/ns/{kind}", "rb") for kind in ("net", "mnt")]
        self.folder = Path(folder)
        if libc.unshare(CLONE_NEWNET | CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        # The mount goes with its namespace, however the process ends.
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "bpf", "bpf", str(folder)], check=True)
        for path, value in SYSCTLS.items():
            Path("/proc/sys", path).write_text(str(value), encoding="ascii")
        self.ip(COMMANDS)
        self.index = {
            name: socket.if_nametoindex(name)
            for name in MACS
        }

    @staticmethod
    def ip(commands):
        subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True)

    def close(self):
        for file, kind in zip(self.old, (CLONE_NEWNET, CLONE_NEWNS)):
            if libc.setns(file.fileno(), kind) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            file.close()
