# SPDX-License-Identifier: Apache-2.0
"""The race no peer closes: is an address ever announced before it is served, or after it was? For
tests/netns and the soak.

A pod is made anew each time, interface and all, and its endpoint becomes ready as a cluster would
tell it. From the moment in which the ToR's kernel has the route, clients ask: none may be refused or
left without an answer. Then the endpoint goes: when the first client is refused, the route must
have left the node's table. Clients are sent to the node by a route of the ToR's own then, so that
they can see it at all.
"""

import select
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv6Address

from bench.netlink import RouteWatch, key_of
from lab import wait
from lab.traffic import Connection, Datagrams, ask, serve
from served import FAMILIES, PROTOCOLS, TARGET, Service, start, steer

ASKED = 25  # times by each family and protocol, from the first moment
PATIENCE = 30
SOLICITED = IPv6Address("ff02::1:ff00:0")


def is_ready(host, link, address):
    """Whether a link transmits, and hears who asks for its address: after the command that brings it
    up, the kernel does both when the lock of all its links is free. A question before that is lost,
    and asked again after a second."""
    group = IPv6Address(int(SOLICITED) | int(IPv6Address(address)) & 0xFFFFFF)
    [state] = host.ip_json("link", "show", link)
    [groups] = host.ip_json("-6", "maddr", "show", "dev", link)
    return state["operstate"] == "UP" and f"{group}" in [each.get("address") for each in groups["maddr"]]


class Race:
    def __init__(self, lab, policy="Local"):
        self.lab = lab
        [self.node] = lab.nodes
        self.web = Service(lab, "race", 10, externalTrafficPolicy=policy)
        self.pod = lab.pod(self.node, "racer")
        serve(self.pod, TARGET)
        self.unplug()
        self.web.write()
        self.agents = start(lab)
        lab.wait_sessions()
        self.rounds = 0
        self.violations = []

    def unplug(self):
        self.node.ip("link", "del", self.pod.host_end)

    def plug(self):
        """The pod's interface as a network plugin makes it; the server has been up for long."""
        node, pod = self.node, self.pod
        node.configure(
            f"link add {pod.host_end} type veth peer name eth0 netns {pod.name}",
            f"addr add fe80::1/64 dev {pod.host_end} nodad",
            f"link set {pod.host_end} up",
            f"route add {pod.address4} dev {pod.host_end}",
            f"route add {pod.address6} dev {pod.host_end}",
        )
        pod.configure(
            f"addr add {pod.address4}/32 dev eth0",
            f"addr add {pod.address6}/128 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via {node.address4} dev eth0 onlink",
            "route add default via fe80::1 dev eth0",
        )
        for end in ((node, pod.host_end, "fe80::1"), (pod, "eth0", pod.address6)):
            wait(lambda end=end: is_ready(*end), f"{end[1]} to carry IPv6")

    def note(self, text):
        self.violations.append(f"round {self.rounds}: {text}")

    def ask_once(self, where, protocol):
        """Lost is what gets no answer: of UDP nothing is sent twice, and of a SYN the kernel says
        whether it was. How long it takes says nothing, for a server may have to wait its turn."""
        if protocol == "UDP":
            ask(self.lab.client, *where, protocol)
            return
        with Connection(self.lab.client, *where) as connection:
            again = connection.sent_again()
            connection.who()
        if again:
            raise TimeoutError(f"{again} SYN without an answer")

    def asked(self, family):
        """One client after the other, as soon as the route is there."""
        where = self.web.address("loadBalancer", family)
        for number in range(ASKED):
            for protocol in PROTOCOLS:
                try:
                    self.ask_once(where, protocol)
                except OSError as error:
                    self.note(f"{where} by {protocol}, client {number}: {error!r}")

    def comes(self):
        """The pod is there and ready; the route comes, and with it the clients."""
        addresses = self.web.of["loadBalancer"]
        with RouteWatch(self.lab.tor) as tor:
            self.plug()
            self.web.write(self.pod)
            waiting = {key_of(address): address for address in addresses}
            tor.socket.settimeout(PATIENCE)
            with ThreadPoolExecutor() as clients:
                while waiting:
                    for added, key in tor.receive()[1]:
                        if added and (address := waiting.pop(key, None)):
                            clients.submit(self.asked, 6 if ":" in address else 4)

    def goes(self):
        """The last endpoint goes while clients ask; nobody is refused while the route stands."""
        addresses = self.web.of["loadBalancer"]
        steer(self.lab, self.node, *addresses)
        tables = [RouteWatch(self.node, 119) for _ in FAMILIES]
        with ThreadPoolExecutor() as clients:
            ends = [clients.submit(self.until_refused, *pair) for pair in zip(FAMILIES, tables)]
            self.web.write()
            for end in ends:
                end.result()
        for table in tables:
            table.close()
        for address in addresses:
            self.lab.tor.ip("route", "del", address, "metric", "1")
        wait(lambda: not any(self.lab.tor.via(address) for address in addresses), "the withdrawal")
        self.unplug()

    def until_refused(self, family, table):
        """The kernel tells of a route's end before its deletion returns: who is refused later finds
        the message in the socket."""
        where = self.web.address("loadBalancer", family)
        end, gone = time.monotonic() + PATIENCE, set()
        with Datagrams(self.lab.client, *where) as flow:
            while time.monotonic() < end:
                try:
                    flow.who()
                except ConnectionRefusedError:
                    while select.select([table.socket], [], [], 0)[0]:
                        gone |= {key for added, key in table.receive()[1] if not added}
                    if key_of(where[0]) not in gone:
                        self.note(f"{where}: refused while the route stood in the node's table")
                    return
                except TimeoutError:
                    self.note(f"{where}: no answer while the endpoint went")
        self.note(f"{where}: still answered {PATIENCE} s after its last endpoint went")

    def round(self):
        self.rounds += 1
        self.comes()
        self.goes()
