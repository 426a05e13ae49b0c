# SPDX-License-Identifier: Apache-2.0
"""An agent and a scripted API: what tests of faults begin with."""

import json

import scripted
from lab import wait
from lab.authority import Authority, write_kubeconfig
from scripted import ScriptedApi, server_context
from world import World

HOST = "kubernetes.lab"


class Setting:
    """A scripted API on the client's host, an agent on node1, and what proves who they are.

    The agent has a file of host names of its own."""

    def __init__(self, lab, folder):
        self.lab = lab
        (self.node,) = lab.nodes
        self.folder = folder
        self.pki = Authority(folder, "ca")
        self.api = ScriptedApi(lab.client, lab.client.address4, self.context(self.pki))
        self.world = World(self.api, self.node)
        self.agent = self.hosts = None

    def context(self, authority, name="server", **more):
        return server_context(authority.issue(name, hosts=[self.lab.client.address4, HOST], **more))

    def kubeconfig(self, user=None, host=None, **cluster):
        server = f"https://{host or self.lab.client.address4}:{scripted.PORT}"
        return write_kubeconfig(self.folder / "kubeconfig", server, self.pki.certificate, user or {},
                                **cluster)

    def name_hosts(self, *lines):
        self.hosts.write_text("".join(f"{line}\n" for line in lines))

    def start(self, **more):
        """The agent; `more`: of its kubeconfig."""
        self.agent = self.lab.agent(self.node, name=self.folder.name, start=False,
                                    kubeconfig=self.kubeconfig(**more))
        self.hosts = self.agent.folder / "hosts"
        self.name_hosts(f"{self.lab.client.address4} {HOST}")
        script = f'mount --bind {self.hosts} /etc/hosts && exec "$@"'
        self.agent.wrapper = ("unshare", "--mount", "sh", "-c", script, "sh")
        self.agent.start(ready=False)

    def begin(self, **more):
        """The agent, up to where it has everything."""
        self.api.start()
        self.start(**more)
        self.world.reached("at the start")

    def fault(self, text):
        """Waits until the agent tells of this fault."""
        def told():
            return [fault for fault in self.agent.faults() if text in json.dumps(fault)]
        return wait(told, f"a fault that says {text!r}", 60)

    def no_faults(self):
        wait(lambda: not self.agent.faults(), "the end of all faults", 60)

    def end(self):
        if self.agent:
            if self.agent.running():
                self.agent.stop()
            self.node.agents.remove(self.agent)
        if self.api.server:
            self.api.stop()
        self.api.end_watches()
