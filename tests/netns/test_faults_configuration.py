# SPDX-License-Identifier: Apache-2.0
"""Faults of the agent's own configuration, at a reload."""

import signal

import pytest
import yaml
from faults import ITSELF, Table, check
from objects_world import configured, world_fixture, written  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows("config-key-misspelt", cause='unknown key "routez"; did you mean "routes"?', remedy=ITSELF)
def a_key_of_the_configuration_is_misspelt(world):
    world.reload("services:", "routez: {}\nservices:")
    yield
    world.reload()


@rows("config-key-fixed", cause="services.enabled cannot change while agentd runs",
      remedy="restart agentd, or put the old value back")
def a_key_needs_a_restart(world):
    world.reload("enabled: false", "enabled: true")
    yield
    world.reload()


@rows("config-key-fixed", cause="routes.table cannot change while agentd runs",
      remedy="restart agentd, or put the old value back")
def the_table_is_another_one_at_a_reload(world):
    """Expected: as a key that needs a restart."""
    world.reload("services:", "routes: {table: 121}\nservices:")
    yield
    world.reload()


@rows("document-open-failed", cause=("agentd.yaml", "No such file"), remedy=ITSELF)
def the_configuration_is_gone_at_a_reload(world):
    """Expected: told, and the old one in force."""
    world.agent.config_file.unlink()
    world.agent.process.send_signal(signal.SIGHUP)
    yield
    world.reload()


@rows("syntax-key-twice", cause=("other.yaml:", "type", "twice"), remedy=ITSELF)
def a_key_is_written_twice(world):
    """Expected: refused by file and line, since YAML has no answer which one counts."""
    world.write("apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec:\n"
                "  type: ClusterIP\n  type: LoadBalancer\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows("config-key-missing", cause=("agentd.yaml:1:1", "source is missing"), remedy=ITSELF)
def the_configuration_is_empty_at_a_reload(world):
    """Expected: refused for its missing source; the old one stays in force."""
    world.agent.config_file.write_text("")
    world.agent.process.send_signal(signal.SIGHUP)
    yield
    world.reload()


@rows("document-value-unexpected", cause=("agentd.yaml:", "advertise", "loadbalancer"), remedy=ITSELF)
def a_word_of_the_configuration_is_misspelt(world):
    world.reload("enabled: false", "enabled: false\n  advertise: [loadbalancer]")
    yield
    world.reload()


@rows("document-value-unexpected", cause=("agentd.yaml:", "initial"), remedy=ITSELF)
def a_duration_has_no_unit(world):
    world.reload("services:", "routes: {holdDown: {initial: 5}}\nservices:")
    yield
    world.reload()


def reload(world, old, new):
    world.reload(old, new)
    yield
    world.reload()


@rows("config-table-unusable", cause=("agentd.yaml:", "routes.table"), remedy=ITSELF)
def the_export_table_is_main(world):
    return reload(world, "services:", "routes: {table: 254}\nservices:")


@rows("document-value-unexpected", cause=("agentd.yaml:", "advertise"), remedy=ITSELF)
def advertise_is_no_list(world):
    return reload(world, "services:\n", "services:\n  advertise: loadBalancer\n")


@rows("syntax-tab", cause="agentd.yaml:", remedy=ITSELF)
def a_tab_indents_the_configuration(world):
    return reload(world, "services:\n", "services:\n\tadvertise: [loadBalancer]\n")


@rows("document-value-unexpected", within=1, cause=("agentd.yaml:", "10.96.0.0/33"), remedy=ITSELF)
def a_network_of_cluster_ips_is_too_long(world):
    world.reload("  enabled: false", "  enabled: false\n  serviceCIDRs: [10.96.0.0/33]")
    yield
    world.reload()


@rows("document-value-unexpected", within=1, cause=("agentd.yaml:", "drain"), remedy=ITSELF)
def a_drain_is_one_time(world):
    world.reload("services:", "routes: {drain: 10s}\nservices:")
    yield
    world.reload()


@rows("config-source-ambiguous", within=1, cause=("agentd.yaml:", "source"), remedy=ITSELF)
def both_sources_are_named(world):
    world.reload("source:", "source:\n  kubernetes: {}")
    yield
    world.reload()


@rows("document-value-unexpected", within=1, cause=("agentd.yaml:", "listen"), remedy=ITSELF)
def the_api_listens_at_a_port_alone(world):
    agent = world.agent
    agent.write_config(yaml.safe_dump({**agent.settings, "api": {"listen": 9394}}))
    agent.process.send_signal(1)
    yield
    world.reload()


@rows("document-value-unexpected", within=1, cause=("agentd.yaml:", "table"), remedy=ITSELF)
def the_table_is_a_name(world):
    return configured(world, routes={"table": "bgp"})


@rows("config-table-unusable", within=1, cause=("agentd.yaml:", "table"), remedy=ITSELF)
def the_table_is_local(world):
    return configured(world, routes={"table": 255})


@rows("document-too-many", within=1, cause="agentd.yaml:", remedy=ITSELF)
def the_configuration_has_two_documents(world):
    return written(world, lambda text: f"{text}---\nroutes:\n  table: 119\n")


@rows("config-range-reversed", within=1, cause=("agentd.yaml:", "snatPorts"), remedy=ITSELF)
def ports_are_the_wrong_way_around(world):
    return reload(world, "services:\n", "services:\n  snatPorts: 65535-10000\n")


@rows("document-value-unexpected", within=1, cause=("agentd.yaml:", "mode"), remedy=ITSELF)
def the_firewall_is_on(world):
    return reload(world, "services:\n", "services:\n  firewall: {mode: on}\n")


@rows("config-path-passes-firewall", within=1, cause=("agentd.yaml:", "path", "firewall"), remedy=ITSELF)
def the_firewall_marks_what_goes_past_it(world):
    return reload(world, "services:\n", "services:\n  path: direct\n  firewall: {mode: mark}\n")


@rows("config-duration-short", within=1, cause=("agentd.yaml:", "probeInterval"), remedy=ITSELF)
def probes_come_too_often(world):
    return reload(world, "services:\n", "egress: {probeInterval: 10ms}\nservices:\n")


@rows("config-key-misplaced", within=1, cause=("agentd.yaml:", "uplinks"), remedy=ITSELF)
def a_key_stands_a_level_too_high(world):
    return reload(world, "services:\n", "uplinks: [eth0]\nservices:\n")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
