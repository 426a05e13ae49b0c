# SPDX-License-Identifier: Apache-2.0
"""The second list of the fault table, data plane: each row was written down before it was tried."""

from pathlib import Path

import pytest
from faults import Table, check
from lab import objects, wait, wait_equal
from test_fault_table_data import FOLLOWS, pinned, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
VIP = "203.0.113.10"


@rows(211, cause=("net.ipv4.conf.eth0.forwarding", "is 0"),
      remedy="sysctl -w net.ipv4.conf.eth0.forwarding=1", beside=FOLLOWS)
def the_uplink_alone_does_not_forward(world):
    """Expected: told by the interface's own switch, since ip_forward is right."""
    world.sysctl("net.ipv4.conf.eth0.forwarding", 0)
    yield
    world.sysctl("net.ipv4.conf.eth0.forwarding", 1)
    world.announced(world.web, world.single)


@rows(212, cause=("net.ipv4.conf.", "forwarding", "is 0"), remedy="sysctl -w net.ipv4.conf.", beside=FOLLOWS)
def a_pods_interface_does_not_forward(world):
    """Expected: what the pod answers is dropped there; told by the interface's own switch."""
    world.sysctl(f"net.ipv4.conf.{world.one.host_end}.forwarding", 0)
    yield
    world.sysctl(f"net.ipv4.conf.{world.one.host_end}.forwarding", 1)
    world.announced(world.web, world.single)


@rows(213, cause="net.ipv6.conf.eth0.disable_ipv6", remedy="sysctl -w net.ipv6.conf.eth0.disable_ipv6=0",
      beside=(*FOLLOWS, "IPv6", "fd00:"))
def ipv6_is_off_on_the_uplink(world):
    """Expected: the cause by its switch; IPv4 goes on."""
    world.sysctl("net.ipv6.conf.eth0.disable_ipv6", 1)
    yield
    world.sysctl("net.ipv6.conf.eth0.disable_ipv6", 0)
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows(214, cause=("Service default/web", "no way to"), remedy="see: ip route get ADDRESS",
      beside=FOLLOWS)
def a_rule_makes_a_pod_unreachable(world):
    """Expected: as a route that is gone: a rule is followed as the kernel does."""
    words = ("to", f"{world.one.address4}/32", "unreachable", "pref", "90")
    world.node.ip("rule", "add", *words)
    yield
    world.node.ip("rule", "del", *words)
    world.announced(world.web, world.single)


@rows(215, cause=("firewall, IPv4", "netfilter on this node drops what Services forward to its pods"),
      remedy="accept in the host's forward chains")
def docker_makes_the_forward_chain_drop(world):
    """Expected: its table `ip filter` with policy drop is as any other firewall."""
    world.node.run("nft", "-f", "-", text="table ip filter {\nchain FORWARD {\ntype filter hook forward "
                                          "priority 0; policy drop;\nct state related,established accept\n}\n}\n")
    yield
    world.node.run("nft", "delete", "table", "ip", "filter")


@rows(216, health="healthy")
def the_pins_are_deleted(world):
    """Expected: no harm while the agent runs: they are made again, and nothing is lost."""
    folder = Path(world.agent.settings["paths"]["bpf"])
    found = pinned(folder)
    world.node.run("sh", "-c", f"find {folder} -type f -delete; find {folder} -mindepth 1 -type d -delete")
    wait_equal(lambda: pinned(folder), found, "the pins")
    yield
    world.announced(world.web, world.single)


@rows(217, health="healthy")
def svc0_has_another_name(world):
    """Expected: svc0 is there again, as after a deletion."""
    world.node.ip("link", "set", "svc0", "down")
    world.node.ip("link", "set", "svc0", "name", "svc9")
    wait(lambda: "svc0" in str(world.node.ip("-br", "link")), "svc0 again")
    yield


@rows(218, cause=VIP, remedy=f"ip addr del {VIP} dev lo")
def the_address_stands_on_the_loopback(world):
    """Expected: what keepalived or an older balancer left is told: this machine takes the address for its own."""
    world.node.ip("addr", "add", f"{VIP}/32", "dev", "lo")
    yield
    world.node.ip("addr", "del", f"{VIP}/32", "dev", "lo")
    world.announced(world.web)


@rows(219, cause=("services.uplinks", 'no interface matches "eth0"'), remedy="name one that is there (ip link)",
      beside=FOLLOWS)
def the_uplink_has_another_name(world):
    """Expected: as an uplink that is misnamed, at once."""
    world.node.ip("link", "set", "eth0", "down")
    world.node.ip("link", "set", "eth0", "name", "ens3")
    world.node.ip("link", "set", "ens3", "up")
    yield
    world.node.ip("link", "set", "ens3", "down")
    world.node.ip("link", "set", "ens3", "name", "eth0")
    world.node.ip("link", "set", "eth0", "up")
    world.restore_uplink()
    world.announced(world.web, world.single)


@rows(220, cause=("Node node1", "no interface of this machine has 10.0.1.2"), remedy="mend the Node", beside=FOLLOWS)
def the_node_has_another_address(world):
    """Expected: the Node says 10.0.1.2, which no interface has any more: told with both."""
    node = world.node
    node.ip("addr", "del", f"{node.address4}/24", "dev", "eth0")
    node.ip("addr", "add", "10.0.1.77/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    yield
    node.ip("addr", "del", "10.0.1.77/24", "dev", "eth0")
    node.ip("addr", "add", f"{node.address4}/24", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4)
    world.announced(world.web, world.single)


@rows(221, cause=("Service default/single", "port 32100", "Address already in use"), remedy="free the port")
def a_daemon_listens_on_the_health_port(world):
    """Expected: the Service and its port, and who has it."""
    daemon = world.node.start("python3", "-m", "http.server", "32100", log="daemon.log")
    wait(lambda: ":32100" in world.node.run("ss", "-Hltn").stdout, "the daemon")
    world.single.write(world.one, externalTrafficPolicy="Local", healthCheckNodePort=32100)
    yield
    for word in ("externalTrafficPolicy", "healthCheckNodePort"):
        world.single.spec.pop(word)
    world.single.write(world.one)
    daemon.kill()
    daemon.wait()


def near(world, **spec):
    """Another Service with an endpoint here, in a file of its own."""
    world.lab.write("near.yaml", objects.service("near", spec.pop("addresses", ["203.0.113.99"]), **spec),
                    objects.slice_of("near", [objects.endpoint(world.one.address4, world.node.role)]))


def not_near(world):
    (world.lab.manifests / "near.yaml").unlink()


@rows(222, cause=("Service default/web", "30010/TCP", "belongs to Service default/near"),
      remedy="give one of the two another port")
def a_node_port_is_given_twice(world):
    """Expected: the older Service keeps it, and the other is told; of the same age, the first by name."""
    near(world, ports=[{"name": "a", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30010}])
    yield
    not_near(world)


@rows(223, cause=("Service default/web", "10.96.0.10", "belongs to the older Service default/near"),
      remedy="give one of the two another")
def a_cluster_ip_is_given_twice(world):
    """Expected: as one address and port of two Services."""
    near(world, clusterIP="10.96.0.10", clusterIPs=["10.96.0.10"])
    yield
    not_near(world)


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
