# SPDX-License-Identifier: Apache-2.0
"""`agentctl plan --json` over random clusters says what the model says.

A cluster is a seed. A run takes the seeds from PROPERTY_SEED (0 by default) on, PROPERTY_CLUSTERS
of them; what differs is made smaller as long as it differs, and printed.
"""

import copy
import json
import os
import pathlib
import random
import subprocess

import clusters
import model
import pytest
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
AGENTCTL = os.environ.get("AGENTCTL", str(REPOSITORY / "build/agent/agentctl/agentctl"))
FIRST = int(os.environ.get("PROPERTY_SEED", "0"))
COUNT = int(os.environ.get("PROPERTY_CLUSTERS", "400"))
BATCHES = 8
SMALLER_STEPS = 2000
# What a Service or a slice can do without: leaving out others would make another object of it.
OPTIONAL = {
    "labels", "creationTimestamp", "hints", "forZones", "forNodes", "conditions", "ready",
    "serving", "terminating", "nodeName", "externalIPs", "loadBalancerSourceRanges",
    "sessionAffinity",
    "sessionAffinityConfig", "healthCheckNodePort", "nodePort", "internalTrafficPolicy",
    "externalTrafficPolicy", "ipMode", "ingress", "targetPort", "loadBalancerClass",
    "trafficDistribution", "ipFamilyPolicy", "topology.kubernetes.io/zone", "proxyName",
    "service.kubernetes.io/headless", "service.kubernetes.io/service-proxy-name", "serviceCIDRs",
    "clusterCIDRs", "nodePortAddresses", "loadBalancerIPs", "masqueradeAll", "advertise", "app",
    "kubernetes.io/hostname", "externalName",
}
WHOLE = {("clusterIPs",), ("ipFamilies",)}  # they belong together


# The planner

def as_yaml(documents):
    """Without anchors for what the documents share."""
    return yaml.safe_dump_all(json.loads(json.dumps(documents)))


def manifest(objects, as_json):
    if as_json:
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=1)
    return as_yaml(objects)


def write(folder, objects, settings, chance):
    """The objects in any order over any number of files; the configuration beside them."""
    manifests = folder / "manifests"
    manifests.mkdir(parents=True)
    order = chance.sample(objects, len(objects))
    files = chance.randint(1, 4)
    for number in range(files):
        as_json = chance.random() < 0.5
        path = manifests / f"{chance.randrange(100)}-{number}.{'json' if as_json else 'yaml'}"
        path.write_text(manifest(order[number::files], as_json), encoding="utf-8")
    config = {"node": clusters.NODE, "source": {"manifests": str(manifests)}, "services": settings}
    (folder / "agentd.yaml").write_text(as_yaml([config]), encoding="utf-8")
    return manifests


class PlanFailed(Exception):
    """agentctl did not print a plan."""


def planned(folder, objects, settings, chance):
    manifests = write(folder, objects, settings, chance)
    done = subprocess.run(
        [AGENTCTL, "plan", "-f", str(manifests), "--node", clusters.NODE,
         "--config", str(folder / "agentd.yaml"), "--json"],
        capture_output=True, text=True, timeout=60,
    )
    if done.returncode not in (0, 1):
        raise PlanFailed(f"agentctl exits with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["nat"]


# The comparison

def in_order(items):
    """The same with lists that are sets in one order: the contract only says "sorted"."""
    items = copy.deepcopy(items)
    for item in items:
        item["frontends"].sort(key=lambda f: (f["address"], f["protocol"], f["port"]))
        for frontend in item["frontends"]:
            (frontend["sourceRanges"] or []).sort()
            for outcome in frontend["from"].values():
                outcome["endpoints"].sort()
    return items


def title(thing):
    names = ("namespace", "name", "family", "address", "protocol", "port")
    return " ".join(str(thing[name]) for name in names if name in thing)


def by_title(value):
    """Lists of frontends and items by what they are, so that each is compared with its like."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {title(thing): thing for thing in value}
    return value


def lines_of_difference(got, expected, path=()):
    got, expected = by_title(got), by_title(expected)
    if isinstance(got, dict) and isinstance(expected, dict):
        for name in sorted(got.keys() | expected.keys()):
            yield from lines_of_difference(got.get(name), expected.get(name), (*path, name))
    elif got != expected:
        yield f"{' / '.join(path)}: planned {json.dumps(got)}, modelled {json.dumps(expected)}"


def difference(got, expected):
    """Lines of what differs; none if nothing does."""
    got, expected = in_order(got), in_order(expected)
    if got == expected:
        return []
    return list(lines_of_difference(got, expected)) or ["the order of the items differs"]


def compare(folder, objects, settings, chance):
    try:
        got = planned(folder, objects, settings, chance)
    except PlanFailed as failure:
        return [str(failure)]
    return difference(got, model.nat(objects, settings, clusters.NODE))


# The smallest cluster that differs

def removals(value, path=()):
    """Paths of what may be left out, the large before the small."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    inner = []
    for name, child in list(children):
        fixed = path[-1:] in WHOLE or (path[-1:] == ("ports",) and len(value) == 1)
        if (isinstance(value, list) and not fixed) or name in OPTIONAL:
            yield (*path, name)
        if isinstance(child, (dict, list)):
            inner.append((child, (*path, name)))
    for child, place in inner:
        yield from removals(child, place)


def without(value, path):
    value = copy.deepcopy(value)
    place = value
    for name in path[:-1]:
        place = place[name]
    del place[path[-1]]
    return value


def smaller(cluster, differs):
    """One thing less, as long as it still differs."""
    steps, found = 0, True
    while found and steps < SMALLER_STEPS:
        found = False
        for path in removals(cluster):
            steps += 1
            candidate = without(cluster, path)
            if differs(candidate):
                cluster, found = candidate, True
                break
    return cluster


def explain(folder, seed, objects, settings):
    """What to print of a cluster that differs."""
    attempts = iter(range(10**6))

    def lines(cluster):
        place = folder / f"smaller-{next(attempts)}"
        return compare(place, cluster["objects"], cluster["settings"], random.Random(0))

    cluster = {"objects": objects, "settings": settings}
    if lines(cluster):  # else only this order of documents differs
        cluster = smaller(cluster, lines)
    return "\n".join([
        f"PROPERTY_SEED={seed} PROPERTY_CLUSTERS=1 differs. Its smallest cluster:",
        as_yaml([{"services": cluster["settings"]}, *cluster["objects"]]),
        *lines(cluster),
    ])


def seeds(batch):
    return range(FIRST + batch, FIRST + COUNT, BATCHES)


@pytest.mark.parametrize("batch", [batch for batch in range(BATCHES) if seeds(batch)])
def test_the_planner_agrees_with_the_model(batch, tmp_path):
    for seed in seeds(batch):
        chance = random.Random(seed)
        objects, settings = clusters.cluster(chance)
        if compare(tmp_path / str(seed), objects, settings, chance):
            pytest.fail(explain(tmp_path, seed, objects, settings), pytrace=False)


def test_the_order_of_documents_does_not_matter(tmp_path):
    """Trap 7 (13)."""
    for seed in range(FIRST, FIRST + 10):
        chance = random.Random(seed)
        objects, settings = clusters.cluster(chance)
        plans = [planned(tmp_path / f"{seed}-{n}", objects, settings, chance) for n in range(4)]
        assert all(plan == plans[0] for plan in plans), f"PROPERTY_SEED={seed}"


def test_a_difference_is_found_and_made_small():
    objects, settings = clusters.cluster(random.Random(14))
    expected = model.nat(objects, settings, clusters.NODE)
    assert len(expected) > 1
    for change in ({"kind": "other"}, {"sourceRanges": []}, {"from": {}}):
        got = copy.deepcopy(expected)
        got[0]["frontends"][0] |= change
        assert len(difference(got, expected)) >= 1
    assert difference(expected[::-1], expected) and not difference(expected, expected)

    def has_a_local_policy(cluster):
        return "externalTrafficPolicy" in json.dumps(cluster)

    cluster = smaller({"objects": objects, "settings": settings}, has_a_local_policy)
    [service] = cluster["objects"]
    assert service["spec"].keys() & OPTIONAL == {"externalTrafficPolicy"}
