# SPDX-License-Identifier: Apache-2.0
"""Faults of exports to Consul."""

import itertools
import json
import shutil
import signal
import urllib.parse

import pytest
from faults import Table, check
from lab import wait, wait_equal
from lab.authority import Authority
from lab.traffic import serve
from moments import log_size
from node_agent import RULES, NodeConsul
from test_services import HTTP, SERVED, state, write

pytestmark = [pytest.mark.lab(nodes=1, nat=True), pytest.mark.shared]
rows = Table()
NUMBERS = itertools.count()


class World:
    """One node that registers `web` with its Consul agent."""

    def __init__(self, lab):
        self.lab, [self.node] = lab, lab.nodes
        self.pod = lab.pod(self.node, "one")
        serve(self.pod, 8080)
        folder = self.node.folder / "consul"
        folder.mkdir()
        self.consul = NodeConsul(self.node, folder)
        self.token = folder / "token"
        self.give_token()
        lab.write_nodes()
        write(lab, self.pod)
        self.agent = lab.agent(self.node, consul={"clusterID": "lab", "address": self.consul.address,
                                                  "tokenFile": str(self.token), "resync": "1s"})
        self.serves()

    def give_token(self):
        self.accessor, secret = self.consul.token(f"{RULES}# {next(NUMBERS)}\n")
        self.token.write_text(secret + "\n", encoding="ascii")

    def serves(self):
        wait_equal(lambda: state(self.consul, HTTP), SERVED, "what NAT has proved")


@pytest.fixture(name="world")
def world_fixture(lab):
    """Made once for each lab."""
    if not hasattr(lab, "world"):
        lab.world = World(lab)
    return lab.world


@rows("consul-agent-failed", within=2, cause="token", remedy="consul.tokenFile")
def the_token_is_deleted(world):
    world.consul.ask("DELETE", f"/v1/acl/token/{world.accessor}")
    yield
    world.give_token()
    yield
    world.serves()


@rows("consul-agent-failed", within=2, cause=("Consul", "consul.sock"), remedy="consul.address")
def the_agent_of_consul_is_stopped(world):
    world.consul.kill()
    yield
    world.consul.start()
    yield
    world.serves()


@rows(within=2, heals=True)
def somebody_deregisters_the_service(world):
    world.consul.deregister(HTTP)
    yield
    world.serves()
    yield


@rows("consul-agent-failed", within=2, cause=("token", "No such file"), remedy="file")
def the_file_of_the_token_is_gone(world):
    kept = world.token.read_text(encoding="ascii")
    world.token.unlink()
    yield
    world.token.write_text(kept, encoding="ascii")
    yield
    world.serves()


@rows("consul-agent-failed", within=5, cause="consul.sock", remedy="Consul")
def the_agent_of_consul_hangs(world):
    world.consul.process.send_signal(signal.SIGSTOP)
    yield
    world.consul.process.send_signal(signal.SIGCONT)
    yield
    world.serves()


@rows(within=2, heals=True)
def somebody_registers_our_service_with_another_port(world):
    found = world.consul.services()[HTTP]
    world.consul.register(ID=HTTP, Name=found["Service"], Port=found["Port"] + 1, Address=found["Address"],
                          Tags=found["Tags"], Meta=found["Meta"])
    yield
    wait(lambda: world.consul.services()[HTTP]["Port"] == found["Port"], "our port")
    world.serves()
    yield


def failures(agent):
    return agent.json("status")["consul"]["failures"]


@rows("consul-agent-failed", within=2, cause=("127.0.0.1:8300", "does not answer as Consul's agent"), remedy="consul.address")
def the_address_is_the_servers_port(world):
    agent = world.agent
    kept = agent.settings["consul"]["address"]
    agent.settings["consul"]["address"] = "http://127.0.0.1:8300"
    agent.write_config()
    agent.reload()
    yield
    agent.settings["consul"]["address"] = kept
    agent.write_config()
    agent.reload()
    yield
    world.serves()


@rows("consul-agent-failed", within=2, cause=("Permission denied", "web"), remedy="policy")
def the_token_may_write_other_services(world):
    _, secret = world.consul.token('service_prefix "" { policy = "read" }\nservice_prefix "other" { policy = "write" }\n')
    world.token.write_text(secret + "\n", encoding="ascii")
    yield
    world.give_token()
    yield
    world.serves()


@rows("consul-service-foreign", within=2, cause=HTTP, remedy="deregister")
def somebody_has_a_service_under_our_id(world):
    world.consul.register(ID=HTTP, Name="theirs", Port=9999, Address="192.0.2.9")
    yield
    world.consul.deregister(HTTP)
    yield
    world.serves()


def test_a_refusal_is_told_until_it_is_mended(world):
    """Consul can be read all the time; that it is so is no news of what it refuses."""
    _, secret = world.consul.token('service_prefix "" { policy = "read" }\n')
    world.token.write_text(secret + "\n", encoding="ascii")
    wait(world.agent.faults, "the refusal to be told")
    told, refused = log_size(world.agent), failures(world.agent)
    wait(lambda: failures(world.agent) >= refused + 3, "three more refusals")
    world.give_token()
    world.serves()
    wait_equal(world.agent.faults, [], "it to be over")
    with open(world.agent.log, encoding="utf-8") as log:
        log.seek(told)
        assert log.read().count("no longer") == 1


@rows(within=2)
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


@rows("consul-agent-failed", within=2, cause=("127.0.0.1:8501", "to an HTTPS server"),
      remedy="write https:// in consul.address")
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


@rows("consul-agent-failed", within=2, cause=("there is no token in", "consul/token"),
      remedy="write the token into the file of consul.tokenFile")
def the_file_of_the_token_is_empty(world):
    secret = world.token.read_text(encoding="ascii")
    world.token.write_text("", encoding="ascii")
    yield
    world.token.write_text(secret, encoding="ascii")
    yield
    world.serves()


@rows(within=5)
def consul_is_started_without_its_data(world):
    """Its tokens are gone as well: the agent is given another one at once."""
    world.consul.kill()
    shutil.rmtree(world.consul.folder / "data")
    world.consul.start()
    world.give_token()
    world.serves()
    yield
    yield


def ours(world):
    """The ids of our own check of the service."""
    return [check_["CheckID"] for check_ in world.consul.json("GET", "/v1/agent/checks").values()
            if (check_["ServiceID"], check_["Name"]) == (HTTP, "Fingerpost")]


@rows(within=2, heals=True)
def somebody_deregisters_our_check(world):
    """What Consul itself asks of the service begins anew with the registration, and passes when it has asked."""
    [check_id] = ours(world)
    world.consul.ask("PUT", f"/v1/agent/check/deregister/{check_id}")
    yield
    wait_equal(lambda: ours(world), [check_id], "the check to be back")
    yield
    world.serves()


@rows("document-value-unexpected", within=1, cause=("agentd.yaml:", "address"), remedy=("",))
def the_address_has_no_scheme(world):
    agent = world.agent
    kept = agent.settings["consul"]["address"]
    agent.settings["consul"]["address"] = "127.0.0.1:8500"
    agent.write_config()
    agent.reload()
    yield
    agent.settings["consul"]["address"] = kept
    agent.write_config()
    agent.reload()


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


@rows("consul-agent-maintenance", cause=("consul.sock", "Consul's agent is in maintenance"), remedy="consul maint -disable")
def the_node_is_in_maintenance(world):
    world.consul.ask("PUT", "/v1/agent/maintenance?enable=true&reason=disk")
    yield
    world.consul.ask("PUT", "/v1/agent/maintenance?enable=false")
    yield
    world.serves()


@rows("consul-service-maintenance", cause=(HTTP, "in maintenance in Consul (tests)"), remedy="consul maint -disable -service")
def a_service_is_in_maintenance(world):
    path = f"/v1/agent/service/maintenance/{urllib.parse.quote(HTTP, safe='')}"
    world.consul.ask("PUT", f"{path}?enable=true&reason=tests")
    yield
    world.consul.ask("PUT", f"{path}?enable=false")
    yield
    world.serves()


@rows("consul-agent-failed", cause="Namespaces are a Consul Enterprise feature", remedy="consul.namespace")
def a_namespace_is_named_that_consul_has_not(world):
    return with_key(world, namespace="team-a")


@rows("consul-agent-failed", cause="an answer that Consul's agent does not give", remedy="8500")
def the_socket_is_of_somebody_else(world):
    return with_key(world, address=f"unix://{world.agent.settings['paths']['run']}/agentd.sock")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
