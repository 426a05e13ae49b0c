# SPDX-License-Identifier: Apache-2.0
"""What most end-to-end tests begin with: both nodes' objects, and a Service "web"."""

import ipaddress

from lab import objects, wait_equal

VIP = "203.0.113.10"
VIP6 = "fd00:203::10"
GUARD_METRIC = 4278198272

# What kube-proxy does in nftables mode, for one service.
NAT = """
table inet nat {
    chain services {
        ip daddr %(vip)s tcp dport 80 dnat ip to %(pod)s:80
        ip6 daddr %(vip6)s tcp dport 80 dnat ip6 to [%(pod6)s]:80
    }
    chain prerouting {
        type nat hook prerouting priority dstnat
        jump services
    }
    chain output {
        type nat hook output priority -100
        jump services
    }
    chain postrouting {
        type nat hook postrouting priority srcnat
        ct status dnat fib saddr type local masquerade
    }
}
"""


def nat(pod):
    """Lets the pod's node serve web's addresses by this pod, in kube-proxy's place."""
    values = {"vip": VIP, "vip6": VIP6, "pod": pod.address4, "pod6": pod.address6}
    pod.node.run("nft", "-f", "-", text=NAT % values)


def pod_address(node, family=4, index=1):
    """The address that the node's index-th pod has, or would have."""
    return str(ipaddress.ip_network(getattr(node, f"block{family}"))[index])


def write_service(lab, name, addresses, ready, *, policy="Local", ports=(80,), in_place=False,
                  **more):
    """A Service and its slices in one file; `ready`: whether each node's endpoint is, by node."""
    families = sorted({6 if ":" in address else 4 for address in addresses})
    slices = [
        objects.slice_of(
            name,
            [objects.endpoint(pod_address(node, family), node.role, ready=is_ready)
             for node, is_ready in ready.items()],
            family=f"IPv{family}",
            ports=ports,
            suffix=f"v{family}",
        )
        for family in families
    ]
    service = objects.service(name, addresses, policy=policy, ports=ports, **more)
    lab.write(f"{name}.yaml", service, *slices, in_place=in_place)


def write_web(lab, *ready, policy="Local", **more):
    """The Service web at VIP and VIP6, with an endpoint per node: ready or not."""
    states = dict(zip(lab.nodes, ready or [True] * len(lab.nodes)))
    write_service(lab, "web", [VIP, VIP6], states, policy=policy, **more)


def start(lab, **overrides):
    """Agents on all nodes, web ready on all, and everything on the ToR."""
    lab.write_nodes()
    write_web(lab)
    agents = [lab.agent(node, **overrides) for node in lab.nodes]
    announced_by(lab, *lab.nodes)
    for node in lab.nodes:
        for block in (node.block4, node.block6):
            wait_equal(lambda: lab.tor.via(block), {node.role}, f"{block} on the ToR")
    return agents


def announced_by(lab, *nodes, addresses=(VIP, VIP6)):
    """Waits until the ToR sends the addresses to these nodes and no others."""
    wanted = {node.role for node in nodes}
    for address in addresses:
        wait_equal(lambda: lab.tor.via(address), wanted, f"{address} on the ToR via {wanted}")


def exported(node, *addresses, protocol=31, blocks=True):
    """What table 119 shall be: the node's blocks and these addresses, by family."""
    tables = {4: [], 6: []}
    for family, table in tables.items():
        if blocks:
            table.append(f"blackhole {getattr(node, f'block{family}')} proto 30")
        table += [
            f"blackhole {address} proto {protocol}"
            for address in addresses
            if (":" in address) == (family == 6)
        ]
        table.sort()
    return tables


def tables(node, table=119):
    return {family: node.table(table, family) for family in (4, 6)}


def guards(*addresses):
    """What table 120 shall be."""
    return {
        family: sorted(f"unreachable {a} proto 33" for a in addresses if (":" in a) == (family == 6))
        for family in (4, 6)
    }


def guard_rules(node):
    """Our rules of both families, as `ip rule` prints them."""
    lines = node.ip("-4", "rule").splitlines() + node.ip("-6", "rule").splitlines()
    return [line.replace("\t", " ").strip() for line in lines if "1990:" in line]


GUARD_RULES = ["1990: not from all iif lo lookup 120 proto 33"] * 2
