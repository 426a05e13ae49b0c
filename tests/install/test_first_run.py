# SPDX-License-Identifier: Apache-2.0
"""README's "Run it on a node", word for word: from a bare Debian root to the route on the ToR.

The root is Debian's own, with systemd as PID 1 (boot), in the network namespace of the lab's node,
beside a ToR with a real BIRD. The package is the one that tools/deb has made. What is in the folder of
manifests is what a cluster's API would print, and the Node has another name than the machine.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from lab import Lab, objects, wait
from lab.agent import REPOSITORY
from lab.namespace import LAB_MARK

HERE = Path(__file__).resolve().parent
ADDRESS, BLOCK = "203.0.113.10", "10.224.0.0/27"
NODE = "rack1-node1.example.org"
NOT_THERE = 77
PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def commands(title):
    """The commands of README below a title, as a person would type them in."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    [section] = re.findall(rf"^### {title}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^    (\S.*)$", section, re.MULTILINE)
    assert lines, title
    return lines


class Machine:
    """A bare root that has booted in the place of the lab's node."""

    def __init__(self, lab, release):
        self.lab = lab
        [self.node] = lab.nodes
        self.node.bird.process.kill()
        self.node.bird.process.wait()
        made = subprocess.run([HERE / "root", release], capture_output=True, text=True)
        if made.returncode == NOT_THERE:
            pytest.skip(made.stderr.strip())
        assert made.returncode == 0, made.stderr
        layer = self.node.folder / "layer"
        layer.mkdir()
        self.name = f"fingerpost-{self.node.name}"
        self.outside = self.node.start(
            str(HERE / "boot"), made.stdout.strip(), str(layer), self.name, log="boot.log")
        self.pid = wait(self._first_process, "a first process")
        wait(lambda: self.run("systemctl is-system-running").stdout.strip() in ("running", "degraded"),
             "the machine's boot")

    def _first_process(self):
        """The process that is 1 inside; it is systemd's once the shell has made way for it."""
        assert self.outside.poll() is None, (self.node.folder / "boot.log").read_text()
        pid = self.outside.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if len(children) == 1 and Path(f"/proc/{children[0]}/comm").read_text() == "systemd\n":
            return children[0]
        return None

    def run(self, command):
        words = ["nsenter", "-t", self.pid, "-m", "-u", "-i", "-n", "-p", "-C", "--"]
        return subprocess.run([*words, "bash", "-c", f"cd && {command}"], capture_output=True, text=True, timeout=240,
                              env={**PLAIN, LAB_MARK: os.environ.get(LAB_MARK, "")})

    def must(self, command):
        done = self.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}{self.journal()}"
        return done.stdout

    def journal(self):
        return self.run("journalctl -n 40 --no-pager -u agentd -u agentd.socket -u bird").stdout

    def copy(self, source, target):
        self.write(target, Path(source).read_bytes())

    def write(self, target, content):
        done = subprocess.run(
            ["nsenter", "-t", self.pid, "-m", "--", "tee", target], input=content,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=PLAIN)
        assert done.returncode == 0, done.stderr

    def down(self):
        """All of its processes die with the first; what is left are its empty control groups."""
        self.outside.send_signal(signal.SIGKILL)
        self.outside.wait()
        [tree, *_] = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()
                      if line.split()[2] == "cgroup2"]
        for folder, _, _ in os.walk(Path(tree, self.name), topdown=False):
            wait(lambda: not Path(folder, "cgroup.procs").read_text(), f"the end of {folder}")
            os.rmdir(folder)


@pytest.fixture(name="machine", params=["12", "13"])
def machine_fixture(request):
    with Lab(f"first{request.param}", nodes=1) as lab:
        machine = Machine(lab, request.param)
        try:
            yield machine
        finally:
            machine.down()


def cluster(node):
    """What kubectl get -o yaml prints of a small cluster."""
    items = [
        objects.node(NODE, [node.address4, node.address6]),
        objects.address_block("default-0", NODE, BLOCK, index=0),
        objects.service("web", [ADDRESS]),
        objects.slice_of("web", [objects.endpoint("10.224.0.3", NODE)]),
    ]
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def test_from_a_bare_machine_to_the_route_on_the_tor(machine):
    packages = sorted((REPOSITORY / "build-deb").glob("fingerpost_*.deb"))
    assert packages, "tools/deb build-deb makes it"
    machine.copy(packages[-1], f"/root/{packages[-1].name}")
    began = time.monotonic()
    for command in commands("Install"):
        machine.must(command)
    assert machine.run("systemctl is-active agentd.service agentd.socket").stdout.split() == ["inactive"] * 2
    assert machine.run("systemctl is-enabled agentd.service").stdout.strip() == "disabled"
    assert machine.run("ip route show table 119").stdout == ""
    machine.write("/etc/fingerpost/manifests/cluster.yaml", cluster(machine.node))

    four = commands("Four commands")
    assert len(four) == 4
    for command in four:
        said = machine.must(command)
        print(f"{time.monotonic() - began:5.1f} s  {command}\n{said}")
    assert "healthy" in said
    for prefix in (f"{ADDRESS}/32", BLOCK):
        wait(lambda: machine.lab.tor.paths(prefix), f"{prefix} on the ToR")
    # The rest of what README says of it.
    for command in commands("See it"):
        machine.must(command)
    assert ADDRESS in machine.run("agentctl routes").stdout
    print(f"{time.monotonic() - began:5.1f} s  in all, from the package to the route on the ToR")


def test_doctor_says_what_the_agent_may_not_read(machine):
    """Root may read everything, and the agent runs as another user."""
    [package] = sorted((REPOSITORY / "build-deb").glob("fingerpost_*.deb"))[-1:]
    machine.copy(package, f"/root/{package.name}")
    for command in commands("Install"):
        machine.must(command)
    machine.write("/etc/fingerpost/manifests/cluster.yaml", cluster(machine.node))
    for command in commands("Four commands")[:2]:
        machine.must(command)
    machine.must("chmod 600 /etc/fingerpost/agentd.yaml; chmod 700 /etc/fingerpost/manifests; chown root:root /run/bird/bird.ctl")
    said = machine.run("agentctl doctor").stdout
    for words in ("fingerpost may not read /etc/fingerpost/agentd.yaml", "chgrp fingerpost FILE",
                  "fingerpost may not read /etc/fingerpost/manifests", "chgrp fingerpost DIR",
                  "fingerpost may not use /run/bird/bird.ctl", "usermod -aG bird fingerpost"):
        assert words in " ".join(said.split()), said
    machine.must("chmod 640 /etc/fingerpost/agentd.yaml; chgrp fingerpost /etc/fingerpost/agentd.yaml")
    machine.must("chmod 755 /etc/fingerpost/manifests; chown bird:bird /run/bird/bird.ctl")
    assert "may not" not in machine.run("agentctl doctor").stdout


def test_removing_it_leaves_the_routes_and_purging_it_no_file(machine):
    [package] = sorted((REPOSITORY / "build-deb").glob("fingerpost_*.deb"))[-1:]
    machine.copy(package, f"/root/{package.name}")
    for command in [*commands("Install"), "mkdir -p /etc/fingerpost/manifests"]:
        machine.must(command)
    machine.write("/etc/fingerpost/manifests/cluster.yaml", cluster(machine.node))
    for command in commands("Four commands"):
        machine.must(command)
    routes = machine.run("ip route show table 119").stdout
    assert ADDRESS in routes
    machine.must("systemctl reload agentd")
    machine.must(f"dpkg -i /root/{package.name}")  # an upgrade to itself: the agent starts anew
    assert machine.run("systemctl is-active agentd.service").stdout == "active\n"
    machine.must("apt-get remove -y fingerpost")
    assert machine.run("systemctl is-active agentd.service").stdout != "active\n"
    assert machine.run("ip route show table 119").stdout == routes
    machine.must("apt-get purge -y fingerpost")
    assert machine.run("ls -d /etc/fingerpost /var/lib/fingerpost /usr/sbin/agentd").stdout == ""
