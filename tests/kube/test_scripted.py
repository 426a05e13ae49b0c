# SPDX-License-Identifier: Apache-2.0
"""The scripted API does what the tests of faults take for granted."""

import ssl
import threading

import pytest
import scripted
from lab import objects, wait
from lab.authority import Authority
from lab.kube_api import ApiError, KubeApi, all_of

SERVICES = all_of("Service")


@pytest.fixture(name="served")
def served_fixture(lab, tmp_path):
    """A scripted API on the client's host, and who asks it from node1."""
    pki = Authority(tmp_path)
    pair = pki.issue("server", hosts=[lab.client.address4])
    api = scripted.ScriptedApi(lab.client, lab.client.address4, scripted.server_context(pair)).start()
    context = ssl.create_default_context(cafile=pki.certificate)
    yield api, KubeApi(lab.nodes[0], lab.client.address4, scripted.PORT, context)
    api.stop()


@pytest.mark.lab(nodes=1)
def test_lists_watches_and_faults(served):
    api, asker = served
    api.put(*[objects.service(f"s{i}", [f"203.0.113.{i}"]) for i in range(5)])
    first = asker.get(f"{SERVICES}?limit=2")
    second = asker.get(f"{SERVICES}?limit=2&continue={first['metadata']['continue']}")
    names = [item["metadata"]["name"] for page in (first, second) for item in page["items"]]
    assert names == ["s0", "s1", "s2", "s3"]

    seen = []
    version = first["metadata"]["resourceVersion"]
    follow = threading.Thread(target=lambda: seen.extend(asker.watch(SERVICES, version)))
    follow.start()
    api.delete(objects.service("s4"))
    wait(lambda: api.count(scripted.WATCH), "the watch")
    api.end_watches()
    follow.join()
    assert [(event, item["metadata"]["name"]) for event, item in seen] == [("DELETED", "s4")]

    api.forget()
    (event, item), = asker.watch(SERVICES, version)
    assert (event, item["code"]) == ("ERROR", 410)

    api.fail(SERVICES, scripted.refuse(429, Retry_After=1), times=1)
    with pytest.raises(ApiError, match="429"):
        asker.get(SERVICES)
    api.fail(scripted.LIST, scripted.cut_after(100), times=1)
    with pytest.raises(OSError):
        asker.get(SERVICES)
    api.fail(scripted.LIST, scripted.raw(b"\xff"), times=1)
    with pytest.raises(ValueError):
        asker.get(SERVICES)
    assert len(asker.get(SERVICES)["items"]) == 4
    api.tokens = {"good"}
    with pytest.raises(ApiError, match="401"):
        asker.get(SERVICES)
    api.served = set()
    api.tokens = None
    with pytest.raises(ApiError, match="404"):
        asker.get(SERVICES)
