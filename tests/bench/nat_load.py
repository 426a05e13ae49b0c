# SPDX-License-Identifier: Apache-2.0
"""Many Services at once, and one endpoint among them: nftables as kube-proxy writes it, and us.

For nftables it is `nft -f` on the whole ruleset and then on one service's chain. For us it is the
whole way: from the manifest renamed into place until the agent says that all is done. What of it was
the pass that planned, wrote and proved them is asked of the agent; and for a change, until the service's word in the maps is another.
"""

import json
import os
import time
from pathlib import Path

from lab import Lab, wait
from lab.reaper import PYTHON
from lab.traffic import ask, serve, tool
from served import FAMILIES, TARGET

from . import clusters, process
from .kubeproxy import Ruleset, at
from .nat_program import MAPS, Map

ENDPOINTS = 10
CHANGES = 21
POD_NET = "10.224.0.0/16"


NFT = """
import resource, subprocess, sys, time
begin = time.monotonic()
subprocess.run(["nft", "-f", sys.argv[1]], check=True)
print(time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def nft_change(port, number):
    """One of its endpoints is another one, and back: what kube-proxy writes then."""
    endpoint = (f"10.254.{number >> 8}.{number & 255}", 8080)
    chain, service = Ruleset.endpoint_chain(port, endpoint), f"service-{port.chain}"
    rules = Ruleset(4, POD_NET, [])
    rules.lines = []
    rules.chain(chain, f"ip saddr {endpoint[0]} jump mark-for-masquerade",
                f"meta l4proto tcp dnat to {at(*endpoint)}")
    rules.add(f"flush chain ip kube-proxy {service}")
    rules.add(f"add rule ip kube-proxy {service} ip daddr {port.cluster_ip} tcp dport {port.port} "
              f"ip saddr != {POD_NET} jump mark-for-masquerade")
    rules.add(f"add rule ip kube-proxy {service} "
              + rules.pick(port, service, [*port.endpoints[1:], endpoint]))
    return rules.text()


def nft_load(count, changes=5):
    """Seconds of the load, MiB of the tool, and milliseconds of each change; IPv4."""
    with Lab(f"bench-nft-{count}", nodes=1) as lab:
        [node] = lab.nodes
        ports = clusters.service_ports(count, ENDPOINTS, 4)
        file = lab.folder / "rules.nft"
        file.write_text(Ruleset(4, POD_NET, [node.address4], ports).text())
        seconds, mebibytes = map(float, node.run(
            PYTHON, "-c", NFT, str(file), timeout=1800).stdout.split())
        took = []
        for number in range(changes):
            file.write_text(nft_change(ports[count // 2], number))
            took.append(float(node.run(PYTHON, "-c", NFT, str(file), timeout=60).stdout.split()[0]))
        return seconds, mebibytes, [value * 1000 for value in took]


def map_use(agent):
    """MiB of all maps, as the kernel charges for them."""
    return sum(item["bytes"] for item in agent.json("maps")["items"]) / (1 << 20)


class Word:
    """The words of all services in the maps: any change of one is seen within microseconds."""

    def __init__(self, agent):
        [path] = Path(agent.settings["paths"]["bpf"]).glob("*/services")
        self.map = Map(path, *MAPS["services"])
        [names] = Path(agent.settings["paths"]["bpf"]).glob("*/names")
        self.names = names

    def of(self, agent, name):
        """The id of a service."""
        dump = json.loads(agent.node.run("bpftool", "-j", "map", "dump", "pinned",
                                         str(self.names)).stdout)
        for item in dump:
            value = bytes(int(byte, 16) for byte in item["value"])
            if value.split(b"\0")[0].decode() == name:
                return int.from_bytes(bytes(int(byte, 16) for byte in item["key"]), "little")
        raise LookupError(name)

    def changed(self, number, before, timeout=30):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.map[number].value != before:
                return time.monotonic()
        raise TimeoutError(f"the word of service {number}")


def our_load(count):
    """As nft_load, of both families at once; and what stands then."""
    found = {}
    with Lab(f"bench-load-{count}", nodes=1, nat=True) as lab:
        [node] = lab.nodes
        lab.write_nodes()
        agent = lab.agent(node)
        agent.settled()
        draft = lab.folder / "draft"
        clusters.write(lab, count, ENDPOINTS, families=(4,))
        begin = time.monotonic()
        agent.settled(300)
        found["seconds"] = time.monotonic() - begin
        found["cpu"] = process.seconds(agent.process.pid)
        found["written"] = agent.json("status")["nat"]["lastPassMs"] / 1000
        found["rss"] = process.memory(agent.process.pid)[0]
        found["maps"] = map_use(agent)
        found["changes"] = changes_of(lab, agent, draft)
    return found


def changes_of(lab, agent, draft):
    """Milliseconds from a manifest renamed into place to the word that puts its change in force."""

    def text(leave_out):
        items = clusters.items_of(60000, ENDPOINTS, (4,), leave_out)
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    lab.write_text("one.json", text(0))
    agent.settled()
    word = Word(agent)
    number = word.of(agent, "default/svc60000")
    took = []
    for turn in range(CHANGES):
        draft.write_text(text(1 - turn % 2))
        before = word.map[number].value
        begin = time.monotonic()
        os.replace(draft, lab.manifests / "one.json")
        took.append((word.changed(number, before) - begin) * 1000)
    return took


def loads(count, nft_rounds=1):
    samples = {}
    ours = our_load(count)
    for name in ("seconds", "cpu", "written", "rss", "maps"):
        samples[f"load-{count}-{name}"] = [ours[name]]
    samples[f"load-{count}-change"] = ours["changes"]
    for _ in range(nft_rounds):
        seconds, mebibytes, changes = nft_load(count)
        samples.setdefault(f"load-{count}-nft", []).append(seconds)
        samples.setdefault(f"load-{count}-nft-rss", []).append(mebibytes)
        samples.setdefault(f"load-{count}-nft-change", []).extend(changes)
        samples.setdefault(f"load-{count}-written/nft", []).append(ours["written"] / seconds)
    return samples


def nat_load_1k():
    return loads(1000, nft_rounds=3)


def nat_load_10k():
    return loads(10000)


def nat_first():
    """The first packet of a flow: asked and answered, by a pod of a pod, at 1 and 10,000 Services."""
    samples = {}
    for count in (1, 10000):
        with Lab(f"bench-first-{count}", nodes=1, nat=True) as lab:
            [node] = lab.nodes
            pod, client = lab.pod(node, "one"), lab.pod(node, "client")
            serve(pod, TARGET)
            clusters.write(lab, count - 1, ENDPOINTS)
            clusters.write_target(lab, "target", clusters.TARGET, pod)
            lab.write_nodes()
            lab.agent(node).settled(300)
            for family in FAMILIES:
                where = clusters.TARGET[family]
                wait(lambda: ask(client, where, 80, "UDP"), f"{where} to be served")
                for _ in range(9):
                    said = json.loads(client.run(
                        "taskset", "-c", "0", tool("flood"), "first", where, "80", "1").stdout)
                    assert not said["failed"], said
                    samples.setdefault(f"first{family}-{count}", []).append(said["p50Us"])
    for family in FAMILIES:
        samples[f"first{family}-ratio"] = [
            many / one for many, one in zip(samples[f"first{family}-10000"], samples[f"first{family}-1"])
        ]
    return samples
