# SPDX-License-Identifier: Apache-2.0
"""The benchmarks. Each builds a lab of its own, measures, and returns samples by name of figure.

A benchmark is run several times and in turn for each build that is compared, so that what else the
machine does hits all of them alike.
"""

import os
import time

import yaml
from cluster import pod_address
from lab import Lab, objects, wait

from . import large, process
from .blocks import blocks
from .egress_failover import egress_failover
from .egress_guest import egress_guest
from .egress_load import egress_load
from .egress_path import egress_path
from .egress_program import egress_program
from .exports import exports
from .nat_load import nat_first, nat_load_1k, nat_load_10k
from .nat_path import nat_path
from .nat_program import nat_program
from .netlink import RouteDeleter, RouteWatch, seen
from .plugin import cni
from .pools import pools

MS = 1000
ANNOUNCE_ROUNDS = 50
REPAIR_AGENTS = 3
REPAIRS_EACH = 17  # a minute: with more the agent sees a rival, and repairs once a second only
STATUS_ROUNDS = 20
CHANGE_ROUNDS = 50
PASS_ROUNDS = 5
IDLE_SECONDS = 10


def elapsed(run):
    begin = time.monotonic()
    run()
    return time.monotonic() - begin


def put(lab, name, text):
    """Renames a prepared file into place; returns the time right before."""
    draft = lab.folder / "draft"
    draft.write_text(text, encoding="ascii")
    begin = time.monotonic()
    os.replace(draft, lab.manifests / name)
    return begin


def one_service(node, name, addresses, ready=True):
    slices = [
        objects.slice_of(
            name, [objects.endpoint(pod_address(node, family), node.role, ready=ready)],
            family=f"IPv{family}", suffix=f"v{family}",
        )
        for family in (4, 6)
    ]
    return yaml.safe_dump_all([objects.service(name, addresses, policy="Local"), *slices])


def announce():
    """A new Service comes and its endpoint goes, each time with addresses of its own."""
    samples = {name: [] for name in
               ("announce4", "announce6", "announce-table", "withdraw4", "withdraw6")}
    with Lab("bench-announce", nodes=1) as lab:
        [node] = lab.nodes
        lab.write_nodes()
        lab.agent(node).settled()
        lab.wait_sessions()
        wait(lambda: lab.tor.via(node.block4), "the block on the ToR")
        wait(lambda: lab.tor.via(node.block6), "the block on the ToR")
        with RouteWatch(lab.tor) as tor, RouteWatch(node, 119) as table:
            for number in range(1, ANNOUNCE_ROUNDS + 1):
                addresses = [f"203.0.113.{number}", f"fd00:203::{number:x}"]
                name = f"web{number}"
                begin = put(lab, f"{name}.yaml", one_service(node, name, addresses))
                at_tor, at_table = seen([tor, table], addresses)
                for figure, address in zip(("announce4", "announce6"), addresses):
                    samples[figure].append((at_tor[address] - begin) * MS)
                samples["announce-table"].append((max(at_table.values()) - begin) * MS)
                text = one_service(node, name, addresses, ready=False)
                begin = put(lab, f"{name}.yaml", text)
                [at_tor] = seen([tor], addresses, added=False)
                for figure, address in zip(("withdraw4", "withdraw6"), addresses):
                    samples[figure].append((at_tor[address] - begin) * MS)
    return samples


def repair():
    """Someone deletes a route of ours; someone deletes a thousand."""
    samples = {"repair": [], "repair-1000": []}
    addresses = [f"198.18.{i // 250}.{i % 250}" for i in range(1000)]
    with Lab("bench-repair", nodes=1) as lab:
        [node] = lab.nodes
        lab.write_nodes()
        for i in range(0, len(addresses), 10):
            lab.write_text(f"s{i}.yaml", one_service(node, f"s{i}", addresses[i : i + 10]))
        agent = lab.agent(node, start=False)
        deleter = RouteDeleter(node)
        for _ in range(REPAIR_AGENTS):
            agent.start().settled()
            with RouteWatch(node, 119) as table:
                for number in range(REPAIRS_EACH):
                    victim = addresses[number * 50]
                    begin = time.monotonic()
                    deleter.delete([victim])
                    [at_table] = seen([table], [victim])
                    samples["repair"].append((at_table[victim] - begin) * MS)
                begin = time.monotonic()
                deleter.delete(addresses)
                samples["repair-1000"].append((table.count(len(addresses), 30) - begin) * MS)
            agent.stop()
    return samples


def idle_of(lab, **overrides):
    [node] = lab.nodes
    agent = lab.agent(node, **overrides)
    agent.settled()
    time.sleep(2)  # whatever the start has left to do
    before = process.activity(agent.process.pid)
    time.sleep(IDLE_SECONDS)
    after = process.activity(agent.process.pid)
    used = [end - begin for begin, end in zip(before, after)]
    rss, anonymous = process.memory(agent.process.pid)
    status = [elapsed(lambda: agent.ctl("status")) * MS for _ in range(STATUS_ROUNDS)]
    agent.stop()
    return rss, anonymous, status, used


def write_small_cluster(lab):
    [node] = lab.nodes
    lab.write_nodes()
    for number in range(1, 11):
        addresses = [f"203.0.113.{number}", f"fd00:203::{number:x}"]
        lab.write_text(f"web{number}.yaml", one_service(node, f"web{number}", addresses))


def idle():
    """Ten Services, nothing happens. BIRD's socket is another matter: it is asked now and then."""
    with Lab("bench-idle", nodes=1) as lab:
        write_small_cluster(lab)
        rss, anonymous, status, (ticks, cpu, wakeups) = idle_of(lab)
        samples = {"idle-rss": [rss], "idle-anonymous": [anonymous], "status": status,
                   "idle-ticks": [ticks], "idle-cpu": [cpu], "idle-wakeups": [wakeups]}
    with Lab("bench-idle-bird", nodes=1) as lab:
        write_small_cluster(lab)
        lab.wait_sessions()
        bird = {"socket": str(lab.nodes[0].bird.socket)}
        *_, (ticks, cpu, wakeups) = idle_of(lab, bird=bird)
        samples |= {"bird-idle-ticks": [ticks], "bird-idle-cpu": [cpu],
                    "bird-idle-wakeups": [wakeups]}
    return samples


def start_large(lab):
    """An agent alone on its node: BIRD would be at work on the same routes at the same time."""
    [node] = lab.nodes
    node.bird.process.terminate()
    node.bird.process.wait()
    lab.write_nodes()
    agent = lab.agent(node)
    agent.settled()
    return node, agent


def load_large(lab, node, name, write):
    """Seconds from the rename of the large file to the last of its routes."""
    draft = lab.folder / "draft"
    write(draft)
    with RouteWatch(node, 119) as table:
        begin = time.monotonic()
        os.replace(draft, lab.manifests / name)
        return table.count(large.SERVICES * large.ADDRESSES_EACH, 300) - begin


def full_pass(agent):
    """Milliseconds of the full pass that a reload brings."""
    before = agent.json("status")["routes"]["fullPasses"]
    agent.reload()
    wait(lambda: agent.json("status")["routes"]["fullPasses"] > before, "a full pass")
    return agent.json("status")["routes"]["lastFullPassMs"]


def large_json():
    with Lab("bench-large-json", nodes=1) as lab:
        node, agent = start_large(lab)
        samples = {"large-json": [load_large(lab, node, "large.json", large.write_json)]}
        pid = agent.process.pid
        samples["large-json-cpu"] = [process.seconds(pid)]
        agent.settled()
        samples["large-json-file"] = [(lab.manifests / "large.json").stat().st_size / (1 << 20)]
        samples["large-rss"] = [process.memory(pid)[0]]
        samples["large-peak"] = [process.peak(pid)]
        changes = samples["large-change"] = []
        with RouteWatch(node, 119) as table:
            for number in range(CHANGE_ROUNDS):
                address = f"203.0.113.{number}"
                text = one_service(node, f"more{number}", [address])
                begin = put(lab, f"more{number}.yaml", text)
                [at_table] = seen([table], [address])
                changes.append((at_table[address] - begin) * MS)
        samples["large-pass"] = [full_pass(agent) for _ in range(PASS_ROUNDS)]
        samples["large-status"] = [
            elapsed(lambda: agent.ctl("status")) * MS for _ in range(STATUS_ROUNDS)
        ]
        agent.stop()
        samples["large-restart"] = [elapsed(agent.start)]
    return samples


def large_yaml():
    with Lab("bench-large-yaml", nodes=1) as lab:
        node, agent = start_large(lab)
        samples = {"large-yaml": [load_large(lab, node, "large.yaml", large.write_yaml)]}
        samples["large-yaml-cpu"] = [process.seconds(agent.process.pid)]
        agent.settled()
        samples["large-yaml-rss"] = [process.memory(agent.process.pid)[0]]
    return samples


# How often each is run; those of NAT and egress have rounds of their own.
BENCHMARKS = {announce: 4, repair: 2, idle: 1, large_json: 3, large_yaml: 1, pools: 1, blocks: 1, cni: 1, exports: 1,
              nat_program: 1, nat_path: 1, nat_first: 1, nat_load_1k: 1, nat_load_10k: 1,
              egress_path: 1, egress_program: 1, egress_load: 1, egress_failover: 1, egress_guest: 1}
