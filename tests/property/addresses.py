# SPDX-License-Identifier: Apache-2.0
"""
A second, simple reading of how LoadBalancer addresses are given out of pools (docs/pools.md).

No table, no cursor: every question is answered by going through all addresses and all Services.
Written from the rules, not from the program, and slow: pools are small.
"""

import ipaddress

REQUIRE = "RequireDualStack"
PREFER = "PreferDualStack"
CONDITION = "fingerpost.io/AddressAssigned"
GROUPS = ("fingerpost.io/", "metallb.io/", "metallb.universe.tf/")


def age(thing):
    """Older things first; without a time last; then by name."""
    meta = thing["metadata"]
    created = meta.get("creationTimestamp")
    return (created is None, created or "", meta["namespace"], meta["name"])


def key(thing):
    return thing["metadata"]["namespace"], thing["metadata"]["name"]


def annotation(thing, name):
    found = thing["metadata"].get("annotations", {})
    return next((found[group + name] for group in GROUPS if found.get(group + name)), None)


def all_of(text):
    """The addresses of one entry of a pool."""
    if "-" in text:
        first, last = (ipaddress.ip_address(end) for end in text.split("-"))
        return [first + n for n in range(int(last) - int(first) + 1)]
    if "/" in text:
        return list(ipaddress.ip_network(text))
    return [ipaddress.ip_address(text)]


def selected(selectors, labels):
    return any(all(labels.get(name) == value for name, value in each["matchLabels"].items())
               for each in selectors)


class Pools:
    def __init__(self, objects):
        self.pools = sorted((o for o in objects if o["kind"] == "IPAddressPool"), key=age)
        self.owner = {}
        for pool in self.pools:
            for text in pool["spec"]["addresses"]:
                for ip in all_of(text):
                    self.owner.setdefault(ip, pool)
        self.labels = {o["metadata"]["name"]: o["metadata"].get("labels", {})
                       for o in objects if o["kind"] == "Namespace"}

    def own(self, pool, version):
        return sorted(ip for ip, owner in self.owner.items()
                      if owner is pool and ip.version == version)

    def reserved(self, pool):
        text = pool["metadata"].get("annotations", {}).get("fingerpost.io/reserved", "")
        return {ip for part in text.split(",") if part for ip in all_of(part.strip())}

    def allows(self, pool, service):
        rule = pool["spec"].get("serviceAllocation", {})
        namespace = service["metadata"]["namespace"]
        if rule.get("serviceSelectors") and not selected(
                rule["serviceSelectors"], service["metadata"].get("labels", {})):
            return False
        if not rule.get("namespaces") and not rule.get("namespaceSelectors"):
            return True
        return namespace in rule.get("namespaces", []) or selected(
            rule.get("namespaceSelectors", []), self.labels.get(namespace, {}))

    def avoids(self, pool, ip):
        return pool["spec"].get("avoidBuggyIPs", False) and ip.version == 4 and int(ip) % 256 in (0, 255)

    def order(self, service, version):
        wanted = annotation(service, "address-pool")
        found = [p for p in self.pools if self.allows(p, service) and self.own(p, version) and (
            p["metadata"]["name"] == wanted if wanted else p["spec"].get("autoAssign", True))]
        def preference(pool):
            rule = pool["spec"].get("serviceAllocation")
            priority = (rule or {}).get("priority", 0) or 1 << 40
            return rule is None, priority, len(self.own(pool, version)), key(pool)
        return sorted(found, key=preference)


def ports(service):
    return {(port.get("protocol", "TCP"), port["port"]) for port in service["spec"]["ports"]}


def backends(service):
    """Of which pods a node needs one: None, any will do."""
    return service["spec"].get("selector", {}) if service["spec"].get("externalTrafficPolicy") == "Local" else None


def against(a, b, held_already):
    """Why two Services may not have one address."""
    mine, other = annotation(a, "allow-shared-ip"), annotation(b, "allow-shared-ip")
    if mine is None or mine != other or ports(a) & ports(b):
        return "taken"
    return None if held_already or backends(a) == backends(b) else "other-backends"


def wished(service):
    text = annotation(service, "loadBalancerIPs") or service["spec"].get("loadBalancerIP")
    return [ipaddress.ip_address(part.strip()) for part in text.split(",")] if text else []


def versions(service):
    return [4 if family == "IPv4" else 6 for family in service["spec"]["ipFamilies"]]


def held(service):
    ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    return sorted({ipaddress.ip_address(entry["ip"]) for entry in ingress if "ip" in entry},
                  key=lambda ip: (ip.version, ip))


def is_ours(service):
    """Whoever gives addresses has said so."""
    return any(each["type"] == CONDITION for each in service.get("status", {}).get("conditions", []))


def is_named(service):
    """Its status has a hostname, which is never given here."""
    return any("hostname" in entry for entry in
               service.get("status", {}).get("loadBalancer", {}).get("ingress", []))


class Allocator:
    def __init__(self, objects):
        self.pools = Pools(objects)
        self.services = sorted((o for o in objects if o["kind"] == "Service"
                                and o["spec"]["type"] == "LoadBalancer"
                                and not o["spec"].get("loadBalancerClass")), key=age)
        self.foreign = [o for o in self.services if is_named(o) or (
            not is_ours(o) and any(ip not in self.pools.owner for ip in held(o)))]
        self.strangers = [o for o in objects if o["kind"] == "Service"
                          and (o not in self.services or o in self.foreign)]
        self.has = {key(service): [] for service in self.services}
        self.lacks = {key(service): {} for service in self.services}

    def judge(self, service, ip, held_already):
        if ip.version not in versions(service):
            return "other-family"
        pool = self.pools.owner.get(ip)
        if pool is None:
            return "outside-pools"
        if annotation(service, "address-pool") not in (None, pool["metadata"]["name"]):
            return "other-pool"
        if not self.pools.allows(pool, service):
            return "pool-forbidden"
        if not held_already and self.pools.avoids(pool, ip):
            return "avoided"
        if not held_already and self.is_strangers(ip):
            return "taken"
        others = [s for s in self.services if s is not service and ip in self.has[key(s)]]
        reasons = {against(service, other, held_already) for other in others} - {None}
        return "taken" if "taken" in reasons else next(iter(reasons), None)

    def is_strangers(self, ip):
        return any(ip in held(other) for other in self.strangers)

    def keep(self, service):
        wish = wished(service)
        for ip in held(service):
            named = [other for other in wish if other.version == ip.version]
            mine = self.has[key(service)]
            fits = ip in named if named else all(other.version != ip.version for other in mine)
            if self.judge(service, ip, True) is None and fits:
                mine.append(ip)

    def lack(self, service, version, reason):
        self.lacks[key(service)].setdefault(f"IPv{version}", reason)

    def named(self, service):
        picks = []
        for ip in wished(service):
            if ip in self.has[key(service)] or ip in picks:
                continue
            reason = self.judge(service, ip, False)
            if reason:
                self.lack(service, ip.version, reason)
            else:
                picks.append(ip)
        return picks

    def given(self, pool, version, avoided=False):
        return [ip for ip in self.pools.own(pool, version)
                if ip not in self.pools.reserved(pool) and self.pools.avoids(pool, ip) == avoided
                and not self.is_strangers(ip)]

    def used(self):
        return {ip for ips in self.has.values() for ip in ips}

    def best(self, service, order, version):
        """An address of these pools, or None."""
        if annotation(service, "allow-shared-ip") is not None:
            both = sorted(ip for pool in order for ip in self.given(pool, version)
                          if ip in self.used() and self.judge(service, ip, False) is None)
            if both:
                return both[0]
        free = [ip for pool in order for ip in self.given(pool, version) if ip not in self.used()]
        return free[0] if free else None

    def shares(self, service, pool, version):
        return annotation(service, "allow-shared-ip") is not None and any(
            ip in self.used() and self.judge(service, ip, False) is None for ip in self.given(pool, version))

    def one_pool(self, service, picks):
        """The pool that both addresses of a Service come from, where one has both."""
        mine = self.has[key(service)] + picks
        if mine:
            return self.pools.owner[min(mine, key=lambda ip: (ip.version, ip))]
        both = [pool for pool in self.pools.order(service, 4) if pool in self.pools.order(service, 6)]
        shared = [pool for pool in both if all(self.shares(service, pool, v) for v in (4, 6))]
        having = [pool for pool in both if all(self.best(service, [pool], v) for v in (4, 6))]
        return next(iter(shared + having), None)

    def choose(self, service, version, preferred):
        """An address, or why there is none."""
        order = self.pools.order(service, version)
        wanted = annotation(service, "address-pool")
        if not order:
            meant = [p for p in self.pools.pools if p["metadata"]["name"] == wanted]
            if wanted is None or any(self.pools.allows(p, service) for p in meant):
                return None, "no-pool"
            return None, "pool-forbidden" if meant else "unknown-pool"
        ip = self.best(service, [p for p in order if p is preferred], version) or self.best(service, order, version)
        if ip:
            return ip, None
        left = any(ip not in self.used() for pool in order for ip in self.given(pool, version, avoided=True))
        return None, "avoided" if left else "exhausted"

    def others(self, service, named):
        picks = []
        if {ip.version for ip in wished(service)} - set(versions(service)):
            return picks
        missing = [version for version in (4, 6) if version in versions(service) and not any(
            ip.version == version for ip in wished(service) + self.has[key(service)])]
        preferred = self.one_pool(service, named) if len(versions(service)) == 2 else None
        for version in missing:
            ip, reason = self.choose(service, version, preferred)
            if reason:
                self.lack(service, version, reason)
            else:
                picks.append(ip)
        return picks

    def fill(self, service, first):
        if service in self.foreign:
            for version in versions(service):
                self.lack(service, version, "foreign-status")
            return
        both = {ip.version for ip in wished(service)} == {4, 6}
        strict = service["spec"].get("ipFamilyPolicy") == REQUIRE
        picks = []
        if first == (both or not strict):
            picks += self.named(service)
        if not first:
            picks += self.others(service, picks)
        if strict and self.lacks[key(service)]:
            for ip in picks:
                self.lack(service, ip.version, "partner-missing")
            picks = []
        self.has[key(service)] += picks
        if service["spec"].get("ipFamilyPolicy") == PREFER:  # the other family is where there is a pool of it
            for version in (4, 6):
                other = any(ip.version != version for ip in self.has[key(service)])
                if other and self.lacks[key(service)].get(f"IPv{version}") == "no-pool":
                    del self.lacks[key(service)][f"IPv{version}"]

    def run(self):
        for service in self.services:
            self.keep(service)
        for first in (True, False):
            for service in self.services:
                self.fill(service, first)
        return {k: ([str(ip) for ip in sorted(ips, key=lambda ip: (ip.version, ip))],
                    self.lacks[k]) for k, ips in self.has.items()}
