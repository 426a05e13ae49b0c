# SPDX-License-Identifier: Apache-2.0
"""The node of test_faults_{files,objects,specs,configuration,addresses}.py: one whose manifests are edited."""

import signal

import pytest
import yaml
from cluster import start
from lab import objects

OTHER = "203.0.113.30"


class World:
    """One node that announces `web`; a file of manifests, or the configuration, is for editing."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        [self.agent] = start(lab)
        self.web = (lab.manifests / "web.yaml").read_text(encoding="utf-8")

    def write(self, text, name="web.yaml"):
        self.lab.write_text(name, text)

    def remove(self, name):
        (self.lab.manifests / name).unlink()

    def other(self, *addresses, **spec):
        """Another Service with an endpoint here, in a file of its own."""
        annotations = spec.pop("annotations", {})
        service = objects.service("other", list(addresses), **spec)
        service["metadata"]["annotations"] = annotations
        endpoint = objects.endpoint("10.224.0.1", self.node.role)
        self.lab.write("other.yaml", service, objects.slice_of("other", [endpoint]))

    def reload(self, old="", new=""):
        """Another configuration; without words the one that is right."""
        self.agent.write_config()
        if old:
            text = self.agent.config_file.read_text(encoding="utf-8")
            assert old in text
            self.agent.write_config(text.replace(old, new))
        self.agent.process.send_signal(signal.SIGHUP)


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


def other(world, change):
    """Another Service with its slice, changed before they are written; mends by taking both away."""
    service = objects.service("other", [OTHER])
    part = objects.slice_of("other", [objects.endpoint("10.224.0.1", world.node.role)])
    change(service, part)
    world.lab.write("other.yaml", service, part)
    yield
    world.remove("other.yaml")


def configured(world, **sections):
    agent = world.agent
    settings = {**agent.settings, **{name: {**agent.settings.get(name, {}), **keys} for name, keys in sections.items()}}
    agent.write_config(yaml.safe_dump(settings))
    agent.process.send_signal(1)
    yield
    world.reload()


def written(world, change):
    agent = world.agent
    agent.write_config(change(yaml.safe_dump(agent.settings)))
    agent.reload()
    yield
    world.reload()
