# SPDX-License-Identifier: Apache-2.0
"""Services of one address each, in an API, and the routes that a node's agent makes of them.

`api`: a ControlPlane or a ScriptedApi. What the table has to be is always derived from what the API
holds, so that tests may change objects in the middle of any trouble and need not know whether a
change was taken.
"""

import contextlib
import random
import threading

from cluster import exported, pod_address, tables
from lab import objects, wait_equal
from lab.kube_api import ApiError

LASTING = range(1, 6)  # Services that stay
PASSING = range(100, 130)  # those that come and go
REFUSALS = (ApiError, LookupError, OSError, ValueError)


def address_of(number):
    return f"203.0.113.{number}"


def in_sync(agent):
    """Whether all of the source has been seen, and stands in the kernel."""
    (source,) = agent.settled()["sources"]
    return source["synced"]


class World:
    def __init__(self, api, node):
        self.api = api
        self.node = node
        self.api.put(*node.objects())
        self.add(*LASTING)

    def items_of(self, number):
        name = f"s{number}"
        endpoint = objects.endpoint(pod_address(self.node), self.node.role)
        service = objects.service(name, [address_of(number)], policy="Local")
        del service["spec"]["selector"]  # its slice is the test's, not a controller's
        return service, objects.slice_of(name, [endpoint])

    def add(self, *numbers):
        for number in numbers:
            self.api.put(*self.items_of(number))

    def remove(self, *numbers):
        for number in numbers:
            self.api.delete(*self.items_of(number))

    def served(self):
        """The addresses of the Services that have an endpoint."""
        slices = {item["metadata"]["labels"]["kubernetes.io/service-name"]
                  for item in self.api.items("EndpointSlice")}
        return sorted(
            ingress["ip"]
            for item in self.api.items("Service") if item["metadata"]["name"] in slices
            for ingress in item.get("status", {}).get("loadBalancer", {}).get("ingress", [])
        )

    def reached(self, what, timeout=60, but=()):
        """Waits until the node's table is what the API's objects ask for, `but` some numbers."""
        left = {address_of(number) for number in but}
        wanted = exported(self.node, *[ip for ip in self.served() if ip not in left])
        wait_equal(lambda: tables(self.node), wanted, f"table 119 {what}", timeout)

    def monitor(self, lab):
        """Watches what the ToR loses, from when it has all lasting addresses."""
        self.at_tor(lab, {self.node.role})
        return lab.monitor()

    @staticmethod
    def at_tor(lab, nodes):
        for number in LASTING:
            wait_equal(lambda: lab.tor.via(address_of(number)), nodes, f"s{number} at the ToR")

    def lost(self, monitor):
        """Lasting addresses that were withdrawn, though no object asked for it."""
        lasting = {address_of(number) for number in LASTING}
        return [loss for loss in monitor.losses() if loss[1].partition("/")[0] in lasting]

    @contextlib.contextmanager
    def changing(self, seed):
        """Services come and go meanwhile, as far as the API takes it."""
        stop = threading.Event()
        chooser = random.Random(seed)

        def change():
            while not stop.wait(0.02):
                with contextlib.suppress(*REFUSALS):
                    chooser.choice((self.add, self.remove))(chooser.choice(PASSING))

        thread = threading.Thread(target=change, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
