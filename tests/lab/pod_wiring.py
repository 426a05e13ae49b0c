# SPDX-License-Identifier: Apache-2.0
"""Pods whose interfaces are made by an agent's plan, as agent-cni makes them, by iproute2."""

import json

from .agent import Connection
from .namespace import Namespace


def call(agent, method, path, body=None):
    """(status, document) of one request at an agent's socket."""
    connection = Connection(agent.socket)
    try:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


class WiredPod(Namespace):
    """A pod that asks its node's agent for addresses."""

    def __init__(self, lab, node, agent, name, container=None):
        super().__init__(lab.label, f"pod-{name}", lab.folder)
        self.create(forwarding=False)
        self.node, self.agent, self.name_of_pod = node, agent, name
        self.container = container or name.encode().hex() * 4
        self.path = f"/v1/pods/{self.container}/eth0"
        self.plan = None

    def want(self, **more):
        body = {"namespace": "default", "name": self.name_of_pod, "uid": f"uid-{self.name_of_pod}",
                "sandbox": f"/run/netns/{self.name}", **more}
        return call(self.agent, "POST", self.path, body)

    def make(self):
        """Both ends, by the plan."""
        plan = self.plan
        host = plan["hostInterface"]
        self.node.configure(
            f"link add {host} mtu {plan['mtu']} type veth peer name eth0 mtu {plan['mtu']} "
            f"netns {self.name}",
            f"link set {host} alias {plan['alias']}")
        self.node.set_sysctls({name.replace(".", "/"): value for name, value in plan["sysctls"].items()})
        self.node.configure(f"link set {host} up")
        mac = self.node.ip_json("link", "show", host)[0]["address"]
        self.configure("link set eth0 up", *(f"addr add {a} dev eth0 nodad" for a in plan["addresses"]))
        for gateway in plan["gateways"]:
            self.configure(f"neigh replace {gateway} lladdr {mac} nud permanent dev eth0")
            if ":" not in gateway:
                self.configure(f"route add {gateway} dev eth0 scope link")
        self.configure(*(f"route add {route['to']} via {route['via']} dev eth0" for route in plan["routes"]))

    def wired(self):
        links = self.node.ip_json("link", "show", self.plan["hostInterface"])
        return call(self.agent, "POST", f"{self.path}/wired", {
            "hostIndex": links[0]["ifindex"], "hostMAC": links[0]["address"],
            "podMAC": self.ip_json("link", "show", "eth0")[0]["address"]})

    def add(self, **more):
        status, plan = self.want(**more)
        assert status == 200, plan
        self.plan = plan
        self.make()
        status, answer = self.wired()
        assert status == 200, answer
        return self

    def delete(self):
        """DEL: first the link, then the word."""
        if self.plan:
            self.node.run("ip", "link", "del", self.plan["hostInterface"], check=False)
        return call(self.agent, "DELETE", self.path)

    def address(self, family):
        [address] = [a for a in self.plan["addresses"] if (":" in a) == (family == 6)]
        return address.split("/")[0]
