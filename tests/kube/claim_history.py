# SPDX-License-Identifier: Apache-2.0
"""What the Leases of claims were, one after the other, and what the agents said meanwhile: to be read when an address
was away that no fault was about."""

import time
from datetime import datetime

from lab.kube_api import ApiError
from lab.segment import Worker

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
EARLIER = 12  # seconds before a fault that may have led to it


class History(Worker):
    """Watches all Leases from the start to close(); `rows` are (seconds since 1970, key, holder, since when)."""

    def __init__(self, api):
        self.api, self.rows = api, []
        super().__init__()

    def work(self):
        try:
            version = self.api.get(LEASES)["metadata"]["resourceVersion"]
            for kind, lease in self.api.watch(LEASES, version, timeout=2):
                if kind != "BOOKMARK":
                    self._note(kind, lease)
                if self.ended.is_set():
                    return
        except (OSError, ApiError, ValueError):  # silence is one of them
            self.ended.wait(0.1)

    def _note(self, kind, lease):
        spec = lease.get("spec", {})
        self.rows.append((time.time(), lease["metadata"]["name"], spec.get("holderIdentity") or "nobody",
                          f"{kind.lower()}, since {spec.get('acquireTime')}, renewed {spec.get('renewTime')}"))

    def since(self, begin):
        return [f"{timed(at)} Lease {key}: {holder}, {rest}" for at, key, holder, rest in list(self.rows) if at >= begin]


def timed(at):
    return datetime.utcfromtimestamp(at).isoformat(timespec="milliseconds") + "Z"


def said(agent, begin):
    """The lines of an agent's log since then, each with its name in front."""
    lines = agent.log.read_text(errors="replace").splitlines()
    return [f"{line.partition(' ')[0]} {agent.node.role}: {line.partition(' ')[2]}" for line in lines
            if line[:1] == "2" and line >= timed(begin)]


def story(history, agents, begin):
    """All of it in order of time, from shortly before `begin` (seconds since 1970)."""
    begin -= EARLIER
    return "\n".join(sorted(sum([said(agent, begin) for agent in agents], history.since(begin))))
