# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes control plane in a namespace behind the ToR: etcd, kube-apiserver and
kube-controller-manager, each to be stopped, killed and started again.

It has the host "control" to itself, 192.0.3.2 and 2001:db8:a::2; nodes reach it through the ToR.
Scheduler and kubelets are played: kubelets.py.
"""

import base64
import http.client
import json
import shutil
import ssl
from pathlib import Path

from .authority import Authority, write_key, write_kubeconfig
from .kube_api import PATHS, ApiError, KubeApi
from .kube_programs import program
from .namespace import Namespace
from .wait import wait

ADDRESS4, ADDRESS6 = "192.0.3.2", "2001:db8:a::2"
PORT = 6443
SERVICES = "10.96.0.0/16,fd00:96::/112"
SERVICE = "10.96.0.1"  # by which pods know the API
ETCD_PORT = 2379
ETCD = f"http://127.0.0.1:{ETCD_PORT}"
PEERS = "http://127.0.0.1:2380"
AGENTS = "fingerpost:agents"  # the group that deploy/kubernetes/rbac.yaml binds
CONTROLLERS_GROUP = "fingerpost:controllers"  # likewise, controller.yaml
ACCOUNT = "fingerpost-controller"  # of controllers that are pods, in kube-system
ACCOUNT_USER = f"system:serviceaccount:kube-system:{ACCOUNT}"
# What agents and controllers ask for is written down: who, what, and what came of it.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "userGroups": [AGENTS, CONTROLLERS_GROUP]},
              {"level": "Metadata", "users": [ACCOUNT_USER]}, {"level": "None"}],
}
DEPLOY = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"

CONTROLLERS = (
    "deployment-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "taint-eviction-controller",
)


# Where etcd has the objects that tests write past the API server.
STORED = {
    "AddressBlock": "coil.cybozu.com/addressblocks",
    "AddressPool": "coil.cybozu.com/addresspools",
    "BGPAdvertisement": "metallb.io/bgpadvertisements",
    "BlockRequest": "coil.cybozu.com/blockrequests",
    "Egress": "coil.cybozu.com/egresses",
    "EndpointSlice": "endpointslices",
    "IPAddress": "ipaddresses",
    "IPAddressPool": "metallb.io/ipaddresspools",
    "L2Advertisement": "metallb.io/l2advertisements",
    "Node": "minions",
    "Pod": "pods",
    "Service": "services/specs",
}


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def stored_at(item):
    meta = item["metadata"]
    parts = [STORED[item["kind"]], meta.get("namespace"), meta["name"]]
    return encoded("/registry/" + "/".join(part for part in parts if part))


COIL = ("AddressBlock", "AddressPool", "BlockRequest", "Egress")


class Daemon:
    """One program of the control plane."""

    def __init__(self, host, name, arguments):
        self.host = host
        self.name = name
        self.arguments = arguments
        self.process = None

    def start(self):
        self.process = self.host.start(program(self.name), *self.arguments, log=f"{self.name}.log")

    def running(self):
        """True, or an error if it has ended."""
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"{self.name} ended with {code}: see {self.name}.log")
        return True

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


def api_server_arguments(folder, pki):
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
    server = pki.issue("server", hosts=[ADDRESS4, ADDRESS6, SERVICE, "127.0.0.1", "kubernetes.lab"])
    return [
        f"--etcd-servers={ETCD}",
        # Compaction is for the tests to order.
        "--etcd-compaction-interval=0",
        "--bind-address=::",
        f"--advertise-address={ADDRESS4}",
        f"--secure-port={PORT}",
        f"--tls-cert-file={server.certificate}",
        f"--tls-private-key-file={server.key}",
        f"--client-ca-file={pki.certificate}",
        f"--service-account-key-file={folder / 'accounts.key'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICES}",
        "--authorization-mode=RBAC",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={folder / 'audit.log'}",
    ]


def controller_manager_arguments(folder, pki, kubeconfig):
    return [
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--service-account-private-key-file={folder / 'accounts.key'}",
        f"--root-ca-file={pki.certificate}",
        "--horizontal-pod-autoscaler-sync-period=1s",
        "--leader-elect=false",
        "--secure-port=0",
    ]


class ControlPlane:
    """Belongs to a lab and goes away with it. start() returns when all of it answers."""

    def __init__(self, lab):
        self.host = Namespace(lab.label, "control", lab.folder)
        self.folder = self.host.folder
        self.server = f"https://{ADDRESS4}:{PORT}"
        self._connect(lab.tor)
        self.pki = Authority(self.folder / "pki")
        write_key(self.folder / "accounts.key")
        self.admin = self.kubeconfig("admin", groups=["system:masters"])
        self.etcd = Daemon(self.host, "etcd", self._etcd_arguments())
        self.api_server = Daemon(
            self.host, "kube-apiserver", api_server_arguments(self.folder, self.pki)
        )
        self.controllers = Daemon(
            self.host, "kube-controller-manager",
            controller_manager_arguments(self.folder, self.pki, self.admin),
        )
        self.api = KubeApi(self.host, ADDRESS4, PORT, self._admin_context())

    def _connect(self, tor):
        self.host.create(forwarding=False)
        tor.configure(
            f"link add control type veth peer name eth0 netns {self.host.name}",
            "addr add 192.0.3.1/24 dev control",
            "addr add 2001:db8:a::1/64 dev control nodad",
            "link set control up",
        )
        self.host.configure(
            f"addr add {ADDRESS4}/24 dev eth0",
            f"addr add {ADDRESS6}/64 dev eth0 nodad",
            "link set eth0 up",
            "route add default via 192.0.3.1",
            "route add default via 2001:db8:a::1",
        )

    def _admin_context(self):
        context = ssl.create_default_context(cafile=self.pki.certificate)
        context.load_cert_chain(self.pki.folder / "admin.crt", self.pki.folder / "admin.key")
        return context

    def _etcd_arguments(self):
        return [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={ETCD}",
            f"--advertise-client-urls={ETCD}",
            f"--listen-peer-urls={PEERS}",
            f"--initial-advertise-peer-urls={PEERS}",
            f"--initial-cluster=default={PEERS}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def kubeconfig(self, name, user=None, groups=(), **cluster):
        """The path of a kubeconfig for a new user of these groups."""
        pair = self.pki.issue(name, user, groups)
        path = self.folder / f"{name}.kubeconfig"
        return write_kubeconfig(path, self.server, self.pki.certificate, pair, **cluster)

    def agent_kubeconfig(self, node):
        """What an agent on a node is given: a user of the group that may read."""
        return self.kubeconfig(f"agent-{node}", f"fingerpost:agent:{node}", [AGENTS])

    def controller_kubeconfig(self, name):
        """What a controller is given: a user of the group whose role it has."""
        return self.kubeconfig(f"controller-{name}", f"fingerpost:controller:{name}",
                               [CONTROLLERS_GROUP])

    def account_token(self):
        """What a controller that is a pod shows: of a client certificate, the API server verifies the signature
        for each request, of a token once in ten seconds."""
        return self.kubectl("create", "token", "-n", "kube-system", ACCOUNT).strip()

    def account_kubeconfig(self):
        return write_kubeconfig(self.folder / "account.kubeconfig", self.server, self.pki.certificate,
                                {"token": self.account_token()})

    # Life of the programs

    def start(self):
        self.start_etcd()
        self.start_api_server()
        self.controllers.start()
        self.kubectl("apply", "-f", str(DEPLOY))
        # A resource is established before it is served.
        wait(lambda: [self.items(kind) for kind in COIL], "Coil's resources", 60)
        wait(lambda: self.kubectl("get", "serviceaccount", "default"), "the controllers", 60)
        return self

    def start_etcd(self):
        self.etcd.start()
        wait(lambda: self.etcd.running() and self.revision(), "etcd", 60)

    def start_api_server(self):
        self.api_server.start()
        wait(lambda: self.api_server.running() and self.api.ready(), "kube-apiserver", 120)
        self._wait_served()

    def _wait_served(self):
        """Readiness says nothing of what is in memory of each resource: until that is filled from etcd, whoever asks
        is told to ask again (429)."""
        wait(lambda: [self._list(kind) for kind in PATHS], "each resource", 60)

    def _list(self, kind):
        try:
            return self.items(kind)
        except ApiError as error:
            if error.status != 404:  # a definition that is not there
                raise
            return []

    def backup(self, name="backup"):
        """Copies what etcd holds; it is away for a moment, after which the API server reads all of it anew."""
        self.etcd.stop()
        shutil.copytree(self.folder / "etcd", self.folder / name)
        self.start_etcd()
        self._wait_served()

    def restore(self, name="backup"):
        """Puts a copy in place: resourceVersions go backwards. The API server starts anew, as it
        must after a restore."""
        self.api_server.kill()
        self.etcd.kill()
        shutil.rmtree(self.folder / "etcd")
        shutil.copytree(self.folder / name, self.folder / "etcd")
        self.start_etcd()
        self.start_api_server()

    # Asking

    def kubectl(self, *words, text=None, timeout=120):
        """What kubectl says, as cluster administrator; an exception if it fails."""
        command = self.kubectl_command().split()
        return self.host.run(*command, *words, text=text, timeout=timeout).stdout

    def kubectl_command(self):
        return f"{program('kubectl')} --kubeconfig {self.admin}"

    def put(self, *items):
        """Creates objects or changes them, their status as well if they have one."""
        for item in items:
            self.api.apply(item)

    def delete(self, *items):
        for item in items:
            meta = item["metadata"]
            self.api.delete(item["kind"], meta["name"], meta.get("namespace"))

    def items(self, kind):
        return self.api.items(kind)

    def audited(self, user=None):
        """What agents and controllers have asked for, in the order of the answers: events of audit.k8s.io/v1."""
        lines = (self.folder / "audit.log").read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines if line.endswith("}")]
        return [entry for entry in entries if user in (None, entry["user"]["username"])]

    def ask_etcd(self, path, *questions):
        """Requests to etcd's JSON gateway, one after the other; returns the last answer."""
        connection = http.client.HTTPConnection("127.0.0.1", ETCD_PORT)
        with self.host.connect("127.0.0.1", ETCD_PORT) as connection.sock:
            for question in questions:
                connection.request("POST", f"/v3/{path}", json.dumps(question))
                answer = connection.getresponse()
                text = answer.read().decode()
                if answer.status != 200:
                    raise ValueError(f"etcd: {path}: {answer.status}: {text}")
        return json.loads(text)

    def revision(self):
        return int(self.ask_etcd("maintenance/status", {})["header"]["revision"])

    def store(self, *items):
        """Writes objects into etcd as they are: past validation, and with the creationTimestamp and
        addresses that they name. Each is a revision of its own, as a watch takes for granted."""
        self.ask_etcd("kv/put", *[{"key": stored_at(item), "value": encoded(json.dumps(item))}
                                  for item in items])

    def unstore(self, *items):
        self.ask_etcd("kv/deleterange", *[{"key": stored_at(item)} for item in items])

    def compact(self):
        """Forgets all history up to now."""
        self.ask_etcd("kv/compaction", {"revision": self.revision(), "physical": True})
