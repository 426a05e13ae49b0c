# SPDX-License-Identifier: Apache-2.0
"""agentctl doctor on a good node finds nothing, and each prepared mistake by its check and remedy.

A mistake is made on a node that is good otherwise, looked at, and undone; one lab serves them all.
"""

import contextlib
import json
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
import schema
from cluster import write_web
from lab import Lab, objects, wait
from lab.agent import REPOSITORY, Agent, program
from lab.lab import NAT, mount_bpffs

pytestmark = pytest.mark.xdist_group("doctor")  # one lab for all mistakes


class Patient:
    """A node on which no agent has been started yet."""

    def __init__(self, lab):
        self.lab = lab
        [self.node] = lab.nodes
        self.pod = lab.pod(self.node, "web")
        lab.write("nodes.yaml", *self.node.objects())
        write_web(lab)
        source = {"manifests": str(lab.manifests)}
        settings = {**NAT, "bird": {"socket": str(self.node.bird.socket)}}
        self.agent = Agent(self.node, source, settings)
        self.settings = self.agent.settings
        self.wrapper = ()
        mount_bpffs(self.settings["paths"]["bpf"])

    def doctor(self):
        words = ("doctor", "--config", str(self.agent.config_file), "--timeout=1s", "--json")
        done = self.node.run(*self.wrapper, program("agentctl"), "--socket", str(self.agent.socket), *words, check=False)
        document = json.loads(done.stdout)
        schema.check(document)
        assert done.returncode == int(document["failed"] > 0), done
        return [item for item in document["items"] if item["verdict"] in ("warning", "failed")]

    def birdc(self, *words):
        return self.node.bird.birdc(*words)

    @contextlib.contextmanager
    def bird_says(self, old, new, file="bird.conf"):
        """BIRD with a line of its configuration changed."""
        bird = self.node.bird
        source = bird.folder / ("node.conf" if file == "bird.conf" else file)
        text = source.read_text()
        assert old in text
        copy = text.replace(old, new)
        source.unlink()
        source.write_text(copy)
        try:
            assert "Reconfigur" in self.birdc("configure")
            yield
        finally:
            source.write_text(text)
            self.birdc("configure")
            self.settled()

    def settled(self):
        """Both ends anew: after an error of the other end, a BIRD waits for a minute and longer."""
        for bird in (self.lab.tor.bird, self.node.bird):
            bird.process.kill()
            bird.process.wait()
            bird.start()
        self.lab.wait_sessions()


@pytest.fixture(name="patient", scope="module")
def patient_fixture():
    with Lab("doctor", nodes=1, nat=True) as lab:
        lab.wait_sessions()
        yield Patient(lab)


@contextlib.contextmanager
def settings(patient, **changes):
    """Another configuration: services__uplinks=[...]; None takes a key away."""
    import copy
    import yaml

    changed = copy.deepcopy(patient.settings)
    for key, value in changes.items():
        *way, last = key.split("__")
        at = changed
        for word in way:
            at = at.setdefault(word, {})
        if value is None:
            at.pop(last, None)
        else:
            at[last] = value
    patient.agent.config_file.write_text(yaml.safe_dump(changed))
    try:
        yield
    finally:
        patient.agent.write_config()


@contextlib.contextmanager
def text_of_config(patient, text):
    patient.agent.config_file.write_text(text)
    try:
        yield
    finally:
        patient.agent.write_config()


@contextlib.contextmanager
def no_config(patient):
    patient.agent.config_file.unlink()
    try:
        yield
    finally:
        patient.agent.write_config()


@contextlib.contextmanager
def small_buffer(patient):
    """BIRD as it comes: a smaller buffer counts when it is started anew."""
    with patient.bird_says("netlink rx buffer 67108864;", "", "fingerpost.conf"):
        patient.settled()
        yield


@contextlib.contextmanager
def ip(patient, do, undo):
    """Commands of ip(8), parts divided by ';'."""
    for words in do.split(";"):
        patient.node.ip(*words.split())
    try:
        yield
    finally:
        for words in undo.split(";"):
            patient.node.ip(*words.split())


@contextlib.contextmanager
def sysctl(patient, key, value):
    with patient.node.entered():
        old = open(f"/proc/sys/{key}").read()
    patient.node.set_sysctls({key: value})
    try:
        yield
    finally:
        patient.node.set_sysctls({key: old})


@contextlib.contextmanager
def manifest(patient, name, text):
    path = patient.lab.manifests / name
    old = path.read_text() if path.exists() else None
    path.write_text(text)
    try:
        yield
    finally:
        path.unlink() if old is None else path.write_text(old)


@contextlib.contextmanager
def nodes(patient, *listed):
    import yaml

    with manifest(patient, "nodes.yaml", yaml.safe_dump_all(listed)):
        yield


@contextlib.contextmanager
def port(patient, number, address="127.0.0.1"):
    with patient.node.entered():
        taken = socket.socket()
    with taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((address, number))
        taken.listen()
        yield


@contextlib.contextmanager
def nft(patient, rules, table):
    patient.node.run("nft", "-f", "-", text=rules)
    try:
        yield
    finally:
        patient.node.run("nft", "delete", "table", *table.split())


@contextlib.contextmanager
def bird(patient, do, undo):
    patient.birdc(*do.split())
    try:
        yield
    finally:
        patient.birdc(*undo.split())
        patient.settled()


@contextlib.contextmanager
def deaf_bird(patient):
    """A socket at which somebody accepts and says nothing."""
    path = patient.agent.folder / "deaf.ctl"
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        with settings(patient, bird__socket=str(path)):
            yield
    path.unlink()


CLAIMS = {"own": ["192.0.2.77"], "etcd": {"endpoints": ["http://192.0.2.9:2379"]}}
WITH_ETC = 'mount --bind "$0" /etc && exec "$@"'
CNI, CONTAINERD = "cni/net.d/10-fingerpost.conflist", "containerd/config.toml"
OURS = (REPOSITORY / "deploy" / "cni" / "10-fingerpost.conflist").read_text(encoding="utf-8")


@contextlib.contextmanager
def etc(patient, files, **changes):
    """A /etc of the doctor's own, in which these files are what they are."""
    folder = Path(tempfile.mkdtemp(dir=patient.agent.folder))
    for name in ("passwd", "group", "nsswitch.conf", "hosts"):
        shutil.copy(f"/etc/{name}", folder)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    patient.wrapper = ("unshare", "-m", "sh", "-c", WITH_ETC, str(folder))
    try:
        with settings(patient, **{"pods__enabled": True, **changes}):
            yield
    finally:
        patient.wrapper = ()


@contextlib.contextmanager
def stranger_at(patient, kind, port, address="127.0.0.1", answer=b""):
    """Somebody has that port, and gives each who connects the same answer."""
    source = ("import socket\n"
              f"s = socket.socket(socket.AF_INET, socket.{kind})\n"
              "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(s.type == socket.SOCK_STREAM))\n"
              f"s.bind(({address!r}, {port}))\n"
              "if s.type == socket.SOCK_STREAM: s.listen()\n"
              "while True:\n"
              "    if s.type == socket.SOCK_DGRAM:\n        s.recv(9)\n        continue\n"
              f"    with s.accept()[0] as c:\n        c.recv(65536)\n        c.sendall({answer!r})\n")
    process = patient.node.start("/usr/bin/python3", "-c", source, log=f"stranger-{port}.log")
    try:
        wait(lambda: f":{port} " in patient.node.run("ss", "-Hltun").stdout, "the stranger")
        yield
    finally:
        process.kill()
        process.wait()


def answer_of(status, body):
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()


@contextlib.contextmanager
def etcd_answers(patient, answer, **more):
    with stranger_at(patient, "SOCK_STREAM", 2379, answer=answer), settings(
            patient, addresses={**CLAIMS, "etcd": {"endpoints": ["http://127.0.0.1:2379"], **more}}):
        yield


@contextlib.contextmanager
def consul_answers(patient, answer, **more):
    with stranger_at(patient, "SOCK_STREAM", 8500, answer=answer), settings(patient, consul={"clusterID": "lab", **more}):
        yield


@contextlib.contextmanager
def fou_port_taken(patient):
    with stranger_at(patient, "SOCK_DGRAM", 5555, address="0.0.0.0"), settings(patient, egress={"enabled": True}):
        yield

LISTENER = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
while True:
    with server.accept()[0] as asker:
        if asker.recv(4096):
            asker.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\n{}")
"""


@contextlib.contextmanager
def claims_without_right(patient):
    """Something that answers like an agent, and is not allowed to open packet sockets."""
    process = patient.node.start("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", "/usr/bin/python3", "-c",
                                 LISTENER, str(patient.agent.socket), log="listener.log")
    try:
        wait(patient.agent.socket.exists, "its socket")
        with settings(patient, addresses=CLAIMS):
            yield
    finally:
        process.kill()
        process.wait()
        patient.agent.socket.unlink()


@contextlib.contextmanager
def opened_and_dropped(patient):
    rules = "table inet fw {\nchain in {\ntype filter hook input priority 0; policy drop; accept\n}\n}"
    with settings(patient, services__firewall={"mode": "accept"}), nft(patient, rules, "inet fw"):
        yield


@contextlib.contextmanager
def opened_by_another(patient):
    with settings(patient, services__firewall={"mode": "mark"}), \
            nft(patient, "table inet fingerpost {\nset mine { type ipv4_addr; }\n}", "inet fingerpost"):
        yield


@contextlib.contextmanager
def dead_bird(patient):
    path = patient.agent.folder / "dead.ctl"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with settings(patient, bird__socket=str(path)):
        yield
    path.unlink()


@contextlib.contextmanager
def our_routes(patient):
    """Routes as the agent's, which BIRD is to learn, from a kernel protocol that does not."""
    patient.node.ip(*"route add blackhole 203.0.113.77 table 119 proto 31".split())
    try:
        with patient.bird_says("\tlearn;\n", "", "fingerpost.conf"):
            wait(lambda: "203.0.113.77" not in patient.birdc("show", "route", "table", "fingerpost4"), "forgotten")
            yield
    finally:
        patient.node.ip(*"route del blackhole 203.0.113.77 table 119".split())


def node_object(name, *addresses, pods=()):
    node = objects.node(name, list(addresses))
    if pods:
        node["spec"]["podCIDRs"] = list(pods)
    return node


@contextlib.contextmanager
def pods_among_services(patient):
    node = node_object("node1", patient.node.address4, pods=["10.96.8.0/24"])
    with settings(patient, services__serviceCIDRs=["10.96.0.0/12"]), nodes(patient, node):
        yield


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
        lambda p: consul_answers(p, answer_of(403, "Permission denied")), "store.consul", "Permission denied", "the rights that",
    ),
    "consul-token-file": (
        lambda p: settings(p, consul={"clusterID": "lab", "tokenFile": "/nonexistent"}),
        "store.consul", "cannot read the token in /nonexistent", "consul.tokenFile",
    ),
    "fou-port": (fou_port_taken, "machine.fou", "UDP port 5555", "egress.port"),
    "no-network": (lambda p: etc(p, {}), "pods.network", "no network in /etc/cni/net.d", "agent-cni install"),
    "other-network": (
        lambda p: etc(p, {CNI: OURS, "cni/net.d/05-cilium.conflist": '{"plugins": [{"type": "cilium-cni"}]}'}),
        "pods.network", "05-cilium.conflist is the first", "remove it",
    ),
    "other-folder": (
        lambda p: etc(p, {CNI: OURS, CONTAINERD: '[plugins.cri.cni]\n  # conf_dir = "/a"\n  conf_dir = "/var/cni"\n'}),
        "pods.runtime", "containerd reads /var/cni", "--conf-dir",
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
    "bird-socket": (lambda p: settings(p, bird__socket="/nonexistent.ctl"), "bird.socket", "No such file", "-s says where"),
    "bird-dead": (dead_bird, "bird.socket", "refused", "restart bird"),
    "bird-deaf": (deaf_bird, "bird.socket", "deaf.ctl", "hangs"),
    "no-include": (
        lambda p: p.bird_says('include "fingerpost.conf";', "ipv4 table fingerpost4; ipv6 table fingerpost6;"
                              " filter fingerpost_export { reject; }"),
        "bird.include", "fingerpost_attributes", "defines",
    ),
    "no-kernel-protocol": (
        lambda p: bird(p, "disable fingerpost_v4", "enable fingerpost_v4"), "bird.kernel", "fingerpost_v4", "birdc enable",
    ),
    "no-learn": (our_routes, "bird.kernel", "learned none", "learn"),
    "small-buffer": (
        small_buffer, "bird.buffer", "partly lost", "netlink rx buffer 67108864",
    ),
    "session-disabled": (lambda p: bird(p, "disable tor_v4", "enable tor_v4"), "bird.session", "tor_v4 is disabled", "birdc enable tor_v4"),
    "export-none": (
        lambda p: p.bird_says("ipv4 { table fingerpost4; import none; export filter fingerpost_export;",
                              "ipv4 { table fingerpost4; import none; export none;"),
        "bird.session", "exports nothing", "export filter",
    ),
    "no-session": (
        lambda p: p.bird_says(p.sessions_text(), ""), "bird.session", "no BGP session", "setup prints one",
    ),
    "missing-peer": (
        lambda p: settings(p, bird__expectPeers=["tor_v4", "spine"]), "bird.session", "no BGP session spine", "expectPeers",
    ),
    "too-few-peers": (
        lambda p: settings(p, bird__expectPeers=3), "bird.session", "2 of 3 BGP sessions", "expectPeers",
    ),
    "wrong-as": (
        lambda p: p.bird_says("neighbor TOR_ADDRESS4 as TOR_ASN", "neighbor TOR_ADDRESS4 as 64999"),
        "bird.session", "tor_v4", "AS numbers",
    ),
    "wrong-address": (
        lambda p: p.bird_says("neighbor TOR_ADDRESS4 as", "neighbor 10.0.1.9 as"), "bird.session", "10.0.1.9", "ping 10.0.1.9",
    ),
    "other-table": (
        lambda p: p.bird_says(p.sessions_text(), p.sessions_text().replace("table fingerpost4;", "").replace("table fingerpost6;", "")),
        "bird.session", "no session has table", "export filter",
    ),
}
def sessions_text(self):
    text = (self.node.bird.folder / "node.conf").read_text()
    return text[text.index("protocol bgp tor_v4"):]


Patient.sessions_text = sessions_text


def test_nothing_is_found_on_a_good_node(patient):
    assert patient.doctor() == []


def test_a_node_that_expects_no_session_may_have_none(patient):
    with settings(patient, bird__expectPeers=0), patient.bird_says(patient.sessions_text(), ""):
        assert patient.doctor() == []


def test_nothing_is_found_where_pods_are_wired(patient):
    with etc(patient, {CNI: OURS, CONTAINERD: 'conf_dir = "/etc/cni/net.d"\n'}):
        assert patient.doctor() == []


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_with_its_remedy(patient, name):
    make, check, found, remedy = MISTAKES[name]
    with make(patient):
        items = patient.doctor()
        hits = [i for i in items if i["check"] == check and found in i["found"] and remedy in (i["remedy"] or "")]
        assert hits, items
        assert all(item["remedy"] for item in items), items


def test_nothing_is_found_beside_a_running_agent(patient):
    """Its own ports, routes, rules and svc0 are no mistakes."""
    patient.agent.start()
    try:
        assert patient.doctor() == []
    finally:
        patient.agent.stop()
