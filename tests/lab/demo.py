# SPDX-License-Identifier: Apache-2.0
"""The demo: what an operator would try first, each expectation checked. tools/demo calls it.

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

from . import reaper
from .lab import Lab, label_of
from .wait import Timeout, wait_equal

MANIFESTS = Path(__file__).with_name("manifests")
ENDPOINTS = "web-endpoints.json"
ADDRESSES = ("203.0.113.10", "fd00:203::10")


def say(text):
    print(f"\n{text}", flush=True)


def show(lab, command):
    """Prints a command and what it says, as one would see it with bin/ in the PATH."""
    print(f"  $ {command}")
    program, *words = command.split()
    done = subprocess.run(
        [str(lab.folder / "bin" / program), *words], capture_output=True, text=True
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "ready." not in line]
    print(textwrap.indent("\n".join(lines), "    "), flush=True)
    return done.returncode


def expect(what, observe, expected):
    wait_equal(observe, expected, what)
    print(f"  ok: {what}", flush=True)


def expect_via(lab, prefix, nodes):
    """An address or block at the ToR: in the BGP table and in the kernel, via just these nodes."""
    full = prefix if "/" in prefix else prefix + ("/128" if ":" in prefix else "/32")
    where = f"via {' and '.join(sorted(nodes))}" if nodes else "gone"
    expect(f"{prefix} {where}, in the ToR's BGP table", lambda: set(lab.tor.paths(full)), nodes)
    expect(f"{prefix} {where}, in the ToR's kernel", lambda: lab.tor.via(prefix), nodes)


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
        lab.agent(node)
        lab.pod(node, f"web-{node.role[-1]}").serve()
    say("agentd runs on both nodes and reads manifests as kubectl prints them:")
    print(textwrap.indent("\n".join(sorted(p.name for p in MANIFESTS.iterdir())), "    "))
    print("  It writes into table 119, and BIRD takes it from there:")
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


def pages(lab):
    say("The client behind the ToR fetches a page from a pod on each node by its address.")
    for node in lab.nodes:
        for pod in node.pods.values():
            for address in (pod.address4, pod.address6):
                page = f"{pod.role} on {node}\n"
                host = f"[{address}]" if ":" in address else address
                expect(f"http://{host} says: {page.strip()}",
                       lambda: lab.client.fetch(address), page)


def readiness(lab):
    say("The pod on node1 turns unready (policy Local): its address leaves node1 at once.")
    set_ready(lab, node1=False)
    for address in ADDRESSES:
        expect_via(lab, address, {"node2"})
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


def health(lab):
    say("What the agents say of themselves:")
    for node in lab.nodes:
        expect(f"agentctl status on {node} is healthy",
               lambda: lab.agentctl(node, "status", "--wait=10s").code, 0)
        show(lab, f"agentctl-{node} status")


def look_around(lab):
    return textwrap.dedent(f"""
        The network stands. Its commands are in {lab.folder}/bin:
            tor, node1, node2, client, pod-web-1 ...     run a command there: tor ip route
            birdc-tor, birdc-node1 ...                   BIRD: birdc-tor show route all
            agentctl-node1, agentctl-node2               the agents: agentctl-node1 routes
        Manifests to edit: {lab.manifests}
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
    parser.add_argument("--name", default="demo", help="of the network (default: demo)")
    options = parser.parse_args()
    if options.clean:
        reaper.remove(label_of(options.name))
        return 0
    try:
        with Lab(options.name) as lab:
            for step in (start, blocks_and_addresses, pages, readiness, health):
                step(lab)
            say("Everything was seen as announced.")
            if options.keep:
                keep(lab)
    except Timeout as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted; the network is removed.", file=sys.stderr)
        sys.exit(130)
