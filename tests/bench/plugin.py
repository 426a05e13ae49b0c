# SPDX-License-Identifier: Apache-2.0
"""ADD by the CNI plugin, one after the other and 160 at once, beside ptp with host-local.

The plugin is measured twice. First agentd is played by a few lines that answer at once: that is the
plugin's own part, the making of the links included. Then agentd is itself, and an ADD ends when its
routes stand. All take turns in one namespace, by the same harness, with both families. ptp waits for the trial of its IPv6 address unless the kernel is told to make none,
so that is turned off, and the figure is of its work alone."""

import contextlib
import http.server
import json
import os
import socketserver
import tempfile
import threading
import time
from pathlib import Path

import yaml
from lab import objects
from lab.agent import Agent as Agentd
from lab.namespace import Namespace

PODS, ROUNDS, REFERENCE, MS = 160, 40, "/usr/lib/cni", 1000
ADDRESSES = {"ranges": [[{"subnet": "10.9.0.0/16"}], [{"subnet": "fd09::/64"}]],
             "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}


class Answers(http.server.BaseHTTPRequestHandler):
    """A plan by the container's number, and yes to all else."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        words = self.path.split("/")
        body = b"{}"
        if self.command == "POST" and words[-1] != "wired":
            body = json.dumps(plan(int(words[3].removeprefix("c")))).encode()
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    do_POST = do_DELETE = answer

    def log_message(self, *args):
        pass


class Agent(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 2 * PODS


def plan(number):
    return {"interface": "eth0", "hostInterface": f"vethb{number}", "alias": f"COIL:b:c{number}:eth0",
            "addresses": [f"10.8.0.{number}/32", f"fd08::{number:x}/128"],
            "gateways": ["192.0.2.7", "fe80::1"], "mtu": 1450,
            "routes": [{"to": "0.0.0.0/0", "via": "192.0.2.7"}, {"to": "::/0", "via": "fe80::1"}],
            "sysctls": {f"net.ipv6.conf.vethb{number}.accept_ra": "0"}}


def agentd_of(node, folder):
    """agentd itself, with a block for all pods."""
    manifests = folder / "manifests"
    manifests.mkdir()
    block = objects.address_block("pods-0", node.role, "10.7.0.0/24", "fd07::/120")
    (manifests / "node.yaml").write_text(yaml.safe_dump_all([objects.node(node.role, ["192.0.2.7"]), block]))
    return Agentd(node, {"manifests": str(manifests)}, {"pods": {"enabled": True}}).start()


class Plugins:
    """The plugins, to be run for any pod's namespace."""

    def __init__(self, node, folder, agentd):
        self.node, self.folder = node, folder
        ours = Path(os.environ["FINGERPOST_BUILD"]) / "agent/cni/agent-cni"
        self.programs = {"cni": ours, "cni-agentd": ours, "cni-ptp": Path(REFERENCE, "ptp")}
        common = {"cniVersion": "1.0.0", "name": "bench"}
        self.configs = {
            "cni": {**common, "type": "agent-cni", "socket": str(folder / "agentd.sock")},
            "cni-agentd": {**common, "type": "agent-cni", "socket": str(agentd.socket)},
            "cni-ptp": {**common, "type": "ptp",
                        "ipam": {"type": "host-local", "dataDir": str(folder), **ADDRESSES}},
        }
        for name, config in self.configs.items():
            (folder / f"{name}.json").write_text(json.dumps(config), encoding="ascii")

    def start(self, which, command, number):
        environment = {
            "CNI_COMMAND": command, "CNI_CONTAINERID": f"c{number}", "CNI_IFNAME": "eth0",
            "CNI_NETNS": f"/run/netns/{self.node.name}-{number}", "CNI_PATH": REFERENCE,
            "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=bench;K8S_POD_NAME=p", "PATH": "/usr/sbin:/usr/bin",
        }
        program = str(self.programs[which])
        files = [(os.POSIX_SPAWN_OPEN, 0, str(self.folder / f"{which}.json"), os.O_RDONLY, 0),
                 (os.POSIX_SPAWN_OPEN, 1, str(self.folder / "output"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]
        begin = time.monotonic()
        return os.posix_spawn(program, [program], environment, file_actions=files), begin

    def finish(self, begins):
        """(wall seconds, processor seconds) of each started process, in the order of their ends."""
        taken = []
        while begins:
            pid, status, usage = os.wait3(0)
            end = time.monotonic()
            assert status == 0, (self.folder / "output").read_text()[-2000:]
            taken.append((end - begins.pop(pid), usage.ru_utime + usage.ru_stime))
        return taken

    def run(self, which, command, numbers):
        with self.node.entered():
            begins = dict(self.start(which, command, number) for number in numbers)
            return self.finish(begins)

    def delete(self, which, number):
        self.run(which, "DEL", [number])
        if which == "cni":  # agentd's part of it
            self.node.ip("link", "del", f"vethb{number}")


@contextlib.contextmanager
def standing():
    """A node with 160 pods that have nothing but their namespace."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        node = Namespace(f"bench{os.getpid()}", "cni", folder)
        node.create(forwarding=True)
        pods = [Namespace(node.name, str(number), folder) for number in range(1, PODS + 1)]
        agent = Agent(str(folder / "agentd.sock"), Answers)
        threading.Thread(target=agent.serve_forever, daemon=True).start()
        agentd = agentd_of(node, folder)
        try:
            for pod in pods:
                pod.create(forwarding=False)
            yield Plugins(node, folder, agentd)
        finally:
            agentd.stop()
            agent.shutdown()
            agent.server_close()
            for host in [*(pod for pod in pods if pod.exists()), node]:
                host.remove()


def cni():
    """Samples of one ADD after the other, and of all at once."""
    samples = {f"{which}-{kind}": [] for which in ("cni", "cni-agentd", "cni-ptp") for kind in ("add", "cpu", "many", "all")}
    with standing() as plugins:
        for _ in range(ROUNDS):
            for which in plugins.programs:
                [(wall, cpu)] = plugins.run(which, "ADD", [1])
                samples[f"{which}-add"].append(wall * MS)
                samples[f"{which}-cpu"].append(cpu * MS)
                plugins.delete(which, 1)
        everyone = range(1, PODS + 1)
        for which in plugins.programs:
            begin = time.monotonic()
            taken = plugins.run(which, "ADD", everyone)
            samples[f"{which}-all"].append(time.monotonic() - begin)
            samples[f"{which}-many"] += [wall for wall, _ in taken]
            for number in everyone:
                plugins.delete(which, number)
    return samples
