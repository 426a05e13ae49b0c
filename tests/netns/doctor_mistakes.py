# SPDX-License-Identifier: Apache-2.0
"""A node for agentctl doctor, and how mistakes are made on it and undone: for test_doctor.py."""

import contextlib
import json
import shutil
import socket
import tempfile
from pathlib import Path

import schema
from cluster import write_web
from lab import objects, wait
from lab.agent import REPOSITORY, Agent, build_folder, program
from lab.authority import Authority, write_kubeconfig
from lab.lab import NAT, mount_bpffs


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

    def doctor(self, verdicts=("warning", "failed")):
        words = ("doctor", "--config", str(self.agent.config_file), "--timeout=1s", "--json")
        done = self.node.run(*self.wrapper, program("agentctl"), "--socket", str(self.agent.socket), *words, check=False)
        document = json.loads(done.stdout)
        schema.check(document)
        assert done.returncode == int(document["failed"] > 0), done
        return [item for item in document["items"] if item["verdict"] in verdicts]

    def birdc(self, *words):
        return self.node.bird.birdc(*words)

    @contextlib.contextmanager
    def bird_says(self, old, new, file="bird.conf", settle=True):
        """BIRD with a line of its configuration changed. `settle`: it may cost sessions."""
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
            if settle:
                self.settled()

    @contextlib.contextmanager
    def bird_is_to_say(self, old, new):
        """A line of its files is another one, and BIRD has not read it."""
        source = self.node.bird.folder / "node.conf"
        text = source.read_text()
        assert old in text
        source.write_text(text.replace(old, new))
        try:
            yield
        finally:
            source.write_text(text)

    def settled(self):
        """Both ends anew: after an error of the other end, a BIRD waits for a minute and longer."""
        for bird in (self.lab.tor.bird, self.node.bird):
            bird.process.kill()
            bird.process.wait()
            bird.start()
        self.lab.wait_sessions()

    def sessions_text(self):
        text = (self.node.bird.folder / "node.conf").read_text()
        return text[text.index("protocol bgp tor_v4"):]


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
def address_twice(patient):
    """The router answers for the node's address."""
    tor, address = patient.lab.tor, f"{patient.node.address4}/32"
    tor.ip("addr", "add", address, "dev", "lo")
    try:
        yield
    finally:
        tor.ip("addr", "del", address, "dev", "lo")


@contextlib.contextmanager
def program_of_xdp(patient):
    """One that passes every packet."""
    source, made = patient.agent.folder / "pass.c", patient.agent.folder / "pass.o"
    source.write_text('__attribute__((section("xdp"), used)) int pass(void *context) { return 2; }\n'
                      'char _license[] __attribute__((section("license"), used)) = "GPL";\n')
    patient.node.run("clang-14", "-O2", "-target", "bpf", "-c", str(source), "-o", str(made))
    patient.node.ip("link", "set", "dev", "eth0", "xdpgeneric", "obj", str(made), "sec", "xdp")
    try:
        yield
    finally:
        patient.node.ip("link", "set", "dev", "eth0", "xdpgeneric", "off")


@contextlib.contextmanager
def pod_not_forwarding(patient, family):
    """An interface of pods, where clients of gateways are, is alone without forwarding."""
    with settings(patient, egress={"enabled": True}), \
            ip(patient, "link add vethf type veth peer name peerf;link set vethf up", "link del vethf"), \
            sysctl(patient, f"net/ipv{family}/conf/vethf/forwarding", 0):
        yield


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
WITH_ETC = 'mount --bind "$0/opt" /opt && mount --bind "$0" /etc && exec "$@"'
PLUGIN = "opt/cni/bin/agent-cni"
CNI, CONTAINERD = "cni/net.d/10-fingerpost.conflist", "containerd/config.toml"
OURS = (REPOSITORY / "deploy" / "cni" / "10-fingerpost.conflist").read_text(encoding="utf-8")


@contextlib.contextmanager
def etc(patient, files, plugin=PLUGIN, mode=0o644, **changes):
    """A /etc of the doctor's own, in which these files are what they are, and a /opt in its folder `opt`."""
    folder = Path(tempfile.mkdtemp(dir=patient.agent.folder))
    for name in ("passwd", "group", "nsswitch.conf", "hosts"):
        shutil.copy(f"/etc/{name}", folder)
    if plugin and plugin not in files:
        (folder / PLUGIN).parent.mkdir(parents=True)
        shutil.copy(build_folder() / "agent" / "cni" / "agent-cni", folder / PLUGIN)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
        (folder / name).chmod(mode)
    patient.wrapper = ("unshare", "-m", "sh", "-c", WITH_ETC, str(folder))
    try:
        with settings(patient, **{"pods__enabled": True, **changes}):
            yield
    finally:
        patient.wrapper = ()


@contextlib.contextmanager
def bandwidth_before_tcx(patient, wrapper=("setarch", "--uname-2.6")):
    """A network whose list has the plugin, and a kernel that says that it is older than TCX."""
    listed = json.loads(OURS)
    listed["plugins"].append({"type": "bandwidth", "capabilities": {"bandwidth": True}})
    with etc(patient, {CNI: json.dumps(listed)}):
        patient.wrapper = (*wrapper, *patient.wrapper)
        yield


@contextlib.contextmanager
def proc(patient, folder, values):
    """A folder of /proc/sys of the doctor's own, with these numbers and no others."""
    own = Path(tempfile.mkdtemp(dir=patient.agent.folder))
    for name, value in values.items():
        (own / name).write_text(f"{value}\n", encoding="ascii")
    patient.wrapper = ("unshare", "-m", "sh", "-c", f'mount --bind "$0" /proc/sys/{folder} && exec "$@"', str(own))
    try:
        yield
    finally:
        patient.wrapper = ()


@contextlib.contextmanager
def health_port(patient, number):
    """The Service `web` has one."""
    file = patient.lab.manifests / "web.yaml"
    text = file.read_text(encoding="utf-8")
    write_web(patient.lab, healthCheckNodePort=number)
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def small_disk(patient, options):
    """The state folder on a file system of its own."""
    mount = f'mount -t tmpfs -o {options} state "$0" && exec "$@"'
    patient.wrapper = ("unshare", "-m", "sh", "-c", mount, patient.settings["paths"]["state"])
    try:
        yield
    finally:
        patient.wrapper = ()


@contextlib.contextmanager
def pins_of(patient, name):
    """What another version of the agent has left."""
    folder = Path(patient.settings["paths"]["bpf"]) / name
    folder.mkdir()
    try:
        yield
    finally:
        folder.rmdir()


def authority(patient, **times):
    """A CA, and what it has issued with these times."""
    made = Authority(tempfile.mkdtemp(dir=patient.agent.folder))
    return made, made.issue("agent", **times)


@contextlib.contextmanager
def kube_certificate(patient, **times):
    ca, pair = authority(patient, **times)
    file = write_kubeconfig(ca.folder / "kubeconfig", "https://127.0.0.1:1", ca.certificate, pair)
    with settings(patient, source__manifests=None, source__kubernetes={"kubeconfig": str(file)}):
        yield


@contextlib.contextmanager
def etcd_certificate(patient, **times):
    ca, pair = authority(patient, **times)
    etcd = {"endpoints": ["https://127.0.0.1:1"], "caFile": str(ca.certificate), "certFile": str(pair.certificate),
            "keyFile": str(pair.key)}
    with settings(patient, addresses={**CLAIMS, "etcd": etcd}):
        yield


@contextlib.contextmanager
def consul_certificate(patient, file, **times):
    """`file`: the key that names the certificate with these times."""
    ca, pair = authority(patient, **times)
    files = {"certFile": str(pair.certificate), "keyFile": str(pair.key)} if file == "certFile" else {
        "caFile": str(pair.certificate)}
    with settings(patient, consul={"clusterID": "lab", "address": "https://127.0.0.1:1", **files}):
        yield


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
