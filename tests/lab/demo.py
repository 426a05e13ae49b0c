# SPDX-License-Identifier: Apache-2.0
"""The demo: what an operator would try first, each expectation checked. tools/demo calls it.
With --kubernetes all is a real cluster's, pods too: demo_kubernetes.py.

Ends 0 only if everything that it announces was seen. The network goes away with it, however it
ends, unless --keep is given.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from . import demo_egress, demo_kubernetes, kube_programs, reaper
from .lab import Lab, label_of
from .showing import expect, expect_via, health, lasting, pages_of, progress, say, show
from .wait import Timeout

MANIFESTS = Path(__file__).with_name("manifests")
ENDPOINTS = "web-endpoints.json"
ADDRESSES = ("203.0.113.10", "fd00:203::10")


def set_ready(lab, **ready):
    """Rewrites the endpoints as the cluster would: ready or not, by node."""
    document = json.loads((lab.manifests / ENDPOINTS).read_text(encoding="utf-8"))
    for endpoint_slice in document["items"]:
        for endpoint in endpoint_slice["endpoints"]:
            conditions = endpoint["conditions"]
            conditions["ready"] = ready.get(endpoint["nodeName"], conditions["ready"])
            conditions["serving"] = conditions["ready"]
    lab.write_text(ENDPOINTS, json.dumps(document, indent=4) + "\n")


def start(lab):
    say("A ToR, two nodes and a client stand, each in a network namespace; BIRD runs on three.")
    lab.wait_sessions()
    show(lab, "birdc-tor show protocols")
    for manifest in MANIFESTS.iterdir():
        shutil.copy(manifest, lab.manifests)
    for node in lab.nodes:
        lab.agent(node, bird={"socket": str(node.bird.socket)}, egress={"enabled": True})
        lab.pod(node, f"web-{node.role[-1]}").serve()
    say("agentd runs on both nodes and reads manifests as kubectl prints them:")
    print(textwrap.indent("\n".join(sorted(p.name for p in MANIFESTS.iterdir())), "    "))
    print("  It serves their Services and writes into table 119, from where BIRD takes it:")
    show(lab, "node1 ip route show table 119")


def blocks_and_addresses(lab):
    say("The ToR has each node's pod blocks via that node, and the LoadBalancer address via both.")
    for node in lab.nodes:
        expect_via(lab, node.block4, {node.role})
        expect_via(lab, node.block6, {node.role})
    for address in ADDRESSES:
        expect_via(lab, address, {"node1", "node2"})
    show(lab, "birdc-tor show route table master4")
    show(lab, "birdc-tor show route table master6")
    say("agentd asks BIRD's control socket what becomes of them:")
    show(lab, "agentctl-node1 peers")


def pages(lab):
    say("The client behind the ToR fetches a page from a pod on each node by its address.")
    for node in lab.nodes:
        for pod in node.pods.values():
            for address in (pod.address4, pod.address6):
                page = f"{pod.role} on {node}\n"
                host = f"[{address}]" if ":" in address else address
                expect(f"http://{host} says: {page.strip()}",
                       lambda: lab.client.fetch(address), page)


def service_pages(lab):
    say("It fetches pages from the LoadBalancer addresses: the ToR spreads them over both nodes, and\n"
        "each node's program in the kernel forwards them to its pod.")
    both = {f"{pod.role} on {node}\n" for node in lab.nodes for pod in node.pods.values()}
    for address in ADDRESSES:
        host = f"[{address}]" if ":" in address else address
        expect(f"http://{host} gives pages of both nodes", lambda: pages_of(lab, address), both)
    show(lab, "agentctl-node1 services")
    show(lab, "agentctl-node1 backends")
    say("The same program says what it would do with a packet; nothing is sent:")
    for words in (f"192.0.2.2 {ADDRESSES[0]}:80/TCP", f"2001:db8:c::2 [{ADDRESSES[1]}]:81/TCP",
                  "--in host 10.0.1.2 10.96.114.7:80/TCP"):
        show(lab, f"agentctl-node1 trace {words}")


def readiness(lab):
    say("The pod on node1 turns unready (policy Local): its address leaves node1 at once.")
    set_ready(lab, node1=False)
    for address in ADDRESSES:
        expect_via(lab, address, {"node2"})
        host = f"[{address}]" if ":" in address else address
        expect(f"http://{host} gives pages of node2 alone",
               lambda: pages_of(lab, address), {"pod-web-2 on node2\n"})
    show(lab, f"agentctl-node1 explain {ADDRESSES[0]}")
    say("The pod on node2 turns unready too: the address leaves the ToR.")
    set_ready(lab, node2=False)
    for address in ADDRESSES:
        expect_via(lab, address, set())
    show(lab, "birdc-tor show route table master4")
    say("Both are ready again: the address comes back, after a second's hold-down.")
    set_ready(lab, node1=True, node2=True)
    for address in ADDRESSES:
        expect_via(lab, address, {"node1", "node2"})


def look_around(lab):
    source = "Objects to edit: kubectl" if lab.plane else f"Manifests to edit: {lab.manifests}"
    return textwrap.dedent(f"""
        The network stands. Its commands are in {lab.folder}/bin:
            tor, node1, node2, client, pod-web-1 ...     run a command there: tor ip route
            birdc-tor, birdc-node1 ...                   BIRD: birdc-tor show route all
            agentctl-node1, agentctl-node2               the agents: agentctl-node1 routes
        {source}
        Logs: {lab.folder}/*/""").strip()


def keep(lab):
    say(look_around(lab))
    if not sys.stdin.isatty():
        lab.keep()
        print("Remove it with: tools/demo --clean")
        return
    print("Leave this shell to remove it.", flush=True)
    environment = {**os.environ, "PATH": f"{lab.folder / 'bin'}:{os.environ['PATH']}"}
    subprocess.run([os.environ.get("SHELL", "/bin/bash")], env=environment, cwd=lab.folder)


def main():
    parser = argparse.ArgumentParser(prog="tools/demo", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--keep", action="store_true",
                        help="leave the network standing, with a shell in it")
    parser.add_argument("--clean", action="store_true", help="remove a network that was kept")
    parser.add_argument("--kubernetes", action="store_true",
                        help="on a real cluster, whose pods are containers (needs Go to build it)")
    parser.add_argument("--name", default="demo", help="of the network (default: demo)")
    options = parser.parse_args()
    if options.clean:
        reaper.remove(label_of(options.name))
        return 0
    steps = (start, blocks_and_addresses, pages, service_pages, readiness, demo_egress.leave,
             demo_egress.fail, health)
    try:
        if options.kubernetes:
            print("Building the control plane, which takes minutes the first time", flush=True)
            with lasting("building etcd and Kubernetes' programs"):
                kube_programs.build()
                kube_programs.build_kubelet()
            steps = demo_kubernetes.STEPS
        progress()
        with Lab(options.name, nat=True) as lab:
            for step in steps:
                step(lab)
            say("Everything was seen as announced.")
            if options.keep:
                keep(lab)
    except (Timeout, kube_programs.NoGo, kube_programs.BuildFailed) as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted; the network is removed.", file=sys.stderr)
        sys.exit(130)
