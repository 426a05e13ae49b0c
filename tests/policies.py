# SPDX-License-Identifier: Apache-2.0
"""A NetworkPolicy as a plugin writes it into netfilter: nothing is forwarded but between pairs of a
client and a pod that allow() names; and who is answered under it."""

from concurrent.futures import ThreadPoolExecutor

from lab.traffic import ask
from served import FAMILIES, KINDS, PROTOCOLS, address_of

QUIET = 1
POLICY = """
table inet guard {
    set allowed4 { type ipv4_addr . ipv4_addr; }
    set allowed6 { type ipv6_addr . ipv6_addr; }
    chain forward {
        type filter hook forward priority 0; policy drop;
        icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
        ip saddr . ip daddr @allowed4 meta l4proto { tcp, udp } th dport 8080 accept
        ip6 saddr . ip6 daddr @allowed6 meta l4proto { tcp, udp } th dport 8080 accept
        ip daddr . ip saddr @allowed4 meta l4proto { tcp, udp } th sport 8080 accept
        ip6 daddr . ip6 saddr @allowed6 meta l4proto { tcp, udp } th sport 8080 accept
    }
}
"""


def path(agent):
    return agent.json("status")["nat"]["path"]


def allow(node, client, *hosts):
    """Lets a client reach these pods, in both families."""
    for family in FAMILIES:
        pairs = ", ".join(f"{address_of(client, family)} . {address_of(host, family)}"
                          for host in hosts)
        node.run("nft", "add", "element", "inet", "guard", f"allowed{family}", f"{{ {pairs} }}")


def answered(world, client, services, kinds=KINDS, timeout=QUIET):
    """Of all ways to the Services: how many ended in an answer, and how many did not."""
    def try_one(way):
        service, kind, family, protocol = way
        try:
            ask(client, *service.address(kind, family, world.nodes[0]), protocol, timeout=timeout)
            return True
        except OSError:
            return False
    ways = [(service, kind, family, protocol) for service in services for kind in kinds
            for family in FAMILIES for protocol in PROTOCOLS]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(try_one, ways))
    return found.count(True), found.count(False)
