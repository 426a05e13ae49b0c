# SPDX-License-Identifier: Apache-2.0
"""LoadBalancer addresses out of a pool: 10,000 Services that have none, planned by agentctl."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from lab import objects

SERVICES, ROUNDS = 10_000, 3
POOL = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
        "metadata": {"name": "lb", "namespace": "lb"}, "spec": {"addresses": ["198.18.0.0/16"]}}


def service(number):
    internal = f"10.96.{number >> 8}.{number & 255}"
    return objects.service(f"s{number:05}", clusterIP=internal, clusterIPs=[internal])


def planned(folder, pools):
    """Seconds of `agentctl plan`, and how many Services got an address."""
    items = [service(number) for number in range(SERVICES)]
    (folder / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List",
                                                 "items": items + pools}), encoding="ascii")
    agentctl = Path(os.environ["FINGERPOST_BUILD"]) / "agent/agentctl/agentctl"
    begin = time.monotonic()
    done = subprocess.run([agentctl, "plan", "--json", "-f", folder], stdout=subprocess.PIPE,
                          check=True)
    seconds = time.monotonic() - begin
    rows = json.loads(done.stdout)["assignments"]
    assert len({row["addresses"][0] for row in rows}) == len(rows), "one each"
    return seconds, len(rows)


def pools():
    samples = {"pools": [], "pools-none": []}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(ROUNDS):
            for figure, given, count in (("pools", [POOL], SERVICES), ("pools-none", [], 0)):
                seconds, assigned = planned(Path(name), given)
                assert assigned == count
                samples[figure].append(seconds)
    return samples
