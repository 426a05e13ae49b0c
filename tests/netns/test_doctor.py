# SPDX-License-Identifier: Apache-2.0
"""agentctl doctor on a good node finds nothing, and each prepared mistake by its check and remedy.

A mistake is made on a node that is good otherwise, looked at, and undone; one lab serves them all.
"""

import json

import pytest
from doctor_mistakes import (
    CLAIMS, CNI, CONTAINERD, OURS, PLUGIN, Patient, address_twice, answer_of, bandwidth_before_tcx, bird,
    claims_without_right, consul_answers, consul_certificate, dead_bird, deaf_bird, etc, etcd_answers,
    etcd_certificate, fou_port_taken, ip, kube_certificate, manifest, nft, no_config, node_object, nodes,
    opened_and_dropped, opened_by_another, our_routes, pins_of, pod_not_forwarding, pods_among_services, port,
    program_of_xdp, settings, small_buffer, small_disk, sysctl, text_of_config,
)
from lab import Lab, objects
from lab.authority import DAY

pytestmark = pytest.mark.xdist_group("doctor")  # one lab for all mistakes


@pytest.fixture(name="patient", scope="module")
def patient_fixture():
    with Lab("doctor", nodes=1, nat=True) as lab:
        lab.wait_sessions()
        yield Patient(lab)


# name: (how it is made, the check that finds it, words of what it says, words of the remedy)
MISTAKES = {
    "no-config": (no_config, "config.file", "agentd.yaml", "agentctl setup"),
    "unknown-key": (lambda p: text_of_config(p, "sorce: {}\n"), "config.file", "did you mean", "mend"),
    "bad-value": (lambda p: settings(p, routes__table=0), "config.file", "table", "mend"),
    "two-sources": (lambda p: settings(p, source__kubernetes={}), "config.file", "source", "mend"),
    "no-source": (lambda p: settings(p, source=None), "config.file", "source", "mend"),
    "yaml-error": (lambda p: text_of_config(p, "source: [\n"), "config.file", ":2:", "mend"),
    "bad-network": (lambda p: settings(p, services__externalIPs=["10.0.0.0/33"]), "config.file", "10.0.0.0/33", "mend"),
    "no-kubeconfig": (
        lambda p: settings(p, source__manifests=None, source__kubernetes={"kubeconfig": "/nonexistent"}),
        "config.kubeconfig", "/nonexistent", "kubeconfig",
    ),
    "no-pod": (
        lambda p: settings(p, source__manifests=None, source__kubernetes={}), "config.kubeconfig", "", "kubeconfig",
    ),
    "no-folder": (lambda p: settings(p, source__manifests="/nonexistent"), "config.manifests", "No such", "mkdir -p"),
    "empty-folder": (
        lambda p: settings(p, source__manifests=p.settings["paths"]["run"]), "config.manifests", "no objects", "kubectl get",
    ),
    "broken-manifest": (lambda p: manifest(p, "x.yaml", "a: ["), "config.manifests", "x.yaml:", "mend"),
    "bad-port": (
        lambda p: manifest(p, "y.yaml", (p.lab.manifests / "web.yaml").read_text().replace("port: 80", "port: 80000")),
        "config.manifests", "out of range", "",
    ),
    "twice": (
        lambda p: manifest(p, "zz.yaml", (p.lab.manifests / "web.yaml").read_text()), "config.manifests", "counts", "one place",
    ),
    "fqdn": (lambda p: settings(p, node="node1.example.org"), "config.node", "is \"node1\"", "node: node1"),
    "other-name": (
        lambda p: nodes(p, node_object("worker", "192.0.2.77")), "config.node", "none of 1 Nodes", "worker",
    ),
    "no-nodes": (lambda p: manifest(p, "nodes.yaml", ""), "config.node", "no Node objects", "kubectl get nodes"),
    "another's-name": (
        lambda p: nodes(p, node_object("node1", "192.0.2.77"), node_object("node9", "10.0.1.2")),
        "config.node", "is \"node9\"", "node: node9",
    ),
    "node-address": (
        lambda p: nodes(p, node_object("node1", "192.0.2.77")), "config.address", "192.0.2.77", "give it",
    ),
    "pods-twice": (
        lambda p: nodes(p, node_object("node1", p.node.address4, pods=["10.1.0.0/16"]),
                        node_object("node2", "192.0.2.77", pods=["10.1.4.0/24"])),
        "config.networks", "podCIDR of node node2", "other podCIDRs",
    ),
    "pods-among-services": (pods_among_services, "config.networks", "services.serviceCIDRs", "correct services.serviceCIDRs"),
    "address-twice": (
        lambda p: nodes(p, node_object("node1", p.node.address4), node_object("node2", p.node.address4)),
        "config.networks", "also Node node2's", "delete the Node",
    ),
    "block-twice": (
        lambda p: manifest(p, "block.yaml", json.dumps(objects.address_block("copy", "node2", p.node.block4))),
        "config.networks", "AddressBlock copy of node node2", "delete the AddressBlock",
    ),
    "no-bpffs": (lambda p: settings(p, paths__bpf="/tmp/nowhere"), "machine.bpffs", "/tmp/nowhere", "mount -t bpf"),
    "forward4": (lambda p: sysctl(p, "net/ipv4/ip_forward", 0), "machine.sysctl", "ip_forward", "sysctl -w net.ipv4.ip_forward=1"),
    "forward6": (lambda p: sysctl(p, "net/ipv6/conf/all/forwarding", 0), "machine.sysctl", "forwarding", "sysctl -w"),
    "accept_local": (lambda p: sysctl(p, "net/ipv4/conf/lo/accept_local", 0), "machine.sysctl", "accept_local", "sysctl -w"),
    "no-state": (lambda p: settings(p, paths__state="/nonexistent/x"), "machine.state", "does not exist", "tmpfiles"),
    "read-only-state": (lambda p: settings(p, paths__state="/proc/sys"), "machine.state", "/proc/sys", ""),
    "api-port": (lambda p: port(p, 9394), "machine.ports", "9394", "ss -ltnp"),
    "health-port": (lambda p: port(p, 10256, "0.0.0.0"), "machine.ports", "10256", "kube-proxy"),
    "lo-down": (lambda p: ip(p, "link set lo down", "link set lo up"), "link.loopback", "lo is down", "ip link set lo up"),
    "no-default": (
        lambda p: ip(p, "-4 route del default;-6 route del default",
                     f"-4 route add default via {p.node.gateway4};-6 route add default via {p.node.gateway6}"),
        "link.way", "no route", "default",
    ),
    "uplink-name": (lambda p: settings(p, services__uplinks=["eno1"]), "link.uplinks", "eno1", "ip -br link"),
    "no-uplinks": (lambda p: settings(p, services__uplinks=[]), "link.uplinks", "no interface faces", "services.uplinks"),
    "pod-name": (lambda p: settings(p, services__podInterfaces=["cali*"]), "link.pods", "cali*", "leave"),
    "both": (
        lambda p: settings(p, services__podInterfaces=["veth*", "eth0"]), "link.pods", "eth0", "one of the two",
    ),
    "pod-forwarding4": (lambda p: pod_not_forwarding(p, 4), "link.pods", "net/ipv4/conf/vethf/forwarding is 0", "sysctl -w"),
    "pod-forwarding6": (lambda p: pod_not_forwarding(p, 6), "link.pods", "net/ipv6/conf/vethf/forwarding is 0", "sysctl -w"),
    "mtu": (lambda p: ip(p, "link set eth0 mtu 1400", "link set eth0 mtu 1500"), "link.mtu", "1500", "smaller MTU"),
    "ipvs": (lambda p: ip(p, "link add kube-ipvs0 type bridge", "link del kube-ipvs0"), "rival.proxy", "kube-ipvs0", "other proxy"),
    "cilium": (lambda p: ip(p, "link add cilium_host type bridge", "link del cilium_host"), "rival.proxy", "cilium_host", "other proxy"),
    "kube-proxy-nft": (
        lambda p: nft(p, "table ip kube-proxy {\nchain services {\n}\n}", "ip kube-proxy"), "rival.proxy", "kube-proxy", "--cleanup",
    ),
    "kube-proxy-iptables": (
        lambda p: nft(p, "table ip nat {\nchain KUBE-SERVICES {\n}\n}", "ip nat"), "rival.proxy", "kube-proxy", "--cleanup",
    ),
    "firewall": (
        lambda p: nft(p, "table inet fw {\nchain f {\ntype filter hook forward priority 0; policy drop;\n}\n}", "inet fw"),
        "rival.firewall", "fw f", "accept",
    ),
    "claim-interface": (
        lambda p: settings(p, addresses={**CLAIMS, "interfaces": ["eth0", "eno9"]}),
        "segment.interfaces", "eno9", "addresses.interfaces",
    ),
    "claim-right": (claims_without_right, "segment.right", "CAP_NET_RAW", "claim-addresses.conf"),
    "opened-dropped": (opened_and_dropped, "segment.firewall", "fw in", "mode: mark"),
    "opened-foreign": (opened_by_another, "segment.firewall", "table inet fingerpost", "another name"),
    "etcd-away": (
        lambda p: settings(p, addresses={**CLAIMS, "etcd": {"endpoints": ["http://127.0.0.1:2379"]}}),
        "store.etcd", "http://127.0.0.1:2379", "addresses.etcd.endpoints",
    ),
    "etcd-no-leader": (
        lambda p: etcd_answers(p, answer_of(503, '{"message": "etcdserver: no leader"}')),
        "store.etcd", "no leader", "most members of etcd",
    ),
    "etcd-no-right": (
        lambda p: etcd_answers(p, answer_of(403, '{"message": "etcdserver: permission denied"}')),
        "store.etcd", "permission denied", "addresses.etcd.prefix",
    ),
    "etcd-no-certificate": (
        lambda p: settings(p, addresses={**CLAIMS, "etcd": {
            "endpoints": ["https://127.0.0.1:2379"], "caFile": "/nonexistent"}}),
        "store.etcd", "", "addresses.etcd",
    ),
    "consul-away": (
        lambda p: settings(p, consul={"clusterID": "lab", "address": "unix:///nonexistent.sock"}),
        "store.consul", "nobody of Consul listens there", "consul.address",
    ),
    "consul-token": (
        lambda p: consul_answers(p, answer_of(403, "ACL not found")), "store.consul", "does not know the token", "consul.tokenFile",
    ),
    "consul-no-right": (
        lambda p: consul_answers(p, answer_of(403, "Permission denied")), "store.consul", "Permission denied", "the policy that",
    ),
    "consul-token-file": (
        lambda p: settings(p, consul={"clusterID": "lab", "tokenFile": "/nonexistent"}),
        "store.consul", "cannot read the token in /nonexistent", "consul.tokenFile",
    ),
    "fou-port": (fou_port_taken, "machine.fou", "UDP port 5555", "egress.port"),
    "no-network": (lambda p: etc(p, {}), "pods.network", "no network in /etc/cni/net.d", "agent-cni install"),
    "other-network": (
        lambda p: etc(p, {CNI: OURS, "cni/net.d/05-cilium.conflist": '{"plugins": [{"type": "cilium-cni"}]}'}),
        "pods.network", "05-cilium.conflist is the first", "10-fingerpost.conflist a name before it",
    ),
    "other-folder": (
        lambda p: etc(p, {CNI: OURS, CONTAINERD: '[plugins.cri.cni]\n  # conf_dir = "/a"\n  conf_dir = "/var/cni"\n'}),
        "pods.runtime", "containerd reads /var/cni", "--conf-dir",
    ),
    "bandwidth": (bandwidth_before_tcx, "pods.bandwidth", "10-fingerpost.conflist names the plugin bandwidth", "Linux 6.6"),
    "no-plugin": (
        lambda p: etc(p, {CNI: OURS, "opt/cni/README": ""}, plugin=None), "pods.plugin", "/opt/cni/bin/agent-cni: No such", "agent-cni install",
    ),
    "other-plugin": (
        lambda p: etc(p, {CNI: OURS, PLUGIN: "agent-cni 0.0.9\n"}, mode=0o755), "pods.plugin", "another version", "agent-cni install",
    ),
    "plugin-mode": (
        lambda p: etc(p, {CNI: OURS, PLUGIN: "agent-cni"}), "pods.plugin", "Permission denied", "chmod 0755",
    ),
    "full-disk": (lambda p: small_disk(p, "size=1m"), "machine.state", "1 MiB left", "make room"),
    "no-inodes": (lambda p: small_disk(p, "nr_inodes=1,size=128m"), "machine.state", "no inode left", "remove files"),
    "mounted-read-only": (lambda p: small_disk(p, "ro"), "machine.state", "Read-only", "mount it writable"),
    "pins": (lambda p: pins_of(p, "2"), "machine.pins", "another version's layout", "agentctl cleanup"),
    "pins-of-egress": (lambda p: pins_of(p, "egress-gateway-1"), "machine.pins", "egress-gateway-1", "agentctl cleanup"),
    "kube-expired": (lambda p: kube_certificate(p, begin=-2 * DAY, end=-DAY), "cert.kube", "expired at", "issue a new one"),
    "kube-not-yet": (lambda p: kube_certificate(p, begin=DAY, end=2 * DAY), "cert.kube", "is not valid before", "clock"),
    "kube-soon": (lambda p: kube_certificate(p, end=13 * DAY), "cert.kube", "expires at", "issue a new one"),
    "kube-ca-soon": (lambda p: kube_certificate(p, end=40 * DAY), "cert.kube", "the CA", "the cluster's CA of now"),
    "etcd-expired": (lambda p: etcd_certificate(p, begin=-2 * DAY, end=-DAY), "cert.etcd", "certFile", "etcd's CA issue"),
    "etcd-ca-soon": (lambda p: etcd_certificate(p, end=40 * DAY), "cert.etcd", "caFile", "etcd's CA of now"),
    "consul-expired": (
        lambda p: consul_certificate(p, "certFile", begin=-2 * DAY, end=-DAY), "cert.consul", "certFile", "Consul's CA issue",
    ),
    "consul-ca-expired": (
        lambda p: consul_certificate(p, "caFile", begin=-2 * DAY, end=-DAY), "cert.consul", "caFile", "Consul's CA of now",
    ),
    "consul-no-file": (
        lambda p: settings(p, consul={"clusterID": "lab", "address": "https://127.0.0.1:1", "caFile": "/nonexistent"}),
        "cert.consul", "/nonexistent: No such", "put it there",
    ),
    "rule": (lambda p: ip(p, "rule add pref 77 lookup 119", "rule del pref 77"), "rival.rules", "119", "ip rule del"),
    "foreign-route": (
        lambda p: ip(p, "route add blackhole 203.0.113.9 table 119 proto 99", "route del 203.0.113.9 table 119"),
        "rival.table", "203.0.113.9", "who writes it",
    ),
    "copied": (
        lambda p: ip(p, "route add blackhole 203.0.113.9 table 119 proto 31;route add blackhole 203.0.113.9 proto bird",
                     "route del 203.0.113.9 table 119;route del blackhole 203.0.113.9"),
        "rival.copies", "203.0.113.9", "protocol pipe",
    ),
    "neighbour-wrong": (
        lambda p: ip(p, f"neigh replace {p.node.gateway4} lladdr 02:00:00:00:00:66 nud permanent dev eth0",
                     f"neigh del {p.node.gateway4} dev eth0"),
        "neighbour.answers", "set to 02:00:00:00:00:66 for good", "ip neigh del",
    ),
    "neighbour-wrong-ipv6": (
        lambda p: ip(p, f"neigh replace {p.node.gateway6} lladdr 02:00:00:00:00:66 nud noarp dev eth0",
                     f"neigh del {p.node.gateway6} dev eth0"),
        "neighbour.answers", "set to 02:00:00:00:00:66 for good", "ip neigh del",
    ),
    "address-twice": (address_twice, "neighbour.answers", "is another machine's as well", "another address"),
    "xdp": (program_of_xdp, "link.xdp", "eth0 has a program of XDP", "xdp off"),
    "bird-socket": (lambda p: settings(p, bird__socket="/nonexistent.ctl"), "bird.socket", "No such file", "-s says where"),
    "bird-dead": (dead_bird, "bird.socket", "refused", "restart bird"),
    "bird-deaf": (deaf_bird, "bird.socket", "deaf.ctl", "hangs"),
    "bird-files": (
        lambda p: p.bird_is_to_say('include "fingerpost.conf";', 'include "fingerpost.confg";'),
        "bird.files", "fingerpost.confg", "birdc configure check",
    ),
    "no-include": (
        lambda p: p.bird_says('include "fingerpost.conf";', "ipv4 table fingerpost4; ipv6 table fingerpost6;"
                              " filter fingerpost_export { reject; }"),
        "bird.include", "fingerpost_attributes", "defines",
    ),
    "bird-file-of-no-release": (
        lambda p: p.bird_says("define FINGERPOST_RELEASE_FINGERPOST", "define OTHER", "fingerpost.conf", False),
        "bird.release", "fingerpost.conf is of before release 0.1.0", "birdconf/fingerpost.conf",
    ),
    "bird-file-older": (
        lambda p: p.bird_says('RELEASE_NODE = "0.1.0"', 'RELEASE_NODE = "0.0.9"', settle=False),
        "bird.release", "node.conf is of release 0.0.9; release 0.1.0 changed it", "birdconf/node.conf",
    ),
    "bird-file-newer": (
        lambda p: p.bird_says('RELEASE_CLASSES = "0.1.0"', 'RELEASE_CLASSES = "0.10.0"', "classes.conf", False),
        "bird.release", "classes.conf is of release 0.10.0, newer than", "upgrade Fingerpost",
    ),
    "no-kernel-protocol": (
        lambda p: bird(p, "disable fingerpost_v4", "enable fingerpost_v4"), "bird.kernel", "fingerpost_v4", "birdc enable",
    ),
    "no-learn": (our_routes, "bird.kernel", "learned none", "learn"),
    "small-buffer": (
        small_buffer, "bird.buffer", "partly lost", "netlink rx buffer 67108864",
    ),
    "session-disabled": (lambda p: bird(p, "disable tor_v4", "enable tor_v4"), "bird.session", "the session is disabled in BIRD", "birdc enable tor_v4"),
    "export-none": (
        lambda p: p.bird_says("ipv4 { table fingerpost4; import none; export filter fingerpost_export;",
                              "ipv4 { table fingerpost4; import none; export none;"),
        "bird.session", "exports nothing", "export filter",
    ),
    "no-session": (
        lambda p: p.bird_says(p.sessions_text(), ""), "bird.session", "no BGP session", "setup prints one",
    ),
    "missing-peer": (
        lambda p: settings(p, bird__expectPeers=["tor_v4", "spine"]), "bird.session", "spine: BIRD has no BGP session of this name", "expectPeers",
    ),
    "too-few-peers": (
        lambda p: settings(p, bird__expectPeers=3), "bird.session", "2 of 3 BGP sessions", "expectPeers",
    ),
    "wrong-as": (
        lambda p: p.bird_says("neighbor TOR_ADDRESS4 as TOR_ASN", "neighbor TOR_ADDRESS4 as 64999"),
        "bird.session", "tor_v4", "the peer's own AS",
    ),
    "wrong-address": (
        lambda p: p.bird_says("neighbor TOR_ADDRESS4 as", "neighbor 10.0.1.9 as"), "bird.session", "10.0.1.9", "ping 10.0.1.9",
    ),
    "other-table": (
        lambda p: p.bird_says(p.sessions_text(), p.sessions_text().replace("table fingerpost4;", "").replace("table fingerpost6;", "")),
        "bird.session", "no session has table", "export filter",
    ),
    "family-unheard": (
        lambda p: p.bird_says(p.sessions_text(), p.sessions_text().replace("table fingerpost6;", "")),
        "bird.session", "no session exports IPv6", "ipv6 { table fingerpost6",
    ),
}


def test_nothing_is_found_on_a_good_node(patient):
    assert patient.doctor() == []


def test_a_node_that_expects_no_session_may_have_none(patient):
    with settings(patient, bird__expectPeers=0), patient.bird_says(patient.sessions_text(), ""):
        assert patient.doctor() == []


def test_nothing_is_found_where_pods_are_wired(patient):
    with etc(patient, {CNI: OURS, CONTAINERD: 'conf_dir = "/etc/cni/net.d"\n'}):
        assert patient.doctor() == []


def test_the_bandwidth_plugin_is_no_mistake_with_tcx(patient):
    with bandwidth_before_tcx(patient, wrapper=()):
        assert patient.doctor() == []


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_with_its_remedy(patient, name):
    make, check, found, remedy = MISTAKES[name]
    with make(patient):
        items = patient.doctor()
        hits = [i for i in items if i["check"] == check and found in i["found"] and remedy in (i["remedy"] or "")]
        assert hits, items
        assert all(item["remedy"] for item in items), items


def test_what_no_node_can_see_is_said_and_not_judged(patient):
    with settings(patient, egress={"enabled": True, "port": 5556}):
        [edge] = [item for item in patient.doctor(("skipped",)) if item["check"] == "machine.edge"]
        assert "drop UDP port 5556 in both directions" in edge["found"] and "rp_filter" in edge["found"]
        assert patient.doctor() == []


def test_nothing_is_found_beside_a_running_agent(patient):
    """Its own ports, routes, rules and svc0 are no mistakes."""
    patient.agent.start()
    try:
        assert patient.doctor() == []
    finally:
        patient.agent.stop()
