# SPDX-License-Identifier: Apache-2.0
"""A plain client of the API: curl, with so many connections, one patch of a status for each Service. What it
needs is what the machine's API server and etcd need, and so the floor of whoever writes statuses."""

import json
import time

from lab.kube_api import path_of

CONDITION = "example.com/Plain"
METADATA_ALONE = "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
PARALLEL = 16  # as many as the controller has under way


def entry(plane, name, token):
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "status": {"conditions": [{"type": CONDITION, "status": "True", "reason": "Plain", "message": "",
                                       "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                       "loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}
    url = f"{plane.server}{path_of('Service', 'default', name)}/status?fieldManager=plain"
    words = {"url": url, "request": "PATCH", "data": json.dumps(body), "cacert": plane.pki.certificate,
             "output": "/dev/null"}
    headers = ("Content-Type: application/strategic-merge-patch+json", METADATA_ALONE, f"Authorization: Bearer {token}")
    lines = [f"{key} = {json.dumps(str(value))}" for key, value in words.items()]
    lines += [f"header = {json.dumps(header)}" for header in headers]
    return "\n".join([*lines, "http1.1", "fail", "silent", "show-error"])


def patches(plane, names):
    """Seconds of one patch for each Service, as the controllers' account, of which the audit log notes what it asks."""
    config, token = plane.folder / "plain.curl", plane.account_token()
    config.write_text("\nnext\n".join(entry(plane, name, token) for name in names), encoding="utf-8")
    begun = time.monotonic()
    plane.host.run("curl", "--parallel", "--parallel-max", str(PARALLEL), "--config", str(config), timeout=600)
    return time.monotonic() - begun
