# SPDX-License-Identifier: Apache-2.0
"""A segment: a bridge that learns MACs, with all nodes of a lab, a client with a neighbour cache of its
own, and whoever else is plugged in; and what judges whether an address is at one place at a time."""

import socket
import struct
import threading
import time
from collections import namedtuple

from .capture import ETH_P_ALL, PACKET_OUTGOING, SO_RCVBUFFORCE
from .namespace import Namespace

NET4, NET6 = "198.51.100.{}/24", "2001:db8:5::{:x}/64"
ETH_ARP, ETH_IPV6 = 0x0806, 0x86DD

# A host says that it has an address: to all (`wide`), or as an answer.
Claim = namedtuple("Claim", "at mac address wide")


def mac_of(index):
    return f"02:00:00:00:05:{index:02x}"


def claim_of(frame, at):
    """What a frame claims, or None: ARP replies, ARP requests for oneself, neighbour advertisements."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == ETH_ARP:
        operation, sender, ip, _, target = struct.unpack_from("!H6s4s6s4s", frame, 20)
        if not any(ip) or (operation == 1 and ip != target):
            return None
        return Claim(at, sender.hex(":"), socket.inet_ntop(socket.AF_INET, ip), ip == target)
    if kind == ETH_IPV6 and frame[20] == 58 and frame[54] == 136:
        return Claim(at, frame[6:12].hex(":"), socket.inet_ntop(socket.AF_INET6, frame[62:78]),
                     frame[0] == 0x33)
    return None


class Judge:
    """Hears every claim that comes into a port of the bridge, with its time, from the start to close(): also
    what goes to one host alone."""

    def __init__(self, segment):
        with segment.switch.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.settimeout(0.1)
        self.names = {mac: name for name, mac in segment.macs.items()}
        self.claims, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self._hear, daemon=True)
        self.thread.start()

    def _hear(self):
        while not self.ended.is_set():
            try:
                frame, (device, _, way, *_) = self.socket.recvfrom(256)
            except TimeoutError:
                continue
            claim = claim_of(frame, time.monotonic())
            if claim and way != PACKET_OUTGOING and device != "br0":
                self.claims.append(claim)

    def close(self):
        self.ended.set()
        self.thread.join()
        self.socket.close()

    def holders(self, address):
        """Who claimed it, one after the other: ["node1", "node2"]. Two at once would be seen as one who
        comes back."""
        found = []
        for claim in list(self.claims):
            name = self.names.get(claim.mac, claim.mac)
            if claim.address == address and found[-1:] != [name]:
                found.append(name)
        return found

    def announcements(self, address):
        return [claim for claim in list(self.claims) if claim.address == address and claim.wide]


class Segment:
    """`lan` on each node; node N has 198.51.100.N and 2001:db8:5::N, the client .100."""

    def __init__(self, lab):
        self.lab = lab
        self.switch = Namespace(lab.label, "switch", lab.folder)
        self.switch.create(forwarding=False)
        self.switch.configure("link add br0 type bridge", "link set br0 up")
        self.macs, self.guests = {}, []
        for index, node in enumerate(lab.nodes, 1):
            self.plug(node, index)
        self.client = self.guest("neighbour", 100)

    def plug(self, host, index):
        self.macs[host.role] = mac_of(index)
        self.switch.configure(
            f"link add p{index} type veth peer name lan address {mac_of(index)} netns {host.name}",
            f"link set p{index} master br0", f"link set p{index} up")
        host.configure(f"addr add {NET4.format(index)} dev lan",
                       f"addr add {NET6.format(index)} dev lan nodad", "link set lan up")

    def guest(self, name, index):
        host = Namespace(self.lab.label, name, self.lab.folder)
        host.create(forwarding=False)
        self.plug(host, index)
        self.guests.append(host)
        return host

    def cable(self, node, state):
        """Pulls a node's cable, or puts it in: "down", "up"."""
        index = self.lab.nodes.index(node) + 1
        self.switch.configure(f"link set p{index} {state}")

    def has(self, host, address):
        length = 128 if ":" in address else 32
        family = "-6" if ":" in address else "-4"
        return f"{address}/{length}" in [
            f"{found['local']}/{found['prefixlen']}"
            for link in host.ip_json(family, "addr", "show", "dev", "lan") for found in link["addr_info"]]

    def at(self, address):
        """The nodes whose kernels have it."""
        return [node.role for node in self.lab.nodes if self.has(node, address)]

    def cached(self, address):
        """Which host the client's neighbour cache names."""
        names = {mac: name for name, mac in self.macs.items()}
        family = "-6" if ":" in address else "-4"
        rows = self.client.ip_json(family, "neigh", "show", "to", address)
        return names.get(rows[0].get("lladdr")) if rows else None

    def announce(self, host, address):
        """The host says to all that it has an IPv4 address, as whoever boots does."""
        mac, ip = bytes.fromhex(self.macs[host.role].replace(":", "")), socket.inet_aton(address)
        head = struct.pack("!6s6sHHHBBH", b"\xff" * 6, mac, ETH_ARP, 1, 0x0800, 6, 4, 1)
        with host.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
            raw.bind(("lan", 0))
            raw.send(head + mac + ip + bytes(6) + ip)

    def remove(self):
        for host in [*self.guests, self.switch]:
            host.remove()
