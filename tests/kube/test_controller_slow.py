# SPDX-License-Identifier: Apache-2.0
"""Two controllers and an API that takes two seconds for each answer: leadership stays, and passes on."""

import os
import time

import pytest
import scripted
from lab import wait
from lab.authority import Authority, write_kubeconfig
from lab.controller import Controller
from lab.kube_api import wall_time
from moments import Stopwatch

EVERYTHING = "."
ANSWER = 2  # seconds
WITHIN = 20  # as where answers come at once
RENEWAL = "^PATCH .*/leases/"


@pytest.fixture(name="slow_api")
def slow_api_fixture(lab, tmp_path):
    """The API, and a controller on each node."""
    pki = Authority(tmp_path)
    address = lab.client.address4
    pair = pki.issue("server", hosts=[address])
    api = scripted.ScriptedApi(lab.client, address, scripted.server_context(pair)).start()
    api.served |= {"Namespace", "Lease"}
    api.fail(EVERYTHING, scripted.slow(ANSWER))
    controllers = [
        Controller(node, name, write_kubeconfig(
            tmp_path / name, f"https://{address}:{scripted.PORT}", pki.certificate,
            pki.issue(name)))
        for name, node in zip("ab", lab.nodes)
    ]
    yield api, controllers
    for controller in controllers:
        if controller.running():
            controller.kill()
    api.stop()


def lease(api):
    (item,) = api.items("Lease")
    return item["spec"]


@pytest.mark.lab(nodes=2)
def test_leadership_stays_and_passes_on(slow_api):
    api, (first, second) = slow_api
    first.start()
    wait(first.leads, "a leader", 60)
    second.start()
    wait(lambda: second.ask("/readyz")[0] == 200, "the second to be ready", 60)
    renewals = api.count(RENEWAL)
    wait(lambda: api.count(RENEWAL) >= renewals + 6, "six renewals", 120)
    assert first.leads() and not second.leads()
    assert lease(api)["leaseTransitions"] == 0 and first.status()["election"]["lost"] == 0

    assert first.stop() == 0  # the Lease is given back by then, or is another's in its time
    wait(second.leads, "the second to lead", 60)
    first.start()
    second.kill()
    since, watch = time.time(), Stopwatch(first.process.pid, os.getpid())  # the API is here, too
    wait(first.leads, "the first to lead again", 60)
    took = wall_time(lease(api)["acquireTime"]) - since - watch.waited()
    assert took <= WITHIN + 2 * ANSWER, "two answers come before it"
    assert lease(api)["holderIdentity"] == first.status()["identity"]
    assert lease(api)["leaseTransitions"] == 2
