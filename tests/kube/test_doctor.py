# SPDX-License-Identifier: Apache-2.0
"""agentctl doctor where the API is the source, and what the agent says of an API that it would have to
serve itself."""

import json

import pytest
import schema
from lab import Lab, wait
from lab.lab import NAT
from setting import Setting

pytestmark = pytest.mark.xdist_group("kube-doctor")


@pytest.fixture(name="setting", scope="module")
def setting_fixture(tmp_path_factory):
    with Lab("kube-doctor", nodes=1, nat=True) as lab:
        made = Setting(lab, tmp_path_factory.mktemp("doctor"))
        made.api.put(*lab.nodes[0].objects())
        made.api.start()
        yield made
        made.end()


@pytest.fixture(name="agent", scope="module")
def agent_fixture(setting):
    return setting.lab.agent(setting.node, start=False, kubeconfig=setting.kubeconfig())


def doctor(agent, check):
    """What one check says: its verdict, and what was found."""
    done = agent.ctl("doctor", "--config", str(agent.config_file), "--timeout=5s", "--json")
    document = json.loads(done.out)
    schema.check(document)
    items = [item for item in document["items"] if item["check"] == check]
    return {item["verdict"] for item in items}, json.dumps(items)


@pytest.mark.parametrize("denied, words", [
    (set(), ()),
    ({"watch services"}, ("may not watch services", "rbac.yaml")),
    ({"list endpointslices"}, ("may not list endpointslices.discovery.k8s.io", "rbac.yaml")),
    ({"create events"}, ("may not create events.events.k8s.io", "rbac.yaml")),
])
def test_each_right_is_asked_for(setting, agent, denied, words):
    setting.api.denied = denied
    verdicts, said = doctor(agent, "kube.rights")
    assert verdicts == ({"failed"} if denied else {"ok"}), said
    assert all(word in said for word in words), said


def test_an_api_that_does_not_review(setting, agent):
    """It is said that nothing is known; nobody is blamed."""
    setting.api.fail("selfsubjectaccessreviews", lambda request: request.say(404, {}))
    verdicts, said = doctor(agent, "kube.rights")
    setting.api.mend()
    assert verdicts == {"skipped"} and "does not say" in said


def test_an_api_at_a_cluster_ip(setting, agent):
    """By doctor before the start, by a fault at the start; with another range neither says a word."""
    assert doctor(agent, "kube.circle")[0] == {"ok"}
    networks = NAT["services"]["serviceCIDRs"]
    agent.settings["services"]["serviceCIDRs"] = [*networks, f"{setting.lab.client.address4}/32"]
    agent.settings["source"]["startWait"] = "1s"
    agent.write_config()
    verdicts, said = doctor(agent, "kube.circle")
    assert verdicts == {"failed"} and "is a ClusterIP" in said and "kubeconfig" in said
    agent.start()
    wait(lambda: [fault for fault in agent.faults() if "a ClusterIP that this agent itself has to serve"
                  in fault["message"] and "own address" in fault["remedy"]], "the fault")
    agent.stop()
