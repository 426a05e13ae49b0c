# SPDX-License-Identifier: Apache-2.0
"""The ninth list of the fault table, objects and configuration: each row was written down before it was tried
(tests/ninth_list.txt)."""

import pytest
import yaml
from faults import Table, check
from lab import objects, wait_equal
from test_eighth_list_objects import configured
from test_fault_table_objects import ITSELF, OTHER, world_fixture  # noqa: F401
from test_fourth_list_objects import other

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table("ninth_list")
RENDERED = """---
# Source: web/templates/serviceaccount.yaml
---
# Source: web/templates/service.yaml
{}
---
# Source: web/templates/ingress.yaml

---

---
# Source: web/templates/slice.yaml
{}
...
---
"""


@rows(1009)
def a_chart_was_rendered(world):
    items = (objects.service("other", [OTHER]),
             objects.slice_of("other", [objects.endpoint("10.224.0.1", world.node.role)]))
    world.write(RENDERED.format(*(yaml.safe_dump(item) for item in items)), "other.yaml")
    wait_equal(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), True, "the Service")
    yield
    world.remove("other.yaml")


@rows(1010, cause=("other.yaml:", "externalIPs"), remedy=ITSELF)
def external_ips_are_a_text(world):
    return other(world, lambda service, part: service["spec"].update(externalIPs="203.0.113.31"))


@rows(1011, cause=("agentd.yaml:", "table"), remedy=ITSELF)
def the_table_is_local(world):
    return configured(world, routes={"table": 255})


@rows(1012, cause=("agentd.yaml:", "203.0.113.10/24"), remedy=ITSELF)
def a_range_has_bits_behind_its_length(world):
    return configured(world, services={"loadBalancerIPs": ["203.0.113.10/24", "fd00:203::/64"]})


def written(world, change):
    agent = world.agent
    agent.write_config(change(yaml.safe_dump(agent.settings)))
    agent.reload()
    yield
    world.reload()


@rows(1013, cause="agentd.yaml:", remedy=ITSELF)
def the_configuration_has_two_documents(world):
    return written(world, lambda text: f"{text}---\nroutes:\n  table: 119\n")


@rows(1014, cause="agentd.yaml:", remedy=ITSELF)
def a_quotation_mark_is_not_closed(world):
    return written(world, lambda text: f'{text}nodeName: "node1\n' if "nodeName" not in text
                   else text.replace("nodeName: ", 'nodeName: "'))


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
