# SPDX-License-Identifier: Apache-2.0
"""
LoadBalancer addresses: `agentctl plan` gives what the second reading (addresses.py) gives.

Random pools and Services; then rounds of edits, where what was given is the status of the next
round, as it is after a restart. A seed in a failure's name makes the same case again.
"""

import copy
import json
import os
import pathlib
import random
import subprocess

import addresses
import pytest

HERE = pathlib.Path(__file__).parent
AGENTCTL = os.environ.get("AGENTCTL", str(HERE.parents[1] / "build/agent/agentctl/agentctl"))
SEEDS, ROUNDS = 24, 6
NAMESPACES = ["a", "b", "lb"]
LABELS = [{}, {"team": "x"}, {"team": "y", "tier": "z"}]
WORDS = ["x", "y"]
V4 = ["192.0.2.0/30", "192.0.2.254-192.0.3.1", "192.0.2.2-192.0.2.5", "198.51.100.7",
      "192.0.3.0/31"]
V6 = ["2001:db8::/126", "2001:db8::2-2001:db8::5", "2001:db8:1::/127"]
ALL = [str(ip) for text in V4 + V6 for ip in addresses.all_of(text)] + ["203.0.113.9"]


def metadata(chance, name, namespace=None):
    meta = {"name": name, "namespace": namespace or chance.choice(NAMESPACES)}
    if chance.random() < 0.8:
        meta["creationTimestamp"] = f"2026-11-{chance.randint(1, 9):02}T00:00:00Z"
    meta["labels"] = chance.choice(LABELS)
    return meta


def selectors(chance):
    return [{"matchLabels": labels} for labels in chance.sample(LABELS, chance.randint(1, 2))]


def pool(chance, number):
    spec = {"addresses": chance.sample(V4, chance.randint(0, 2)) + chance.sample(V6, chance.randint(0, 2))
            or ["198.51.100.7/32"]}
    if chance.random() < 0.2:
        spec["autoAssign"] = False
    if chance.random() < 0.3:
        spec["avoidBuggyIPs"] = True
    if chance.random() < 0.5:
        rule = spec["serviceAllocation"] = {}
        if chance.random() < 0.5:
            rule["priority"] = chance.randint(0, 3)
        if chance.random() < 0.3:
            rule["namespaces"] = chance.sample(NAMESPACES, 2)
        if chance.random() < 0.3:
            rule["namespaceSelectors"] = selectors(chance)
        if chance.random() < 0.3:
            rule["serviceSelectors"] = selectors(chance)
    meta = metadata(chance, f"pool{number}", "lb")
    if chance.random() < 0.3:
        meta["annotations"] = {"fingerpost.io/reserved": ", ".join(chance.sample(ALL, 2))}
    return {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": meta,
            "spec": spec}


def annotations(chance):
    found = {}
    if chance.random() < 0.25:
        found["loadBalancerIPs"] = ", ".join(chance.sample(ALL, chance.randint(1, 3)))
    if chance.random() < 0.15:
        found["address-pool"] = f"pool{chance.randint(0, 4)}"
    if chance.random() < 0.4:
        found["allow-shared-ip"] = chance.choice(WORDS)
    return {chance.choice(addresses.GROUPS) + name: value for name, value in found.items()}


def service(chance, number):
    status = {}
    families = chance.choice([["IPv4"], ["IPv6"], ["IPv4", "IPv6"], ["IPv6", "IPv4"]])
    spec = {"type": "LoadBalancer" if chance.random() < 0.9 else "ClusterIP",
            "clusterIP": f"10.96.0.{number + 1}", "ipFamilies": families,
            "ports": [{"port": port, "name": str(port)}
                      for port in chance.sample([80, 443, 53, 22], chance.randint(1, 2))]}
    if chance.random() < 0.2:
        spec["externalTrafficPolicy"] = "Local"
    if chance.random() < 0.5:
        spec["selector"] = {"app": chance.choice(WORDS)}
    if len(families) == 2:
        spec["ipFamilyPolicy"] = chance.choice(["PreferDualStack", "RequireDualStack"])
    if chance.random() < 0.1:
        spec["loadBalancerIP"] = chance.choice(ALL)
    if chance.random() < 0.1:
        spec["loadBalancerClass"] = "other.example/lb"
        status = {"loadBalancer": {"ingress": [{"ip": chance.choice(ALL)}]}}
    meta = metadata(chance, f"s{number}", NAMESPACES[number % 2])
    meta["annotations"] = annotations(chance)
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec,
            "status": status}


def namespaces(chance):
    return [{"apiVersion": "v1", "kind": "Namespace",
             "metadata": {"name": name, "labels": chance.choice(LABELS)}} for name in NAMESPACES[:2]]


def first(chance):
    return ([pool(chance, n) for n in range(chance.randint(1, 3))]
            + [service(chance, n) for n in range(chance.randint(4, 12))] + namespaces(chance))


def of_others(chance):
    """A status that somebody else has written."""
    return {"loadBalancer": {"ingress": chance.choice([
        [{"hostname": "lb.example"}], [{"ip": chance.choice(ALL)}],
        [{"ip": chance.choice(ALL), "hostname": "lb.example"}]])}}


def edited(chance, objects):
    """Some pools and Services made anew, some gone; a Service keeps its status."""
    after = []
    for thing in objects:
        draw = chance.random()
        number = int(thing["metadata"]["name"].lstrip("pols")) if thing["kind"] != "Namespace" else 0
        if thing["kind"] == "IPAddressPool" and draw < 0.3:
            thing = pool(chance, number)
        elif thing["kind"] == "Service" and draw < 0.15:
            thing = {**service(chance, number), "status": thing["status"]}
        elif thing["kind"] == "Service" and draw < 0.25:
            continue
        elif thing["kind"] == "Service" and draw < 0.35:
            thing = {**thing, "status": of_others(chance)}
        after.append(thing)
    return after + [service(chance, n) for n in range(20, 20 + chance.randint(0, 2))
                    if not any(o["metadata"]["name"] == f"s{n}" for o in after)]


def planned(objects, folder, chance):
    shuffled = copy.deepcopy(objects)
    chance.shuffle(shuffled)
    folder.mkdir()
    for number, thing in enumerate(shuffled):
        (folder / f"{number:03}.json").write_text(json.dumps(thing))
    result = subprocess.run([AGENTCTL, "plan", "--json", "-f", str(folder)], capture_output=True,
                            text=True, timeout=60)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def given(plan):
    return {(row["namespace"], row["name"]):
            (row["addresses"], {lack["family"]: lack["reason"] for lack in row["pending"]})
            for row in plan["assignments"]}


def addresses_of(rows):
    return {name: ips for name, (ips, _) in rows.items()}


def with_status(objects, rows):
    after = copy.deepcopy(objects)
    for thing in after:
        ips, lacks = rows.get(addresses.key(thing), (None, {})) if thing["kind"] == "Service" else (None, {})
        if ips is not None and "foreign-status" not in lacks.values():
            thing["status"] = {"loadBalancer": {"ingress": [{"ip": ip} for ip in ips]},
                               "conditions": [{"type": addresses.CONDITION, "status": "True"}]}
    return after


def no_address_is_given_twice(objects, rows):
    services = {addresses.key(o): o for o in objects if o["kind"] == "Service"}
    for one in rows:
        for other in rows:
            if one < other and set(rows[one][0]) & set(rows[other][0]):
                assert addresses.against(services[one], services[other], True) is None, (one, other)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_edits(seed, tmp_path):
    chance = random.Random(seed)
    objects = first(chance)
    for number in range(ROUNDS):
        plan = planned(objects, tmp_path / str(number), chance)
        rows = given(plan)
        assert rows == addresses.Allocator(objects).run(), f"seed {seed}, round {number}"
        no_address_is_given_twice(objects, rows)
        objects = with_status(objects, rows)
        again = given(planned(objects, tmp_path / f"{number}-again", chance))
        assert addresses_of(again) == addresses_of(rows), "what is held and still allowed stays"
        objects = edited(chance, objects)


def pool_named(name, *texts, **spec):
    return {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
            "metadata": {"name": name, "namespace": "lb"}, "spec": {"addresses": list(texts), **spec}}


def dual_service(name, policy, **metadata):
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "a", **metadata},
            "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.1", "ports": [{"port": 80}],
                     "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": policy}}


FOUR = pool_named("four", "192.0.2.8/31")
SIX = pool_named("six", "2001:db8:1::/127")
BOTH = pool_named("zboth", "192.0.2.0/30", "2001:db8::/126")


@pytest.mark.parametrize("policy", [addresses.REQUIRE, addresses.PREFER])
@pytest.mark.parametrize("pools,held,expected", [
    ([FOUR, SIX, BOTH], [], ["192.0.2.0", "2001:db8::"]),
    ([FOUR, SIX], [], ["192.0.2.8", "2001:db8:1::"]),
    ([FOUR, SIX, BOTH], ["192.0.2.9"], ["192.0.2.9", "2001:db8:1::"]),
    ([FOUR, SIX, BOTH], ["192.0.2.3"], ["192.0.2.3", "2001:db8::"]),
    ([FOUR, SIX, BOTH], ["192.0.2.9", "2001:db8::"], ["192.0.2.9", "2001:db8::"]),
], ids=["one-has-both", "none-has-both", "kept-of-another", "kept-of-it", "both-kept"])
def test_both_addresses_come_from_one_pool(policy, pools, held, expected, tmp_path):
    service = dual_service("s", policy)
    service["status"] = {"loadBalancer": {"ingress": [{"ip": ip} for ip in held]}}
    rows = given(planned([*pools, service], tmp_path / "in", random.Random(1)))
    assert rows == {("a", "s"): (expected, {})}
