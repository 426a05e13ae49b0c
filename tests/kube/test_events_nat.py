# SPDX-License-Identifier: Apache-2.0
"""Events of an agent that serves in kube-proxy's place."""

import os
import socket

import pytest
from lab import Lab, objects, wait_equal
from test_troubles import setting_fixture  # noqa: F401  a fixture

PORT = 32123


@pytest.fixture(name="lab", scope="module")
def lab_fixture(request):
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    with Lab(f"{request.node.nodeid}{worker}", nodes=1, nat=True) as lab:
        lab.pod(lab.nodes[0], "web")  # what all Services have for an endpoint
        yield lab


def service(name, **spec):
    item = objects.service(name, ["203.0.113.9"], **spec)
    item["metadata"]["uid"] = f"uid-of-{name}"
    return item


def said(setting):
    return {(event["regarding"]["name"], event["reason"]) for event in setting.api.items("Event")}


def test_what_a_proxy_refuses_and_what_it_can_not_serve(setting):
    with setting.node.entered():
        other = socket.create_server(("", PORT))
    with other:
        setting.api.put(
            service("health", policy="Local", healthCheckNodePort=PORT),
            service("outside", ports=(81,), externalIPs=["192.0.2.200"]),
        )
        setting.begin()
        wait_equal(lambda: said(setting), {("health", "HealthCheckPortFailed"),
                                           ("outside", "ExternalIPRefused")}, "both Events", 120)
    notes = [event["note"] for event in setting.api.items("Event")]
    assert any(f"node1 can't serve healthCheckNodePort {PORT}" in note for note in notes)
    assert any("192.0.2.200 is not served" in note for note in notes)
