# SPDX-License-Identifier: Apache-2.0
"""A controller that leads, asked as the tables of faults ask agents."""

from lab.agent import REPOSITORY, Answer, program

RBAC, ADMISSION = "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
DEPLOY = REPOSITORY / "deploy" / "kubernetes"
ELECTION = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fingerpost-controller"


class Leader:
    """A controller, asked as the table asks agents."""

    def __init__(self, controller):
        self.controller, self.log, self.process = controller, controller.log, controller.process

    def faults(self):
        return self.controller.status()["faults"]

    def ctl(self, _, *options):
        socket = self.controller.folder / "run" / "controller.sock"
        command = (program("agentctl"), "--socket", str(socket), "controller", *options)
        done = self.controller.host.run(*command, check=False)
        return Answer(done.returncode, done.stdout, done.stderr)
