# SPDX-License-Identifier: Apache-2.0
"""Ordinary life of a cluster: rollouts, scaling, deletions, drains, agents that restart, nodes that boot. None of it
is a fault: whatever an agent or the controller says above a notice meanwhile, it should not have said. Pods get their
network from us, Services their addresses from pools; one of these is a segment's. The pods of `guest` leave the cluster
by gateways, which come and go. For tests/kube and the soak."""

import json
import random
import re
from collections import Counter

from lab import asking, objects, wait, wait_equal
from lab.controller import Controller
from lab.segment import Segment
from lab.traffic import ask, serve
from lab.wired_kubelets import WiredKubelets
from served import NO_HOLD

POLICY = {"web": "Cluster", "near": "Local", "edge": "Cluster"}
POOLS = {"web": "routed", "near": "routed", "edge": "lan"}
RANGES = {"routed": "203.0.113.0/27", "lan": "198.51.100.32/27"}
BLOCKS = {"apiVersion": f"{asking.COIL}/v2", "kind": "AddressPool", "metadata": {"name": "default"},
          "spec": {"blockSizeBits": 4, "subnets": [{"ipv4": "10.224.0.0/24", "ipv6": "fd00:224::/120"}]}}
GUEST = "guest"  # the Deployment whose pods leave by gateways; it has no Service
LEAVES = {"metadata": {"labels": {"app": GUEST}, "annotations": {"egress.coil.cybozu.com/default": "nat"}},
          "spec": {"containers": [{"name": GUEST, "image": GUEST}]}}
OUTSIDE = 8080
LOUD = re.compile(r"^<[0-4]>(.*)", re.MULTILINE)  # warnings, and what is worse


def with_level(log):
    """The environment of a program that is to put each line's level in front, as for a journal whose socket is away."""
    log.touch()
    return {"JOURNAL_STREAM": f"{log.stat().st_dev}:{log.stat().st_ino}"}


def pool(name):
    return {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"addresses": [RANGES[name]]}}


def advertisement(kind, name, **spec):
    return {"apiVersion": "metallb.io/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {"ipAddressPools": [name], **spec}}


def egress():
    return {"apiVersion": f"{asking.COIL}/v2", "kind": "Egress",
            "metadata": objects.metadata("nat", annotations={"fingerpost.io/gateway-nodes": "gateway=yes"}),
            "spec": {"destinations": ["0.0.0.0/0", "::/0"]}}


def guests(replicas):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": objects.metadata(GUEST),
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": GUEST}}, "template": LEAVES}}


class LifesKubelets(WiredKubelets):
    """No pod is given to a gateway."""

    def __init__(self, lab, plane, gateways):
        super().__init__(lab, plane)
        self.gateways = gateways

    def objects_of(self, node):
        [item] = super().objects_of(node)
        if node in self.gateways:
            item["metadata"]["labels"]["gateway"] = "yes"
            item["spec"]["unschedulable"] = True
        return [item]


class Life:
    """A lab of four nodes, with a control plane, NAT and a segment; three Services, each with a Deployment, and guests.
    Two nodes have pods, the others are gateways."""

    def __init__(self, lab, seed):
        self.lab, self.chance, self.done = lab, random.Random(seed), Counter()
        self.workers, self.gateways = lab.nodes[:2], lab.nodes[2:]
        self.plane, self.segment = lab.control_plane(), Segment(lab)
        self.replicas = {name: 2 for name in (*POLICY, GUEST)}
        self.controller = self.start_controller(lab.nodes[0])
        self.plane.put(BLOCKS, *map(pool, RANGES),
                       advertisement("BGPAdvertisement", "routed"), advertisement("L2Advertisement", "lan"))
        self.kubelets = lab.play_kubelets(lambda *given: LifesKubelets(*given, self.gateways))
        self.agents = [*map(self.start_agent, self.workers), *map(self.start_gateway, self.gateways)]
        serve(lab.client, OUTSIDE)
        self.plane.put(egress(), guests(self.replicas[GUEST]))
        for name in POLICY:
            self.kubectl("create", "deployment", name, f"--image={name}", f"--replicas={self.replicas[name]}")
            self.expose(name)
        self.settle()
        self.logs = {each.log: each.log.stat().st_size for each in (*self.agents, self.controller)}

    def start_controller(self, host):
        controller = Controller(host, "a", self.plane.controller_kubeconfig("a"), {"election": asking.ELECTION})
        controller.start(**with_level(controller.log))
        wait(controller.leads, "the controller to lead", 60)
        return controller

    def start_agent(self, node):
        return self.start_one(node, pods={"enabled": True}, services={"uplinks": ["eth0", "lan"]}, egress={"enabled": True},
                              addresses={"duration": "15s", "interfaces": ["lan"]})

    def start_gateway(self, node):
        return self.start_one(node, services={"enabled": False}, egress={"gateway": {}})

    def start_one(self, node, **settings):
        agent = self.lab.agent(node, kubeconfig=self.plane.agent_kubeconfig(node), start=False, routes=NO_HOLD,
                               bird={"socket": str(node.bird.socket)}, **settings)
        node.environment.update(with_level(agent.log))
        return agent.start()

    def label(self, node, gateway):
        self.kubectl("label", "node", node.role, f"gateway={gateway}", "--overwrite")

    def kubectl(self, *words):
        return self.plane.kubectl(*words)

    def expose(self, name):
        overrides = {"metadata": {"annotations": {"metallb.io/address-pool": POOLS[name]}},
                     "spec": {"externalTrafficPolicy": POLICY[name]}}
        self.kubectl("expose", "deployment", name, "--port=80", "--type=LoadBalancer",
                     f"--overrides={json.dumps(overrides)}")

    def pods(self):
        return [pod["metadata"]["name"] for pod in self.plane.items("Pod")
                if pod["metadata"]["namespace"] == "default"
                and "deletionTimestamp" not in pod["metadata"]]

    def count(self):
        """Pods that run, by Deployment."""
        return Counter(pod.rsplit("-", 2)[0] for pod in self.pods())

    def address(self, name):
        [service] = [item for item in self.plane.items("Service") if item["metadata"]["name"] == name]
        given = service["status"]["loadBalancer"].get("ingress")
        return given[0]["ip"] if given else None

    def is_there(self, name):
        """Whether clients reach it, if it has pods; and nobody has its address if it has none."""
        address = self.address(name)
        if POOLS[name] == "lan":
            nodes = self.segment.at(address) if address else []
        else:
            nodes = self.lab.tor.via(address) if address else []
        client = self.segment.client if POOLS[name] == "lan" else self.lab.client
        if not self.replicas[name]:
            return address and not nodes
        return nodes and client.fetch(address)

    def leave(self):
        """Whether the host outside sees each guest at the address of a gateway."""
        known = [node.address4 for node in self.gateways]
        made = [pod for (_, name), (pod, _) in list(self.kubelets.pods.items()) if name in self.pods() and GUEST in name]
        try:
            return all(ask(pod, self.lab.client.address4, OUTSIDE, timeout=1).peer in known for pod in made)
        except OSError:
            return False

    def settle(self):
        """All pods run that are to run, those that have some are reached by their Service's address, and guests leave."""
        wait_equal(self.count, +Counter(self.replicas), "the pods", 60)
        for name in POLICY:
            wait(lambda name=name: self.is_there(name), f"the address of {name}", 60)
        wait(self.leave, "guests to leave by gateways", 60)

    # What happens in a day.

    def scale(self):
        name = self.chance.choice(list(self.replicas))
        self.replicas[name] = self.chance.randrange(0, 5)
        self.kubectl("scale", "deployment", name, f"--replicas={self.replicas[name]}")

    def roll_out(self):
        name = self.chance.choice(list(self.replicas))
        # Once a second at most, kubectl says.
        wait(lambda: self.kubectl("rollout", "restart", f"deployment/{name}"), f"the rollout of {name}")
        self.kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")

    def delete_pod(self):
        pods = self.pods()
        if pods:
            self.kubectl("delete", "pod", self.chance.choice(pods), "--wait=false")

    def drain(self, during=lambda node: None):
        node = self.chance.choice(self.workers)
        self.kubectl("drain", node.role, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
        self.settle()
        during(node)
        self.kubectl("uncordon", node.role)

    def boot_node(self):
        """In order: drained first; then its kernel has nothing of ours."""
        self.drain(self.boot)

    def boot(self, node):
        [agent] = node.agents
        agent.stop()
        node.bird.process.terminate()
        node.bird.process.wait()
        answer = agent.ctl("cleanup", "--config", str(agent.config_file))
        assert answer.code == 0, answer
        node.bird.start()
        agent.start()

    def replace_service(self):
        name = self.chance.choice(list(POLICY))
        self.kubectl("delete", "service", name)
        self.expose(name)

    def restart_agent(self):
        agent = self.chance.choice(self.agents)
        agent.stop()
        agent.start()

    def replace_gateway(self):
        """One is taken out of service, and comes back when guests leave by the other."""
        node = self.chance.choice(self.gateways)
        self.label(node, "no")
        self.settle()
        self.label(node, "yes")

    STEPS = (scale, scale, roll_out, delete_pod, drain, replace_service, restart_agent, boot_node, replace_gateway)

    def live(self, steps):
        for _ in range(steps):
            step = self.chance.choice(self.STEPS)
            step(self)
            self.settle()
            self.done[step.__name__] += 1

    def loud(self):
        """What agents and the controller said above a notice, and the faults that are left."""
        wait_equal(lambda: [agent.faults() for agent in self.agents], [[] for _ in self.agents], "no fault at the end")
        texts = {log: log.read_text("utf-8") for log in self.logs}
        assert all(text.startswith("<") for text in texts.values()), "lines without a level"
        return [line for log, text in texts.items() for line in LOUD.findall(text[self.logs[log]:])]

    def end(self):
        assert self.controller.stop() == 0
