# SPDX-License-Identifier: Apache-2.0
"""Claimed addresses with service NAT in kube-proxy's place: the holder serves their ports, for the segment and for
its own packets, and nothing is claimed that NAT has not proved."""

import errno

from lab import objects, wait, wait_equal
from lab.traffic import ask, serve
from test_claimed import NAMES, V4, V6, service

LAB = {"nodes": 3, "nat": True}


def both_protocols(setting, pods):
    """A port of TCP and UDP: each node's own packets to the address get there as the segment's do, the holder's too."""
    ports = [{"name": name, "port": 7, "protocol": protocol, "targetPort": 7}
             for name, protocol in (("echo", "TCP"), ("echo-udp", "UDP"))]
    item = service("web", V4, V6)
    item["spec"]["ports"] += ports
    served = [{"name": "p80", "port": 80, "protocol": "TCP"},
              *[{key: port[key] for key in ("name", "port", "protocol")} for port in ports]]
    for pod in pods:
        serve(pod, 7)
    for family in ("IPv4", "IPv6"):
        setting.plane.put(objects.slice_of("web", [
            objects.endpoint(pod.address4 if family == "IPv4" else pod.address6, pod.node.role) for pod in pods],
            family=family, ports=served, suffix=family.lower()))
    setting.plane.put(item)
    names = {pod.role for pod in pods}
    for address in (V4, V6):
        holder = setting.holder(address, 60)
        for host in (setting.segment.client, *map(setting.node, NAMES)):
            for protocol in ("TCP", "UDP"):
                answer = wait(lambda host=host, address=address, protocol=protocol: ask(host, address, 7, protocol),
                              f"{protocol} of {host.role} to {address} at {holder}", 20)
                assert answer.name in names, answer


def in_set(setting, node, kind, address, element):
    name = f"{kind}-ipv{6 if ':' in address else 4}"
    return element in setting.node(node).run("nft", "list", "set", "inet", "fingerpost", name).stdout.replace("\t", " ")


def opened_where_it_is_held(setting):
    """services.firewall with scope holder: the holder lets in what is opened and nothing else, the others know nothing
    of it; so it goes with the address."""
    for address in (V4, V6):
        holder = setting.holder(address, 60)
        for node in NAMES:
            wait_equal(lambda node=node, address=address: (
                in_set(setting, node, "opened", address, f"{address} . tcp . 80"),
                in_set(setting, node, "closed", address, address)), (node == holder,) * 2, f"the sets of {node}")
    holder = setting.holder(V4)
    own = next(item["local"] for link in setting.node(holder).ip_json("-4", "addr", "show", "dev", "lan")
               for item in link["addr_info"] if item["prefixlen"] == 24)
    client = setting.segment.client
    assert client.refusal(V4, 81, timeout=2) == errno.ETIMEDOUT, "what is not opened is dropped"
    assert client.refusal(own, 81, timeout=2) == errno.ECONNREFUSED, "on the node's own address it is not"


def test_the_holder_serves_the_ports_of_what_it_holds(setting):
    pods = [setting.lab.pod(node, f"web-{node}") for node in setting.lab.nodes]
    for pod in pods:
        pod.serve(80)
    setting.put(V4, V6)
    for family in ("IPv4", "IPv6"):
        setting.plane.put(objects.slice_of("web", [
            objects.endpoint(pod.address4 if family == "IPv4" else pod.address6, pod.node.role) for pod in pods],
            family=family, suffix=family.lower()))
    setting.begin(services={"uplinks": ["eth0", "lan"], "firewall": {"mode": "accept", "scope": "holder"}})
    for address in (V4, V6):
        name = setting.holder(address, 60)
        client, holder = setting.segment.client, setting.node(name)
        wait(lambda client=client, address=address: client.fetch(address), f"a page of {address}", 20)
        # The holder's own packets, and those of a node that has to go by the wire.
        other = next(node for node in setting.lab.nodes if node is not holder)
        for node in (holder, other):
            wait(lambda node=node, address=address: node.fetch(address), f"a page of {address} for {node}", 20)
        assert setting.row(name, address)["state"] == "held"
    name = setting.holder(V4)
    assert setting.agents[name].faults() == [], "it is no fault that an interface has the address"
    both_protocols(setting, pods)
    opened_where_it_is_held(setting)
    first = setting.holder(V4)
    assert setting.agents[first].ctl("drain", "--no-wait").code == 0
    wait(lambda: setting.segment.at(V4) not in ([], [first]), "another holder", 20)
    wait(lambda: setting.segment.client.fetch(V4), "a page of the next holder", 20)
    opened_where_it_is_held(setting)
    assert setting.agents[first].ctl("undrain").code == 0
    # Without endpoints nobody has it.
    setting.plane.put(objects.slice_of("web", [], family="IPv4", suffix="ipv4"))
    wait_equal(lambda: setting.segment.at(V4), [], "no holder without endpoints")
    assert setting.row(name)["why"] == "no usable endpoint for it"
