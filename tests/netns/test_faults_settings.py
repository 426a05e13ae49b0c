# SPDX-License-Identifier: Apache-2.0
"""Faults of a node that serves by NAT: settings of its kernel."""

import pytest
from faults import Table, check
from nat_world import FOLLOWS, defaults, served, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


@rows("nat-forwarding-off-ipv4", health="failed", cause=("net.ipv4.ip_forward", "is 0: no packet reaches a pod"),
      remedy="sysctl -w net.ipv4.ip_forward=1", beside=FOLLOWS)
def forwarding_is_off(world):
    world.sysctl("net.ipv4.ip_forward", 0)
    yield
    world.sysctl("net.ipv4.ip_forward", 1)
    world.announced(world.web, world.single)


@rows("nat-local-not-accepted", cause=("net.ipv4.conf.lo.accept_local", "does not reach its own node ports"),
      remedy="sysctl -w net.ipv4.conf.lo.accept_local=1")
def the_node_does_not_accept_its_own_packets(world):
    world.sysctl("net.ipv4.conf.lo.accept_local", 0)
    yield
    world.sysctl("net.ipv4.conf.lo.accept_local", 1)


@rows()
def rp_filter_is_strict(world):
    world.sysctl("net.ipv4.conf.eth0.rp_filter", 1)
    yield
    world.announced(world.web, world.single)
    world.sysctl("net.ipv4.conf.eth0.rp_filter", 0)


@rows("nat-forwarding-off-ipv6", health="failed", cause=("net.ipv6.conf.all.forwarding", "is 0: no packet reaches a pod"),
      remedy="sysctl -w net.ipv6.conf.all.forwarding=1", beside=FOLLOWS)
def forwarding_of_ipv6_is_off(world):
    """Expected: as of the other family."""
    world.sysctl("net.ipv6.conf.all.forwarding", 0)
    yield
    world.sysctl("net.ipv6.conf.all.forwarding", 1)
    world.announced(world.web, world.single)


@rows("nat-interface-not-forwarding", cause=("net.ipv4.conf.eth0.forwarding", "is 0"),
      remedy="sysctl -w net.ipv4.conf.eth0.forwarding=1", beside=FOLLOWS)
def the_uplink_alone_does_not_forward(world):
    """Expected: told by the interface's own switch, since ip_forward is right."""
    world.sysctl("net.ipv4.conf.eth0.forwarding", 0)
    yield
    world.sysctl("net.ipv4.conf.eth0.forwarding", 1)
    world.announced(world.web, world.single)


@rows("nat-interface-not-forwarding", cause=("net.ipv4.conf.", "forwarding", "is 0"), remedy="sysctl -w net.ipv4.conf.",
      beside=FOLLOWS)
def a_pods_interface_does_not_forward(world):
    """Expected: what the pod answers is dropped there; told by the interface's own switch."""
    world.sysctl(f"net.ipv4.conf.{world.one.host_end}.forwarding", 0)
    yield
    world.sysctl(f"net.ipv4.conf.{world.one.host_end}.forwarding", 1)
    world.announced(world.web, world.single)


@rows("nat-interface-not-forwarding", cause=("net.ipv6.conf.eth0.forwarding", "is 0"),
      remedy="sysctl -w net.ipv6.conf.eth0.forwarding=1", beside=FOLLOWS)
def the_uplink_alone_does_not_forward_ipv6(world):
    """Expected: told, though the stack forwards all the same: bpf_fib_lookup() does not answer."""
    world.sysctl("net.ipv6.conf.eth0.forwarding", 0)
    yield
    world.sysctl("net.ipv6.conf.eth0.forwarding", 1)
    world.announced(world.web, world.single)


@rows("nat-interface-not-forwarding", cause=("net.ipv6.conf.", "forwarding", "is 0"), remedy="sysctl -w net.ipv6.conf.",
      beside=FOLLOWS)
def a_pods_interface_does_not_forward_ipv6(world):
    world.sysctl(f"net.ipv6.conf.{world.one.host_end}.forwarding", 0)
    yield
    world.sysctl(f"net.ipv6.conf.{world.one.host_end}.forwarding", 1)
    world.announced(world.web, world.single)


@rows("nat-interface-without-ipv6", cause="net.ipv6.conf.eth0.disable_ipv6",
      remedy="sysctl -w net.ipv6.conf.eth0.disable_ipv6=0", beside=(*FOLLOWS, "IPv6", "fd00:"))
def ipv6_is_off_on_the_uplink(world):
    """Expected: the cause by its switch; IPv4 goes on."""
    world.sysctl("net.ipv6.conf.eth0.disable_ipv6", 1)
    yield
    world.sysctl("net.ipv6.conf.eth0.disable_ipv6", 0)
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows("nat-interface-without-ipv6", cause=("net.ipv6.conf.", "disable_ipv6"), remedy="sysctl -w net.ipv6.conf.",
      beside=(*FOLLOWS, "IPv6", "fd00:", "disable_ipv6"))
def ipv6_is_off_on_all_interfaces(world):
    world.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
    yield
    world.sysctl("net.ipv6.conf.all.disable_ipv6", 0)
    world.restore_uplink()
    for pod in (world.one, world.two):
        world.restore_pod(pod)
    served(world)


@rows()
def rp_filter_is_loose(world):
    names = [f"net.ipv4.conf.{name}.rp_filter" for name in ("all", "eth0")]
    before = [world.node.run("sysctl", "-n", name).stdout.strip() for name in names]
    for name in names:
        world.sysctl(name, 2)
    yield
    for name, value in zip(names, before):
        world.sysctl(name, value)


@rows("nat-interface-not-forwarding", within=1, cause="net.ipv4.conf.eth0.forwarding",
      remedy="sysctl -w net.ipv4.conf.eth0.forwarding=1", beside=FOLLOWS)
def the_uplink_does_not_forward(world):
    world.sysctl("net.ipv4.conf.eth0.forwarding", 0)
    yield
    world.sysctl("net.ipv4.conf.eth0.forwarding", 1)
    yield
    served(world)


HARDENED = {"log_martians": 1, "accept_redirects": 0, "secure_redirects": 0, "send_redirects": 0, "accept_source_route": 0,
            "rp_filter": 2}
OLD = {"log_martians": 0, "accept_redirects": 1, "secure_redirects": 1, "send_redirects": 1, "accept_source_route": 0,
       "rp_filter": 0}


@rows(within=1)
def a_hardening_guide_is_followed(world):
    def write(values):
        for where in ("all", "default", "eth0"):
            for key, value in values.items():
                world.sysctl(f"net.ipv4.conf.{where}.{key}", value)
    write(HARDENED)
    world.sysctl("net.ipv4.icmp_echo_ignore_broadcasts", 1)
    yield
    served(world)
    write(OLD)
    yield


@rows("nat-loopback-down", cause=("interface lo", "lo is down"), remedy="ip link set lo up", beside=FOLLOWS)
def the_loopback_is_down(world):
    world.node.ip("link", "set", "lo", "down")
    yield
    world.node.ip("link", "set", "lo", "up")
    world.announced(world.web, world.single)


@rows("nat-local-port-range", cause=("net.ipv4.ip_local_port_range", "is 20000-60999 and has node port 300"),
      remedy="sysctl -w net.ipv4.ip_local_reserved_ports=30000-32767")
def the_kernel_gives_node_ports_away(world):
    world.sysctl("net.ipv4.ip_local_port_range", "20000 60999")
    yield
    world.sysctl("net.ipv4.ip_local_reserved_ports", "8080,30000-32767")
    yield
    world.sysctl("net.ipv4.ip_local_port_range", "32768 60999")
    world.node.set_sysctls({"net/ipv4/ip_local_reserved_ports": "\n"})


@rows("nat-tracking-full", cause=("net.netfilter.nf_conntrack_max", "is nearly full"),
      remedy="sysctl -w net.netfilter.nf_conntrack_max=N")
def connection_tracking_is_full(world):
    """By files in place of the kernel's, since no namespace may change how large the table is."""
    agent, count = world.agent, world.agent.folder / "nf_conntrack_count"
    count.write_text("960\n", encoding="ascii")
    (agent.folder / "nf_conntrack_max").write_text("1000\n", encoding="ascii")
    mounts = "".join(f'mount --bind "$0/{name}" /proc/sys/net/netfilter/{name} && '
                     for name in ("nf_conntrack_count", "nf_conntrack_max"))
    agent.stop()
    agent.wrapper = ("unshare", "-m", "sh", "-c", mounts + 'exec "$@"', str(agent.folder))
    agent.start()
    yield
    count.write_text("890\n", encoding="ascii")
    yield
    agent.stop()
    agent.wrapper = ()
    agent.start()
    world.announced(world.web, world.single)


@rows("nat-svc0-without-ipv6", cause=("net.ipv6.conf.svc0.disable_ipv6", "is 1"),
      remedy="sysctl -w net.ipv6.conf.svc0.disable_ipv6=0", beside=("the kernel refuses to add", "led away from svc0"))
def ipv6_is_off_at_svc0(world):
    world.sysctl("net.ipv6.conf.svc0.disable_ipv6", 1)
    yield
    world.sysctl("net.ipv6.conf.svc0.disable_ipv6", 0)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
