# SPDX-License-Identifier: Apache-2.0
"""Each command, with real links: what is made, what is answered, what is taken back."""

import json
import os
import re

import pytest
from conftest import GOLDEN, Refusal

VERSIONS = ("0.3.1", "0.4.0", "1.0.0", "1.1.0")


def without_chance(document, node, pod):
    """A document as text, with what differs from run to run as words."""
    text = json.dumps(document, indent=2)
    text = text.replace(pod.name, "POD").replace(str(node.folder), "FOLDER")
    return re.sub(r'"mac": "[0-9a-f:]{17}"', '"mac": "MAC"', text) + "\n"


def expect_golden(name, text):
    path = GOLDEN / name
    if os.environ.get("GOLDEN_UPDATE"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pod_is_wired(node, agent, pod, version):
    """At once after ADD, both families reach the node and back: nothing waits for neighbours."""
    result = node.call("ADD", pod, "c1", version)
    assert pod.ping("192.0.2.7")
    assert node.host.ping("10.1.2.3") and node.host.ping("fd01::3")
    expect_golden(f"result-{version}.json", without_chance(result, node, pod))
    link = node.host.ip_json("link", "show", "dev", "vethpod3")[0]
    assert (link["ifalias"], link["mtu"]) == ("COIL:default:pod3:eth0", 1400)
    assert pod.ip_json("link", "show", "dev", "eth0")[0]["mtu"] == 1400
    assert [result["interfaces"][i]["mac"] for i in (0, 1)] == [
        pod.ip_json("link", "show", "dev", "eth0")[0]["address"], link["address"]]


def test_what_agentd_is_told(node, agent, pod):
    result = node.call("ADD", pod, "c1")
    (plan, body), (wired, ends) = agent.asked
    assert (plan, wired) == ("POST /v1/pods/c1/eth0", "POST /v1/pods/c1/eth0/wired")
    assert body == {"namespace": "shop", "name": "web-1", "uid": "uid-1", "sandbox": "c1",
                    "egressOnly": False, "network": "pods"}
    assert ends["podMAC"] == result["interfaces"][0]["mac"]
    assert ends["hostMAC"] == result["interfaces"][1]["mac"]


def test_the_pods_side(node, agent, pod):
    node.call("ADD", pod, "c1")
    assert pod.table("main") == ["192.0.2.7 scope link", "default via 192.0.2.7"] or \
        pod.table("main") == ["192.0.2.7 dev eth0 scope link", "default via 192.0.2.7 dev eth0"]
    assert any(line.startswith("default via fe80::1 dev eth0") for line in pod.table("main", 6))
    flags = [address for link in pod.ip_json("addr", "show", "dev", "eth0")
             for address in link["addr_info"] if address["local"] == "fd01::3"]
    assert flags[0]["prefixlen"] == 128 and flags[0].get("nodad") and not flags[0].get("tentative")
    states = {entry["dst"]: entry["state"] for entry in pod.ip_json("neigh", "show", "dev", "eth0")}
    assert states["192.0.2.7"] == states["fe80::1"] == ["PERMANENT"]
    with pod.entered(), open("/proc/sys/net/ipv6/conf/eth0/accept_ra", encoding="ascii") as file:
        assert file.read() == "0\n"
    with node.host.entered(), open("/proc/sys/net/ipv6/conf/vethpod3/accept_ra", encoding="ascii") as file:
        assert file.read() == "0\n"


def test_an_address_for_the_nodes_end(node, agent, pod):
    agent.plan(("c1", "eth0"))["hostMAC"] = "02:00:00:00:00:07"
    result = node.call("ADD", pod, "c1")
    assert result["interfaces"][1]["mac"] == "02:00:00:00:00:07"
    assert pod.ping("192.0.2.7")


def test_ipv6_that_is_off(node, agent, pod):
    pod.set_sysctls({"net/ipv6/conf/all/disable_ipv6": 1, "net/ipv6/conf/default/disable_ipv6": 1})
    node.call("ADD", pod, "c1")
    assert node.host.ping("fd01::3")


def test_add_twice(node, agent, pod):
    first = node.call("ADD", pod, "c1")
    second = node.call("ADD", pod, "c1")
    assert first["ips"] == second["ips"]
    assert [name for name in node.links() if name.startswith("vethpod")] == ["vethpod3"]
    assert node.host.ping("10.1.2.3") and node.host.ping("fd01::3")


def test_delete_twice(node, agent, pod):
    before = node.links()
    node.call("ADD", pod, "c1")
    for _ in range(2):
        assert node.call("DEL", pod, "c1") is None
        assert node.links() == before and agent.pods == {}


def test_delete_when_the_namespace_is_gone(node, agent, pod):
    before = node.links()
    node.call("ADD", pod, "c1")
    pod.remove()
    node.call("DEL", pod, "c1")
    node.call("DEL", None, "c1")
    assert node.links() == before and agent.pods == {}


def test_delete_while_add_runs(node, agent, pod):
    """DEL waits for the ADD, and takes away what that made."""
    before = node.links()
    agent.gates["wired"].clear()
    add = node.start(node.environment("ADD", pod, "c1"), node.config())
    assert agent.came["wired"].wait(60)
    delete = node.start(node.environment("DEL", pod, "c1"), node.config())
    other = node.pod("other")
    node.agent.gates["wired"].set()
    assert node.end(add)
    node.end(delete)
    assert [name for name, _ in agent.asked][-1] == "DELETE /v1/pods/c1/eth0"
    assert node.links() == before and agent.pods == {}
    node.call("ADD", other, "c2")


def test_others_do_not_wait(node, agent, pod):
    other = node.pod("other")
    agent.gates["wired"].clear()
    add = node.start(node.environment("ADD", pod, "c1"), node.config())
    assert agent.came["wired"].wait(60)
    node.call("DEL", other, "c2")
    agent.gates["wired"].set()
    node.end(add)


def test_a_pod_that_is_not_known_any_more(node, agent, pod):
    """It was deleted meanwhile, or agentd has begun anew: the runtime may try again."""
    before = node.links()
    agent.answers["wired"] = 404, {"error": "the pod was deleted meanwhile", "remedy": "nothing to do"}
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert refusal.value.code == 11 and "deleted meanwhile" in refusal.value.message
    assert node.links() == before and agent.pods == {}


@pytest.mark.parametrize("kind", ("POST", "wired"))
def test_try_again(node, agent, pod, kind):
    """Addresses are used up, or the programs don't take the pod: all is as before."""
    before = node.links()
    agent.answers[kind] = 503, {"error": "pool default: no address is free", "remedy": "add a subnet"}
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert refusal.value.document == {
        "cniVersion": "1.0.0", "code": 11, "details": "add a subnet",
        "msg": "agentd refuses (503): pool default: no address is free"}
    assert node.links() == before and agent.pods == {}
    assert [link["ifname"] for link in pod.ip_json("link")] == ["lo"]
    agent.answers.clear()
    node.call("ADD", pod, "c1")


def test_a_name_that_is_taken_in_the_pod(node, agent, pod):
    before = node.links()
    pod.configure("link add eth0 type veth peer name other")
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert refusal.value.code == 101 and "eth0" in refusal.value.message
    assert node.links() == before and agent.pods == {}
    assert sorted(link["ifname"] for link in pod.ip_json("link")) == ["eth0", "lo", "other"]


def test_a_name_that_is_taken_on_the_node(node, agent, pod):
    node.host.configure("link add vethpod3 type veth peer name other")
    before = node.links()
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert refusal.value.code == 101 and "its name is taken" in refusal.value.message
    # The stand-in deletes by name, as agentd does not: what counts is that the plugin did not.
    assert set(before) - set(node.links()) <= {"vethpod3", "other"}


OWN = "pod3"  # the container that the first alias names


def test_without_agentd(node, agent, pod):
    """No pod begins; one that ends leaves nothing, and its end does not wait for agentd."""
    before = node.links()
    node.call("ADD", pod, OWN)
    node.stop_agent()
    for command, code in (("ADD", 11), ("CHECK", 11), ("STATUS", 50), ("GC", 11)):
        with pytest.raises(Refusal) as refusal:
            node.call(command, pod, OWN, "1.1.0", **{"cni.dev/valid-attachments": []})
        assert refusal.value.code == code and "agentd is not running" in refusal.value.message
    node.call("DEL", pod, OWN)
    assert node.links() == before
    node.call("DEL", pod, OWN)
    pod.remove()
    node.call("DEL", pod, OWN)


@pytest.mark.parametrize("container, interface", (("old", "eth0"), ("pod", "eth0"), ("pod33", "eth0"), (OWN, "net1")))
def test_without_agentd_another_containers_interface_stays(node, agent, pod, container, interface):
    """The path of the namespace was used again: the node's end says whose it is."""
    node.call("ADD", pod, OWN)
    before = node.links()
    node.stop_agent()
    environment = node.environment("DEL", pod, container, interface)
    assert node.end(node.start(environment, node.config())) is None
    assert node.links() == before and node.host.ping("10.1.2.3")


@pytest.mark.parametrize("alias", ("", "COIL:default:pod3", "mine:default:pod3:eth0", "COIL:default:x:pod3:eth0"))
def test_without_agentd_what_is_not_known_to_be_ours_stays(node, agent, pod, alias):
    """Another plugin's pair, or one that somebody has renamed: it ends with its namespace."""
    node.call("ADD", pod, OWN)
    (host,) = [name for name in node.links() if name.startswith("vethpod")]
    node.host.ip("link", "set", "dev", host, "alias", alias)
    before = node.links()
    node.stop_agent()
    assert node.call("DEL", pod, OWN) is None
    assert node.links() == before


def test_an_agent_that_restarts_in_the_middle(node, agent, pod):
    """It hangs up on the first question, and the next one answers: the plugin asks again."""
    node.stop_agent()
    agent = node.play_agent()
    real = agent.verify_request
    hung_up = []

    def hang_up_once(request, address):
        if hung_up:
            return real(request, address)
        hung_up.append(request.recv(1))
        return False

    agent.verify_request = hang_up_once
    node.call("ADD", pod, "c1")
    assert hung_up and node.host.ping("10.1.2.3")


@pytest.mark.parametrize("answer", (b"", b"[]", b"{", b'{"interface": "eth0"}', b"nonsense\0",
                                    b'{"interface": "eth0", "hostInterface": "a/b", "alias": "x"}'))
def test_a_plan_of_another_form(node, agent, pod, answer):
    before = node.links()
    agent.answers["POST"] = 200, answer
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert refusal.value.code == 999 and refusal.value.remedy
    assert node.links() == before


def test_status_and_gc(node, agent, pod):
    assert node.call("STATUS", None, "", "1.1.0") is None
    agent.answers["GET"] = 503, {"error": "pool default: no address is free", "remedy": "add a subnet"}
    with pytest.raises(Refusal) as refusal:
        node.call("STATUS", None, "", "1.1.0")
    assert (refusal.value.code, refusal.value.remedy) == (50, "add a subnet")
    agent.answers.clear()
    other = node.pod("other")
    node.call("ADD", pod, "c1")
    node.call("ADD", other, "c2")
    live = [{"containerID": "c2", "ifname": "eth0"}]
    assert node.call("GC", None, "", "1.1.0", **{"cni.dev/valid-attachments": live}) is None
    assert list(agent.pods) == [("c2", "eth0")]
    assert agent.asked[-1][1]["network"] == node.config()["name"]


def test_gc_with_an_empty_list(node, agent, pod):
    """libcni writes an empty list of Go's as null."""
    node.call("ADD", pod, "c1")
    config = node.config("1.1.0") | {"cni.dev/valid-attachments": None}
    assert node.end(node.start(node.environment("GC", None, ""), config)) is None
    assert agent.pods == {}


@pytest.mark.parametrize("live", (None, {}, [{"containerID": "c1"}], [1]))
def test_gc_without_a_list_frees_nothing(node, agent, pod, live):
    node.call("ADD", pod, "c1")
    with pytest.raises(Refusal) as refusal:
        node.call("GC", None, "", "1.1.0", **({"cni.dev/valid-attachments": live} if live is not None else {}))
    assert refusal.value.code == 7 and agent.pods


def test_check(node, agent, pod):
    with pytest.raises(Refusal) as refusal:
        node.call("CHECK", pod, "c1")
    assert refusal.value.code == 3
    node.call("ADD", pod, "c1")
    assert node.call("CHECK", pod, "c1") is None


@pytest.mark.parametrize("inside, damage, said", (
    (True, "addr del 10.1.2.3/32 dev eth0", "address 10.1.2.3/32"),
    (True, "addr del fd01::3/128 dev eth0", "address fd01::3/128"),
    (True, "route del default", "route 0.0.0.0/0"),
    (True, "-6 route del default", "route ::/0"),
    (True, "link set eth0 mtu 1500", "raised its MTU"),
    (True, "link set eth0 down", "set it down"),
    (True, "link del eth0", "it is gone"),
    (False, "link set vethpod3 alias other", "alias"),
    (False, "link set vethpod3 down", "it is down"),
))
def test_check_finds(node, agent, pod, inside, damage, said):
    node.call("ADD", pod, "c1")
    (pod if inside else node.host).ip(*damage.split())
    with pytest.raises(Refusal) as refusal:
        node.call("CHECK", pod, "c1")
    assert refusal.value.code == 102 and said in refusal.value.message and refusal.value.remedy


@pytest.mark.parametrize("name", ("net1.5", "a.b.c"))
def test_a_name_with_a_dot(node, agent, pod, name):
    """As of a VLAN; the settings of IPv6 are found by it."""
    pod.set_sysctls({"net/ipv6/conf/default/disable_ipv6": 1})
    for command in ("ADD", "CHECK", "DEL"):
        node.call(command, pod, "c1", environment={"CNI_IFNAME": name})
    assert agent.pods == {}


def test_check_finds_another_pods_wire(node, agent, pod):
    """A link of the right name and alias, whose other end is elsewhere."""
    node.call("ADD", pod, "c1")
    other = node.pod("other")
    node.host.configure("link del vethpod3", f"link add vethpod3 type veth peer name eth0 netns {other.name}",
                        "link set vethpod3 up alias COIL:default:pod3:eth0")
    pod.configure("link add eth0 type veth peer name eth1")
    with pytest.raises(Refusal) as refusal:
        node.call("CHECK", pod, "c1")
    assert refusal.value.code == 102 and "other end" in refusal.value.message


def older(agent):
    """agentd of before networks had names: it takes no member that it does not know."""
    known = agent.answer

    def answer(method, path, document):
        if document and "network" in document:
            return 400, {"error": "body:1:85: network: unknown member", "remedy": "correct the body"}
        return known(method, path, document)
    agent.answer = answer


def test_add_with_an_older_agentd(node, agent, pod):
    """A plugin that was updated first goes on: it asks again without the network's name."""
    older(agent)
    node.call("ADD", pod, "c1")
    node.call("CHECK", pod, "c1")
    posts = [document for name, document in agent.asked if name == "POST /v1/pods/c1/eth0"]
    assert ["network" in document for document in posts] == [True, False]
    assert {**posts[0], "network": None} == {**posts[1], "network": None}
    node.call("DEL", pod, "c1")
    assert not agent.pods


def test_gc_with_an_older_agentd_frees_nothing(node, agent, pod):
    """Without the name it would free interfaces of every other network."""
    node.call("ADD", pod, "c1")
    older(agent)
    with pytest.raises(Refusal) as refusal:
        node.call("GC", None, "", "1.1.0", **{"cni.dev/valid-attachments": []})
    assert "network: unknown member" in refusal.value.message and "agentd is older" in refusal.value.remedy
    assert len(agent.pods) == 1


def test_another_refusal_is_not_asked_again(node, agent, pod):
    agent.answers["POST"] = 400, {"error": "body:1:2: sandbox: unknown member", "remedy": "none"}
    with pytest.raises(Refusal):
        node.call("ADD", pod, "c1")
    assert [name.split()[0] for name, _ in agent.asked].count("POST") == 1
