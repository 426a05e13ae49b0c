# SPDX-License-Identifier: Apache-2.0
"""A folder of manifests and nothing else: an agent gives its Services addresses out of pools."""

import pytest
import schema
from lab import objects, wait, wait_equal
from lab.traffic import ask
from served import TARGET, backend, pods

ONE = pytest.mark.lab(nodes=1, nat=True)
ALLOCATE = {"pools": {"allocate": True, "rest": "10m"}, "services": {"enabled": True}}
FIRST, FIRST6 = "203.0.113.64", "fd00:203::40"


def pool(lab, *addresses, name="lb", **metadata):
    lab.write("pools.yaml", {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
                             "metadata": {"name": name, "namespace": "lb", **metadata},
                             "spec": {"addresses": list(addresses)}})


def service(lab, name, number, *hosts, ingress=(), annotations=None, **spec):
    """A Service of both families that no API has seen: without a status, unless it is written."""
    item = objects.service(name, ingress, annotations=annotations, **{
        "clusterIP": f"10.96.0.{number}", "clusterIPs": [f"10.96.0.{number}", f"fd00:96::{number:x}"],
        "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack",
        "ports": [{"name": "p", "port": 80, "protocol": "TCP", "targetPort": TARGET}], **spec})
    if not ingress:
        del item["status"]
    slices = [objects.slice_of(name, [backend(host, family) for host in hosts], family=f"IPv{family}",
                               suffix=f"v{family}", ports=[{"name": "p", "port": TARGET, "protocol": "TCP"}])
              for family in (4, 6) if f"IPv{family}" in item["spec"]["ipFamilies"]]
    lab.write(f"{name}.yaml", item, *slices)


def given(agent):
    return {item["name"]: [a["address"] for a in item["addresses"] if a["origin"] == "loadBalancer"]
            for item in agent.json("services")["items"]}


def gets(agent, **addresses):
    wait_equal(lambda: {name: given(agent).get(name) for name in addresses}, addresses, "addresses")


def announced(lab, *addresses):
    for address in addresses:
        wait_equal(lambda: lab.tor.via(address), {lab.nodes[0].role}, f"{address} on the ToR")


def withdrawn(lab, *addresses):
    for address in addresses:
        wait_equal(lambda: lab.tor.via(address), set(), f"{address} on the ToR")


def pool_faults(agent):
    return [f"{fault['place']}: {fault['message']}" for fault in agent.faults() if fault["subsystem"] == "pools"]


def lists(agent, verb, text):
    wait(lambda: text in agent.ctl(*verb.split()).out, f"{text} in agentctl {verb}")


@pytest.fixture(name="world")
def world_fixture(lab):
    [node] = lab.nodes
    lab.write_nodes()
    [lab.web_pod] = pods(lab, "one").values()
    pool(lab, f"{FIRST}/30", f"{FIRST6}/126")
    service(lab, "web", 1, lab.web_pod)
    lab.given = lab.agent(node, **ALLOCATE)
    announced(lab, FIRST, FIRST6)
    return lab


@ONE
def test_an_address_is_given_announced_and_serves(world):
    agent = world.given
    for address in (FIRST, FIRST6):
        assert ask(world.client, address, 80).name == "pod-one-1"
    document = agent.json("pools")
    schema.check(document)
    assert document["items"][0]["used"] == 2
    schema.check(agent.json("explain", FIRST))
    lists(agent, "pools -v", "default/web")
    lists(agent, f"explain {FIRST}", "lb/lb: used by default/web")
    lists(agent, "explain 203.0.113.66", "lb/lb: free")


@ONE
def test_restarts_and_files_that_are_read_again_keep_addresses(world):
    agent = world.given
    service(world, "api", 2, world.web_pod)
    gets(agent, web=[FIRST, FIRST6], api=["203.0.113.65", "fd00:203::41"])
    (world.manifests / "web.yaml").unlink()
    withdrawn(world, FIRST, FIRST6)
    monitor = world.monitor()
    for how in (agent.kill, agent.stop):
        how()
        agent.start()
        agent.settled()
        gets(agent, api=["203.0.113.65", "fd00:203::41"])
    service(world, "later", 3, world.web_pod)
    gets(agent, later=["203.0.113.66", "fd00:203::42"])
    service(world, "api", 2, world.web_pod, annotations={"a": "b"})
    service(world, "web", 1, world.web_pod)
    gets(agent, web=[FIRST, FIRST6], api=["203.0.113.65", "fd00:203::41"])
    assert monitor.losses("203.0.113.65") == []


@ONE
def test_an_edit_that_would_orphan_is_refused(world):
    agent = world.given
    orphans = ["IPAddressPool lb/lb: its edit is refused, and the pool stays as it was: 1 Service would "
               "lose an address: default/web"]
    pool(world, "203.0.113.66/31", f"{FIRST6}/126")
    wait_equal(lambda: pool_faults(agent), orphans, "the fault")
    service(world, "api", 2, world.web_pod)
    gets(agent, web=[FIRST, FIRST6], api=["203.0.113.65", "fd00:203::41"])
    agent.kill()
    agent.start()
    announced(world, FIRST, "203.0.113.65")
    wait_equal(lambda: pool_faults(agent), [orphans[0].replace("1 Service", "2 Services")
               .replace("default/web", "default/api, default/web")], "the fault after a restart")
    lists(agent, "pools", "refused")

    (world.manifests / "api.yaml").unlink()
    (world.manifests / "web.yaml").unlink()
    wait_equal(lambda: pool_faults(agent), [], "no fault")
    service(world, "last", 3, world.web_pod)
    gets(agent, last=["203.0.113.66", "fd00:203::42"])
    (world.manifests / "pools.yaml").unlink()
    wait_equal(lambda: [fault.split(":")[1] for fault in pool_faults(agent)],
               [" its removal is refused, and the pool stays as it was"], "the fault of a removal")
    announced(world, "203.0.113.66")


@ONE
def test_a_pool_is_renamed_while_its_addresses_are_in_use(world):
    """In one write of the file, to a later and to an earlier name: one pool, with what it had, and no fault."""
    agent = world.given
    for name in ("other", "before"):
        pool(world, f"{FIRST}/30", f"{FIRST6}/126", name=name)
        wait_equal(lambda: [(item["name"], item["used"]) for item in agent.json("pools")["items"]],
                   [(name, 2)], "the pools")
        assert pool_faults(agent) == []
    gets(agent, web=[FIRST, FIRST6])


@ONE
def test_wishes_statuses_and_what_is_pending(world):
    agent = world.given
    service(world, "held", 2, world.web_pod, ingress=["203.0.113.67", "fd00:203::43"])
    service(world, "wish", 3, world.web_pod, annotations={"fingerpost.io/loadBalancerIPs": FIRST})
    gets(agent, held=["203.0.113.67", "fd00:203::43"], wish=["fd00:203::41"])
    lists(agent, "services", "pending: taken")
    lists(agent, f"explain {FIRST}", "default/wish is pending, has no 203.0.113.64")
    assert pool_faults(agent) == [
        f"Service default/wish: pending, has no address {FIRST}: the address is another's: Service default/web"]
    (world.manifests / "web.yaml").unlink()
    gets(agent, wish=[FIRST, "fd00:203::41"])
    wait_equal(lambda: pool_faults(agent), [], "no fault")


@ONE
def test_a_status_that_is_not_followed_is_told(world):
    """Until the manifest says something else; also after a restart, and if it says what was given."""
    agent = world.given
    service(world, "late", 2, world.web_pod, ingress=[FIRST])
    gets(agent, web=[FIRST, FIRST6], late=["203.0.113.65", "fd00:203::41"])
    said = [f"Service default/late: is not given what its status in the manifest says: {FIRST}, "
            "the address is another's: Service default/web"]
    wait_equal(lambda: pool_faults(agent), said, "the fault")
    agent.stop()
    agent.start()
    gets(agent, web=[FIRST, FIRST6], late=["203.0.113.65", "fd00:203::41"])
    wait_equal(lambda: pool_faults(agent), said, "the fault")
    service(world, "late", 2, world.web_pod, ingress=["203.0.113.65", "fd00:203::41"])
    wait_equal(lambda: pool_faults(agent), [], "no fault")
    gets(agent, late=["203.0.113.65", "fd00:203::41"])
    (world.manifests / "late.yaml").unlink()
    service(world, "late", 2, world.web_pod, ingress=[FIRST])
    wait_equal(lambda: pool_faults(agent), said, "the fault")
    (world.manifests / "late.yaml").unlink()
    wait_equal(lambda: pool_faults(agent), [], "no fault")


@ONE
def test_a_broken_manifest_costs_nobody_an_address(world):
    agent = world.given
    agent.stop()
    text = (world.manifests / "web.yaml").read_text()
    world.write_text("web.yaml", "{")
    service(world, "api", 2, world.web_pod)
    agent.start()
    gets(agent, api=["203.0.113.65", "fd00:203::41"])
    announced(world, FIRST, "203.0.113.65")
    world.write_text("web.yaml", text)
    gets(agent, web=[FIRST, FIRST6])
