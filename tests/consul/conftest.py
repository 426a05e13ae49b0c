# SPDX-License-Identifier: Apache-2.0
"""A Consul for each module of tests, and a Kubernetes API and controllers for each test."""

import pytest
from consul import Consul
from controller import PREFIX, Controller
from kube import Kube


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture(tmp_path_factory):
    """One Consul, taken by turns; tests of a file run one after the other."""
    consul = Consul(tmp_path_factory.mktemp("consul"))
    yield consul
    consul.close()


@pytest.fixture(name="consul")
def consul_fixture(cluster):
    yield cluster
    if cluster.process.poll() is None:
        cluster.wipe(PREFIX)


@pytest.fixture(name="kube")
def kube_fixture(tmp_path):
    kube = Kube(tmp_path)
    yield kube
    kube.stop()


@pytest.fixture(name="token")
def token_fixture(consul, tmp_path):
    """The file of a token that may do what docs/export.md lists, and nothing else."""
    path = tmp_path / "token"
    path.write_text(consul.token()[1] + "\n", encoding="ascii")
    return path


@pytest.fixture(name="where")
def where_fixture(consul, token):
    """The part of a controller's section consul that says where and as whom."""
    return {"address": consul.address, "tokenFile": str(token),
            "caFile": str(consul.pki.certificate), "certFile": str(consul.client_pair.certificate),
            "keyFile": str(consul.client_pair.key)}


@pytest.fixture(name="start")
def start_fixture(request, kube, where, tmp_path):
    """Starts a controller: start(name="a", clusterID="x", ...). At the end each must have ended
    well, and without a word of a sanitizer."""
    started = []

    def start(name="a", environment=None, api=None, identity=None, **export):
        export = {"clusterID": "transformers", "sessionTTL": "10s", **where, **export}
        controller = Controller(tmp_path / name, api or kube, export, environment,
                                identity or f"controller-{name}")
        started.append(controller)
        return controller

    yield start
    codes = [controller.stop() for controller in started]
    if getattr(request.node, "failed", False):
        for controller in started:
            print(f"--- {controller.folder.name}\n{controller.log()[-6000:]}")
    for controller, code in zip(started, codes):
        assert code in (0, -9), controller.log()[-3000:]
        assert "Sanitizer" not in controller.log(), controller.log()[-6000:]
