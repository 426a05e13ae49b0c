# SPDX-License-Identifier: Apache-2.0
"""A plain client of the API: curl, with so many connections, one patch of a status for each Service. What it
needs is what the machine's API server and etcd need, and so the floor of whoever writes statuses."""

import json
import time

from lab.kube_api import path_of

CONDITION = "example.com/Plain"
PARALLEL = 16  # as many as the controller has under way


def entry(plane, name, folder):
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "status": {"conditions": [{"type": CONDITION, "status": "True", "reason": "Plain", "message": "",
                                       "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                       "loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}
    url = f"{plane.server}{path_of('Service', 'default', name)}/status?fieldManager=plain&force=true"
    words = {"url": url, "request": "PATCH", "data": json.dumps(body), "cacert": plane.pki.certificate,
             "header": "Content-Type: application/apply-patch+yaml", "output": "/dev/null",
             "cert": folder / "controller-plain.crt", "key": folder / "controller-plain.key"}
    lines = [f"{key} = {json.dumps(str(value))}" for key, value in words.items()]
    return "\n".join([*lines, "http1.1", "fail", "silent", "show-error"])


def patches(plane, names):
    """Seconds of one patch for each Service, as a user of the controllers' group, whom the audit log notes."""
    plane.controller_kubeconfig("plain")
    config = plane.folder / "plain.curl"
    config.write_text("\nnext\n".join(entry(plane, name, plane.pki.folder) for name in names), encoding="utf-8")
    begun = time.monotonic()
    plane.host.run("curl", "--parallel", "--parallel-max", str(PARALLEL), "--config", str(config), timeout=600)
    return time.monotonic() - begun
