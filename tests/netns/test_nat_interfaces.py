# SPDX-License-Identifier: Apache-2.0
"""Interfaces come, go and change hands; someone else takes our filters, links and map entries away."""

import json
from pathlib import Path

import pytest
from attached import attachments, strip
from lab import wait, wait_equal
from lab.traffic import Connection, Load, ask, outcome, serve, wait_answers
from served import (
    FAMILIES,
    KINDS,
    PROTOCOLS,
    TARGET,
    Service,
    address_of,
    pods,
    settle,
    start,
    steer,
)

pytestmark = pytest.mark.lab(nodes=1, nat=True)
OWN = {4: "203.0.113.200", 6: "fd00:203::1:c8"}  # an external address that is also the node's own
SECOND = {4: "10.0.1.77", 6: "fd00:0:0:1::77"}


@pytest.fixture(name="world")
def world_fixture(lab):
    lab.pods = pods(lab, "one")
    lab.one = lab.pods["one1"]
    lab.guest = lab.pod(lab.nodes[0], "guest")
    lab.web = Service(lab)
    lab.web.write(lab.one)
    return lab


def reachable(world, patience=5):
    """True if all clients reach all addresses by both protocols and families."""
    node = world.nodes[0]
    for client in (world.client, world.guest, node):
        for kind in KINDS[1:] if client is world.client else KINDS:
            for family in FAMILIES:
                for protocol in PROTOCOLS:
                    where = world.web.address(kind, family, node)
                    if ask(client, *where, protocol, timeout=patience).name != world.one.role:
                        return False
    return True


def wait_reachable(world):
    """What is lost meanwhile is asked for again soon."""
    wait(lambda: reachable(world, patience=1), "everything to be reachable")


def test_an_external_address_of_the_nodes_own(world):
    """The Service has its port of it, the node all others."""
    node = world.nodes[0]
    for address in OWN.values():
        node.ip("addr", "add", address, "dev", "eth0")
    serve(node, 22)
    world.web.write(world.one, externalIPs=list(OWN.values()))
    start(world)
    steer(world, node, *OWN.values())
    for family, address in OWN.items():
        for client in (world.client, world.guest, node):
            for protocol in PROTOCOLS:
                assert ask(client, address, 80, protocol).name == world.one.role, client
                assert ask(client, address, 22, protocol).name == node.role, client
                assert outcome(client, address, 23, protocol) == "reject", (client, family)


def test_node_ports_are_of_primary_addresses_only(world):
    node = world.nodes[0]
    for family, address in SECOND.items():
        node.ip("addr", "add", f"{address}/{24 if family == 4 else 64}", "dev", "eth0",
                *(["nodad"] if family == 6 else []))
    serve(node, world.web.node_port)
    start(world)
    for family, address in SECOND.items():
        for client in (world.client, world.guest, node):
            for protocol in PROTOCOLS:
                assert ask(client, address, world.web.node_port, protocol).name == node.role
                where = world.web.address("nodePort", family, node)
                assert ask(client, *where, protocol).name == world.one.role
    for address in ("127.0.0.1", "::1"):
        assert ask(node, address, world.web.node_port).name == node.role


def answered(agent, address, port, client):
    """What becomes of a client's packet to that port, by the live program."""
    place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    return agent.json("trace", client, f"{place}/TCP")["verdict"]


def test_node_ports_of_configured_networks(world):
    """Any address of the node that lies there counts, for as long as it is there: the Node object
    does not name the second one."""
    node = world.nodes[0]
    agent, = start(world, services={"nodePortAddresses": ["10.0.1.0/24", "fd00:0:0:1::/64"]})
    for family, second in SECOND.items():
        length = 24 if family == 4 else 64
        port, client = world.web.node_port, address_of(world.client, family)
        assert answered(agent, second, port, client) == "pass"
        node.ip("addr", "add", f"{second}/{length}", "dev", "eth0",
                *(["nodad"] if family == 6 else []))
        wait_equal(lambda: answered(agent, second, port, client), "forward", second)
        for address in (second, address_of(node, family)):
            for who in (world.client, world.guest, node):
                for protocol in PROTOCOLS:
                    assert ask(who, address, port, protocol).name == world.one.role, (who, address)
        node.ip("addr", "del", f"{second}/{length}", "dev", "eth0")
        wait_equal(lambda: answered(agent, second, port, client), "pass", f"{second} is gone")


def test_node_ports_of_a_node_that_names_no_address(world):
    """The address of the way out stands in, and is followed."""
    node, [second, _] = world.nodes[0], SECOND.values()
    nodes = node.objects()
    nodes[0]["status"]["addresses"] = []
    agent, = start(world)
    world.write("nodes.yaml", *nodes)
    settle(world)
    ask_for = (world.web.node_port, world.client.address4)
    assert answered(agent, node.address4, *ask_for) == "forward"
    node.ip("route", "replace", "default", "via", node.gateway4, "src", node.address4)
    node.ip("addr", "add", f"{second}/32", "dev", "eth0")
    node.ip("route", "replace", "default", "via", node.gateway4, "src", second)
    node.ip("addr", "add", "10.0.1.78/32", "dev", "eth0")
    wait_equal(lambda: answered(agent, second, *ask_for), "forward", second)
    assert answered(agent, node.address4, *ask_for) == "pass"


@pytest.mark.parametrize("policy", ["Cluster", "Local"])
def test_a_node_whose_address_is_among_those_of_pods(world, policy):
    """As where pods and nodes share a network: no masquerading, and answers come back."""
    node = world.nodes[0]
    world.web.write(world.one, externalTrafficPolicy=policy, internalTrafficPolicy=policy)
    start(world, services={"clusterCIDRs": ["10.0.0.0/8", "fd00::/16"]})
    for kind in KINDS:
        for family in FAMILIES:
            for protocol in PROTOCOLS:
                answer = ask(node, *world.web.address(kind, family, node), protocol)
                seen = (answer.name, answer.peer)
                assert seen == (world.one.role, address_of(node, family)), (kind, protocol)


@pytest.mark.parametrize("which", ["uplink", "pod"])
def test_an_interface_that_goes_down_and_up(world, which):
    """Connections wait, and go on."""
    node = world.nodes[0]
    start(world, world.web)
    steer(world, node, *world.web.announced())
    device = "eth0" if which == "uplink" else world.one.host_end
    loads = [Load(world.client, kind, *world.web.address("loadBalancer", family), c=4)
             for kind in ("long", "udp") for family in FAMILIES]
    wait_answers(loads, 50)
    for _ in range(3):
        node.ip("link", "set", device, "down")
        node.ip("link", "set", device, "up")
        restore_routes(world, which)
        wait_answers(loads, 50)
    for load in loads:
        result = load.stop()
        assert not [e for e in result["errors"] if e != "receive ETIMEDOUT"], result
        assert result["pending"] == 4, result
    wait_reachable(world)


def restore_routes(world, which):
    """What a network plugin and a node's own configuration bring back after the link was down."""
    node, pod = world.nodes[0], world.one
    if which == "uplink":
        node.configure(f"addr replace {node.address6}/64 dev eth0 nodad",
                       f"route replace default via {node.gateway4}",
                       f"route replace default via {node.gateway6}")
    else:
        node.configure(f"addr replace fe80::1/64 dev {pod.host_end} nodad",
                       f"route replace {pod.address4} dev {pod.host_end}",
                       f"route replace {pod.address6} dev {pod.host_end}")


def test_a_pod_that_is_made_anew(world):
    """Another interface of the same name, and pods that come while the agent runs."""
    node, pod = world.nodes[0], world.one
    start(world)
    node.ip("link", "del", pod.host_end)
    node.configure(
        f"link add {pod.host_end} type veth peer name eth0 netns {pod.name}",
        f"link set {pod.host_end} up",
    )
    restore_routes(world, "pod")
    pod.configure(
        f"addr add {pod.address4}/32 dev eth0",
        f"addr add {pod.address6}/128 dev eth0 nodad",
        "link set eth0 up",
        f"route add default via {node.address4} dev eth0 onlink",
        "route add default via fe80::1 dev eth0",
    )
    wait_reachable(world)
    for number in range(5):
        late = world.pod(node, f"late{number}")
        for family in FAMILIES:
            where = world.web.address("clusterIP", family)
            wait(lambda: ask(late, *where, timeout=1).name == pod.role, f"{where} from a new pod")
            wait(lambda: ask(late, *where, "UDP", timeout=1).name == pod.role, "the same by UDP")


def test_an_uplink_that_comes_late(world):
    """Its name is in the configuration, the interface is not there yet."""
    node = world.nodes[0]
    start(world, services={"uplinks": ["eth0", "late*"]})
    world.tor.ip("link", "add", "second", "type", "veth", "peer", "name", "late0", "netns", node.name)
    world.tor.configure("addr add 10.9.9.1/24 dev second", "link set second up")
    node.configure("addr add 10.9.9.2/24 dev late0", "link set late0 up")
    address, port = world.web.address("loadBalancer", 4)
    world.tor.ip("route", "replace", address, "via", "10.9.9.2", "metric", "1")
    node.ip("route", "add", "192.0.2.0/24", "via", "10.9.9.1")
    wait(lambda: ask(world.client, address, port, timeout=1).name == world.one.role,
         "the Service by the late uplink")


@pytest.mark.parametrize("device", ["eth0", "pod", "svc0", "lo"])
def test_programs_that_someone_removes_come_back(world, device):
    node = world.nodes[0]
    [agent] = start(world, world.web)
    steer(world, node, *world.web.announced())
    assert reachable(world)
    before = attachments(agent)
    name = world.one.host_end if device == "pod" else device
    assert [item for item in before if item[0] == name], before
    strip(agent, name)
    agent.reload()
    wait(lambda: attachments(agent) == before, "the programs to be back")
    wait_reachable(world)
    wait(lambda: agent.json("status")["nat"]["repairs"] >= 1, "the repair to be counted")


def pinned(agent, name):
    [path] = Path(agent.settings["paths"]["bpf"]).glob(f"*/{name}")
    return path


def test_entries_that_someone_deletes_come_back(world):
    """Verify tells of it; the next full pass repairs it."""
    node = world.nodes[0]
    [agent] = start(world, world.web)
    frontends = pinned(agent, "frontends")
    keys = [item["key"] for item in json.loads(
        node.run("bpftool", "-j", "map", "dump", "pinned", str(frontends)).stdout)]
    assert agent.ctl("verify").code == 0
    for key in keys[::2]:
        node.run("bpftool", "map", "delete", "pinned", str(frontends), "key", *key)
    assert agent.ctl("verify").code == 1
    agent.reload()
    wait(lambda: agent.ctl("verify").code == 0, "the maps to be whole")
    assert reachable(world)
    wait(lambda: agent.json("status")["nat"]["repairs"] >= 1, "the repair to be counted")


@pytest.mark.parametrize("family", FAMILIES)
def test_svc0_that_someone_deletes_comes_back(world, family):
    node = world.nodes[0]
    start(world, world.web)
    where = world.web.address("clusterIP", family)
    with Connection(node, *where) as connection:
        connection.who()
        node.ip("link", "del", "svc0")
        wait(lambda: ask(node, *where, timeout=1).name == world.one.role, "the node's own packets")
        assert connection.who().name == world.one.role


def test_nothing_is_left_after_cleanup(world):
    """Programs, maps, svc0: with the agent stopped, cleanup removes them all."""
    node = world.nodes[0]
    [agent] = start(world, world.web)
    others = {item for item in attachments(agent)}
    assert others
    agent.stop()
    assert attachments(agent) == others, "a stop leaves everything"
    done = agent.ctl("cleanup", f"--config={agent.config_file}")
    assert done.code == 0, done
    assert attachments(agent) == set()
    assert not [link for link in node.ip_json("link") if link["ifname"].startswith("svc0")]
    pins = Path(agent.settings["paths"]["bpf"]).iterdir()
    assert [pin for pin in pins if pin.suffix != ".debug"] == []  # those are the kernel's


def test_the_endpoint_is_a_process_of_the_node(world):
    """Its addresses change hands: a second one that is the node's own from now on."""
    node = world.nodes[0]
    start(world)
    serve(node, TARGET)
    world.web.write(node)
    settle(world)
    for family in FAMILIES:
        for client in (world.client, world.guest, node):
            where = world.web.address("nodePort", family, node)
            answer = ask(client, *where)
            assert (answer.name, answer.peer) == (node.role, address_of(client, family)), client
