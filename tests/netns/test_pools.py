# SPDX-License-Identifier: Apache-2.0
"""Pools and advertisements of MetalLB's kinds: whose addresses are announced, and by which nodes."""

from cluster import VIP, VIP6, announced_by, exported, start, tables, write_service
from lab import wait_equal

KIND = {"apiVersion": "metallb.io/v1beta1"}


def pool(name, *addresses):
    return {**KIND, "kind": "IPAddressPool", "metadata": {"name": name, "namespace": "lb"},
            "spec": {"addresses": list(addresses)}}


def advertisement(kind, **spec):
    return {**KIND, "kind": kind, "metadata": {"name": "one", "namespace": "lb"}, "spec": spec}


def write(lab, *items):
    lab.write("pools.yaml", *items)


def renamed(node, hostname):
    """The node's own objects, with another label of its hostname."""
    item, *others = node.objects()
    item["metadata"]["labels"]["kubernetes.io/hostname"] = hostname
    return [item, *others]


def reasons(agent):
    found = {row["prefix"].split("/")[0]: row["reason"] for row in agent.json("routes")["items"]}
    return found[VIP], found[VIP6]


def test_pools_and_advertisements_decide(lab):
    agents = start(lab)
    node1, node2 = lab.nodes
    every = pool("lb", f"{VIP}/32", f"{VIP6}/128")
    write(lab, every)
    announced_by(lab, node1, node2)

    only_first = {"matchLabels": {"kubernetes.io/hostname": node1.role}}
    write(lab, every, advertisement("BGPAdvertisement", nodeSelectors=[only_first]))
    announced_by(lab, node1)
    wait_equal(lambda: reasons(agents[1]), ("other-nodes",) * 2, "node2's reason")

    lab.write("nodes.yaml", *node1.objects(), *renamed(node2, node1.role))
    announced_by(lab, node1, node2)
    lab.write_nodes()
    announced_by(lab, node1)

    write(lab, every, advertisement("L2Advertisement"))
    announced_by(lab)
    wait_equal(lambda: reasons(agents[0]), ("l2-only",) * 2, "node1's reason")

    write(lab, pool("lb", f"{VIP}/32"))
    announced_by(lab, node1, node2, addresses=[VIP])
    announced_by(lab, addresses=[VIP6])
    wait_equal(lambda: reasons(agents[0]), ("announced", "outside-ranges"), "node1's reasons")

    (lab.manifests / "pools.yaml").unlink()
    announced_by(lab, node1, node2)
    for node in lab.nodes:
        wait_equal(lambda: tables(node), exported(node, VIP, VIP6), f"table 119 of {node}")


def told(agent):
    return [(fault["place"], fault["message"]) for fault in agent.faults()
            if fault["subsystem"] == "pools" and "served before" in fault["message"]]


def words(*addresses):
    return [("Service default/web", f"{', '.join(addresses)} was served before there were IPAddressPools, and is in "
             "none of them: it is served as before")]


def unserved(agent):
    return [fault["message"].split("; ")[0] for fault in agent.faults()
            if fault["subsystem"] == "pools" and "this node does not serve it" in fault["message"]]


def test_the_first_pool_takes_nothing_out_of_the_network(lab):
    """What is announced when it comes stays, with a fault, over restarts, until a pool has it or nobody names it."""
    agents = start(lab)
    node1, node2 = lab.nodes
    announced_by(lab, node1, node2)
    monitor = lab.monitor()
    write(lab, pool("lb", "198.51.100.0/28"))
    wait_equal(lambda: told(agents[0]), words(VIP, VIP6), "the fault")
    for how in (agents[0].kill, agents[0].stop):
        how()
        agents[0].start()
        agents[0].settled()
        wait_equal(lambda: told(agents[0]), words(VIP, VIP6), "the fault after a restart")
    announced_by(lab, node1, node2)
    assert monitor.losses(VIP) == []
    write(lab, pool("lb", f"{VIP}/32"))
    wait_equal(lambda: told(agents[0]), words(VIP6), "the fault about the other address")
    write(lab, pool("lb", f"{VIP}/32", f"{VIP6}/128"))
    wait_equal(lambda: told(agents[0]), [], "no fault")
    announced_by(lab, node1, node2)
    write(lab, pool("lb", f"{VIP}/32"))
    announced_by(lab, addresses=[VIP6])


def test_a_first_pool_that_came_while_no_agent_ran(lab):
    """What the kernel has was in service."""
    agents = start(lab)
    node1, node2 = lab.nodes
    announced_by(lab, node1, node2)
    agents[0].stop()
    write(lab, pool("lb", "198.51.100.0/28"))
    agents[0].start()
    wait_equal(lambda: told(agents[0]), words(VIP, VIP6), "the fault")
    announced_by(lab, node1, node2)


SECOND = "203.0.113.99"


def test_a_second_address_of_a_status_withdraws_nothing(lab):
    """What was served before the first pool stays; what is written afterwards is not served, and told."""
    agents = start(lab)
    node1, node2 = lab.nodes
    announced_by(lab, node1, node2)
    write(lab, pool("lb", "198.51.100.0/28"))
    wait_equal(lambda: told(agents[0]), words(VIP, VIP6), "the fault")
    monitor = lab.monitor()
    write_service(lab, "web", (VIP, VIP6, SECOND), {node1: True, node2: True})
    wait_equal(lambda: unserved(agents[0]), [f"{SECOND} is in no IPAddressPool: this node does not serve it"], "the other fault")
    assert told(agents[0]) == words(VIP, VIP6)
    announced_by(lab, node1, node2)
    announced_by(lab, addresses=[SECOND])
    agents[0].kill()
    agents[0].start()
    agents[0].settled()
    assert told(agents[0]) == words(VIP, VIP6)
    assert monitor.losses(VIP) == []
    write(lab, pool("lb", "198.51.100.0/28", f"{SECOND}/32"))
    announced_by(lab, node1, node2, addresses=[VIP, VIP6, SECOND])
    wait_equal(lambda: unserved(agents[0]), [], "no fault")


def test_a_node_that_came_after_the_pools_says_what_it_does_not_serve(lab):
    """Others may announce what it can't know of; a file that says nothing is no knowledge."""
    agents = start(lab)
    node1, node2 = lab.nodes
    announced_by(lab, node1, node2)
    write(lab, pool("lb", "198.51.100.0/28"))
    for agent in agents:
        wait_equal(lambda: told(agent), words(VIP, VIP6), "the fault")
    record = agents[0].folder / "state/outside-pools.json"
    agents[0].stop()
    record.write_text("{}")
    agents[0].start()
    agents[0].settled()
    assert told(agents[0]) == words(VIP, VIP6)
    announced_by(lab, node1, node2)
    agents[0].stop()
    record.unlink()
    node1.run("ip", "route", "flush", "table", "119")
    node1.run("ip", "-6", "route", "flush", "table", "119")
    for _ in range(2):
        agents[0].start()
        agents[0].settled()
        wait_equal(lambda: unserved(agents[0]),
                   [f"{VIP}, {VIP6} is in no IPAddressPool: this node does not serve it"], "the fault of a new node")
        announced_by(lab, node2)
        agents[0].stop()
