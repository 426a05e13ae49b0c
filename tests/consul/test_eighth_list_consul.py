# SPDX-License-Identifier: Apache-2.0
"""The eighth list of the fault table, Consul: each row was written down before it was tried
(tests/eighth_list.txt)."""

import json

import pytest
from faults import Table, check
from lab.authority import Authority
from test_fifth_list_consul import world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table("eighth_list")


@rows(939)
def the_token_ends_in_blanks(world):
    secret = world.token.read_text(encoding="ascii").strip()
    world.token.write_text(secret + "  \n\n", encoding="ascii")
    agent = world.agent
    agent.stop()
    agent.start()
    yield
    world.serves()
    world.token.write_text(secret + "\n", encoding="ascii")
    yield


@rows(940, cause=("127.0.0.1:8501", "to an HTTPS server"), remedy="write https:// in consul.address")
def the_agent_of_consul_speaks_tls(world):
    consul, agent = world.consul, world.agent
    pair = Authority(world.node.folder / "pki").issue("consul", hosts=["127.0.0.1"])
    document = json.loads(consul.config.read_text(encoding="utf-8"))
    document["ports"]["https"] = 8501
    document["addresses"]["https"] = "127.0.0.1"
    document["tls"] = {"defaults": {"cert_file": str(pair.certificate), "key_file": str(pair.key)}}
    consul.config.write_text(json.dumps(document), encoding="utf-8")
    consul.kill()
    consul.start()
    world.serves()
    kept = agent.settings["consul"]["address"]
    agent.settings["consul"]["address"] = "http://127.0.0.1:8501"
    agent.write_config()
    agent.reload()
    yield
    agent.settings["consul"]["address"] = kept
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
