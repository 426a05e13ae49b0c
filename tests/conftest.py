# SPDX-License-Identifier: Apache-2.0
"""What all pytest suites share: the lab as a fixture."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import Lab  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "lab(nodes=2, pod_table=None, nat=False): what the test's Lab is made of")
    config.addinivalue_line("markers", "busy: takes all the processors there are")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The busy ones come first and, with --dist loadgroup, one after the other: two of them at once
    only wait for each other."""
    busy = [item for item in items if item.get_closest_marker("busy")]
    for item in busy:
        item.add_marker(pytest.mark.xdist_group("busy"))
    items[:] = busy + [item for item in items if item not in busy]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    if outcome.get_result().failed:
        item.failed = True


@pytest.fixture(name="lab")
def lab_fixture(request):
    """A network of the test's own. What its daemons logged is printed if the test fails."""
    marker = request.node.get_closest_marker("lab")
    with Lab(request.node.nodeid, **(marker.kwargs if marker else {})) as lab:
        yield lab
        if getattr(request.node, "failed", False):
            lab.show_logs()
