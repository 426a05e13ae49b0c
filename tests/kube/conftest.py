# SPDX-License-Identifier: Apache-2.0
"""A lab with a control plane for each module of tests: to start one takes seconds."""

import pytest
from lab import Lab
from test_claimed import Setting


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture(request):
    """A lab whose `plane` is up, with CRDs and roles, and nothing else in it."""
    with Lab(request.node.nodeid, **getattr(request.module, "LAB", {})) as lab:
        lab.control_plane()
        failed = request.session.testsfailed
        yield lab
        if request.session.testsfailed > failed:
            lab.show_logs()


@pytest.fixture(name="plane")
def plane_fixture(cluster):
    return cluster.plane


@pytest.fixture(name="kubelets", scope="module")
def kubelets_fixture(cluster):
    """The lab's nodes are nodes of the cluster: they run the pods that they are given."""
    return cluster.play_kubelets()


@pytest.fixture(name="setting")
def setting_fixture(cluster, kubelets):
    """Three nodes on a segment, for tests of claimed addresses; some modules have a setting of their own."""
    del kubelets
    setting = Setting(cluster)
    yield setting
    setting.end()
