# SPDX-License-Identifier: Apache-2.0
"""Ordinary life of a cluster: rollouts, scaling, deletions, drains, agents that restart. None of it is
a fault: whatever an agent says above a notice meanwhile, it should not have said. For tests/kube and
the soak."""

import json
import random
import re
from collections import Counter

from lab import wait, wait_equal
from served import NO_HOLD

ADDRESSES = {"web": "203.0.113.10", "near": "203.0.113.11"}
POLICY = {"web": "Cluster", "near": "Local"}
LOUD = re.compile(r"^<[0-4]>(.*)", re.MULTILINE)  # warnings, and what is worse


class Life:
    """A lab with a control plane and NAT on its nodes; two Services, each with a Deployment."""

    def __init__(self, lab, seed):
        self.lab, self.chance, self.done = lab, random.Random(seed), Counter()
        self.plane = lab.control_plane()
        lab.play_kubelets()
        self.replicas = {}
        for name in ADDRESSES:
            self.kubectl("create", "deployment", name, f"--image={name}", "--replicas=2")
            self.replicas[name] = 2
            self.expose(name)
        self.agents = [self.start_agent(node) for node in lab.nodes]
        self.settle()
        self.said = {agent: agent.log.stat().st_size for agent in self.agents}

    def start_agent(self, node):
        """Its log has each line's level in front, as for a journal whose socket is away."""
        agent = self.lab.agent(node, kubeconfig=self.plane.agent_kubeconfig(node), start=False,
                               routes=NO_HOLD, bird={"socket": str(node.bird.socket)})
        agent.log.touch()
        file = agent.log.stat()
        node.environment["JOURNAL_STREAM"] = f"{file.st_dev}:{file.st_ino}"
        return agent.start()

    def kubectl(self, *words):
        return self.plane.kubectl(*words)

    def expose(self, name):
        overrides = {"spec": {"externalTrafficPolicy": POLICY[name]}}
        ingress = {"status": {"loadBalancer": {"ingress": [{"ip": ADDRESSES[name]}]}}}
        self.kubectl("expose", "deployment", name, "--port=80", "--type=LoadBalancer",
                     f"--overrides={json.dumps(overrides)}")
        self.kubectl("patch", "service", name, "--subresource=status", "--type=merge",
                     f"--patch={json.dumps(ingress)}")

    def pods(self):
        return [pod["metadata"]["name"] for pod in self.plane.items("Pod")
                if pod["metadata"]["namespace"] == "default"
                and "deletionTimestamp" not in pod["metadata"]]

    def count(self):
        """Pods that run, by Deployment."""
        return Counter(pod.rsplit("-", 2)[0] for pod in self.pods())

    def settle(self):
        """All pods run that are to run, and the ToR has the addresses that have one."""
        wait_equal(self.count, +Counter(self.replicas), "the pods", 60)
        for name, address in ADDRESSES.items():
            there = self.replicas[name] > 0
            wait(lambda: bool(self.lab.tor.via(address)) == there, f"{address} on the ToR", 60)

    # What happens in a day.

    def scale(self):
        name = self.chance.choice(list(ADDRESSES))
        self.replicas[name] = self.chance.randrange(0, 5)
        self.kubectl("scale", "deployment", name, f"--replicas={self.replicas[name]}")

    def roll_out(self):
        name = self.chance.choice(list(ADDRESSES))
        self.kubectl("rollout", "restart", f"deployment/{name}")
        self.kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")

    def delete_pod(self):
        pods = self.pods()
        if pods:
            self.kubectl("delete", "pod", self.chance.choice(pods), "--wait=false")

    def drain(self):
        node = self.chance.choice(self.lab.nodes).role
        self.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data",
                     "--timeout=60s")
        self.settle()
        self.kubectl("uncordon", node)

    def replace_service(self):
        name = self.chance.choice(list(ADDRESSES))
        self.kubectl("delete", "service", name)
        self.expose(name)

    def restart_agent(self):
        agent = self.chance.choice(self.agents)
        agent.stop()
        agent.start()

    STEPS = (scale, scale, roll_out, delete_pod, drain, replace_service, restart_agent)

    def live(self, steps):
        for _ in range(steps):
            step = self.chance.choice(self.STEPS)
            step(self)
            self.settle()
            self.done[step.__name__] += 1

    def loud(self):
        """What agents said above a notice, and the faults that are left."""
        wait_equal(lambda: [agent.faults() for agent in self.agents], [[] for _ in self.agents],
                   "no fault at the end")
        logs = [agent.log.read_text("utf-8") for agent in self.agents]
        assert all(log.startswith("<") for log in logs), "lines without a level"
        return [line for agent, log in zip(self.agents, logs)
                for line in LOUD.findall(log[self.said[agent]:])]
