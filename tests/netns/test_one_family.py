# SPDX-License-Identifier: Apache-2.0
"""A cluster without IPv6, on nodes that have it switched off or just lack it: nobody is told of IPv6."""

import json

import pytest
from lab import objects, wait_equal

HERE = "203.0.113.10"
SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
    "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
             "ipFamilyPolicy": "SingleStack", "ports": [{"name": "p80", "port": 80, "nodePort": 30080}]},
    "status": {"loadBalancer": {"ingress": [{"ip": HERE}]}},
}


def switched_off(node):
    node.set_sysctls({f"net/ipv6/conf/{name}/disable_ipv6": 1 for name in ("all", "default", "lo")})


def without_addresses(node):
    node.ip("-6", "route", "del", "default")
    node.ip("-6", "address", "flush", "dev", "eth0")


@pytest.mark.parametrize("lacks", [switched_off, without_addresses])
@pytest.mark.lab(nodes=1, nat=True)
def test_nobody_is_told_of_ipv6(lab, lacks):
    [node] = lab.nodes
    lab.wait_sessions()
    pod = lab.pod(node, "one")
    node.bird.birdc("disable", "tor_v6")  # the lab's BIRD has a session for it
    lacks(node)
    endpoints = [objects.endpoint(pod.address4, node.role, ready=True)]
    lab.write("cluster.yaml", objects.node(node.role, [node.address4]),
              objects.address_block("default-0", node.role, node.block4, None, index=0),
              SERVICE, objects.slice_of("web", endpoints, family="IPv4", ports=(80,), suffix="v4"))
    agent = lab.agent(node, services={"serviceCIDRs": ["10.96.0.0/16"], "clusterCIDRs": ["10.224.0.0/16"]},
                      bird={"socket": str(node.bird.socket)})
    agent.settled()
    wait_equal(lambda: lab.tor.via(HERE), {node.role}, "the address on the ToR")
    assert [fault for fault in agent.faults() if "tor_v6" not in fault["place"]] == []
    done = agent.ctl("doctor", "--config", str(agent.config_file), "--json")
    bad = [item for item in json.loads(done.out)["items"] if item["verdict"] in ("failed", "warning")]
    assert [item for item in bad if "tor_v6" not in item["found"]] == []
    shown = agent.ctl("setup", "--config", str(agent.config_file) + ".new", "-f", str(lab.manifests)).out
    assert "session for IPv6" not in shown, shown
