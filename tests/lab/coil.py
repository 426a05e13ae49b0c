# SPDX-License-Identifier: Apache-2.0
"""Clients and gateways of egress as Coil 2.15 sets them up: by the kernel's own Foo-over-UDP, one
device for each peer, with its names, tables, rules and values.

What differs: `ip link` makes IPv4 tunnels that forbid fragments whatever they carry, where Coil's
netlink call makes some that do as the inner packet; and a UDP checksum of IPv6 is there or not as the
caller says (Coil: none).
"""

import hashlib
import ipaddress

from .namespace import CommandFailed

PORT, NARROW, WIDE = 5555, 117, 118
PRIVATE = {4: ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"), 6: ("fc00::/7",)}
LINK_LOCAL = {4: "169.254.0.0/16", 6: "fe80::/10"}
ALL = {4: "0.0.0.0/0", 6: "::/0"}
FAMILIES = (4, 6)


def family_of(address):
    return ipaddress.ip_address(address).version


def own_address(host, family):
    return host.address4 if family == 4 else host.address6


def tunnel_name(address):
    packed = ipaddress.ip_address(address).packed
    if len(packed) == 4:
        return f"fou4_{packed.hex()}"
    return f"fou6_{hashlib.sha1(packed).hexdigest()[:8]}"


def configure(host, family, *lines):
    """Lines of iproute2 that don't tell the family themselves."""
    host.run("ip", f"-{family}", "-batch", "-", text="\n".join(lines) + "\n")


def load_modules(host):
    """As Coil does; kernels that have it built in know no such modules."""
    host.run("modprobe", "-a", "fou", "fou6", "ipip", "ip6_tunnel", check=False)


def has_fou(host):
    """Whether this machine's kernel can do it at all."""
    load_modules(host)
    try:
        host.configure(f"fou add port {PORT + 1} ipproto 4", "link add fou-try type ipip external")
    except CommandFailed:
        return False
    host.configure("link del fou-try", f"fou del port {PORT + 1}")
    return True


def initialise(host):
    """What both sides begin with: the ports, and the receivers for whoever has no tunnel."""
    load_modules(host)
    host.set_sysctls({"net/ipv4/conf/default/rp_filter": 0, "net/ipv4/conf/all/rp_filter": 0,
                      "net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
    configure(host, 4, f"fou add port {PORT} ipproto 4")
    configure(host, 6, f"fou add port {PORT} ipproto 41")
    host.configure(
        "link add fou-dummy type dummy",
        "link add coil_ipip4 type ipip external",
        "link set coil_ipip4 up",
        "link add coil_ipip6 type ip6tnl external",
        "link set coil_ipip6 up",
    )


def tunnel(host, peer, sport="auto", checksum=False):
    """The device for a peer; one that is there is made anew."""
    family, name = family_of(peer), tunnel_name(peer)
    if name in {link["ifname"] for link in host.ip_json("link")}:
        host.configure(f"link del {name}")
    ends = f"remote {peer} local {own_address(host, family)}"
    kind = (f"type ipip {ends} ttl 225" if family == 4
            else f"type ip6tnl mode ip6ip6 {ends} hoplimit 225 encaplimit 0")
    sum_of = ("" if checksum else "no") + ("encap-csum" if family == 4 else "encap-udp6-csum")
    host.configure(
        f"link add {name} {kind} encap fou encap-sport {sport} encap-dport {PORT} {sum_of}",
        f"link set {name} up",
    )
    return name


def rules(host):
    """Which packets look where: of a client."""
    for family in FAMILIES:
        private = [f"rule add to {net} pref {2000 + at} lookup main"
                   for at, net in enumerate(PRIVATE[family])]
        configure(host, family, f"rule add to {LINK_LOCAL[family]} pref 1800 lookup main",
                  f"rule add pref 1900 lookup {NARROW}", *private,
                  f"rule add pref 2100 lookup {WIDE}")


def lead(host, gateway, **options):
    """A client's way to all that is outside: by a gateway."""
    name = tunnel(host, gateway, **options)
    family = family_of(gateway)
    host.configure(f"route replace {ALL[family]} dev {name} proto 30 table {WIDE}")
    return name


def masquerade(host, device="eth0"):
    """The gateway's part of netfilter, and where it looks for clients."""
    for family in FAMILIES:
        ip, own = ("ip", own_address(host, 4)) if family == 4 else ("ip6", own_address(host, 6))
        host.run("nft", "-f", "-", text=f"""
table {ip} nat {{
    chain POSTROUTING {{
        type nat hook postrouting priority srcnat;
        {ip} saddr != {own} oifname {device} counter masquerade
    }}
}}
table {ip} filter {{
    chain FORWARD {{
        type filter hook forward priority filter;
        oifname {device} ct state invalid counter drop
    }}
}}
""")
        configure(host, family, f"rule add iif {device} pref 2000 lookup {WIDE}")


def accept(host, client, **options):
    """A gateway's way back to a client."""
    name = tunnel(host, client, **options)
    host.configure(f"route replace {client} dev {name} proto 30 table {WIDE}")
    return name
