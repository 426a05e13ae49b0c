# SPDX-License-Identifier: Apache-2.0
"""Interfaces that outlive their Pods: what the agent says of addresses held for Pods that the API does not know."""

from lab import wait_equal
from lab.asking import pool
from lab.kube_api import path_of
from test_pod_blocks import setting_fixture  # noqa: F401 (a fixture)

LAB = {"nodes": 1}


def bound(setting, name, **status):
    """A Pod that was scheduled; its uid. `status`: as a kubelet writes it."""
    setting.plane.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
                       **({"status": status} if status else {}),
                       "spec": {"nodeName": setting.node.role, "automountServiceAccountToken": False,
                                "containers": [{"name": "main", "image": "web"}]}})
    return setting.plane.api.get(path_of("Pod", "default", name))["metadata"]["uid"]


def forget(setting, name):
    setting.plane.kubectl("delete", "pod", name, "--force", "--grace-period=0", "--wait=true")


def gone_of(setting):
    """Sandboxes whose Pods the API does not know, as the faults name them."""
    return {fault["message"].partition("(sandbox ")[2].rstrip(")") for fault in setting.agent.faults()
            if fault["code"] in ("pod-unknown", "pod-sandbox-replaced")}


def test_an_interface_whose_pod_the_api_does_not_know(setting):
    """Never there, deleted by force, replaced by another of its name. One that is known is never told of, be
    it a static one, whose mirror has another uid."""
    setting.controller()
    setting.plane.put(pool("default", "10.224.8.0/24", bits=3))
    setting.begin(goneAfter="2s")
    known, static = bound(setting, "known"), bound(setting, "static")
    [_, address, _] = [setting.add(*[name], **more)[-1] for name, more in (
        ("first", {"name": "known", "uid": known}), ("never", {"name": "never", "uid": "u"}),
        ("static", {"name": "static", "uid": "0123456789abcdef"}))]
    sandbox = {name: pod.container for name, pod in setting.pods.items()}
    wait_equal(lambda: gone_of(setting), {sandbox["never"]}, "the one that never was", 30)
    assert {fault["code"] for fault in setting.agent.faults()} == {"pod-unknown"}
    assert f"still holds {address} (" in setting.faults()["Pod default/never"]
    assert static != "0123456789abcdef"

    bound(setting, "never")
    wait_equal(setting.faults, {}, "no fault", 30)
    forget(setting, "never")
    wait_equal(lambda: gone_of(setting), {sandbox["never"]}, "the one that is gone", 30)

    forget(setting, "known")
    uid = bound(setting, "known")
    [second] = setting.add("second", name="known", uid=uid)
    wait_equal(lambda: gone_of(setting), {sandbox["never"], sandbox["first"]}, "the one that was replaced", 30)
    assert "it has got another sandbox" in setting.faults()["Pod default/known"]
    assert "pod-sandbox-replaced" in {fault["code"] for fault in setting.agent.faults()}
    bound(setting, "known", podIP=second, podIPs=[{"ip": second}])
    setting.agent.kill()
    setting.agent.start()  # it does not know whose sandboxes these are, but for their addresses
    wait_equal(lambda: gone_of(setting) & {sandbox["never"], setting.pods["second"].container},
               {sandbox["never"]}, "the one that is gone", 30)
    setting.delete("never", "first", "static")
    wait_equal(setting.faults, {}, "no fault", 30)
    for name in ("known", "static"):
        forget(setting, name)
