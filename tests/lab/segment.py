# SPDX-License-Identifier: Apache-2.0
"""A segment: a bridge that learns MACs, with all nodes of a lab, a client with a neighbour cache of its
own, and whoever else is plugged in; what judges whether an address is at one place at a time (Judge, by what
holders.py says), who asks all holders for what they have (Asker), and who is served by them (Served)."""

import os
import socket
import struct
import threading
import time
from collections import defaultdict, namedtuple

from .capture import ETH_P_ALL, PACKET_OUTGOING, PACKET_STATISTICS, SO_RCVBUFFORCE, SOL_PACKET
from .holders import Answers, Gap, Sightings
from .namespace import Namespace, inverted_sum

NET4, NET6 = "198.51.100.{}/24", "2001:db8:5::{:x}/64"
ETH_ARP, ETH_IPV6 = 0x0806, 0x86DD
SO_TIMESTAMPNS = 35
ASKED_EVERY = 0.05
SERVED_EVERY = 0.02

# A host says that it has an address: to all (`wide`), or as an answer.
Claim = namedtuple("Claim", "at mac address wide")


def mac_of(index):
    return f"02:00:00:00:05:{index:02x}"


def claim_of(frame, at):
    """What a frame claims, or None: ARP replies, ARP requests from an address, neighbour advertisements."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == ETH_ARP:
        _, sender, ip, _, target = struct.unpack_from("!H6s4s6s4s", frame, 20)
        if not any(ip):
            return None
        return Claim(at, sender.hex(":"), socket.inet_ntop(socket.AF_INET, ip), ip == target)
    if kind == ETH_IPV6 and frame[20] == 58 and frame[54] == 136:
        return Claim(at, frame[6:12].hex(":"), socket.inet_ntop(socket.AF_INET6, frame[62:78]),
                     frame[0] == 0x33)
    return None


def arrival(ancillary):
    """When the kernel had it, by the monotonic clock: a judge that has to wait for his turn is no witness."""
    [stamp] = [data for level, kind, data in ancillary if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)]
    seconds, nanoseconds = struct.unpack("qq", stamp)
    return time.monotonic() - (time.time() - seconds - nanoseconds / 1e9)


class Worker:
    """A thread that does its work again and again until close()."""

    def __init__(self):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self):
        while not self.ended.is_set():
            self.work()

    def close(self):
        self.ended.set()
        self.thread.join()


class Judge(Worker):
    """Hears every claim that comes into a port of the bridge, with its time, from the start to close(): also
    what goes to one host alone."""

    def __init__(self, segment):
        with segment.switch.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.settimeout(0.1)
        self.names = segment.names
        self.wide = []  # claims to all
        self.sightings = defaultdict(Sightings)
        super().__init__()

    def work(self):
        try:
            frame, ancillary, _, (device, _, way, *_) = self.socket.recvmsg(256, 64)
        except TimeoutError:
            return
        if way == PACKET_OUTGOING or not device.startswith("p"):
            return
        claim = claim_of(frame, arrival(ancillary))
        if claim:
            self.wide += [claim] if claim.wide else []
            self.sightings[claim.address].add(self.names.get(claim.mac, claim.mac), claim.at)

    def close(self):
        super().close()
        _, lost = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self.socket.close()
        assert lost == 0, "frames passed unseen"

    def holders(self, address):
        """Who claimed it, one after the other: ["node1", "node2"]. Two at once would be seen as one who
        comes back."""
        return list(self.sightings[address].order)

    def now(self, address):
        """Who has it, by what was heard within the last moment."""
        return self.sightings[address].names(time.monotonic())

    def doubles(self):
        """Each time that two had one address at once. Whom nobody asks says little: see Asker."""
        return [double for address, seen in sorted(self.sightings.items()) for double in seen.doubles(address)]

    def announcements(self, address):
        return [claim for claim in list(self.wide) if claim.address == address]

    def first_word(self, address, name, since):
        """When this one told all that it has it, the first time since then; None: it has not."""
        told = [claim.at for claim in self.announcements(address)
                if claim.at >= since and self.names.get(claim.mac) == name]
        return told[0] if told else None


def arp_question(mac, sender, address):
    """Who has an IPv4 address? To all."""
    return struct.pack("!6s6sHHHBBH6s4s6s4s", b"\xff" * 6, mac, ETH_ARP, 1, 0x0800, 6, 4, 1, mac,
                       socket.inet_aton(sender), bytes(6), socket.inet_aton(address))


def neighbour_question(mac, sender, address):
    """The same of an IPv6 address, to whoever may have it."""
    source, target = (socket.inet_pton(socket.AF_INET6, text) for text in (sender, address))
    group = bytes.fromhex("ff0200000000000000000001ff") + target[13:]
    body = struct.pack("!I16sBB6s", 0, target, 1, 1, mac)
    pseudo = source + group + struct.pack("!II", len(body) + 4, 58)
    check = inverted_sum(pseudo + b"\x87\0\0\0" + body)
    return struct.pack("!2s4s6sHIHBB", b"\x33\x33", group[12:], mac, ETH_IPV6, 6 << 28, len(body) + 4, 58, 255) \
        + source + group + b"\x87\0" + check + body


class Asker(Worker):
    """A host that asks for each address all the time, so that whoever has one says so to the judge. Its questions
    are of its own address: they change nobody's cache."""

    def __init__(self, segment, addresses, index=101):
        host = segment.guest("asker", index)
        with host.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.bind(("lan", 0))
        mac = bytes.fromhex(mac_of(index).replace(":", ""))
        senders = [net.format(index).split("/")[0] for net in (NET4, NET6)]
        self.questions = [neighbour_question(mac, senders[1], address) if ":" in address else
                          arp_question(mac, senders[0], address) for address in addresses]
        super().__init__()

    def work(self):
        for question in self.questions:
            self.socket.send(question)
        self.ended.wait(ASKED_EVERY)

    def close(self):
        super().close()
        self.socket.close()


class Served(Worker):
    """The segment's client pings each address all the time, by its own neighbour cache: when it was served."""

    def __init__(self, segment, addresses):
        self.answers = {address: Answers() for address in addresses}
        self.number, self.due = 0, time.monotonic()
        self.stalls = []  # in which a busy machine kept it from asking
        with segment.client.entered():
            self.sockets = {6: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
                            4: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)}
        for one in self.sockets.values():
            one.settimeout(0.002)
        self.label = os.urandom(4)
        super().__init__()

    def work(self):
        now = time.monotonic()
        if now >= self.due:
            if now > self.due + SERVED_EVERY:
                self.stalls.append(Gap(self.due, now))
            self.due = now + SERVED_EVERY
            self._ask()
        for family, one in self.sockets.items():
            self._hear(one, 20 if family == 4 else 0)

    def _ask(self):
        self.number = (self.number + 1) & 0xFFFF
        for address in self.answers:
            six = ":" in address
            rest = struct.pack("!HH", os.getpid() & 0xFFFF, self.number) + self.label
            head = bytes([128 if six else 8, 0])
            check = b"\0\0" if six else inverted_sum(head + b"\0\0" + rest)
            try:
                self.sockets[6 if six else 4].sendto(head + check + rest, (address, 0))
            except OSError:
                pass  # nobody has it just now, and the kernel knows

    def _hear(self, one, skipped):
        try:
            while True:
                data, (source, *_) = one.recvfrom(256)
                if data[skipped] in (0, 129) and data[skipped + 8:] == self.label:
                    self.answers[source].add(time.monotonic())
        except OSError:
            pass  # nothing more for now

    def close(self):
        super().close()
        for one in self.sockets.values():
            one.close()


class Segment:
    """`lan` on each node; node N has 198.51.100.N and 2001:db8:5::N, the client .100."""

    def __init__(self, lab):
        self.lab = lab
        self.switch = Namespace(lab.label, "switch", lab.folder)
        self.switch.create(forwarding=False)
        self.switch.configure("link add br0 type bridge", "link set br0 up")
        self.macs, self.names, self.guests, self.places = {}, {}, [], {}
        for index, node in enumerate(lab.nodes, 1):
            self.plug(node, index)
        self.client = self.guest("neighbour", 100)

    def plug(self, host, index):
        self.macs[host.role], self.names[mac_of(index)] = mac_of(index), host.role
        self.places[host.role] = index
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
        self.switch.configure(f"link set p{self.places[node.role]} {state}")

    def mute(self, node, muted=True):
        """The switch passes nothing of a node, nor anything to it, and the node's interface does not know."""
        self.switch.run("bridge", "link", "set", "dev", f"p{self.places[node.role]}", "state", "0" if muted else "3")

    def split(self, *hosts):
        """These hosts are on a switch of their own, which nothing joins to the other."""
        self.switch.configure("link add br1 type bridge", "link set br1 up",
                              *[f"link set p{self.places[host.role]} master br1" for host in hosts])

    def join(self):
        """One switch again; no host's interface has been down."""
        self.switch.configure(*[f"link set p{index} master br0" for index in self.places.values()], "link del br1")

    def has(self, host, address):
        length = 128 if ":" in address else 32
        family = "-6" if ":" in address else "-4"
        return f"{address}/{length}" in [
            f"{found['local']}/{found['prefixlen']}"
            for link in host.ip_json(family, "addr", "show", "dev", "lan") for found in link["addr_info"]]

    def at(self, address):
        """The nodes whose kernels have it."""
        return [node.role for node in self.lab.nodes if self.has(node, address)]

    def cached(self, address, host=None):
        """Which host the neighbour cache of the client (or another) names."""
        family = "-6" if ":" in address else "-4"
        rows = (host or self.client).ip_json(family, "neigh", "show", "to", address)
        return self.names.get(rows[0].get("lladdr")) if rows else None

    def announce(self, host, address):
        """The host says to all that it has an IPv4 address, as whoever boots does."""
        mac, ip = bytes.fromhex(self.macs[host.role].replace(":", "")), socket.inet_aton(address)
        head = struct.pack("!6s6sHHHBBH", b"\xff" * 6, mac, ETH_ARP, 1, 0x0800, 6, 4, 1)
        with host.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
            raw.bind(("lan", 0))
            raw.send(head + mac + ip + bytes(6) + ip)

    def remove(self):
        """With its cables, which a namespace takes along some time after it is gone: the next segment has the same."""
        for index in self.places.values():
            self.switch.run("ip", "link", "del", f"p{index}", check=False)
        for host in [*self.guests, self.switch]:
            host.remove()
