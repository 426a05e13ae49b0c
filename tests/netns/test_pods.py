# SPDX-License-Identifier: Apache-2.0
"""Addresses for pods: given out of the node's blocks, routed, found again, freed."""

import time

import pytest
import schema
from lab import objects, wait, wait_equal
from lab.pod_wiring import WiredPod, call
from test_documents import METRICS_PAGE, metric_names

pytestmark = pytest.mark.lab(nodes=1)

PODS = {"pods": {"enabled": True}}
BLOCK4, BLOCK6 = "10.224.1.0/30", "fd00:224::100/126"


def start(lab, **settings):
    [node] = lab.nodes
    lab.write_nodes()
    lab.write("block.yaml", objects.address_block("pods-0", node.role, BLOCK4, BLOCK6, pool="default"))
    # The lab's own blocks of this node are those of pods that it makes itself.
    lab.write("nodes.yaml", *[item for item in node.objects() if item["kind"] != "AddressBlock"])
    return node, lab.agent(node, **{**PODS, **settings})


def pod_routes(node, family, table="main"):
    return {(route["dst"], route["dev"]) for route in node.ip_json(
        f"-{family}", "route", "show", "table", table, "proto", "30")}


def place(fault):
    return f"{fault['place']}: {fault['message']}"


def pod_faults(agent):
    return [place(fault) for fault in agent.faults() if fault["subsystem"] == "pods"]


def astray(agent):
    """The metric of addresses that leak, by kind."""
    name = "fingerpost_pod_addresses_astray"
    return {kind: int(agent.get("/metrics").split(f'{name}{{kind="{kind}"}} ')[1].split()[0])
            for kind in ("unknown", "outside")}


def test_a_pod_comes_and_goes(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    two = WiredPod(lab, node, agent, "two").add()
    assert [one.address(4), one.address(6)] == ["10.224.1.0", "fd00:224::100"]
    assert [two.address(4), two.address(6)] == ["10.224.1.1", "fd00:224::101"]
    for family in (4, 6):
        host = one.plan["hostInterface"]
        assert (one.address(family), host) in pod_routes(node, family)
        assert one.ping(two.address(family))
        wait(lambda: lab.client.ping(one.address(family)), "the client to reach the pod")
        assert two.ping(lab.client.address4 if family == 4 else lab.client.address6)
    assert one.want()[1] == one.plan, "the same pod is given the same"
    assert call(agent, "GET", one.path) == (200, one.plan)
    assert one.delete()[0] == 200
    assert one.delete()[0] == 200, "once more"
    assert call(agent, "GET", one.path)[0] == 404
    for family in (4, 6):
        assert [dev for _, dev in pod_routes(node, family)] == [two.plan["hostInterface"]]
    assert pod_faults(agent) == []


@pytest.mark.lab(nodes=1, nat=True)
def test_egress_that_has_nothing_to_do_keeps_nobody_waiting(lab):
    """Egress is on, and no pod leaves by a gateway: its programs are nowhere, and none is missing."""
    node, agent = start(lab, services={"enabled": False}, egress={"enabled": True})
    assert WiredPod(lab, node, agent, "one").add().address(4) == "10.224.1.0"


def test_a_pool_says_how_large_packets_are(lab):
    """A pod has its pool's MTU where that says one, and the uplinks' where it says none."""
    node, agent = start(lab)
    assert WiredPod(lab, node, agent, "one").want()[1]["mtu"] == 1500
    lab.write("pool.yaml", {"apiVersion": "coil.cybozu.com/v2", "kind": "AddressPool",
                            "metadata": {"name": "default", "annotations": {"fingerpost.io/mtu": "1380"}},
                            "spec": {"subnets": [{"ipv4": "10.224.1.0/24"}]}})
    two = WiredPod(lab, node, agent, "two")
    wait_equal(lambda: two.want()[1]["mtu"], 1380, "the pool's")


def test_another_pod_of_the_same_sandbox_is_refused(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    status, answer = call(agent, "POST", one.path, {"namespace": "default", "name": "two", "uid": "u"})
    assert (status, "another pod's" in answer["error"]) == (409, True)
    assert answer["remedy"]


def test_a_full_pool_says_so_and_waits(lab):
    node, agent = start(lab)
    pods = [WiredPod(lab, node, agent, f"p{number}").add() for number in range(4)]
    assert call(agent, "GET", "/v1/pods/ready")[0] == 503
    late = WiredPod(lab, node, agent, "late")
    status, answer = late.want()
    assert (status, "no address of the pod's pool" in answer["error"]) == (503, True)
    pods[2].delete()
    assert late.add().address(4) == pods[2].address(4)
    assert call(agent, "GET", "/v1/pods/ready")[0] == 503


def test_a_freed_address_is_the_last_to_be_given_again(lab):
    node, agent = start(lab)
    first = WiredPod(lab, node, agent, "first").add()
    first.delete()
    agent.stop()
    agent.start()
    seen = {WiredPod(lab, node, agent, f"p{number}").add().address(4) for number in range(3)}
    assert first.address(4) not in seen
    assert WiredPod(lab, node, agent, "again").add().address(4) == first.address(4)


def assert_few_passes(agent):
    """Of pods' settings there is one every five seconds; fifty questions are some tenths of a second."""
    before = agent.json("status")["routes"]["passes"]
    assert [agent.json("status")["routes"]["passes"] for _ in range(50)][-1] - before <= 2


def test_a_freed_address_rests_in_a_full_block(lab):
    """pods.leastRest: what is still on its way to the pod before does not meet the next. The ADD waits it out."""
    node, agent = start(lab, pods={"enabled": True, "leastRest": "3s"})
    pods = [WiredPod(lab, node, agent, f"p{number}").add() for number in range(4)]
    pods[2].delete()
    freed = time.monotonic()
    late = WiredPod(lab, node, agent, "late").add()
    assert late.address(4) == pods[2].address(4)
    assert 2.5 < time.monotonic() - freed < 8
    assert_few_passes(agent)
    # Also one that an earlier agent has freed.
    pods[1].delete()
    freed = time.monotonic()
    agent.stop()
    agent.start()
    assert WiredPod(lab, node, agent, "later").add().address(4) == pods[1].address(4)
    assert time.monotonic() - freed > 2.5


def test_a_rest_that_is_longer_than_an_add_waits_is_told(lab):
    node, agent = start(lab, pods={"enabled": True, "leastRest": "10m"})
    pods = [WiredPod(lab, node, agent, f"p{number}").add() for number in range(4)]
    pods[2].delete()
    status, answer = WiredPod(lab, node, agent, "late").want()
    assert status == 503 and "pods.leastRest" in answer["error"] and answer["remedy"]
    assert_few_passes(agent)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_all_is_found_again_after_a_restart(lab, end):
    node, agent = start(lab)
    one, two, gone = (WiredPod(lab, node, agent, name).add() for name in ("one", "two", "gone"))
    getattr(agent, end)()
    node.ip("-4", "route", "del", one.address(4), "proto", "30")
    node.ip("-6", "route", "del", two.address(6), "proto", "30")
    node.ip("link", "del", gone.plan["hostInterface"])
    agent.start()
    for pod in (one, two):
        assert call(agent, "GET", pod.path) == (200, pod.plan)
        for family in (4, 6):
            host = pod.plan["hostInterface"]
            wait(lambda: (pod.address(family), host) in pod_routes(node, family), "the route")
            wait(lambda: lab.client.ping(pod.address(family)), "the client to reach the pod")
    assert call(agent, "GET", gone.path)[0] == 404
    assert WiredPod(lab, node, agent, "new").add().address(4) not in (one.address(4), two.address(4))


def test_what_others_remove_is_put_back(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    host = one.plan["hostInterface"]
    for family in (4, 6):
        node.ip(f"-{family}", "route", "del", one.address(family), "proto", "30")
        wait(lambda: (one.address(family), host) in pod_routes(node, family), "the route")
    node.configure(f'link set {host} alias ""', f"link set {host} mtu 1400")
    wait_equal(lambda: node.ip_json("link", "show", host)[0].get("ifalias"), one.plan["alias"], "the alias")
    node.configure(f"link set {host} down", f"link set {host} up")
    wait(lambda: (one.address(4), host) in pod_routes(node, 4), "the route")
    wait(lambda: lab.client.ping(one.address(4)), "the client to reach the pod")
    assert [fault for fault in pod_faults(agent) if "has MTU 1400 now" not in fault] == []
    node.configure(f"link set {host} mtu 1500")  # what is not put back is told
    wait_equal(lambda: pod_faults(agent), [], "no fault")


def test_a_lost_interface_is_a_fault_that_names_the_pod(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    node.ip("link", "del", one.plan["hostInterface"])
    wait(lambda: any(fault.startswith("Pod default/one: is cut off") for fault in pod_faults(agent)),
         "the fault")
    assert [fault["code"] for fault in agent.faults() if fault["subsystem"] == "pods"] == ["pod-interface-gone"]
    assert call(agent, "DELETE", one.path)[0] == 200
    wait_equal(lambda: pod_faults(agent), [], "faults")


def test_an_address_in_no_block_is_a_fault_and_stays(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    lab.write("block.yaml", objects.address_block("pods-1", node.role, "10.224.1.4/30", pool="default"))
    wait(lambda: any("is in no block of this node" in fault for fault in pod_faults(agent)), "the fault")
    assert node.ping(one.address(4))
    assert astray(agent) == {"unknown": 0, "outside": 1}
    assert WiredPod(lab, node, agent, "two").add().address(4) == "10.224.1.4"


def test_a_route_that_nobody_knows_keeps_its_address(lab):
    """What a pod that is not known of may have is given to nobody."""
    [node] = lab.nodes
    node.configure("link add stray type veth peer name stray1", "link set stray up", "link set stray1 up",
                   "route add 10.224.1.0 dev stray proto 30")
    node, agent = start(lab)
    assert WiredPod(lab, node, agent, "one").add().address(4) == "10.224.1.1"
    wait(lambda: any("by stray, which no pod is known of" in fault for fault in pod_faults(agent)),
         "the fault")
    assert astray(agent) == {"unknown": 1, "outside": 0}
    node.ip("link", "del", "stray")
    wait_equal(lambda: (astray(agent), pod_faults(agent)), ({"unknown": 0, "outside": 0}, []), "all to be known")


def vanish(lab, pod):
    """The namespace goes with all that is in it, and nobody says so."""
    host = pod.plan["hostInterface"]
    pod.remove()
    wait(lambda: host not in {link["ifname"] for link in lab.nodes[0].ip_json("link")}, "the end of its link", 30)


@pytest.mark.parametrize("away", [False, True], ids=["agentd-there", "agentd-away"])
def test_a_namespace_that_went_without_a_delete_frees_its_address(lab, away):
    """As after containerd lost its memory: what the kernel has no more is free, what it has is kept."""
    node, agent = start(lab)
    pods = [WiredPod(lab, node, agent, f"p{number}").add() for number in range(4)]
    if away:
        agent.kill()
    for pod in pods[:2]:
        vanish(lab, pod)
    if away:
        agent.start()
    late = [WiredPod(lab, node, agent, name).add() for name in ("late", "later")]
    assert {pod.address(4) for pod in late} == {pod.address(4) for pod in pods[:2]}
    for family in (4, 6):
        assert {address for address, _ in pod_routes(node, family)} == {
            pod.address(family) for pod in (*pods[2:], *late)}
        assert all(pods[2].ping(pod.address(family)) for pod in (pods[3], *late))
    assert [call(agent, "GET", pod.path)[0] for pod in pods] == [404, 404, 200, 200]


@pytest.mark.parametrize("restarted", [False, True], ids=["known", "forgotten"])
def test_a_delete_takes_away_what_a_killed_add_left(lab, restarted):
    """Killed between making the pair and writing its alias, by which agentd would know it."""
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one")
    status, one.plan = one.want()
    assert status == 200
    host = one.plan["hostInterface"]
    node.ip("link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", one.name)
    if restarted:
        agent.kill()
        agent.start()
    assert call(agent, "DELETE", one.path)[0] == 200
    assert host not in {link["ifname"] for link in node.ip_json("link", "show")}
    assert one.add().address(4)


def test_a_delete_leaves_a_strangers_link_alone(lab):
    """Of the name that the node's end would have had."""
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one")
    one.plan = one.want()[1]
    host = one.plan["hostInterface"]
    node.configure(f"link add {host} type veth peer name eth0 netns {one.name}", f"link set {host} alias theirs")
    assert call(agent, "DELETE", one.path)[0] == 200
    assert node.ip_json("link", "show", host)[0]["ifalias"] == "theirs"


def collect(agent, network, *live):
    """What GC of a network frees, as containers; of these only what is alive is named."""
    status, answer = call(agent, "POST", "/v1/pods/gc", {
        "network": network, "live": [{"container": pod.container, "interface": "eth0"} for pod in live]})
    assert status == 200, answer
    return [freed["container"] for freed in answer["freed"]]


def test_gc_frees_what_is_not_alive(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add(network="pods")
    two = WiredPod(lab, node, agent, "two").add(network="pods")
    assert collect(agent, "pods", two) == [one.container]
    assert one.plan["hostInterface"] not in {link["ifname"] for link in node.ip_json("link", "show")}
    assert call(agent, "GET", two.path)[0] == 200


@pytest.mark.parametrize("restart", ("none", "stop", "kill"))
def test_gc_frees_nothing_of_another_network(lab, restart):
    """Two lists of plugins, Multus, a network that was renamed: each list is of one network."""
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add(network="pods")
    two = WiredPod(lab, node, agent, "two").add(network="secondary")
    gone = WiredPod(lab, node, agent, "gone").add(network="secondary")
    if restart != "none":
        agent.kill() if restart == "kill" else agent.stop()
        agent.start()
    assert collect(agent, "renamed") == []
    assert collect(agent, "secondary", two) == [gone.container]
    assert one.ping(two.address(4)) and one.ping(two.address(6))
    assert collect(agent, "pods") == [one.container]
    assert call(agent, "GET", two.path)[0] == 200 and not pod_faults(agent)


def test_gc_of_what_an_older_agent_left(lab):
    """It has kept no networks: what is not known to be of one is freed by no GC, until a list names it."""
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    two = WiredPod(lab, node, agent, "two").add()
    assert collect(agent, "pods", two) == [] and collect(agent, "secondary", two) == []
    agent.stop()
    agent.start()
    assert collect(agent, "secondary") == []
    assert collect(agent, "pods") == [two.container], "which named it first"
    assert call(agent, "GET", one.path)[0] == 200 and one.delete()[0] == 200


def test_gc_without_a_network_frees_nothing(lab):
    """As an agent-cni that is older than this agent asks."""
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add(network="pods")
    status, answer = call(agent, "POST", "/v1/pods/gc", {"live": []})
    assert status == 400 and "agent-cni" in answer["error"]
    assert call(agent, "GET", one.path)[0] == 200
    assert one.want(network="a b")[0] == 400


def test_what_is_not_enabled_is_refused(lab):
    node, agent = start(lab, pods={"enabled": False})
    one = WiredPod(lab, node, agent, "one")
    assert one.want()[0] == 403
    assert call(agent, "GET", "/v1/pods/ready")[0] == 503
    assert call(agent, "DELETE", one.path)[0] == 200


def assert_at_rest(agent):
    """It does nothing while nothing happens: fifty questions are some tenths of a second."""
    def passes():
        return agent.json("status")["routes"]["passes"]
    before = wait(lambda: (count := passes()) and count == passes() and count, "passes to end")
    assert [passes() for _ in range(50)] == [before] * 50


@pytest.mark.parametrize("enabled", [False, True])
def test_an_agent_rests_where_nothing_happens(lab, enabled):
    assert_at_rest(start(lab, pods={"enabled": enabled})[1])


def rules(node, family):
    return [(rule["priority"], rule["table"]) for rule in node.ip_json(f"-{family}", "rule", "show")
            if rule["table"] == "116"]


def test_table_116_is_looked_up_by_coils_rule(lab):
    """From main to 116 and back, the pod's traffic goes on, and the rule is put back or left alone."""
    node, agent = start(lab, pods={"enabled": True, "table": 116})
    one = WiredPod(lab, node, agent, "one").add()
    for family in (4, 6):
        assert rules(node, family) == [(2000, "116")]
        assert pod_routes(node, family, "116") == {(one.address(family), one.plan["hostInterface"])}
        assert pod_routes(node, family) == set()
        node.ip(f"-{family}", "rule", "del", "pref", "2000")
        wait_equal(lambda: rules(node, family), [(2000, "116")], "the rule")
        wait(lambda: lab.client.ping(one.address(family)), "the client to reach the pod")
    node.ip("-4", "rule", "add", "pref", "1500", "lookup", "116")
    node.ip("-4", "rule", "del", "pref", "2000")
    agent.stop()
    agent.start()
    WiredPod(lab, node, agent, "two").add()
    assert rules(node, 4) == [(1500, "116")], "another rule does it as well"
    assert pod_faults(agent) == []


def test_documents_and_metrics(lab):
    node, agent = start(lab)
    one = WiredPod(lab, node, agent, "one").add()
    document = agent.json("pods")
    schema.check(document)
    [item] = document["items"]
    assert (item["name"], item["state"], item["block"], item["hostInterface"], item["addresses"]) == (
        "one", "routed", "pods-0", one.plan["hostInterface"], [one.address(4), one.address(6)])
    assert document["blocks"] == [{"name": "pods-0", "pool": "default", "size": 4, "used": 1, "state": "open"}]
    document = agent.json("blocks")
    schema.check(document)
    assert {(item["prefix"], item["used"], item["size"]) for item in document["items"]} == {(BLOCK4, 1, 4), (BLOCK6, 1, 4)}
    assert " 1/4 " in agent.ctl("blocks").out
    document = agent.json("explain", one.address(6))
    schema.check(document)
    assert (document["tenant"]["name"], document["tenant"]["hostInterface"]) == ("one", one.plan["hostInterface"])
    told = agent.ctl("explain", one.address(4)).out
    assert f"interface eth0 of container {one.container}, by {one.plan['hostInterface']}: routed" in told
    document = agent.json("pods")
    assert document["pools"] == [{"name": "default", "blocks": 1, "used": 1, "free": 3, "request": None,
                                  "waitedFor": False}]
    metrics = agent.get("/metrics")
    for line in ('fingerpost_pods 1', 'fingerpost_pod_pool_addresses{pool="default",state="free"} 3',
                 'fingerpost_pod_block_addresses{block="pods-0",state="used"} 1',
                 'fingerpost_pod_add_duration_seconds_count 1'):
        assert f"{line}\n" in metrics
    page = METRICS_PAGE.read_text(encoding="utf-8")
    names = [name for name in metric_names(metrics) if name.startswith(("fingerpost_pod", "fingerpost_block_req"))]
    assert len(names) == 7 and all(f"*{name}*" in page for name in names)
