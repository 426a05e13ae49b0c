# SPDX-License-Identifier: Apache-2.0
"""Firewalls of a host as people write them, for test_doctor_firewall.py: those that keep out what has to come in, and
those that do not."""

import contextlib

USUAL = """iif lo accept
ct state vmap { established : accept, related : accept, invalid : drop }
meta l4proto { icmp, ipv6-icmp } accept
tcp dport 22 accept"""


def table(*rules, policy="drop", usual=USUAL, more=""):
    return (f"table inet fw {{\n{more}\nchain in {{\ntype filter hook input priority 0; policy {policy};\n"
            f"{usual}\n" + "\n".join(rules) + "\n}\n}")


MORE = "chain more {\nct state established,related accept\nudp dport 53 accept\nreject\n}"
PORTS = "set ports { type inet_service; flags interval; elements = { 22, 170-200, 10000-65535 } }"

# name: (rules, ports that are dropped)
CLOSED = {
    "policy": (table(), {179, 10256}),
    "bgp-only": (table("tcp dport 179 accept"), {10256}),
    "health-only": (table("tcp dport { 80, 443, 10200-10300 } accept"), {179}),
    "udp": (table("udp dport { 179, 10256 } accept"), {179, 10256}),
    "jump": (table("tcp dport 10256 accept", "jump more", policy="accept", more=MORE), {179}),
    "rate": (table("tcp dport 179 limit rate over 5/second drop", "tcp dport 10256 accept"), {179}),
    "not": (table("tcp dport != 179 accept"), {179}),
    "loopback": (table('iifname "lo" accept', "tcp dport 10256 accept"), {179}),
    "mark": (table("meta mark & 0x1000 == 0x1000 accept"), {179, 10256}),
}
OPEN = {
    "ports": table("tcp dport { 179, 10256 } accept"),
    "named": table("tcp dport @ports accept", more=PORTS),
    "range": table("tcp dport 100-20000 accept"),
    "verdicts": table("tcp dport vmap { 179 : accept, 10256 : accept, 23 : drop }"),
    "source": table("ip saddr 10.0.0.0/8 accept"),
    "interface": table('iifname "eth0" tcp dport != 25 accept'),
    "back": table("jump more", "accept", more="chain more {\ntcp dport { 179, 10256 } return\ndrop\n}"),
    "other": "table inet fw {\nchain f {\ntype filter hook forward priority 0; policy accept;\ndrop\n}\n}",
}
STATES = ("-A", "INPUT", "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT")
IPTABLES_CLOSED = (STATES, ("-A", "INPUT", "-p", "tcp", "-m", "multiport", "--dports", "22,80:90", "-j", "ACCEPT"),
                   ("-A", "INPUT", "-p", "tcp", "--dport", "10256", "-j", "ACCEPT"), ("-P", "INPUT", "DROP"))
IPTABLES_OPEN = (*IPTABLES_CLOSED, ("-A", "INPUT", "-p", "tcp", "-m", "multiport", "--dports", "170:180", "-j", "ACCEPT"))


@contextlib.contextmanager
def iptables(patient, rules):
    """Of both families, by iptables-nft."""
    commands = ("iptables-nft", "ip6tables-nft")
    for command in commands:
        for rule in rules:
            patient.node.run(command, *rule)
    try:
        yield
    finally:
        for family in ("ip", "ip6"):
            patient.node.run("nft", "delete", "table", family, "filter")
