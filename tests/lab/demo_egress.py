# SPDX-License-Identifier: Apache-2.0
"""The demo's last act: pods leave the cluster by gateways, and one of these dies."""

import time

from . import objects
from .namespace import Namespace
from .showing import expect, say, show
from .traffic import Connection, ask, serve
from .wait import PATIENCE, wait

PORT = 8080
SECONDS = 2  # within which new connections go by another gateway


class Router(Namespace):
    """A router beside the nodes, with a link to the ToR, and agentd as a gateway."""

    def __init__(self, lab, index):
        super().__init__(lab.label, f"router{index}", lab.folder)
        net = 112 + index  # with which, by the mixture of addresses, each pod has its own gateway
        self.address4, self.address6 = f"10.0.{net}.2", f"fd00:0:0:{net}::2"
        self.agents = []
        self.create(forwarding=True)
        lab.tor.configure(
            f"link add {self.role} type veth peer name eth0 netns {self.name}",
            f"addr add 10.0.{net}.1/24 dev {self.role}",
            f"addr add fd00:0:0:{net}::1/64 dev {self.role} nodad",
            f"link set {self.role} up",
        )
        self.configure(
            f"addr add {self.address4}/24 dev eth0",
            f"addr add {self.address6}/64 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via 10.0.{net}.1",
            f"route add default via fd00:0:0:{net}::1",
        )

    def object(self):
        return objects.node(self.role, [self.address4, self.address6], {"gateway": "yes"})


def pods_of(lab):
    return [pod for node in lab.nodes for pod in node.pods.values()]


def routes_of(lab):
    """Where pods leave, by family: a pod keeps to one gateway as long as that is there."""
    return [(pod, address) for pod in pods_of(lab)
            for address in (lab.client.address4, lab.client.address6)]


def seen(pod, address, timeout=5):
    """As whom the host outside sees a new connection of a pod."""
    return ask(pod, address, PORT, timeout=timeout).peer


def router_of(lab, pod, address, **more):
    """The gateway by which a new connection of a pod leaves."""
    peer = seen(pod, address, **more)
    [router] = [one for one in lab.routers if peer in (one.address4, one.address6)]
    return router


def leave(lab):
    say("Two routers join as gateways. An Egress says which Nodes are (gateway=yes) and for which\n"
        "destinations, and an annotation of each pod names the Egress:")
    lab.routers = [Router(lab, index) for index in (1, 2)]
    for router in lab.routers:
        lab.write(f"{router}.yaml", router.object())
        lab.agent(router, services={"enabled": False}, egress={"gateway": {}})
    lab.write("egress.yaml", objects.egress(), *map(objects.client_pod, pods_of(lab)))
    serve(lab.client, PORT)
    say("The client is the host outside now. It sees no pod's address, but a gateway's:")
    for pod, address in routes_of(lab):
        router = wait(lambda: router_of(lab, pod, address), f"a gateway of {pod}")
        print(f"  ok: {pod} is seen by {address} as {seen(pod, address)}: {router}", flush=True)
    used = sorted({router_of(lab, *route).role for route in routes_of(lab)})
    expect("each gateway has some of the pods", lambda: used, ["router1", "router2"])
    show(lab, "agentctl-node1 egress")
    show(lab, "agentctl-router1 egress")


def fail(lab):
    one, two = lab.routers
    say(f"{one} is killed, and nobody tells the nodes. Their probes find out, and new connections of its\n"
        f"pods leave by {two}:")
    ways = {router: [route for route in routes_of(lab) if router_of(lab, *route) is router]
            for router in lab.routers}
    pod, address = ways[two][0]
    with Connection(pod, address, PORT) as kept:
        before, begin = kept.who().peer, time.monotonic()

        def clock(what):
            print(f"  {time.monotonic() - begin:5.2f} s  {what}", flush=True)

        lab.tor.configure(f"link set {one} down")
        one.agents[0].kill()
        clock(f"{one} is off the network")
        for pod, address in ways[one]:
            wait(lambda: router_of(lab, pod, address, timeout=0.1 * PATIENCE) is two,
                 f"{pod} leaves by {two}")
            clock(f"{pod} is seen by {address} as {seen(pod, address)}: {two}")
        took = time.monotonic() - begin
        expect(f"that took less than {SECONDS} s", lambda: took < SECONDS * PATIENCE, True)
        expect(f"a connection by {two} has gone on", lambda: kept.who().peer, before)
    show(lab, "agentctl-node1 egress")
    say(f"{one} is gone for good, and its Node is deleted: it is no fault any more.")
    (lab.manifests / f"{one}.yaml").unlink()
