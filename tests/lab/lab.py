# SPDX-License-Identifier: Apache-2.0
"""A small data centre in network namespaces.

                      client  192.0.2.2  2001:db8:c::2
                         |
                        tor   BIRD, AS 64600
                       /   \\
       10.0.1.2   node1     node2   10.0.2.2       BIRD, AS 64501, 64502; agentd
    fd00:0:0:1::2   |          |    fd00:0:0:2::2
                  pods        pods
              10.224.0.0/27   10.224.0.32/27
             fd00:224::/123   fd00:224::20/123

Every lab has namespaces, folders and processes of its own, so that any number of them can stand at
once with the same addresses. `with Lab(name) as lab:` is the way to use it; see reaper.py for how
it goes away.
"""

import hashlib
import ipaddress
import json
import os
import re
import subprocess
from pathlib import Path

import yaml

from . import objects
from .agent import Agent, merged, program
from .bird import Bird
from .control_plane import ControlPlane
from .kubelets import Kubelets
from .monitor import RouteMonitor
from .namespace import Namespace
from .reaper import PYTHON, ROOT, Claim
from .wait import wait

TOR_ASN = 64600
NODE_ASN = 64500
BLOCK_COMMUNITY = (TOR_ASN, 30)
SERVICE_COMMUNITY = (TOR_ASN, 31)
GRACEFUL_SHUTDOWN = (65535, 0)

WEB = Path(__file__).with_name("web.py")

# What an agent is told when it is to serve in kube-proxy's place.
NAT = {
    "services": {
        "enabled": True,
        "uplinks": ["eth0"],
        "podInterfaces": ["veth*"],
        "clusterCIDRs": ["10.224.0.0/16", "fd00:224::/64"],
        "serviceCIDRs": ["10.96.0.0/16", "fd00:96::/112"],
        "externalIPs": ["203.0.113.128/25", "fd00:203::1:0/112"],
    }
}
NAT_SYSCTLS = {"net/ipv4/conf/lo/accept_local": 1}


def label_of(name):
    """What a lab's namespaces and folder begin with: the same for the same name and checkout."""
    digest = hashlib.sha256(f"{Path(__file__).parent}:{name}".encode()).hexdigest()
    short = name.rsplit("::")[-1].removeprefix("test_").lower()
    slug = re.sub("[^a-z0-9]+", "-", short).strip("-")[:20].strip("-")
    return f"fp-{slug}-{digest[:8]}"


def mount_bpffs(folder):
    """Of the lab's own, so that its pins go away with it; see reaper.py. Once."""
    if not os.path.ismount(folder):
        subprocess.run(["mount", "-t", "bpf", "bpf", str(folder)], check=True)


def serve_page(host, port, text):
    """Starts a web server of one page."""
    process = host.start(PYTHON, "-S", "-E", str(WEB), str(port), text, log=f"web-{port}.log")
    wait(lambda: host.fetch("127.0.0.1", port), f"the web server of {host}")
    return process


class Pod(Namespace):
    """A namespace behind a node: a /32 and a /128, and a default route to the node.

    The node answers ARP for its own address on any interface, and all host ends have fe80::1, so
    neither needs proxy ARP.
    """

    def __init__(self, label, folder, node, name, index, table):
        super().__init__(label, f"pod-{name}", folder)
        self.node = node
        self.index = index
        self.agents = []
        self.address4 = str(ipaddress.ip_network(node.block4)[index])
        self.address6 = str(ipaddress.ip_network(node.block6)[index])
        self.host_end = f"veth{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        self.create(forwarding=False)
        where = f"dev {self.host_end}" + (f" table {table}" if table else "")
        node.configure(
            f"link add {self.host_end} type veth peer name eth0 netns {self.name}",
            f"addr add fe80::1/64 dev {self.host_end} nodad",
            f"link set {self.host_end} up",
            f"route add {self.address4} {where}",
            f"route add {self.address6} {where}",
        )
        self.configure(
            f"addr add {self.address4}/32 dev eth0",
            f"addr add {self.address6}/128 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via {node.address4} dev eth0 onlink",
            "route add default via fe80::1 dev eth0",
        )

    def serve(self, port=80, text=None):
        """Starts a web server of one page; the default text names pod and node."""
        return serve_page(self, port, text or f"{self.role} on {self.node}")


class Node(Namespace):
    """A node of the cluster, with BIRD; its agent is started by Lab.agent(). `bfd`: as for the Lab."""

    def __init__(self, label, folder, index, tor, sysctls=(), bfd=False):
        super().__init__(label, f"node{index}", folder)
        self.asn = NODE_ASN + index
        self.address4 = f"10.0.{index}.2"
        self.address6 = f"fd00:0:0:{index:x}::2"
        self.gateway4 = f"10.0.{index}.1"
        self.gateway6 = f"fd00:0:0:{index:x}::1"
        self.block4 = str(ipaddress.ip_network("10.224.0.0/27")[0] + 32 * (index - 1)) + "/27"
        self.block6 = str(ipaddress.ip_network("fd00:224::/123")[0] + 32 * (index - 1)) + "/123"
        self.own4, self.own6 = f"10.0.100.{index}", f"fd00:0:0:100::{index:x}"
        self.pods = {}
        self.agents = []
        self.create(forwarding=True)
        self.set_sysctls(dict(sysctls))
        tor.configure(
            f"link add {self.role} type veth peer name eth0 netns {self.name}",
            f"addr add {self.gateway4}/24 dev {self.role}",
            f"addr add {self.gateway6}/64 dev {self.role} nodad",
            f"link set {self.role} up",
        )
        self.configure(
            f"addr add {self.address4}/24 dev eth0",
            f"addr add {self.address6}/64 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via {self.gateway4}",
            f"route add default via {self.gateway6}",
        )
        local = (
            f"define ROUTER_ID = {self.address4};\n"
            f"define NODE_ASN = {self.asn};\n"
            f"define TOR_ASN = {TOR_ASN};\n"
            f"define TOR_ADDRESS4 = {self.gateway4};\n"
            f"define TOR_ADDRESS6 = {self.gateway6};\n"
            "log stderr all;\n"
            "define GATEWAYS4 = 10.0.100.0/24;\n"
            "define GATEWAYS6 = fd00:0:0:100::/64;\n"
        )
        self.bird = Bird(self, "node-egress.conf" if bfd else "node.conf", {"local.conf": local})

    def objects(self):
        """The node's own objects: Node and AddressBlock."""
        index = self.asn - NODE_ASN - 1
        return [
            objects.node(self.role, [self.address4, self.address6]),
            objects.address_block(
                f"default-{index}", self.role, self.block4, self.block6, index=index
            ),
        ]


class Tor(Namespace):
    """The router above the nodes."""

    LOCAL = (
        "define ROUTER_ID = 10.0.0.1;\n"
        f"define TOR_ASN = {TOR_ASN};\n"
        "define BLOCKS4 = [ 10.224.0.0/16{16,32} ];\n"
        "define BLOCKS6 = [ fd00:224::/64{64,128} ];\n"
        "define SERVICES4 = [ 203.0.113.0/24{32,32} ];\n"
        "define SERVICES6 = [ fd00:203::/64{128,128} ];\n"
        "define GATEWAYS4 = 10.0.100.0/24;\n"
        "define GATEWAYS6 = fd00:0:0:100::/64;\n"
        "log stderr all;\n"
    )

    def __init__(self, label, folder):
        super().__init__(label, "tor", folder)
        self.create(forwarding=True)
        # Connections are spread over the nodes, not hosts: as in any fabric.
        self.set_sysctls({f"net/{ip}/fib_multipath_hash_policy": 1 for ip in ("ipv4", "ipv6")})
        self.configure("addr add 10.0.0.1/32 dev lo")
        self.bird = None

    def start_bird(self, nodes, bfd):
        template = "gateway_node" if bfd else "node"
        sessions = ('include "tor-gateways.conf";\n' if bfd else "") + "".join(
            f"protocol bgp {n}_v4 from {template}_v4 {{ neighbor {n.address4} as {n.asn}; }}\n"
            f"protocol bgp {n}_v6 from {template}_v6 {{ neighbor {n.address6} as {n.asn}; }}\n"
            for n in nodes
        )
        self.bird = Bird(self, "tor.conf", {"local.conf": self.LOCAL, "nodes.conf": sessions})
        self.bird.start()

    def via(self, prefix):
        """The nodes to which the kernel sends a prefix: {"node1", "node2"}."""
        family = "-6" if ":" in prefix else "-4"
        found = set()
        for route in self.ip_json(family, "route", "show", prefix):
            for hop in route.get("nexthops", [route]):
                found.add(hop["dev"])
        return found

    def paths(self, prefix):
        """BGP paths of a prefix by the node they come from."""
        return {path.via: path for path in self.bird.paths(prefix)}


class Lab:
    def __init__(self, name, nodes=2, pod_table=None, nat=False, bfd=False):
        """`pod_table`: pods' routes stand in that table, looked up by a rule before main (as
        Coil does), instead of in main. `nat`: agents serve Services, each with a BPF file system
        of its own. `bfd`: BIRD on the nodes is that of node-egress.conf; who is a gateway gets
        its own address by lab.own_address()."""
        self.name = name
        self.label = label_of(name)
        self.folder = ROOT / self.label
        self.manifests = self.folder / "manifests"
        self.node_count = nodes
        self.pod_table = pod_table
        self.nat = nat
        self.bfd = bfd
        self.claim = None
        self.tor = self.client = self.plane = self.kubelets = None
        self.nodes = []

    def __enter__(self):
        self.claim = Claim(self.label)
        try:
            self._build()
        except BaseException:
            self.show_logs()
            self.claim.release()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if self.claim is None:
            return
        try:
            if self.kubelets:
                self.kubelets.stop()
            if kind is None:
                for agent in self._running_agents():
                    agent.stop()
            elif issubclass(kind, Exception):
                self.show_logs()
        finally:
            self.claim.release()
            for host in self.hosts():
                for process in host.processes:
                    process.wait()

    def keep(self):
        """Leaves the lab standing when its owner ends."""
        self.claim.keep()
        self.claim = None

    def hosts(self):
        pods = [pod for node in self.nodes for pod in node.pods.values()]
        control = self.plane.host if self.plane else None
        return [host for host in [self.tor, self.client, control, *self.nodes, *pods] if host]

    def _running_agents(self):
        places = [place for node in self.nodes for place in (node, *node.pods.values())]
        return [agent for place in places for agent in place.agents if agent.running()]

    def show_logs(self):
        """What the daemons and the kernel said, for whoever reads why a test failed."""
        for log in sorted(self.folder.rglob("*.log")):
            lines = log.read_text(errors="replace").splitlines()
            print(f"--- {log.relative_to(self.folder)} (last 25 of {len(lines)} lines)")
            print("\n".join(lines[-25:]))
        for host in self.hosts():
            if host.exists():
                print(f"--- {host}: {host.mishaps()}")
        print("--- /proc/net/softnet_stat:\n" + Path("/proc/net/softnet_stat").read_text("ascii"))

    def _build(self):
        self.manifests.mkdir(parents=True)
        self.tor = Tor(self.label, self.folder)
        self.client = Namespace(self.label, "client", self.folder)
        self.client.create(forwarding=False)
        # A ToR behind a veth hashes what the sender's socket chose, which changes with each loss: no fabric sees that.
        self.client.set_sysctls({"net/core/txrehash": 0})
        self.client.address4, self.client.address6 = "192.0.2.2", "2001:db8:c::2"
        self.tor.configure(
            f"link add client type veth peer name eth0 netns {self.client.name}",
            "addr add 192.0.2.1/24 dev client",
            "addr add 2001:db8:c::1/64 dev client nodad",
            "link set client up",
        )
        self.client.configure(
            f"addr add {self.client.address4}/24 dev eth0",
            f"addr add {self.client.address6}/64 dev eth0 nodad",
            "link set eth0 up",
            "route add default via 192.0.2.1",
            "route add default via 2001:db8:c::1",
        )
        for index in range(1, self.node_count + 1):
            sysctls = NAT_SYSCTLS if self.nat else {}
            self.nodes.append(Node(self.label, self.folder, index, self.tor, sysctls, self.bfd))
        if self.pod_table:
            for node in self.nodes:
                for family in ("-4", "-6"):
                    node.ip(family, "rule", "add", "pref", "2000", "lookup", str(self.pod_table))
        self.tor.start_bird(self.nodes, self.bfd)
        for node in self.nodes:
            node.bird.start()
        self._write_commands()

    @staticmethod
    def own_address(node):
        """Gives a node the address of lo by which a gateway is known to BIRD."""
        node.configure(f"addr replace {node.own4}/32 dev lo", f"addr replace {node.own6}/128 dev lo")

    def wait_sessions(self):
        """Waits until every BGP session of the ToR is up."""
        wait(lambda: all(self.tor.bird.sessions().values()), "the ToR's BGP sessions")

    def pod(self, node, name):
        """A pod with the node's next free address."""
        taken = {pod.index for pod in node.pods.values()}
        index = next(index for index in range(1, 32) if index not in taken)
        pod = Pod(self.label, self.folder, node, name, index, self.pod_table)
        node.pods[name] = pod
        self._write_command(pod.role, pod)
        return pod

    def remove_pod(self, pod):
        """Ends a pod: its processes, its network, and its routes with that."""
        del pod.node.pods[pod.role.removeprefix("pod-")]
        (self.folder / "bin" / pod.role).unlink()
        pod.remove()

    def control_plane(self):
        """A Kubernetes control plane behind the ToR, up and answering. One for a lab."""
        self.plane = ControlPlane(self)
        self._write_command("kubectl", self.plane.host, self.plane.kubectl_command())
        return self.plane.start()

    def play_kubelets(self, kind=Kubelets):
        """From now on the control plane's nodes live, and run the pods that they are given."""
        self.kubelets = kind(self, self.plane).start()
        return self.kubelets

    def monitor(self):
        return RouteMonitor(self.tor)

    def agent(self, node, start=True, ready=True, name="agentd", bpffs=True, kubeconfig=None,
              **overrides):
        """An agent on a node, started and ready; fed from the lab's manifests, or by the API that a
        kubeconfig names."""
        source = {"manifests": str(self.manifests)}
        if kubeconfig:
            source = {"kubernetes": {"kubeconfig": str(kubeconfig)}}
        agent = Agent(node, source, merged(NAT if self.nat else {}, overrides), name)
        if self.nat and bpffs:
            mount_bpffs(agent.settings["paths"]["bpf"])
        node.agents.append(agent)
        self._write_command(f"agentctl-{node}", node, f"{program('agentctl')} --socket {agent.socket}")
        return agent.start(ready) if start else agent

    def agentctl(self, node, *words):
        """Asks the node's first agent: (code, out, err)."""
        return node.agents[0].ctl(*words)

    def write(self, name, *items, folder=None, in_place=False):
        """Writes objects into one manifest file, as an editor or a deployment does: by rename."""
        if name.endswith(".json"):
            document = items[0] if len(items) == 1 else {
                "apiVersion": "v1", "kind": "List", "items": list(items)
            }
            text = json.dumps(document, indent=4) + "\n"
        else:
            text = yaml.safe_dump_all(items, sort_keys=False)
        self.write_text(name, text, folder, in_place)

    def write_text(self, name, text, folder=None, in_place=False):
        target = Path(folder or self.manifests) / name
        draft = target if in_place else target.with_name(f".{name}.draft")
        draft.write_bytes(text if isinstance(text, bytes) else text.encode())
        if not in_place:
            os.replace(draft, target)

    def write_nodes(self):
        """The objects of the nodes themselves."""
        self.write("nodes.yaml", *[item for node in self.nodes for item in node.objects()])

    def _write_commands(self):
        """bin/tor, bin/node1 ...: run a command there; bin/birdc-tor, bin/agentctl-node1."""
        (self.folder / "bin").mkdir()
        for host in self.hosts():
            self._write_command(host.role, host)
            if getattr(host, "bird", None):
                self._write_command(f"birdc-{host}", host, f"birdc -s {host.bird.socket}")

    def _write_command(self, name, host, command=""):
        path = self.folder / "bin" / name
        path.write_text(
            f'#!/bin/sh\nexec nsenter --net=/run/netns/{host.name} {command} "$@"\n',
            encoding="utf-8",
        )
        path.chmod(0o755)
