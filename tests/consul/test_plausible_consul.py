# SPDX-License-Identifier: Apache-2.0
"""The fault table, Consul: what looks right to whoever did it, and keeps services from those who ask Consul for them."""

import urllib.parse

import pytest
from faults import Table, check
from test_fifth_list_consul import world_fixture  # noqa: F401
from test_services import HTTP

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()


def with_key(world, **keys):
    """Other keys of the section, and back."""
    agent = world.agent
    kept = dict(agent.settings["consul"])
    agent.settings["consul"].update(keys)
    agent.write_config()
    agent.reload()
    yield
    agent.settings["consul"] = kept
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows(941, cause=("consul.sock", "Consul's agent is in maintenance"), remedy="consul maint -disable")
def the_node_is_in_maintenance(world):
    world.consul.ask("PUT", "/v1/agent/maintenance?enable=true&reason=disk")
    yield
    world.consul.ask("PUT", "/v1/agent/maintenance?enable=false")
    yield
    world.serves()


@rows(942, cause=(HTTP, "in maintenance in Consul (tests)"), remedy="consul maint -disable -service")
def a_service_is_in_maintenance(world):
    path = f"/v1/agent/service/maintenance/{urllib.parse.quote(HTTP, safe='')}"
    world.consul.ask("PUT", f"{path}?enable=true&reason=tests")
    yield
    world.consul.ask("PUT", f"{path}?enable=false")
    yield
    world.serves()


@rows(943, cause="Namespaces are a Consul Enterprise feature", remedy="consul.namespace")
def a_namespace_is_named_that_consul_has_not(world):
    return with_key(world, namespace="team-a")


@rows(944, cause="an answer that Consul's agent does not give", remedy="8500")
def the_socket_is_of_somebody_else(world):
    return with_key(world, address=f"unix://{world.agent.settings['paths']['run']}/agentd.sock")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
