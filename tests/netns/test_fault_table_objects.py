# SPDX-License-Identifier: Apache-2.0
"""The fault table, objects and configuration: what files may say wrong, and what the agent says of it."""

import signal

import pytest
from cluster import VIP, VIP6, exported, start, tables
from faults import Table, check
from lab import objects, wait_equal

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()
ITSELF = ("",)  # no remedy: the message says what to put right
OTHER = "203.0.113.30"


class World:
    """One node that announces `web`; a file of manifests, or the configuration, is for editing."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        [self.agent] = start(lab)
        self.web = (lab.manifests / "web.yaml").read_text(encoding="utf-8")

    def write(self, text, name="web.yaml"):
        self.lab.write_text(name, text)

    def remove(self, name):
        (self.lab.manifests / name).unlink()

    def other(self, *addresses, **spec):
        """Another Service with an endpoint here, in a file of its own."""
        annotations = spec.pop("annotations", {})
        service = objects.service("other", list(addresses), **spec)
        service["metadata"]["annotations"] = annotations
        endpoint = objects.endpoint("10.224.0.1", self.node.role)
        self.lab.write("other.yaml", service, objects.slice_of("other", [endpoint]))

    def reload(self, old="", new=""):
        """Another configuration; without words the one that is right."""
        self.agent.write_config()
        if old:
            text = self.agent.config_file.read_text(encoding="utf-8")
            assert old in text
            self.agent.write_config(text.replace(old, new))
        self.agent.process.send_signal(signal.SIGHUP)


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows(15, cause="web.yaml:", remedy=ITSELF)
def a_manifest_is_no_yaml(world):
    world.write(world.web + "---\nspec: {a: [}\n")
    yield
    world.write(world.web)


@rows(16, cause="is out of range 1..65535", remedy=ITSELF)
def a_port_is_out_of_range(world):
    world.write(world.web.replace("port: 80", "port: 80000", 1))
    yield
    world.write(world.web)


@rows(17, cause="web.yaml:1 counts", remedy="keep it in one place", beside="counts")
def an_object_is_in_two_files(world):
    world.write(world.web, "zz-copy.yaml")
    yield
    world.remove("zz-copy.yaml")


@rows(18, cause="is missing; what was read before stays in force", remedy="make it, or name another")
def the_folder_is_gone(world):
    folder = world.lab.manifests
    away = folder.rename(folder.with_name("away"))
    yield
    away.rename(folder)


@rows(19, cause=("web.yaml:", 'kind "Servce" of apiVersion "v1" is not read; did you mean Service'),
      remedy=ITSELF)
def a_kind_is_misspelt(world):
    world.write(world.web.replace("kind: Service\n", "kind: Servce\n", 1))
    yield
    world.write(world.web)


@rows(20, cause=("other.yaml:", "not a number from 0 to 29; read as no class"), remedy=ITSELF)
def a_route_class_is_none(world):
    world.other(OTHER, annotations={"fingerpost.io/route-class": "77"})
    yield
    world.remove("other.yaml")


@rows(20, cause=("other.yaml:", 'did you mean "fingerpost.io/route-class"?'), remedy=ITSELF)
def an_annotation_is_misspelt(world):
    world.other(OTHER, annotations={"fingerpost.io/route_class": "7"})
    yield
    world.remove("other.yaml")


@rows(21, cause='unknown key "routez"; did you mean "routes"?', remedy=ITSELF)
def a_key_of_the_configuration_is_misspelt(world):
    world.reload("services:", "routez: {}\nservices:")
    yield
    world.reload()


@rows(22, cause="services.enabled cannot change while agentd runs",
      remedy="restart agentd, or put the old value back")
def a_key_needs_a_restart(world):
    world.reload("enabled: false", "enabled: true")
    yield
    world.reload()


@rows(27, cause="no Node object is called vm: no block and no endpoint counts as this node's",
      remedy="set `node:` in agentd.yaml")
def the_node_has_another_name(world):
    world.reload("node: node1", "node: vm")
    yield
    world.reload()


@rows(28, health="healthy")
def a_route_is_deleted(world):
    wait_equal(lambda: tables(world.node), exported(world.node, VIP, VIP6), "table 119")
    world.node.ip("route", "del", "blackhole", VIP, "table", "119", "proto", "31")
    yield


@rows(29, cause="something undoes our routes again and again",
      remedy="stop it from touching protocols 30-63")
def a_route_is_deleted_again_and_again(world):
    command = "while :; do ip route flush table 119 proto 31; sleep 0.05; done"
    rival = world.node.start("sh", "-c", command, log="rival.log")
    yield
    rival.kill()
    rival.wait()
    wait_equal(lambda: tables(world.node), exported(world.node, VIP, VIP6), "table 119")


@rows(30, cause=(VIP, "is kept out by a foreign route"), remedy="find out who wrote it",
      says={f"explain {VIP}": ("is blocked: a foreign route has its place in table 119: 203.0.113.10/32 dev eth0 proto 99",
                               "is kept out by a foreign route: 203.0.113.10/32 dev eth0 proto 99"),
            "diff": "203.0.113.10/32 dev eth0 proto 99", "routes": "blocked", "status": "1 address announced, 1 blocked"},
      silent={f"explain {VIP}": "to be announced", "diff": "if2", "routes": "4 announced"})
def a_foreign_route_is_in_the_place(world):
    world.write("")
    world.agent.settled()
    world.node.ip("route", "add", VIP, "dev", "eth0", "table", "119", "proto", "99")
    world.write(world.web)
    yield
    [item] = [item for item in world.agent.json("routes")["items"] if item["prefix"] == f"{VIP}/32"]
    assert (item["state"], item["reason"], item["installed"]) == ("blocked", "foreign-route", False), item
    routes = world.agent.json("status")["routes"]
    assert (routes["announced"], routes["blockedAddresses"]) == (1, 1), routes
    metrics = world.node.fetch("127.0.0.1", 9394, path="/metrics")
    assert 'fingerpost_addresses{state="announced"} 1\n' in metrics and 'fingerpost_addresses{state="blocked"} 1\n' in metrics
    world.node.ip("route", "del", VIP, "table", "119")


@rows(130, cause=("AddressBlock uplink", "10.0.1.0/24 overlaps 10.0.1.0/24, the network by which this node is reached (10.0.1.2 on eth0)"),
      remedy="give the pool another network", beside="the address of Node node1")
def a_block_is_the_network_of_the_uplink(world):
    """It is announced, and draws what is for the router to this node."""
    world.lab.write("uplink.yaml", objects.address_block("uplink", "node1", "10.0.1.0/24"))
    yield
    (world.lab.manifests / "uplink.yaml").unlink()


@rows(31, cause="routes by the export table, whose blackholes drop traffic",
      remedy="delete that rule: this table is for BIRD only")
def a_rule_looks_up_the_export_table(world):
    world.node.ip("rule", "add", "pref", "500", "lookup", "119")
    yield
    world.node.ip("rule", "del", "pref", "500")


@rows(39, health="healthy", says={f"explain {OTHER}": "not in the configured ranges"})
def an_external_address_is_outside_the_ranges(world):
    world.other(externalIPs=[OTHER])
    yield
    world.remove("other.yaml")


@rows(40, cause=("Service default/other", f"{VIP} port 80/TCP belongs to the older Service"),
      remedy="give one of the two another port or address")
def two_services_want_one_port(world):
    world.other(VIP)
    yield
    world.remove("other.yaml")


@rows(41, cause="was deleted: routes are withdrawn soon", remedy="put the object back")
def the_node_object_is_deleted(world):
    name = "nodes.yaml"
    text = (world.lab.manifests / name).read_text(encoding="utf-8")
    world.remove(name)
    yield
    world.write(text, name)


@rows(59, health="healthy", says={f"explain {OTHER}": "its loadBalancerClass is not ours"})
def another_balancer_is_asked_for(world):
    world.other(OTHER, loadBalancerClass="example.org/other")
    yield
    world.remove("other.yaml")


@rows(60, cause=("Service default/other", "waits for an address"),
      remedy="see whether the program that gives addresses runs")
def nobody_gives_an_address(world):
    world.other(type="LoadBalancer")
    yield
    world.other(OTHER)
    wait_equal(world.agent.faults, [], "the address to be enough")
    world.remove("other.yaml")


@rows(105, cause=("web.yaml:", "is not read; did you mean EndpointSlice"), remedy="write apiVersion: discovery.k8s.io/v1 and kind: EndpointSlice")
def slices_have_the_old_version(world):
    """Expected before it was tried: as a misspelt kind, since nothing else would tell."""
    world.write(world.web.replace("discovery.k8s.io/v1", "discovery.k8s.io/v1beta1"))
    yield
    world.write(world.web)


@rows(122, cause=("other.yaml:", "Endpoints default/web are ignored: the Service has EndpointSlice"), remedy="take one of the two out")
def endpoints_stand_beside_slices(world):
    """Expected: told by name, since who edits them sees nothing change."""
    world.write("apiVersion: v1\nkind: Endpoints\nmetadata: {name: web}\n"
                "subsets: [{addresses: [{ip: 10.224.0.1}], ports: [{port: 80}]}]\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows(106, cause="is not an IP address; skipped", remedy=ITSELF)
def an_ingress_is_no_address(world):
    """Expected: skipped with file and line; the rest of the Service stands."""
    world.write(world.web.replace(VIP, "203.0.113.1O", 1))
    yield
    world.write(world.web)


@rows(107, cause=("Service default/other", "10.0.1.2 is not announced: it is a Node's own address"),
      remedy="give the Service an address of its own")
def an_address_is_a_nodes_own(world):
    """Expected: told by name, and never announced."""
    world.other("10.0.1.2")
    yield
    world.remove("other.yaml")


@rows(108, health="healthy", says={f"explain {VIP6}": "no usable endpoint"})
def one_family_has_no_endpoints(world):
    """Expected: no fault, since a Service may be of one family for a while; explain says it."""
    head, _, _ = world.web.rpartition("---\n")
    world.write(head)
    yield
    world.write(world.web)


@rows(109, says={f"explain {VIP}": "no usable endpoint"})
def a_slice_names_another_service(world):
    """Expected before it was tried: no fault, since slices come and go; explain says what is missing."""
    world.write(world.web.replace("kubernetes.io/service-name: web", "kubernetes.io/service-name: wbe"))
    yield
    world.write(world.web)


@rows(110, cause=("web.yaml:", "is not an IP address"), remedy=ITSELF, beside="is not an IP address")
def an_endpoint_is_no_address(world):
    """Expected: told by file and line; the other endpoints count."""
    world.write(world.web.replace("10.224.0.1", "10.224.0.l", 1))
    yield
    world.write(world.web)


@rows(111, cause=("other.yaml:", "loadBalancerSourceRanges"), remedy=ITSELF,
      beside="is open to all")
def a_source_range_is_no_network(world):
    """Expected: told by file and line, as what it is: nobody is let in by it."""
    world.other(OTHER, loadBalancerSourceRanges=["10.0.0.0/33"])
    yield
    world.remove("other.yaml")


@rows(112, cause=("other.yaml:", "externalTrafficPolicy"), remedy=ITSELF)
def a_policy_is_misspelt(world):
    """Expected: told by file and line."""
    world.other(OTHER, externalTrafficPolicy="local")
    yield
    world.remove("other.yaml")


@rows(113, cause=("other.yaml:", "protocol"), remedy=ITSELF)
def a_protocol_is_misspelt(world):
    """Expected: told by file and line."""
    world.other(OTHER, ports=[{"name": "p80", "port": 80, "protocol": "TPC"}])
    yield
    world.remove("other.yaml")


@rows(114, cause="gone.yaml", remedy=ITSELF)
def a_link_leads_nowhere(world):
    """Expected: told by the file's name."""
    (world.lab.manifests / "gone.yaml").symlink_to("/nonexistent.yaml")
    yield
    world.remove("gone.yaml")


@rows(115, cause=("large.yaml", "more than 16777216 bytes without a value"), remedy=ITSELF)
def a_file_is_too_large(world):
    """Expected: told with the limit."""
    world.write("# " + "x" * (65 << 20) + "\n", "large.yaml")
    yield
    world.remove("large.yaml")


@rows(116, cause="routes.table cannot change while agentd runs",
      remedy="restart agentd, or put the old value back")
def the_table_is_another_one_at_a_reload(world):
    """Expected: as row 22."""
    world.reload("services:", "routes: {table: 121}\nservices:")
    yield
    world.reload()


@rows(117, cause=("agentd.yaml", "No such file"), remedy=ITSELF)
def the_configuration_is_gone_at_a_reload(world):
    """Expected: told, and the old one in force."""
    world.agent.config_file.unlink()
    world.agent.process.send_signal(signal.SIGHUP)
    yield
    world.reload()


@rows(118, cause=("other.yaml:", '"127.0.0.9" is unspecified, loopback, link-local or multicast'),
      remedy=ITSELF, beside="waits for an address")
def an_address_is_of_the_loopback(world):
    """Expected: never announced, and told why."""
    world.other("127.0.0.9")
    yield
    world.remove("other.yaml")


@rows(119, cause=("web.yaml:", "tab"), remedy=ITSELF)
def a_tab_indents(world):
    """Expected: file, line, and that it is the tab."""
    world.write(world.web.replace("  name: web", "\tname: web", 1))
    yield
    world.write(world.web)


@rows(120, cause="web.yaml", remedy=ITSELF)
def a_file_is_in_utf_16(world):
    """Expected: told as invalid bytes; the last good content stays."""
    file = world.lab.manifests / "web.yaml"
    file.write_bytes(world.web.encode("utf-16"))
    yield
    world.write(world.web)


@rows(121, cause=("Service default/other", "port http (80/TCP)", "no EndpointSlice"), remedy="EndpointSlice",
      says={f"explain {OTHER}": "no usable endpoint"})
def a_port_is_named_otherwise_in_the_slice(world):
    """Expected: no fault, and explain says that no endpoint has the port. It is told since: the endpoints are ready."""
    world.other(OTHER, ports=[{"name": "http", "port": 80, "protocol": "TCP"}])
    yield
    world.remove("other.yaml")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
