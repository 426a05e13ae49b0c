# SPDX-License-Identifier: Apache-2.0
"""Random edits of a folder of manifests: does the kernel hold what `agentctl plan` wants?

The planner that runs offline has never seen the folder before, the agent has followed every edit.
They share their code but not their past, which is what is tested here.
"""

import re

from cluster import write_service
from lab import objects, wait_equal

NAMES = [f"edit{number}" for number in range(30)]
ADDRESSES = [f"203.0.113.{n}" for n in range(1, 25)] + [f"fd00:203::{n:x}" for n in range(1, 13)]
RESERVED_BLOCKS = [f"10.224.{n}.0/27" for n in range(1, 9)]
BROKEN = ("kind: Service\nmetadata: {name: [\n", "- \t-\n", "kind: Service\nspec: {ports: 7}\n", "%")
CLASSES = [n for n in range(33) if n != 8]  # protocol 34 + 8 has a name that `ip` prints: babel
BATCH = 8


class Edits:
    def __init__(self, lab, agent, chance):
        self.lab = lab
        self.agent = agent
        self.chance = chance
        self.node = agent.node
        self.count = self.largest = 0
        self.broken = None  # the one file that is, if one is
        lab.write_nodes()

    def _service(self, name):
        chance = self.chance
        addresses = chance.sample(ADDRESSES, chance.randrange(4))
        ready = {node: chance.random() < 0.6 for node in self.lab.nodes if chance.random() < 0.8}
        annotations = chance.choice([{}, {}, {}, {"fingerpost.io/announce": "false"},
                                     {"fingerpost.io/route-class": str(chance.choice(CLASSES))}])
        more = {"loadBalancerClass": "example.com/other"} if chance.random() < 0.1 else {}
        write_service(self.lab, name, addresses, ready, annotations=annotations,
                      policy=chance.choice(["Local", "Cluster"]),
                      ports=chance.choice([(80,), (443,), (80, 443), (53,)]),
                      in_place=chance.random() < 0.2, **more)

    def _delete(self, name):
        (self.lab.manifests / f"{name}.yaml").unlink(missing_ok=True)

    def _twin(self, name):
        """Another file that has the same Service, and comes first or second to count."""
        twin = objects.service(name, self.chance.sample(ADDRESSES, 2))
        file = self.chance.choice(["a-twin.json", "z-twin.json"])
        self.lab.write(file, twin)

    def _blocks(self, _):
        chosen = self.chance.sample(range(len(RESERVED_BLOCKS)), self.chance.randrange(5))
        self.lab.write("blocks.yaml", *[
            objects.address_block(f"more-{n}", self.node.role, RESERVED_BLOCKS[n], index=n,
                                  pool="more", reserved=self.chance.random() < 0.5)
            for n in chosen
        ])

    def _node(self, _):
        label = {"node.kubernetes.io/exclude-from-external-load-balancers": ""}
        labels = label if self.chance.random() < 0.3 else {}
        items = [item for node in self.lab.nodes for item in node.objects()]
        items[0] = objects.node(self.node.role, [self.node.address4], labels)
        self.lab.write("nodes.yaml", *items)

    def edit(self):
        kinds = [self._service] * 12 + [self._delete] * 3 + [self._twin, self._blocks, self._node]
        self.chance.choice(kinds)(self.chance.choice(NAMES))
        self.count += 1

    def break_one(self):
        """The file's content stays in force, so the plan is still the one from before."""
        files = [path for path in sorted(self.lab.manifests.iterdir()) if path.suffix == ".yaml"]
        path = self.chance.choice(files)
        self.broken = (path.name, path.read_text(encoding="utf-8"))
        self.lab.write_text(path.name, self.chance.choice(BROKEN))
        self.count += 1

    def mend(self):
        self.lab.write_text(*self.broken)
        self.broken = None
        self.count += 1

    def planned(self):
        """What shall stand in the kernel, as `ip` would print it."""
        document = self.agent.json("plan", "-f", str(self.lab.manifests),
                                   "--config", str(self.agent.config_file))
        routes = [(route["table"], re.sub(r"/(32|128)(?= )", "", route["entry"]))
                  for route in document["routes"]]
        rules = [re.sub(r" \(IPv[46]\)$", "", rule) for rule in document["rules"]]
        return sorted(routes) + sorted(rules)

    def installed(self):
        routes = [(table, line) for table in (119, 120, 254) for family in (4, 6)
                  for line in self.node.table(table, family)
                  if table != 254 or " proto 33" in line]
        rules = [line.replace("\t", " ").strip() for family in ("-4", "-6")
                 for line in self.node.ip(family, "rule").splitlines() if "1990:" in line]
        return sorted(routes) + sorted(rules)

    def compare(self):
        """Some edits, then a look; then perhaps a broken file, which must change nothing."""
        for _ in range(self.chance.randrange(1, BATCH)):
            self.edit()
        self.agent.settled()
        planned = self.planned()
        self.largest = max(self.largest, len(planned))
        wait_equal(self.installed, planned, f"the kernel to hold the plan after {self.count} edits")
        if self.chance.random() < 0.2:
            self.break_one()
            self.agent.settled()
            assert self.installed() == planned, f"a broken file changed something: {self.broken}"
            self.mend()
