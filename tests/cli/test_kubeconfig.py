# SPDX-License-Identifier: Apache-2.0
"""`agentctl config check` and `agentd --check-config` of a configuration that names a kubeconfig: what
would keep the agent from asking is said, and nobody is asked."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile

import pytest
from cryptography.hazmat.primitives import serialization
from lab.authority import Authority, write_kubeconfig

from conftest import AGENTCTL, environment

AGENTD = pathlib.Path(AGENTCTL).parents[1] / "agentd" / "agentd"
NOBODY = 65534
EXEC = {"exec": {"command": "get-token", "apiVersion": "client.authentication.k8s.io/v1"}}


class World:
    def __init__(self, ctl, folder):
        self.ctl = ctl
        self.pki = Authority(folder / "pki")
        self.node = self.pki.issue("node")
        self.path, self.config = folder / "kubeconfig", folder / "agentd.yaml"
        self.config.write_text(
            f"node: node-1\nsource: {{ kubernetes: {{ kubeconfig: {self.path} }} }}\n")

    def write(self, user=None, server="https://api.invalid:6443", ca=None, **cluster):
        write_kubeconfig(self.path, server, ca or self.pki.certificate, user or self.node, **cluster)

    def check(self, *words, **options):
        """The exit status, and the lines."""
        code, output, errors = self.ctl.run("config", "check", str(self.config), *words, **options)
        assert errors == ""
        return code, output.splitlines()

    def daemon(self):
        return subprocess.run([AGENTD, "--config", self.config, "--check-config"],
                              env=environment(), capture_output=True, text=True, timeout=60)


@pytest.fixture
def world(ctl):
    """In a folder that everybody may enter, as they may the real one."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield World(ctl, pathlib.Path(folder))


def broken(world, case):
    """Breaks the kubeconfig: (place behind its path, what is said of it)."""
    other, path = world.pki.issue("other"), world.pki.folder / "a.pem"
    world.write()
    if case == "no YAML":
        world.path.write_text("clusters: [\n")
        return ":2:1", "did not find expected node content while parsing a flow node"
    if case == "no context":
        world.path.write_text(world.path.read_text().replace("current-context: lab",
                                                             "current-context: moon"))
        return ":8:1", 'contexts: no entry has the name "moon", which current-context gives'
    if case == "exec":
        world.write(EXEC)
        return ":17:5", ("users[0].user: exec is not supported: "
                         "write token, tokenFile or client-certificate and client-key in its place")
    if case == "no file":
        world.path.unlink()
        return "", "can't be opened: No such file or directory"
    if case == "no CA":
        world.write(ca=path)
        return "", f"cannot read the CA {path}: No such file or directory"
    if case == "empty CA":
        path.write_text("nothing\n")
        world.write(ca=path)
        return "", f"there is no certificate in {path}, named as the CA"
    if case == "no token":
        world.write({"tokenFile": str(path)})
        return "", f"cannot read the token {path}: No such file or directory"
    if case == "empty token":
        path.write_text("\n")
        world.write({"tokenFile": str(path)})
        return "", f"{path} holds no token"
    if case == "other key":
        world.write(world.node._replace(key=other.key))
        return "", f"the client certificate in {world.node.certificate} and the key in {other.key}"
    key = serialization.load_pem_private_key(other.key.read_bytes(), None)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                       serialization.BestAvailableEncryption(b"words")))
    world.write(other._replace(key=path))
    return "", f"the client certificate in {other.certificate} and the key in {path}"


CASES = ("no YAML", "no context", "exec", "no file", "no CA", "empty CA", "no token", "empty token",
         "other key", "encrypted key")


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_with_it(world, case):
    place, message = broken(world, case)
    code, lines = world.check()
    assert code == 1 and lines[-1] == "1 error."
    assert lines[0].startswith(f"{world.path}{place}: {message}")
    done = world.daemon()
    assert done.returncode == 78 and f"{world.path}{place}: {message}" in done.stderr


def test_nobody_is_asked(world):
    """The server is a socket that listens, by its address, by a proxy, under another name."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        host = f"127.0.0.1:{server.getsockname()[1]}"
        for more in ({}, {"proxy-url": f"http://{host}"}, {"proxy-url": f"https://{host}"},
                     {"tls-server-name": "api.example"}):
            world.write(server=f"https://{host}", **more)
            assert world.check() == (0, [f"{world.config}: ok"])
            assert world.daemon().returncode == 0
        with pytest.raises(BlockingIOError):
            server.accept()


def test_without_tls(world):
    world.path.write_text(
        "current-context: a\n"
        "contexts: [{ name: a, context: { cluster: a } }]\n"
        "clusters: [{ name: a, cluster: { server: 'http://127.0.0.1:1' } }]\n")
    assert world.check()[0] == 0


def test_in_a_pod(world):
    """Where there is none, the configuration does not say what to look at."""
    world.config.write_text("node: node-1\nsource: { kubernetes: {} }\n")
    assert world.check() == (0, [f"{world.config}: ok"])


def test_as_json(world):
    place, message = broken(world, "exec")
    code, lines = world.check("--json")
    document = json.loads(lines[0])
    assert code == 1 and document["valid"] is False and document["path"] == str(world.config)
    assert document["errors"] == [
        {"place": f"{world.path}{place}", "message": message, "remedy": None}]


def test_a_broken_configuration_is_first(world):
    broken(world, "exec")
    world.config.write_text(world.config.read_text() + "rooutes: {}\n")
    code, lines = world.check()
    assert code == 1 and len(lines) == 2 and lines[0].startswith(f"{world.config}:3:1: ")


@pytest.mark.parametrize("of", ("kubeconfig", "key"))
def test_who_may_not_read_it(world, of):
    """An exit status of its own, for nothing has been found to be wrong."""
    world.write()
    world.path.chmod(0o600 if of == "kubeconfig" else 0o644)
    what = ("can't be opened" if of == "kubeconfig"
            else f"cannot read the client key {world.node.key}")
    nobody = {"user": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if not nobody:
        (world.path if of == "kubeconfig" else world.node.key).chmod(0)
    code, lines = world.check(**nobody)
    assert code == 77 and lines == [
        f"{world.path}: {what}: Permission denied",
        "-> ask as root, or as the user that runs the agent",
        "1 error.",
    ]
