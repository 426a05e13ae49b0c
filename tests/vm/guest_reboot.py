# SPDX-License-Identifier: Apache-2.0
"""A node that boots while the API is away: agentd as the installed unit, with Kubernetes as its
source. Runs inside the guest, which test_vm.py boots twice; see installed.py.

The first boot leaves the agent's state folder in FINGERPOST_KEPT, as the disk of a node would keep
it; the second one begins with it and nothing else. The API is the scripted one, on this node.
"""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "kube")]

from guest_services import (  # noqa: E402
    NODE_IP,
    SERVICE,
    VIP,
    Host,
    Traffic,
    make_network,
    reaches,
)
from installed import (  # noqa: E402, F401 # some are fixtures
    BLOCK,
    NODE,
    ROUTES,
    ctl,
    install,
    monitor_fixture,
    routes,
    run,
    state,
    status,
    systemctl,
    untouched_fixture,
    wait,
)
from scripted import ScriptedApi  # noqa: E402

KEPT = Path(os.environ.get("FINGERPOST_KEPT", "/nonexistent"))
AWAY = int(os.environ.get("FINGERPOST_API_AWAY", "60"))  # seconds
STATE, KUBECONFIG = Path("/var/lib/fingerpost"), Path("/etc/fingerpost/kubeconfig")
CONFIG = f"""\
node: {NODE}
source: {{kubernetes: {{kubeconfig: {KUBECONFIG}}}}}
services:
  enabled: true
  uplinks: [uplink0]
  podInterfaces: [vethpod]
  serviceCIDRs: [10.96.0.0/16]
"""
KUBECONFIG_TEXT = """\
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "http://127.0.0.1:6443"}}]
users: [{name: agent, user: {}}]
contexts: [{name: it, context: {cluster: here, user: agent}}]
current-context: it
"""
THIS_NODE = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE},
    "status": {"addresses": [{"type": "InternalIP", "address": NODE_IP}]},
}

@pytest.fixture(name="world", scope="module")
def world_fixture():
    install(CONFIG)
    KUBECONFIG.write_text(KUBECONFIG_TEXT)
    return make_network()


@pytest.fixture(name="api", scope="module")
def api_fixture():
    api = ScriptedApi(Host, "127.0.0.1")
    api.put(THIS_NODE, *yaml.safe_load_all(SERVICE), *yaml.safe_load_all(BLOCK))
    return api


def source():
    [found] = status()["sources"]
    return found


def copied():
    copy = STATE / "objects.json"
    return copy.exists() and all(name in copy.read_text() for name in ("web-a", "default-0"))


def test_first_boot_leaves_a_copy(world, api):
    api.start()
    systemctl("start", "agentd")
    wait(lambda: routes() == ROUTES, "the routes")
    assert reaches(world["outside"], VIP) and reaches(Host, VIP)
    wait(copied, "the copy")
    shutil.copytree(STATE, KEPT / "state")


def test_second_boot_serves_before_the_api_is_back(world):
    run("cp", "-rT", str(KEPT / "state"), str(STATE))
    run("chown", "-R", "fingerpost:fingerpost", str(STATE))
    systemctl("start", "agentd")
    assert (state(), routes()) == ("active", ROUTES)
    assert reaches(world["outside"], VIP) and reaches(Host, VIP)
    assert ctl("verify").returncode == 0
    assert not source()["synced"] and source()["copy"]["inForce"]


def test_second_boot_flaps_neither_meanwhile_nor_when_it_returns(world, api, untouched):
    traffic = Traffic(world["outside"])
    end = time.monotonic() + AWAY  # what is waited for is the time itself
    wait(lambda: time.monotonic() > end, "the API to be away for long", AWAY + 60)
    traffic.unhurt()
    assert source()["copy"]["inForce"]
    api.start()
    wait(lambda: source()["synced"], "the API's word")
    wait(lambda: not source()["copy"]["inForce"], "the end of the copy's time")
    passes = status()["routes"]["fullPasses"]
    systemctl("reload", "agentd")  # ends in a pass over everything
    wait(lambda: status()["routes"]["fullPasses"] > passes, "a full pass")
    assert ctl("verify").returncode == 0
    traffic.unhurt()
    traffic.stop()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))
