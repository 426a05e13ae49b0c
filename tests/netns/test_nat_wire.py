# SPDX-License-Identifier: Apache-2.0
"""A node that is itself a container, and has a second wire to another machine: that is no pod's interface."""

import pytest
from lab import wait_equal
from served import start

pytestmark = pytest.mark.lab(nodes=1, nat=True)


@pytest.mark.parametrize("family", (4, 6))
def test_a_second_network_of_the_node(lab, family):
    node = lab.nodes[0]
    own, beside = {4: ("192.168.77.1/24", "192.168.77.2/24"),
                   6: ("fd77::1/64 nodad", "fd77::2/64 nodad")}[family]
    node.configure(f"link add eth1 type veth peer name wire netns {lab.client.name}",
                   f"addr add {own} dev eth1", "link set eth1 up")
    lab.client.configure(f"addr add {beside} dev wire", "link set wire up")
    guest = lab.pod(node, "guest")
    [agent] = start(lab, services={"uplinks": "auto", "podInterfaces": "auto"})

    def hooks():
        found = {item["name"]: item["hooks"] for item in agent.json("status")["nat"]["interfaces"]}
        return found.get("eth1"), found.get(guest.host_end)

    wait_equal(hooks, (["uplink-in", "uplink-out"], ["pod-in", "pod-out"]), "what the two interfaces are")
