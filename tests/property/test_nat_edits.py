# SPDX-License-Identifier: Apache-2.0
"""After any chain of edits, kills and restarts the maps say what the manifests say now.

A chain is a seed; a run takes PROPERTY_CHAINS of them from PROPERTY_SEED (0 by default) on, of
PROPERTY_EDITS edits each. What stands in the maps is compared by its meaning: with the model on the
way, and in the end also with what a second node has whose agent never saw anything else.
"""

import os
import random

import clusters
import live
import meaning
import pytest

FIRST = int(os.environ.get("PROPERTY_SEED", "0"))
COUNT = int(os.environ.get("PROPERTY_CHAINS", "4"))
EDITS = int(os.environ.get("PROPERTY_EDITS", "80"))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


class Chain:
    def __init__(self, site, seed):
        self.site, self.chance = site, random.Random(seed)
        self.objects, self.settings = clusters.cluster(self.chance)
        self.done = []  # what was done, for whoever reads the failure
        site.start(self.settings)
        site.replace(self.objects)

    def edit(self):
        self.objects = clusters.edited(self.chance, self.objects, self.settings)
        self.site.replace(self.objects)

    def check(self):
        """The maps are the model's, and the agent itself finds no difference."""
        self.site.settle()
        seen = live.as_seen(self.objects)
        expected = meaning.modelled(seen, self.settings, clusters.NODE)
        lines = list(meaning.differences(meaning.of(self.site.pins()), expected))
        lines += [f"verify: {item}" for item in self.site.get("verify")[1]["items"]]
        assert not lines, "\n".join([f"after {' '.join(self.done)}:", *lines])

    def reconfigure(self):
        """Other settings; `proxyName` stays, since the Services were drawn for it. An edit follows,
        so that settle() has something to wait for."""
        settings = clusters.settings(self.chance)
        settings.pop("proxyName", None)
        settings |= {k: v for k, v in self.settings.items() if k == "proxyName"}
        self.settings = settings
        self.site.configure(settings)
        self.edit()

    def step(self):
        [what] = self.chance.choices(("edit", "check", "restart", "reconfigure"), (60, 10, 3, 3))
        self.done.append(what)
        {"edit": self.edit, "check": self.check, "restart": self.site.restart,
         "reconfigure": self.reconfigure}[what]()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_edits_end_where_a_fresh_start_begins(seed, request):
    with live.Site(request.node.nodeid) as site:
        chain = Chain(site, seed)
        for _ in range(EDITS):
            chain.step()
        chain.check()
        with live.Site(f"{request.node.nodeid}-fresh") as fresh:
            fresh.start(chain.settings, site.manifests)
            fresh.settle()
            lines = list(meaning.differences(meaning.of(site.pins()), meaning.of(fresh.pins())))
            assert site.announced() == fresh.announced()
        assert not lines, "\n".join([f"after {' '.join(chain.done)}, and afresh:", *lines])
